//! The first cases of each target, and what the runner does with findings.

use nvir_fuzz::runner::{self, Options, Tally};
use nvir_fuzz::{TARGETS, Target, target};

fn first_cases_of(name: &str) {
    let target = target(name).expect("there is such a target");
    if let Some(why) = (target.missing)() {
        eprintln!("SKIPPED: {name}: {why}");
        return;
    }
    let report = runner::run(target, 0..target.short, &Options { threads: 2, ..Options::default() }, |_| ());
    let list: String = report
        .findings
        .values()
        .map(|f| format!("case {}, {} times: {}\n", f.first, f.times, f.message))
        .collect();
    assert!(report.findings.is_empty(), "{name}:\n{list}");
    assert_eq!(report.cases, target.short);
    let reached = report.tally.get(target.reaches);
    assert!(reached * 20 >= target.short, "only {reached} of {} cases: {}", target.short, target.reaches);
}

macro_rules! targets {
    ($($function:ident $name:literal)*) => {
        $(#[test] fn $function() { first_cases_of($name); })*

        #[test]
        fn every_target_has_its_test() {
            assert_eq!(TARGETS.iter().map(|t| t.name).collect::<Vec<_>>(), [$($name),*]);
        }
    };
}

targets! {
    tgsi "tgsi"
    tgsi_stages "tgsi-stages"
    nir "nir"
    spirv "spirv"
    ir_passes "ir-passes"
    ir_registers "ir-registers"
    ir_kernel "ir-kernel"
    endless_tgsi "endless-tgsi"
    endless_nir "endless-nir"
    endless_ir "endless-ir"
    whole_warp "whole-warp"
    engines "engines"
    launches "launches"
    mutants_tgsi "mutants-tgsi"
    mutants_nir "mutants-nir"
    mutants_spirv "mutants-spirv"
    mutants_ir "mutants-ir"
    mutants_sass "mutants-sass"
    mutants_cubin "mutants-cubin"
    mutants_fixture "mutants-fixture"
    vgpu_commands "vgpu-commands"
    vgpu_draws "vgpu-draws"
    vgpu_recordings "vgpu-recordings"
    ptx "ptx"
}

/// Every tenth case is wrong, every hundredth panics.
const FAULTY: Target = Target {
    name: "faulty",
    about: "",
    missing: || None,
    run: |case, tally| {
        tally.count("tried");
        assert!(case % 100 != 50, "case {case} is bad");
        if case % 10 == 3 { Err(format!("word {case} differs")) } else { Ok(()) }
    },
    input: |case| (case.to_string().into_bytes(), "txt2"),
    short: 0,
    reaches: "tried",
};

#[test]
fn findings_are_grouped_counted_and_kept_whatever_the_threads() {
    let folder = std::env::temp_dir().join(format!("nvir-fuzz-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let reports = [1, 4].map(|threads| {
        let options = Options { threads, keep: Some(folder.clone()), ..Options::default() };
        runner::run(&FAULTY, 0..1000, &options, |_| ())
    });
    for report in &reports {
        assert_eq!((report.cases, report.tally.get("tried")), (1000, 1000));
        let all: Vec<_> = report.findings.values().map(|f| (f.first, f.times, f.message.as_str())).collect();
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all[0].0 == 50 && all[0].1 == 10 && all[0].2.ends_with("case 50 is bad"), "{all:?}");
        assert_eq!(all[1], (3, 100, "word 3 differs"));
    }
    assert_eq!(std::fs::read_to_string(folder.join("faulty-3.txt2")).expect("kept"), "3");
    assert_eq!(std::fs::read_to_string(folder.join("faulty-3.txt")).expect("kept"), "word 3 differs");
    std::fs::remove_dir_all(&folder).expect("it can go");
}

#[test]
fn known_findings_are_counted_only() {
    let options = Options { known: vec!["differs".into(), "is bad".into()], ..Options::default() };
    let report = runner::run(&FAULTY, 0..1000, &options, |_| ());
    assert!(report.findings.is_empty());
    assert_eq!(report.tally.get("known"), 110);
}

#[test]
fn a_case_is_the_same_whatever_ran_before_it() {
    for t in TARGETS.iter().filter(|t| (t.missing)().is_none()) {
        let first = (t.input)(7);
        let _ = ((t.input)(3), t.name != "ptx" && (t.run)(5, &mut Tally::default()).is_err());
        assert_eq!((t.input)(7), first, "{}", t.name);
    }
}

/// The interpreter gave all lanes of a quad the level of its first row and column.
#[test]
fn each_lane_of_a_quad_has_its_own_level_of_detail() {
    let target = target("tgsi-stages").expect("there is such a target");
    for case in [386, 394, 614] {
        let mut tally = Tally::default();
        assert_eq!((target.run)(case, &mut tally), Ok(()));
        assert_eq!(tally.get("compared"), 1);
    }
}
