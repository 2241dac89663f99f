//! `nvir debug`: what scripts lead to, forwards and backwards.

use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a script of commands, one a line, prints.
fn debugged(name: &str, args: &[&str], commands: &str) -> String {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debug");
    std::fs::create_dir_all(&dir).expect("a folder");
    let script = dir.join(name);
    std::fs::write(&script, commands).expect("written");
    let mut c = Command::new(env!("CARGO_BIN_EXE_nvir"));
    c.arg("debug").args(args).arg("--script").arg(&script).current_dir(repository()).env_remove("RUST_LOG");
    let out = c.output().expect("nvir runs");
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{said}{}", String::from_utf8_lossy(&out.stderr));
    said
}

/// The numbers of the instructions at which it stopped.
fn stops(said: &str) -> Vec<u64> {
    let numbers = said.lines().filter_map(|l| l.strip_prefix('#'));
    numbers.filter_map(|l| l.split(' ').next()?.parse().ok()).collect()
}

const GROUPS: [&str; 5] =
    ["tgsi/get-num-groups.toml", "--test", "1D, 16 items in groups of 4", "-t", "gk110"];

#[test]
fn steps_lead_forwards_and_backwards_over_the_same_instructions() {
    let said = debugged("steps", &GROUPS, "step\nstep 2\nrstep\nrstep\nrstep\nrstep\ngoto 3\n");
    assert_eq!(stops(&said), [1, 2, 4, 3, 2, 1, 1, 3], "{said}");
    assert!(said.contains("there is none before; this is the beginning"), "{said}");
    assert!(said.contains("=> 0x0008  S2R R0, SR_CTAID.X"), "scheduling words are none: {said}");
    assert!(said.contains("R1 = 00000000 00000001 00000002 00000003"), "what was written: {said}");
}

#[test]
fn breakpoints_have_blocks_and_conditions() {
    let said = debugged(
        "breaks",
        &GROUPS,
        "break 0x30 block 2 if R0 >= 0\nrun\nregs R1\nrun\nrrun\nbreaks\ndelete 1\nbreaks\n",
    );
    assert_eq!(said.matches("breakpoint 1\n#").count(), 2, "{said}");
    assert!(said.contains("block (2,0,0) warp 0") && said.contains("=> 0x0030  ST [R0], R1"), "{said}");
    assert!(said.contains("the test passed"), "{said}");
    let [first, hit, again] = *stops(&said) else { panic!("{said}") };
    assert!(first == 1 && hit == again, "backwards from the end to the same place: {said}");
    assert!(said.contains("1: 0x0030, block 2,0,0, under a condition"), "{said}");
    assert!(said.contains("there are none; faults stop always"), "{said}");
}

#[test]
fn what_is_watched_says_who_changed_it() {
    let sort = ["nir-fixtures/bitonic_sort.json", "--test", "random permutation", "-t", "gk110"];
    let said = debugged("watch", &sort, "barrier\nx s[0] 2\nwatch s[0]\nrun\nx s[0] 1\nrrun\nrbarrier\n");
    let changed = said.lines().find(|l| l.starts_with("watch 1: s[0x0] was ")).expect("a change");
    let now = changed.rsplit(' ').next().expect("a value");
    assert!(said.contains(&format!("s[0x0]  {now}\n")), "{said}");
    let by = said.lines().find(|l| l.starts_with("   by #")).expect("by whom");
    assert!(by.contains("STS"), "{said}");
    let all = stops(&said);
    assert!(all.len() == 5 && all[4] <= all[1], "{said}");
}

#[test]
fn a_fault_stops_before_its_instruction() {
    let said =
        debugged("fault", &["tgsi/misaligned-pair.toml", "-t", "gk110", "-O", "0"], "run\nwhere\nrstep\n");
    assert!(said.contains("the instruction that faults comes next:"), "{said}");
    let all = stops(&said);
    assert!(all.len() == 4 && all[1] == all[2] && all[3] < all[2], "{said}");
}

