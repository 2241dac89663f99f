//! Units as relocatable cubins.
//!
//! ```text
//! .text.f       code; calls of functions in other sections lead nowhere
//! .rela.text.f  a relocation a call (R_CUDA_PCREL_IMM24), to the symbol of the callee
//!               a relocation an access of the frame (R_CUDA_ABS24), to the section's symbol
//! .nv.local.f   as long as the frame, without contents
//! .nvir.facts   the table of facts
//! ```
//!
//! Everything else is as ptxas -c has it: attributes of registers and stack, `EIATTR_EXTERNS`,
//! undefined symbols.

use super::{Function, Reloc, Target, Unit, UnitError, World, facts};
use crate::chip::Chip;
use nvir_asm::cubin::Kernel;
use nvir_asm::cubin::read::{bytes, open, target, word};
use nvir_asm::cubin::write::*;
use object::read::elf::{ElfFile, FileHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};
use rustc_hash::FxHashMap;

/// The section with the table of facts.
pub(super) const FACTS: &str = ".nvir.facts";
const FRAME: &str = ".nv.local.";
const RELA: u32 = 4;
const RELA_BYTES: u64 = 24;
const EXTERNS: u8 = 0x0f;

/// Types of relocations by where the field of 24 bits begins: in bit 26 on Fermi and GK104, in bit
/// 23 on GK110. Source: nvdisasm.
fn types(chip: Chip) -> [u32; 2] {
    if chip == Chip::Gk110 { [41, 16] } else { [40, 15] }
}

/// A section with a table of facts.
pub(super) fn facts_section(text: String) -> Section {
    Section::new(FACTS, PROGBITS, 1, text.into_bytes())
}

/// The function as the container's writer knows kernels.
fn kernel(f: &Function) -> Kernel {
    let launch = f.kernel.clone().unwrap_or_default();
    Kernel {
        name: f.name.clone(),
        code: f.code.clone(),
        gprs: f.facts.gprs.max(Chip::MIN_LAUNCH_GPRS),
        barriers: f.facts.barriers,
        shared: f.facts.shared,
        stack: f.facts.frame,
        block_size: launch.block_size.filter(|size| !size.contains(&0)),
        param_bytes: launch.input_bytes,
        ..Kernel::default()
    }
}

