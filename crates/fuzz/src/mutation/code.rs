//! Machine code as text and in containers.

use super::mutate::{self, Grammar};
use super::seeds::{self, Seed};
use super::{Seeds, programs};
use crate::own_fault;
use crate::runner::Tally;
use nvir::Chip;
use nvir::image::cubin::{self, Cubin};
use nvir::image::listing::{self, assemble};

const SASS: Grammar = Grammar {
    words: &[
        "R0",
        "R1",
        "R254",
        "R255",
        "R256",
        "RZ",
        "R0.CC",
        "-R1",
        "|R2|",
        "~R3",
        "P0",
        "P7",
        "PT",
        "!P1",
        "CC.F",
        "c[0x0][0x0]",
        "c[0x12][0x4]",
        "c[0x2][R1+0x7ffc]",
        "c[0x1f][0xfffc]",
        "[R0]",
        "[R0+0xffffff]",
        "[R2.64]",
        "-0x80000000",
        "+INF",
        "-QNAN",
        "1.5",
        "SR_TID.X",
        "SR255",
        ".chip gf100",
        ".chip gk110",
        ".kernel k",
        ".registers 255",
        ".shared 4294967295",
        ".stack 4294967295",
        ".barriers 99",
        ".param 0 0x0 4294967295",
        ".param_bytes 4294967295",
        ".constant 2 65537",
        ".constant 99 8",
        ".data 2 0xffffffff 01",
        ".data 2 0x0 0",
        ".sched 1 2 3 4 5 6 7",
        ".raw",
        "<unknown 0xffffffffffffffff>",
        "/*",
        "*/",
        "//",
        ";",
        "again:",
        "BRA again",
        "BRA -0x8",
        "BRA 0x0",
        "SSY 0x0",
        "PBK 0x0",
        "PCNT 0x0",
        "SYNC",
        "BRK",
        "CONT",
        "RET",
        "CAL 0x0",
        "JCAL 0x0",
        "BRX R0 0x0",
        "EXIT",
        "KIL",
        "BPT.INT 0x1",
        "BAR.SYNC R0, R1",
        "BAR.ARV 0x0, 0xfff",
        "LD.E.128 R253, [R0]",
        "ST.128 [R255], R252",
        "ATOM.CAS R0, [R1], R2, R3",
        "LDS.64 R1, [R0+0x1]",
        "VOTE.ALL R0, PT, PT",
        "SHFL.IDX PT, R0, R1, R2, R3",
        "S2R R0, SR_CLOCKLO",
        "TEX R0, R4, 0x0, 0x0, 2D, 0xf",
        "SULD.P.2D.U32.IGN R0, [R2], R4, P0",
        "TEXDEPBAR 0x3f",
        "P2R R0, PR, R1, 0xff",
        "@P0",
        "@!PT",
        ".FTZ",
        ".U.S8",
        ".64",
        ".E",
    ],
    nests: &[],
    depth: 0,
};

static SASS_SEEDS: Seeds<Seed<String>> =
    Seeds::new("sass", seeds::sass, |a, b, r| mutate::text(&a.data, &b.data, &SASS, r).into_bytes());

pub(crate) fn sass_input(case: u64) -> (Vec<u8>, &'static str) {
    SASS_SEEDS.input(case)
}

pub(crate) fn sass(case: u64, tally: &mut Tally) -> Result<(), String> {
    let (mutant, mut r) = SASS_SEEDS.mutant(case);
    let text = mutant.text();
    let chip = *r.of_list(&Chip::ALL);
    let first = match assemble(text, chip, "k") {
        Ok(a) => a,
        Err(d) => return programs::refused(&d, text, tally),
    };
    tally.count("assembled");
    let words = r.one_in(2);
    let printed = listing::print(first.chip, &first.kernels, listing::Options { words });
    let second = assemble(&printed, chip, "k").map_err(|d| {
        format!("its own listing is refused: {}\n{printed}", programs::rendered(&d, &printed))
    })?;
    for (a, b) in first.kernels.iter().zip(&second.kernels) {
        if a.code != b.code {
            let at = a.code.iter().zip(&b.code).position(|(x, y)| x != y).unwrap_or(0);
            return Err(format!(
                "word {at} of its own listing differs: {:x?}",
                (a.code.get(at), b.code.get(at))
            ));
        }
    }
    if first.kernels.len() != second.kernels.len() {
        return Err("its own listing has another number of kernels".into());
    }
    let fixture = &SASS_SEEDS.all()[mutant.seed].fixture;
    programs::launch(fixture, "k.sass", &mutant.data, first.chip, &mut r, tally)
}

static CUBIN_SEEDS: Seeds<Seed<Vec<u8>>> =
    Seeds::new("cubin", seeds::cubins, |a, b, r| mutate::bytes(&a.data, &b.data, r));

pub(crate) fn cubin_input(case: u64) -> (Vec<u8>, &'static str) {
    CUBIN_SEEDS.input(case)
}

pub(crate) fn cubin(case: u64, tally: &mut Tally) -> Result<(), String> {
    let (mutant, mut r) = CUBIN_SEEDS.mutant(case);
    let file = match Cubin::read(&mutant.data) {
        Ok(f) => f,
        Err(e) => return own_fault(&e.to_string()),
    };
    tally.count("read");
    let printed = listing::print(file.chip, &file.kernels, listing::Options { words: r.one_in(2) });
    // What names stand for in a broken container may be no text of a listing; codes alone always are.
    if let Some(k) = file.kernels.first() {
        let plain = cubin::Kernel { name: "k".into(), code: k.code.clone(), ..Default::default() };
        let printed = listing::print(file.chip, &[plain], listing::Options::default());
        match assemble(&printed, file.chip, "k") {
            Ok(a) if a.kernels[0].code == k.code => tally.count("listed"),
            Ok(a) => {
                let both = a.kernels[0].code.iter().zip(&k.code);
                let at = both.clone().position(|(x, y)| x != y).unwrap_or(0);
                return Err(format!("a word changes by listing: {:x?}", both.clone().nth(at)));
            }
            Err(_) if k.code.is_empty() => {}
            Err(d) => {
                return Err(format!("its listing is refused: {}", programs::rendered(&d, &printed)));
            }
        }
    }
    let _ = assemble(&printed, file.chip, "k");
    let again = cubin::write(file.chip, &file.kernels);
    Cubin::read(&again).map_err(|e| format!("what is written again is refused: {e}"))?;
    let mut fixture = CUBIN_SEEDS.all()[mutant.seed].fixture.clone();
    if let Some(k) = file.kernels.first() {
        fixture.kernel = Some(nvir_fixture::format::Name::Text(k.name.clone()));
    }
    programs::launch(&fixture, "k.cubin", &mutant.data, file.chip, &mut r, tally)
}
