//! Random vertex and fragment programs: compiled and emulated they give what the interpreter gives.
//!
//! Registers 0 to 5 hold words that are the same to the last bit on both sides; register 9 sums up what is only near: lookups
//! of textures, and inputs of triangles whose corners differ in w. Of other triangles every input is exact: their area is a
//! power of two, as is w, and values at the corners are small. Derivatives and lookups stand where all pixels of a quad are
//! together.

use super::case::bytes;
use super::tables::WORD;
use crate::config::Config;
use arbitrary::{Result, Unstructured};
use nvir::emu::stage::{Attributes, Fragment, Output};
use nvir::stage::Semantic;
use nvir_fixture::format::{Item, Tolerance};
use nvir_fixture::run::Loaded;
use nvir_fixture::stage::format::Tree;
use nvir_fixture::{Fixture, Outcome};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Registers of words, and those with a use of their own.
const WORDS: u32 = 6;
const SCRATCH: u32 = 6;
const SUM: u32 = 9;
const COUNTERS: u32 = 10;
const CONDITION: u32 = 13; // the last of them, as in `COMMON`

/// What both stages declare after their own.
const COMMON: &str = "DCL SAMP[0..1]\nDCL SVIEW[0], 2D, FLOAT\nDCL SVIEW[1], CUBE, FLOAT\nDCL CONST[0][0..7]\nDCL TEMP[0..13]\n";

/// What a vertex program begins with.
const VERTEX: &str = "VERT\nDCL IN[0]\nDCL IN[1]\nDCL IN[2]\nDCL SV[0], VERTEXID\nDCL SV[1], INSTANCEID\nDCL OUT[0], POSITION\n\
    DCL OUT[1], GENERIC[1]\nDCL OUT[2], GENERIC[5]\nDCL OUT[3], COLOR\n";

/// What a fragment program begins with.
const FRAGMENT: &str = "FRAG\nDCL IN[0], POSITION, LINEAR\nDCL IN[1], GENERIC[0], CONSTANT\nDCL IN[2], GENERIC[1], LINEAR\n\
    DCL IN[3], GENERIC[2], PERSPECTIVE\nDCL IN[4], COLOR, COLOR\nDCL IN[5], FACE, CONSTANT\n\
    DCL IN[6], GENERIC[3], PERSPECTIVE\nDCL SV[0], FACE\n\
    DCL SV[1], PRIM_ID\nDCL OUT[0], COLOR\nDCL OUT[1], COLOR[1]\nDCL OUT[2], COLOR[3]\n";

/// What one that writes depth has besides.
const DEPTH: &str = "DCL OUT[3], POSITION\n";

/// What inputs are divided by, in IN[6]: between 1 and 2.
const DIVISOR: &str = "GENERIC[3]";

/// Threads of a vertex program.
const VERTICES: u32 = 40;

pub(super) struct Program {
    pub text: String,
    pub json: String,
}

struct Generator<'u, 'a> {
    u: &'u mut Unstructured<'a>,
    text: String,
    imms: Vec<[u32; 4]>,
    /// Instructions that may still come.
    left: u32,
    depth: u32,
    loops: u32,
    pixels: bool,
    /// All inputs are exact.
    exact: bool,
}

/// Makes a program and its test.
pub(super) fn program(u: &mut Unstructured<'_>) -> Result<Program> {
    let pixels = u.ratio(2, 3)?;
    let exact = !pixels || u.ratio(3, 4)?;
    let depth = pixels && u.ratio(1, 2)?;
    let left = u.int_in_range(4..=50)?;
    let imms = vec![[0; 4]];
    let mut g = Generator { u, text: String::new(), imms, left, depth: 0, loops: 0, pixels, exact };
    for n in 0..WORDS {
        let s = g.input(true)?;
        g.line(format!("MOV TEMP[{n}], {s}"));
    }
    for n in WORDS..=CONDITION {
        g.line(format!("MOV TEMP[{n}], IMM[0].xxxx"));
    }
    g.body(14)?;
    for n in 0..2 {
        g.line(format!("MOV OUT[{n}], TEMP[{n}]"));
    }
    g.line(format!("MOV OUT[2], TEMP[{SUM}]"));
    match (pixels, depth) {
        (true, true) => g.line("MOV OUT[3].z, TEMP[2].xxxx"),
        (true, false) => {}
        (false, _) => g.line("MOV OUT[3], TEMP[2]"),
    }
    g.line("END");
    let json = g.json()?;
    let mut text =
        format!("{}{}{COMMON}", if pixels { FRAGMENT } else { VERTEX }, if depth { DEPTH } else { "" });
    for (n, v) in g.imms.iter().enumerate() {
        let _ = writeln!(text, "IMM[{n}] UINT32 {{{}, {}, {}, {}}}", v[0], v[1], v[2], v[3]);
    }
    for (count, line) in g.text.lines().enumerate() {
        let _ = writeln!(text, "{count:3}: {line}");
    }
    Ok(Program { text, json })
}

