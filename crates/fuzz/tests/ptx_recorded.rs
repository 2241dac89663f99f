//! Kernels of the generator as ptxas made them, with what they must leave: needs no ptxas.

#[test]
fn recorded_cubins_compute_what_the_ptx_isa_says() {
    let (kernels, wrong) = nvir_fuzz::ptx::record::check();
    assert!(kernels >= 300, "{kernels} kernels");
    assert!(wrong.is_empty(), "{} of {kernels}:\n{}", wrong.len(), wrong.join("\n"));
}
