//! Loops nested so deeply that what they count and keep goes through local memory, as it must where too many values live
//! across too many blocks: the values are those that the host computes.

use nvir::compiler::{DebugOptions, OptLevel, Options};
use nvir::emu::Checks;
use nvir::{Chip, Compiler, Language, Source};
use nvir_fixture::format::Fixture;
use nvir_fixture::run::{Loaded, Outcome, Settings};
use std::fmt::Write;
use std::path::Path;

const LANES: u32 = 32;

/// `n` loops. Each keeps a value and a counter; the innermost three go round once or twice, as the lane's number says.
fn text(n: usize) -> String {
    let (condition, bound, sum) = (n, n + 1, n + 2);
    let mut t = format!(
        "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH {LANES}\nPROPERTY CS_FIXED_BLOCK_HEIGHT 1\n\
         PROPERTY CS_FIXED_BLOCK_DEPTH 1\nDCL SV[0], THREAD_ID\nDCL BUFFER[0]\nDCL TEMP[0..{sum}]\n\
         IMM[0] UINT32 {{0, 1, 3, 4}}\n\
         AND TEMP[{bound}].x, SV[0].xxxx, IMM[0].yyyy\n\
         UADD TEMP[{bound}].x, TEMP[{bound}].xxxx, IMM[0].yyyy\nMOV TEMP[{sum}].x, SV[0].xxxx\n"
    );
    for k in 0..n {
        let bound = if k + 3 < n { "IMM[0].yyyy".into() } else { format!("TEMP[{bound}].xxxx") };
        let _ = write!(
            t,
            "UADD TEMP[{k}].y, TEMP[{sum}].xxxx, IMM[0].yyyy\nMOV TEMP[{k}].x, IMM[0].xxxx\nBGNLOOP\n\
             USGE TEMP[{condition}].x, TEMP[{k}].xxxx, {bound}\nUIF TEMP[{condition}].xxxx\nBRK\nENDIF\n"
        );
    }
    let _ = writeln!(t, "UADD TEMP[{sum}].x, TEMP[{sum}].xxxx, IMM[0].wwww");
    for k in (0..n).rev() {
        let _ = write!(
            t,
            "UMAD TEMP[{sum}].x, TEMP[{sum}].xxxx, IMM[0].zzzz, TEMP[{k}].yyyy\n\
             AND TEMP[{condition}].x, TEMP[{k}].xxxx, SV[0].xxxx\nUIF TEMP[{condition}].xxxx\n\
             XOR TEMP[{sum}].x, TEMP[{sum}].xxxx, IMM[0].wwww\nENDIF\n\
             UADD TEMP[{k}].x, TEMP[{k}].xxxx, IMM[0].yyyy\nENDLOOP\n\
             UADD TEMP[{sum}].x, TEMP[{sum}].xxxx, TEMP[{k}].xxxx\n\
             XOR TEMP[{sum}].x, TEMP[{sum}].xxxx, TEMP[{k}].yyyy\n"
        );
    }
    let _ = writeln!(
        t,
        "UMUL TEMP[{condition}].x, SV[0].xxxx, IMM[0].wwww\n\
         STORE BUFFER[0].x, TEMP[{condition}].xxxx, TEMP[{sum}].xxxx\nEND"
    );
    t
}

/// What a lane's sum is after loop `k` and those inside it.
fn expected(k: usize, n: usize, mut sum: u32, lane: u32) -> u32 {
    if k == n {
        return sum.wrapping_add(4);
    }
    let kept = sum.wrapping_add(1);
    let bound = if k + 3 < n { 1 } else { 1 + (lane & 1) };
    for count in 0..bound {
        sum = expected(k + 1, n, sum, lane).wrapping_mul(3).wrapping_add(kept);
        if count & lane != 0 {
            sum ^= 4;
        }
    }
    sum.wrapping_add(bound) ^ kept
}

fn check(n: usize, through_memory: bool) {
    let text = text(n);
    let expect: Vec<u32> = (0..LANES).map(|lane| expected(0, n, lane, lane)).collect();
    let fixture = format!(
        "source = \"nested.tgsi\"\n[[tests]]\nname = \"{n} loops\"\ngrid = [1, 1, 1]\nblock = [{LANES}, 1, 1]\n\
         ssbo = {{ 0 = \"b\" }}\n[tests.buffers.b]\ntype = \"u32\"\nlen = {LANES}\nexpect = {expect:?}\n"
    );
    let path = Path::new("nested.toml");
    let fixture = Fixture::parse(path, &fixture).expect("written above");
    let loaded = Loaded::new(path, fixture, text.clone().into_bytes()).expect("written above");
    for chip in Chip::ALL {
        for opt_level in [OptLevel::O0, OptLevel::O3] {
            let debug = DebugOptions { through_memory, ..DebugOptions::verifying() };
            let options = Options { debug, ..Options::at(opt_level) };
            let settings = Settings { options: options.clone(), checks: Checks::ALL, ..Settings::default() };
            for r in loaded.run(chip, None, &settings, &mut None, |_, _| ()) {
                if let Outcome::Failed(why) = r.outcome {
                    panic!("{n} loops, {chip} -O{opt_level}: {why}");
                }
            }
            let source = Source { language: Language::Tgsi, text: &text, entry: None, name: "nested" };
            let shader = Compiler::new(chip).with_options(options).compile(&source).expect("it ran");
            let bytes = 4 * n as u32..20 * n as u32;
            assert!(bytes.contains(&shader.local_bytes), "{n} loops: {} bytes", shader.local_bytes);
            assert!(shader.spills < 20, "{} spilled beside what went to memory at once", shader.spills);
        }
    }
}

#[test]
fn fifty_loops_through_memory_by_force_keep_their_results() {
    check(50, true);
}

#[test]
fn so_many_loops_that_values_go_to_memory_by_themselves_keep_their_results() {
    check(600, false);
}