impl Generator<'_, '_> {
    fn line(&mut self, s: impl AsRef<str>) {
        let _ = writeln!(self.text, "{}", s.as_ref());
        self.left = self.left.saturating_sub(1);
    }

    fn below(&mut self, n: u32) -> Result<u32> {
        self.u.int_in_range(0..=n - 1)
    }

    fn imm(&mut self, v: [u32; 4]) -> String {
        let known = self.imms.iter().position(|w| *w == v);
        let n = known.unwrap_or_else(|| {
            self.imms.push(v);
            self.imms.len() - 1
        });
        format!("IMM[{n}]")
    }

    fn float(&mut self, v: f32) -> String {
        self.imm([v.to_bits(); 4])
    }

    fn swizzle(&mut self) -> Result<String> {
        (0..4).map(|_| Ok(char::from(b"xyzw"[self.below(4)? as usize]))).collect()
    }

    fn mask(&mut self) -> Result<String> {
        let m = self.u.int_in_range(1..=15u32)?;
        let comps: String = (0..4).filter(|c| m >> c & 1 != 0).map(|c| char::from(b"xyzw"[c])).collect();
        Ok(if m == 15 { String::new() } else { format!(".{comps}") })
    }

    /// An input or system value; `exact`: it is the same to the last bit.
    fn input(&mut self, exact: bool) -> Result<String> {
        if !self.pixels {
            return Ok(match self.below(5)? {
                n @ 0..3 => format!("IN[{n}].{}", self.swizzle()?),
                n => format!("SV[{}].xxxx", n - 3),
            });
        }
        if !exact || self.exact && self.u.ratio(1, 2)? {
            let n = 2 + self.below(3)?;
            return Ok(format!("IN[{n}].{}", self.swizzle()?));
        }
        Ok(match self.below(5)? {
            0 if self.exact => format!("IN[0].{}", self.swizzle()?),
            0 => "IN[0].xyyx".to_owned(),
            1 => "IN[5].xxxx".to_owned(),
            2 => format!("SV[{}].xxxx", self.below(2)?),
            _ => format!("IN[1].{}", self.swizzle()?),
        })
    }

    /// An operand that is the same to the last bit.
    fn source(&mut self) -> Result<String> {
        let reg = match self.below(12)? {
            0 => {
                let v = [self.u.arbitrary()?, self.u.arbitrary::<u8>()?.into(), 0x3f80_0000, 0xbf00_0000];
                format!("{}.{}", self.imm(v), self.swizzle()?)
            }
            1 => format!("CONST[0][{}].{}", self.below(8)?, self.swizzle()?),
            2 | 3 => self.input(true)?,
            _ => format!("TEMP[{}].{}", self.below(WORDS)?, self.swizzle()?),
        };
        let reg = if self.u.ratio(1, 8)? { format!("|{reg}|") } else { reg };
        Ok(if self.u.ratio(1, 6)? { format!("-{reg}") } else { reg })
    }

