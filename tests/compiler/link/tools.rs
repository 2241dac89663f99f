//! NVIDIA's tools read what is written, where they are installed (`CUDA_BIN`).

use super::rig::*;
use nvir::Chip;
use nvir::compiler::OptLevel;
use std::process::Command;

const CALLER: &str = "program\nkernel k() {\nb0:\n rdsv u32 %r0 sv[tid.x]\n call u32 %r1 f1{%r0}\n add u32 %r2 %r1 %r0\n st u32 # g[%r2+0x0 align 4] %r0\n exit\n}\nextern f(%r0) -> r\n";
const CALLEE: &str = "program\nsub f(%r0) -> r {\nb0:\n call u32 %r1 f1{%r0}\n add u32 %r2 %r1 %r0\n ret {%r2}\n}\nextern g(%r0) -> r\n";
const LAST: &str = "program\nsub g(%r0) -> r {\nb0:\n add u32 %r1 %r0 0x1\n ret {%r1}\n}\n";

#[test]
fn nvidias_tools_read_units_and_what_is_linked() {
    let Some(bin) = std::env::var("CUDA_BIN").ok().filter(|bin| !bin.is_empty()) else {
        eprintln!("SKIPPED: CUDA_BIN does not say where NVIDIA's tools are");
        return;
    };
    let compiler = compiler(Chip::Gk110, OptLevel::O2);
    let units: Vec<_> = [CALLER, CALLEE, LAST].into_iter().map(|text| unit(&compiler, text)).collect();
    let says = |tool: &str, args: &[&str], data: &[u8]| {
        let path = std::env::temp_dir().join(format!("nvir-link-{}.cubin", std::process::id()));
        std::fs::write(&path, data).expect("a file");
        let out = Command::new(format!("{bin}/{tool}")).args(args).arg(&path).output().expect("it runs");
        std::fs::remove_file(&path).expect("a file");
        assert!(out.status.success(), "{tool}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).to_string()
    };
    let has = |text: &str, parts: &[&str]| {
        parts.iter().for_each(|p| assert!(text.contains(p), "no `{p}` in\n{text}"));
    };
    let file = units[1].write();
    has(&says("nvdisasm", &[], &file), &["ET_REL", "EIATTR_EXTERNS", "CAL `(g)", "[`(.nv.local.f)]"]);
    has(&says("cuobjdump", &["-sass"], &file), &["Function : f", "RET"]);
    has(
        &says("cuobjdump", &["-elf"], &file),
        &["R_CUDA_PCREL_IMM24_23", "R_CUDA_ABS24_23", "EIATTR_REGCOUNT"],
    );
    let linked = link(units).expect("they go together").write();
    has(&says("nvdisasm", &[], &linked), &["ET_EXEC", "CAL", "EXIT"]);
    has(&says("cuobjdump", &["-sass"], &linked), &["Function : k", "CAL", "RET"]);
}