impl Unit {
    /// The file.
    pub fn write(&self) -> Vec<u8> {
        let kernels: Vec<Kernel> = self.functions.iter().map(kernel).collect();
        let locals_of = |f: &Function, k: &Kernel| {
            let own = if f.kernel.is_some() { symbols_of(k) } else { 1 };
            own + u32::from(f.facts.frame > 0)
        };
        let first_global = 1 + self.functions.iter().zip(&kernels).map(|(f, k)| locals_of(f, k)).sum::<u32>();
        // Functions that are here, then those that are not, in the order of first calls.
        let mut symbols: FxHashMap<&str, u32> = FxHashMap::default();
        let mut next = first_global;
        for f in &self.functions {
            symbols.insert(&f.name, next);
            next += 1;
        }
        let mut missing: Vec<&str> = Vec::new();
        for c in self.functions.iter().flat_map(|f| &f.calls) {
            symbols.entry(&c.name).or_insert_with(|| {
                missing.push(&c.name);
                next += 1;
                next - 1
            });
        }
        let mut strings = Strings::default();
        let (mut locals, mut globals, mut sections, mut info) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        symbol(&mut locals, 0, 0, 0, 0, 0);
        let mut next_local = 1;
        for (f, k) in self.functions.iter().zip(&kernels) {
            let number = symbols.get(f.name.as_str()).copied().unwrap_or(0);
            let first = FIRST_OF_KERNELS + sections.len() as u32;
            let mut own = match f.kernel {
                Some(_) => {
                    let mut own = kernel_sections(self.chip, k, number, first, next_local);
                    if let Some(info) = own.first_mut() {
                        externs(&mut info.data, f, &symbols);
                        info.size = info.data.len() as u64;
                    }
                    own
                }
                None => function_sections(f, k, number, first, &symbols),
            };
            let text = first + own.iter().position(|s| s.flags & EXEC != 0).unwrap_or(0) as u32;
            if f.facts.frame > 0 {
                let mut s = Section::new(&format!("{FRAME}{}", f.name), NOBITS, 16, Vec::new());
                (s.flags, s.size, s.info) = (ALLOC | WRITE, f.facts.frame.into(), text);
                own.push(s);
            }
            let mut frame = 0;
            for (n, s) in (first..).zip(&own).filter(|(_, s)| s.kind != NV_INFO) {
                symbol(&mut locals, strings.add(&s.name), LOCAL_SECTION, 0, n as u16, 0);
                frame = next_local;
                next_local += 1;
            }
            let name = strings.add(&f.name);
            let entry = if f.kernel.is_some() { KERNEL_ENTRY } else { 0 };
            symbol(&mut globals, name, GLOBAL_FUNCTION, entry, text as u16, f.code.len() as u64 * 8);
            if !f.relocs.is_empty() {
                own.push(relocations(self.chip, f, text, frame, &symbols));
            }
            sections.extend(own);
            sizes(&mut info, number, k.gprs, k.stack);
        }
        for name in missing {
            symbol(&mut globals, strings.add(name), GLOBAL_FUNCTION, 0, 0, 0);
        }
        locals.extend(globals);
        sections.push(facts_section(facts::print(&self.functions)));
        assemble(self.chip, RELOCATABLE, with_tables(strings, locals, first_global, info, sections))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It is no cubin, none of nvir's, not relocatable, or damaged.
    pub fn read(data: &[u8]) -> Result<Unit, UnitError> {
        match data.get(4) {
            Some(1) => parse(&open::<object::elf::FileHeader32<Endianness>>(data)?),
            _ => parse(&open::<object::elf::FileHeader64<Endianness>>(data)?),
        }
    }
}

/// The attribute with the symbols of what is called; its length has 16 bits.
fn externs(attributes: &mut Vec<u8>, f: &Function, symbols: &FxHashMap<&str, u32>) {
    let called: Vec<u32> = f.calls.iter().filter_map(|c| symbols.get(c.name.as_str()).copied()).collect();
    called.chunks(0x3ff0).for_each(|some| sized(attributes, EXTERNS, some));
}

/// The sections of a function that is no kernel: attributes and code.
fn function_sections(
    f: &Function,
    k: &Kernel,
    symbol: u32,
    first: u32,
    symbols: &FxHashMap<&str, u32>,
) -> Vec<Section> {
    let mut attributes = Vec::new();
    externs(&mut attributes, f, symbols);
    let mut info = Section::new(&format!(".nv.info.{}", f.name), NV_INFO, 4, attributes);
    (info.link, info.info) = (SYMBOLS, first + 1);
    let code = f.code.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut text = Section::new(&format!(".text.{}", f.name), PROGBITS, 64, code);
    text.flags = ALLOC | EXEC | u64::from(k.barriers) << 20;
    (text.link, text.info) = (SYMBOLS, k.gprs << 24 | symbol);
    vec![info, text]
}

fn relocations(chip: Chip, f: &Function, text: u32, frame: u32, symbols: &FxHashMap<&str, u32>) -> Section {
    let [call_type, frame_type] = types(chip);
    let mut data = Vec::new();
    for r in &f.relocs {
        let (symbol, kind, addend) = match r.to {
            Target::Call(n) => {
                let callee = f.calls.get(n as usize).and_then(|c| symbols.get(c.name.as_str()));
                (callee.copied().unwrap_or(0), call_type, 0)
            }
            Target::Frame(offset) => (frame, frame_type, u64::from(offset)),
        };
        data.extend(u64::from(r.pc).to_le_bytes());
        data.extend((u64::from(symbol) << 32 | u64::from(kind)).to_le_bytes());
        data.extend(addend.to_le_bytes());
    }
    let mut s = Section::new(&format!(".rela.text.{}", f.name), RELA, 8, data);
    (s.link, s.info, s.entry) = (SYMBOLS, text, RELA_BYTES);
    s
}

fn parse<H: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, H>) -> Result<Unit, UnitError> {
    let (chip, _) = target(file)?;
    let relocatable = file.elf_header().e_type(file.endian()).0 == RELOCATABLE;
    let Some(section) = file.section_by_name(FACTS) else {
        return Err(if relocatable { UnitError::Foreign } else { UnitError::Closed });
    };
    let table = bytes(&section)?;
    let table = std::str::from_utf8(&table)
        .map_err(|_| UnitError::Facts { line: 1, why: "it is not text".into() })?;
    let mut functions = facts::parse(table)?;
    if !relocatable {
        return Err(UnitError::Closed);
    }
    let mut sections: FxHashMap<String, object::SectionIndex> = FxHashMap::default();
    for s in file.sections() {
        if let Some(name) = s.name().ok().and_then(|n| n.strip_prefix(".text.")) {
            sections.insert(name.to_string(), s.index());
        }
    }
    for f in &mut functions {
        let wrong = |why: String| UnitError::Function { function: f.name.clone(), why };
        let section = sections.remove(&f.name).and_then(|n| file.section_by_index(n).ok());
        let section = section.ok_or_else(|| wrong("no section has its code".into()))?;
        let code = bytes(&section)?;
        if !code.len().is_multiple_of(8) || code.len() >= 1 << 24 {
            return Err(wrong("its code is not made of words".into()));
        }
        let mut relocs = Vec::new();
        let calls: FxHashMap<&str, u32> =
            f.calls.iter().zip(0..).map(|(c, n)| (c.name.as_str(), n)).collect();
        let [call_type, frame_type] = types(chip);
        for (offset, r) in section.relocations() {
            let pc =
                u32::try_from(offset).ok().filter(|pc| pc.is_multiple_of(8) && (*pc as usize) < code.len());
            let pc =
                pc.ok_or_else(|| wrong(format!("a relocation at {offset:#x}, which is not an instruction")))?;
            let RelocationFlags::Elf { r_type } = r.flags() else { continue };
            let symbol = match r.target() {
                RelocationTarget::Symbol(s) => file.symbol_by_index(s).ok(),
                _ => None,
            };
            let to = match r_type.0 {
                t if t == call_type => {
                    let name = symbol.as_ref().and_then(|s| s.name().ok()).unwrap_or_default();
                    let n = calls.get(name).copied();
                    Target::Call(
                        n.ok_or_else(|| wrong(format!("it calls `{name}`, which the facts do not say")))?,
                    )
                }
                t if t == frame_type => {
                    let home =
                        symbol.and_then(|s| s.section_index()).and_then(|n| file.section_by_index(n).ok());
                    let name = home.as_ref().and_then(|s| s.name().ok()).and_then(|n| n.strip_prefix(FRAME));
                    let at = u32::try_from(r.addend()).ok().filter(|&at| at < f.facts.frame);
                    match (name, at) {
                        (Some(name), Some(at)) if name == f.name => Target::Frame(at),
                        _ => return Err(wrong(format!("a relocation at {pc:#x} is not into its frame"))),
                    }
                }
                t => return Err(wrong(format!("a relocation of type {t} at {pc:#x}"))),
            };
            relocs.push(Reloc { pc, to });
        }
        f.code = code.chunks(8).map(word).collect();
        f.relocs = relocs;
    }
    Ok(Unit { chip, functions })
}

/// The first line of a table of facts of the closed world.
pub(super) fn closed_head() -> String {
    facts::first_line(World::Closed)
}