    fn body(&mut self, most: u32) -> Result<()> {
        for _ in 0..self.u.int_in_range(1..=most)? {
            if self.left == 0 {
                break;
            }
            self.statement()?;
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<()> {
        match self.below(20)? {
            0 | 1 if self.depth < 3 => self.branch(),
            2 if self.depth < 3 && self.loops < 2 => self.repeat(),
            3 if self.pixels => self.discard(),
            4 | 5 if self.pixels && self.depth == 0 => self.derivative(),
            6 | 7 if self.depth == 0 => self.lookup(),
            8 if self.pixels && self.exact => self.interpolate(),
            9 if self.pixels => {
                let (s, v) = (self.input(false)?, self.float(0.25));
                self.line(format!("MAD TEMP[{SUM}], {s}, {v}, TEMP[{SUM}]"));
                Ok(())
            }
            10 if self.pixels && self.u.ratio(1, 2)? => self.quotient(),
            10 if self.pixels => {
                let (d, m) = (self.below(WORDS)?, self.mask()?);
                self.line(format!("READ_HELPER TEMP[{d}]{m}"));
                Ok(())
            }
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<()> {
        let &(op, n) = self.u.choose(WORD)?;
        let mut line = format!("{op} TEMP[{}]{}", self.below(WORDS)?, self.mask()?);
        for _ in 0..n {
            let s = self.source()?;
            let _ = write!(line, ", {s}");
        }
        self.line(line);
        Ok(())
    }

    fn branch(&mut self) -> Result<()> {
        let (op, s) = (*self.u.choose(&["IF", "UIF"])?, self.source()?);
        self.line(format!("{op} {s}"));
        self.depth += 1;
        self.body(4)?;
        if self.u.ratio(1, 2)? {
            self.line("ELSE");
            self.body(4)?;
        }
        self.depth -= 1;
        self.line("ENDIF");
        Ok(())
    }

    fn repeat(&mut self) -> Result<()> {
        let counter = COUNTERS + self.loops;
        let (rounds, one) = (self.u.int_in_range(1..=4)?, self.imm([1; 4]));
        let rounds = self.imm([rounds; 4]);
        self.line(format!("MOV TEMP[{counter}].x, IMM[0].xxxx"));
        self.line("BGNLOOP");
        self.line(format!("USGE TEMP[{CONDITION}].x, TEMP[{counter}].xxxx, {rounds}"));
        self.line(format!("UIF TEMP[{CONDITION}].xxxx"));
        self.line("BRK");
        self.line("ENDIF");
        self.line(format!("UADD TEMP[{counter}].x, TEMP[{counter}].xxxx, {one}"));
        (self.depth, self.loops) = (self.depth + 1, self.loops + 1);
        self.body(4)?;
        if self.u.ratio(1, 3)? {
            let (s, jump) = (self.source()?, *self.u.choose(&["BRK", "CONT"])?);
            self.line(format!("UIF {s}"));
            self.line(jump);
            self.line("ENDIF");
            self.body(2)?;
        }
        (self.depth, self.loops) = (self.depth - 1, self.loops - 1);
        self.line("ENDLOOP");
        Ok(())
    }

    fn discard(&mut self) -> Result<()> {
        let s = self.source()?;
        if self.u.ratio(1, 2)? {
            self.line(format!("KILL_IF {s}"));
            return Ok(());
        }
        // Not too often: most components are not so small.
        let (some, op) = (self.imm([1 << 28; 4]), *self.u.choose(&["KILL", "DEMOTE"])?);
        self.line(format!("USLT TEMP[{CONDITION}].x, {s}, {some}"));
        self.line(format!("UIF TEMP[{CONDITION}].xxxx"));
        self.line(op);
        self.line("ENDIF");
        Ok(())
    }

    fn derivative(&mut self) -> Result<()> {
        let (d, m, s) = (self.below(WORDS)?, self.mask()?, self.source()?);
        let op = *self.u.choose(&["DDX", "DDY", "DDX_FINE", "DDY_FINE"])?;
        self.line(format!("{op} TEMP[{d}]{m}, {s}"));
        Ok(())
    }

    fn interpolate(&mut self) -> Result<()> {
        let (d, m, n) = (self.below(WORDS)?, self.mask()?, 1 + self.below(4)?);
        let s = self.swizzle()?;
        if self.u.ratio(1, 4)? {
            self.line(format!("INTERP_CENTROID TEMP[{d}]{m}, IN[{n}].{s}"));
            return Ok(());
        }
        let mut at = || Ok((self.u.int_in_range(-8..=7)? as f32 / 16.0).to_bits());
        let v = [at()?, at()?, 0, 0];
        let v = self.imm(v);
        self.line(format!("INTERP_OFFSET TEMP[{d}]{m}, IN[{n}].{s}, {v}.xyyy"));
        Ok(())
    }

    /// A perspective input divided by another.
    fn quotient(&mut self) -> Result<()> {
        let (s, v) = (self.swizzle()?, self.float(0.25));
        let (n, below) = (*self.u.choose(&[3, 6])?, *self.u.choose(&["xxxx", "yyyy", "wwww"])?);
        self.line(format!("RCP TEMP[{SCRATCH}].x, IN[6].{below}"));
        self.line(format!("MUL TEMP[{SCRATCH}], IN[{n}].{s}, TEMP[{SCRATCH}].xxxx"));
        self.line(format!("MAD TEMP[{SUM}], TEMP[{SCRATCH}], {v}, TEMP[{SUM}]"));
        Ok(())
    }

    fn lookup(&mut self) -> Result<()> {
        let s = if self.pixels && self.exact && self.u.ratio(3, 4)? {
            let n = 2 + self.below(3)?;
            let (s, scale) =
                (format!("IN[{n}].{}", self.swizzle()?), *self.u.choose(&[0.0625f32, 0.25, 1.0])?);
            let scale = self.float(scale);
            self.line(format!("MUL TEMP[{SCRATCH}], {s}, {scale}"));
            format!("TEMP[{SCRATCH}]")
        } else {
            self.source()?
        };
        let (low, high) = (self.float(-3.0), self.float(3.0));
        self.line(format!("MAX TEMP[{SCRATCH}], {s}, {low}"));
        self.line(format!("MIN TEMP[{SCRATCH}], TEMP[{SCRATCH}], {high}"));
        let op = if self.pixels { *self.u.choose(&["TEX", "TEX", "TXB", "TXL"])? } else { "TXL" };
        let (unit, target) = if self.u.ratio(1, 4)? {
            // Some way from zero, and from the edges of faces.
            let v = self.imm([0x4080_0000, 0, 0, 0]);
            self.line(format!("ADD TEMP[{SCRATCH}].xyz, TEMP[{SCRATCH}], {v}"));
            (1, "CUBE")
        } else {
            (0, "2D")
        };
        self.line(format!("{op} TEMP[{0}], TEMP[{SCRATCH}], SAMP[{unit}], {target}", SCRATCH + 1));
        let v = self.float(0.5);
        self.line(format!("MAD TEMP[{SUM}], TEMP[{}], {v}, TEMP[{SUM}]", SCRATCH + 1));
        Ok(())
    }

    fn words(&mut self, n: u32) -> Result<Vec<u32>> {
        (0..n)
            .map(|_| Ok(if self.u.ratio(1, 3)? { self.u.arbitrary()? } else { self.small()?.to_bits() }))
            .collect()
    }

    fn small(&mut self) -> Result<f32> {
        Ok(self.u.int_in_range(-64..=64)? as f32 / 4.0)
    }

    /// An input at a corner of a triangle.
    fn corner(&mut self, name: &str) -> Result<Vec<u32>> {
        match name {
            "GENERIC[0]" => self.words(4),
            DIVISOR => (0..4).map(|_| Ok((1.0 + self.below(5)? as f32 / 4.0).to_bits())).collect(),
            _ => (0..4).map(|_| Ok(self.small()?.to_bits())).collect(),
        }
    }

    fn json(&mut self) -> Result<String> {
        let quote = |w: &[u32]| {
            format!("[{}]", w.iter().map(|w| format!("\"{w:#x}\"")).collect::<Vec<_>>().join(","))
        };
        let hex = |w: &[u32]| bytes(w).iter().map(|b| format!("{b:02x}")).collect::<String>();
        let mut test = String::new();
        if self.pixels {
            let mut varyings = Vec::new();
            for name in ["GENERIC[0]", "GENERIC[1]", "GENERIC[2]", "COLOR[0]", DIVISOR] {
                let corners: Result<Vec<String>> = (0..3).map(|_| Ok(quote(&self.corner(name)?))).collect();
                varyings.push(format!("\"{name}\":[{}]", corners?.join(",")));
            }
            let w = *self.u.choose(&[1.0f32, 0.5, 4.0])?;
            let ws = if self.exact { [w; 3] } else { [w, 0.75 * w, 0.3 * w] };
            let z: [u32; 3] = [self.below(9)?, self.below(9)?, self.below(9)?];
            let place =
                |n: usize, x: u32, y: u32| format!("[{x}.0,{y}.0,{:?},{:?}]", z[n] as f32 / 8.0, ws[n]);
            let (front, flat): (bool, u32) = (self.u.arbitrary()?, self.below(3)?);
            let _ = write!(
                test,
                "\"triangle\":{{\"window\":[{},{},{}],\"front\":{front},\"flat_vertex\":{flat},\"primitive_id\":{},\
                 \"varyings\":{{{}}}}},\"flat_shade\":{},\"quads\":[",
                place(0, 0, 0),
                place(1, 64, 0),
                place(2, 0, 64),
                self.below(100)?,
                varyings.join(","),
                self.u.arbitrary::<bool>()?
            );
            for n in 0..10 {
                let (x, y) = (2 * self.below(16)?, 2 * self.below(16)?);
                let mut cover = [1u32; 4];
                if self.u.ratio(1, 2)? {
                    for c in &mut cover {
                        *c = self.u.arbitrary::<bool>()?.into();
                    }
                }
                let _ =
                    write!(test, "{}{{\"at\":[{x},{y}],\"cover\":{cover:?}}}", if n > 0 { "," } else { "" });
            }
            test += "]";
        } else {
            let mut inputs = Vec::new();
            for n in 0..3 {
                let all: Result<Vec<String>> = (0..VERTICES).map(|_| Ok(quote(&self.words(4)?))).collect();
                inputs.push(format!("\"IN[{n}]\":[{}]", all?.join(",")));
            }
            let ids: Vec<u32> = (100..100 + VERTICES).collect();
            let _ = write!(
                test,
                "\"vertices\":{{\"count\":{VERTICES},\"inputs\":{{{}}},\"system\":{{\"VERTEXID\":{ids:?}}}}}",
                inputs.join(",")
            );
        }
        let (constants, texels, faces) = (self.words(32)?, self.texels(85)?, self.texels(24)?);
        let filter = *self.u.choose(&["nearest", "linear"])?;
        let mip = *self.u.choose(&["none", "nearest", "linear"])?;
        let wrap = *self.u.choose(&["repeat", "clamp_to_edge", "mirrored_repeat"])?;
        Ok(format!(
            "{{\"source\":\"case.tgsi\",\"tests\":[{{\"name\":\"case\",{test},\n\"uniforms\":\"c\",\
             \"buffers\":{{\"c\":{{\"type\":\"u8\",\"len\":128,\"init\":{{\"hex\":\"{}\"}}}}}},\n\"images\":{{\
             \"t\":{{\"type\":\"2d\",\"format\":\"rgba8\",\"size\":[8,8,1],\"levels\":4,\"init\":{{\"hex\":\"{}\"}}}},\
             \"cube\":{{\"type\":\"cube\",\"format\":\"rgba8\",\"size\":[2,2,6],\"levels\":1,\"init\":{{\"hex\":\"{}\"}}}}}},\
             \"textures\":{{\"0\":{{\"image\":\"t\",\"min\":\"{filter}\",\"mag\":\"{filter}\",\"mip\":\"{mip}\",\
             \"wrap\":[\"{wrap}\",\"{wrap}\",\"{wrap}\"]}},\"1\":{{\"image\":\"cube\",\"min\":\"nearest\",\"mag\":\"nearest\",\
             \"mip\":\"none\"}}}}}}]}}",
            hex(&constants),
            hex(&texels),
            hex(&faces)
        ))
    }

    fn texels(&mut self, n: u32) -> Result<Vec<u32>> {
        (0..n).map(|_| self.u.arbitrary()).collect()
    }
}

/// The results that a program has, each with whether it is exact.
fn results(pixels: bool) -> [(Semantic, bool); 4] {
    if pixels {
        [
            (Semantic::Color(0), true),
            (Semantic::Color(1), true),
            (Semantic::Color(3), false),
            (Semantic::Depth, true),
        ]
    } else {
        let exact = [Semantic::Position, Semantic::Generic(1), Semantic::Color(0)];
        [(exact[0], true), (exact[1], true), (Semantic::Generic(5), false), (exact[2], true)]
    }
}

/// A word that is expected.
fn item(exact: bool, v: Option<u32>) -> Tree {
    let Some(v) = v else { return Tree::Nothing };
    let x = f32::from_bits(v);
    Tree::Item(match exact {
        true => Item::Text(format!("{v:#x}")),
        false if x.is_nan() => Item::Text("nan".into()),
        false if x.is_infinite() => Item::Text(if x > 0.0 { "inf" } else { "-inf" }.into()),
        false => Item::Float(x.into()),
    })
}

fn list(exact: bool, v: [Option<u32>; 4]) -> Tree {
    Tree::List(v.map(|v| item(exact, v)).into())
}

/// What is expected of the exact results, or of the others.
fn expectation(output: &Output, exact: bool) -> Tree {
    let mut table = BTreeMap::new();
    let pixels = matches!(output, Output::Fragments(_));
    for (semantic, _) in results(pixels).into_iter().filter(|r| r.1 == exact) {
        let values = match output {
            Output::Vertices(all) => {
                let at = semantic.address().expect("it has one");
                let of = |a: &Attributes| list(exact, [0, 4, 8, 12].map(|c| a.get(at + c)));
                all.iter().map(of).collect()
            }
            Output::Fragments(all) => {
                let of = |f: &Fragment| match semantic {
                    _ if !f.covered || f.killed => Tree::Nothing,
                    Semantic::Color(n) => list(exact, f.colors[usize::from(n)]),
                    _ => item(exact, f.depth),
                };
                all.iter().map(|quad| Tree::List(quad.iter().map(of).collect())).collect()
            }
            _ => Vec::new(),
        };
        table.insert(semantic.to_string(), Tree::List(values));
    }
    if let (Output::Fragments(all), true) = (output, exact) {
        let of = |f: &Fragment| Tree::Item(Item::Int(f.killed.into()));
        let values = all.iter().map(|quad| Tree::List(quad.iter().map(of).collect())).collect();
        table.insert("KILLED".into(), Tree::List(values));
    }
    Tree::Table(table)
}

fn loaded(fixture: &Fixture, text: &str) -> Loaded {
    Loaded::new(Path::new("case.json"), fixture.clone(), text.as_bytes().to_vec())
        .expect("nothing is missing")
}

/// The fixture of a program with what the interpreter gives; why it stops, if it does.
pub(super) fn expected(json: &str, text: &str) -> std::result::Result<Fixture, String> {
    let mut fixture = Fixture::parse(Path::new("case.json"), json).expect("a fixture");
    let mut output = None;
    let outcomes =
        loaded(&fixture, text).interpret_outputs(None, 1 << 22, |_, _| (), |o| output = Some(o.clone()));
    let output = match (outcomes.into_iter().next(), output) {
        (Some((_, Outcome::Failed(why))), _) => return Err(why),
        (_, None) => return Err("nothing was left".into()),
        (_, Some(output)) => output,
    };
    let mut near = fixture.tests[0].clone();
    near.name = "near".into();
    near.expect = Some(expectation(&output, false));
    near.tolerance = Some(Tolerance { abs: Some(2e-3), rel: Some(1e-4), ..Tolerance::default() });
    fixture.tests[0].expect = Some(expectation(&output, true));
    // Where no pixel is left, there is nothing to compare.
    let left = match &output {
        Output::Fragments(all) => all.iter().flatten().any(|f| f.covered && !f.killed),
        _ => true,
    };
    fixture.tests.extend(left.then_some(near));
    Ok(fixture)
}

/// What the compiled program does otherwise.
pub(super) fn difference(fixture: &Fixture, text: &str, config: &Config) -> Option<String> {
    let reports = loaded(fixture, text).run(config.chip, None, &config.settings, &mut None, |_, _| ());
    reports.into_iter().find_map(|r| match r.outcome {
        Outcome::Failed(why) if why != "expect: nothing is compared" => Some(format!("{}: {why}", r.name)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The programs are not all of one kind, and leave something to compare.
    #[test]
    fn programs_have_what_stages_have() {
        let wanted = [
            "VERT",
            "TEX ",
            "TXB",
            "TXL",
            "DDX",
            "DDY",
            "KILL",
            "BGNLOOP",
            "IF ",
            "INTERP_",
            "READ_HELPER",
            "OUT[3].z",
        ];
        let mut found = [0; 12];
        let (mut left, mut killed) = (0, 0);
        let mut random = nvir::random::Random::new(1);
        for _ in 0..150 {
            let bytes = random.bytes(4096);
            let Program { text, json } = program(&mut Unstructured::new(&bytes)).expect("there are bytes");
            found.iter_mut().zip(wanted).for_each(|(n, w)| *n += u32::from(text.contains(w)));
            let fixture = expected(&json, &text).unwrap_or_else(|e| panic!("{text}\n{e}"));
            let Some(Tree::Table(table)) = &fixture.tests[0].expect else { continue };
            let Some(Tree::List(quads)) = table.get("KILLED") else { continue };
            let lanes = quads.iter().flat_map(|q| if let Tree::List(l) = q { l.as_slice() } else { &[] });
            for lane in lanes {
                match lane {
                    Tree::Item(Item::Int(1)) => killed += 1,
                    _ => left += 1,
                }
            }
        }
        println!("{found:?} of 150 programs have {wanted:?}; {killed} pixels discarded, {left} left");
        assert!(found.iter().all(|&n| n >= 3), "{found:?} of {wanted:?}");
        assert!(killed > 100 && left > 500, "{killed} pixels discarded, {left} left");
    }
}