#[test]
fn recordings_are_debugged_too() {
    let said = debugged(
        "recording",
        &["crates/vgpu/tests/recordings/kernels.e4.trace"],
        "step 3\nrstep\nregs R0-R3\nrun\n",
    );
    assert!(stops(&said).starts_with(&[1, 4, 3]), "{said}");
    assert!(said.contains("the recording's results are as recorded"), "{said}");
}

#[test]
fn what_cannot_be_done_is_said_and_the_session_goes_on() {
    let said = debugged(
        "wrong",
        &GROUPS,
        "jump\nbreak 0x4\nbreak 999\nx g[0x8] 1\nx R3\nwatch R200\ngoto 0\ndelete 7\nregs R200\nrun\nregs\nstep\nrany\nwhere\n",
    );
    for part in [
        "unknown command `jump`",
        "no instruction is at 0x0004",
        "no instruction is of line 999",
        "g[0x8]: there is no memory",
        "R3 is not in memory",
        "R200: there is nothing",
        "instructions are counted from 1",
        "there is no breakpoint 7",
        "the execution has ended",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.ends_with('\n') && said.contains("EXIT"), "{said}");
    let mut c = Command::new(env!("CARGO_BIN_EXE_nvir"));
    let out =
        c.args(["debug", "tgsi/get-num-groups.toml"]).current_dir(repository()).output().expect("it runs");
    assert!(!out.status.success() && String::from_utf8_lossy(&out.stderr).contains("--test says which"));
}

/// A kernel of the repository with a line of its program changed, as a fixture of its own.
fn seeded(name: &str, of: &str, line: &str, becomes: &str) -> String {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debug");
    std::fs::create_dir_all(&dir).expect("a folder");
    let read = |ending: &str| {
        std::fs::read_to_string(repository().join(format!("tgsi/{of}.{ending}"))).expect("a kernel")
    };
    let (program, fixture) = (read("tgsi"), read("toml"));
    assert!(program.contains(line), "{of} has no {line}");
    std::fs::write(dir.join(format!("{name}.tgsi")), program.replace(line, becomes)).expect("written");
    let path = dir.join(format!("{name}.toml"));
    std::fs::write(&path, fixture.replace(of, name)).expect("written");
    path.to_str().expect("UTF-8").to_string()
}

#[test]
fn seeded_faults_are_found() {
    // Without the barrier behind the reads, a warp's next round stores before the other warp has read.
    let race = seeded("race", "prefix-sum", " 20:   BARRIER", " 20:   NOP");
    let said = debugged("race", &[&race, "-t", "gk110"], "watch s[0x7c]\nrun\nrun\n");
    let stores: Vec<&str> = said.lines().filter(|l| l.starts_with("   by #")).collect();
    assert_eq!(stores.len(), 2, "{said}");
    assert!(stores.iter().all(|l| l.contains("warp 0")), "warp 1 has read nothing in between: {said}");

    // Addresses that are too far back: the fault says where, the code which offset.
    let line = " 15:     SHL TEMP[3].y, TEMP[2].xxxx, IMM[0].xxxx";
    let far = seeded("far", "prefix-sum", line, &line.replace("IMM[0].xxxx", "IMM[0].yyyy"));
    let said = debugged("far", &[&far, "-t", "gk110"], "run\n");
    assert!(said.contains("out_of_bounds: 4 bytes at 0xffffc4"), "{said}");
    let fault = said.lines().find(|l| l.contains("out_of_bounds")).unwrap_or_default();
    assert!(fault.contains("LDS R") && fault.contains("+-0x40]") && fault.contains("17:     LOAD"), "{said}");

    // A round too few: the loop is left with 31 where 32 is right.
    let rounds = seeded("rounds", "crc32", "IMM[1] UINT32 {0, 32,", "IMM[1] UINT32 {0, 31,");
    let script = "break 27 lane 0 if R6 == 31\nrun\nregs R6-R7 u lane 0\nstep 3\n";
    let said = debugged("rounds", &[&rounds, "-t", "gk110", "-O", "0"], script);
    assert!(said.contains("R6 = 31          R7 = 4294967295"), "{said}");
    assert!(said.contains("19:   USEQ"), "it is behind the inner loop: {said}");
}
