//! Vertex and tessellation shaders.

use super::*;
use nvir::emu::stage::{PatchOutput, Point, Primitive};
use nvir::stage::Stage;

const VEC4: [u32; 4] = [0x80, 0x84, 0x88, 0x8c];
const POSITION: [u32; 4] = [0x70, 0x74, 0x78, 0x7c];

fn header(stage: Stage, reads: &[u32], writes: &[u32]) -> Header {
    declared(Header::new(stage), reads, writes)
}

#[test]
fn vectors_of_inputs_become_vectors_of_outputs() {
    let header = header(Stage::Vertex, &VEC4, &POSITION);
    let work = vertices(&(0..70).map(|n| [n as f32, 0.5, 2.0, -1.0]).collect::<Vec<_>>());
    for chip in Chip::ALL {
        for (size, count) in [("", 1), (".64", 2), (".96", 3), (".128", 4)] {
            let lines = [&format!("ALD{size} R4, a[0x80]"), &format!("AST{size} a[0x70], R4"), "EXIT"];
            let Ok(Output::Vertices(all)) = execute(chip, &lines, &header, &work) else { panic!("{chip}") };
            assert_eq!(all.len(), 70);
            for (n, v) in all.iter().enumerate() {
                let mut want = [Some(n as f32), Some(0.5), Some(2.0), Some(-1.0)];
                want[count..].fill(None);
                assert_eq!(floats::<4>(v, 0x70), want, "{chip} {n}");
            }
        }
    }
}

#[test]
fn numbers_of_vertex_and_instance_are_inputs() {
    let header = header(Stage::Vertex, &[0x2f8, 0x2fc], &[0x70, 0x74]);
    let mut one = Attributes::new();
    one.put_all(0x2f8, &[3, 77]);
    let lines = ["ALD.64 R0, a[0x2f8]", "AST a[0x70], R1", "AST a[0x74], R0", "EXIT"];
    for chip in Chip::ALL {
        let Ok(Output::Vertices(all)) = execute(chip, &lines, &header, &Work::Vertices(vec![one.clone()]))
        else {
            panic!()
        };
        assert_eq!((all[0].get(0x70), all[0].get(0x74)), (Some(77), Some(3)));
    }
}

/// GF100 takes an index in a register; the others want a physical address, which is unlike a logical one.
#[test]
fn indexed_attributes_need_physical_addresses_on_kepler() {
    let header = header(Stage::Vertex, &VEC4, &POSITION);
    let work = vertices(&[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]);
    let direct = ["S2R R1, SR_LANEID", "SHL R1, R1, 0x2", "ALD R0, a[R1+0x80]", "AST a[R1+0x70], R0", "EXIT"];
    let physical = [
        "S2R R1, SR_LANEID",
        "SHL R1, R1, 0x2",
        "AL2P R2, R1, 0x80",
        "AL2P.O R3, R1, 0x70",
        "ALD.PHYS R0, a[R2]",
        "AST.PHYS a[R3], R0",
        "EXIT",
    ];
    let check = |chip, lines: &[&str]| {
        let Ok(Output::Vertices(all)) = execute(chip, lines, &header, &work) else { panic!("{chip}") };
        assert_eq!(floats::<2>(&all[0], 0x70), [Some(1.0), None]);
        assert_eq!(floats::<2>(&all[1], 0x70), [None, Some(6.0)]);
    };
    check(Chip::Gf100, &direct);
    check(Chip::Gk104, &physical);
    check(Chip::Gk110, &physical);
    // As Mesa writes it.
    let without_bit = physical.map(|line| line.replace(".PHYS", ""));
    check(Chip::Gk104, &without_bit.each_ref().map(|line| &line[..]));
    faults(
        Chip::Gk104,
        &direct,
        &header,
        &work,
        FaultKind::OutOfBounds,
        "0x80 is not a physical address of an input",
    );
    for chip in [Chip::Gk104, Chip::Gk110] {
        let mut wrong = physical;
        wrong[4] = "ALD.PHYS R0, a[R1]";
        faults(
            chip,
            &wrong,
            &header,
            &work,
            FaultKind::OutOfBounds,
            "0x0 is not a physical address of an input",
        );
        wrong[4] = "ALD.PHYS R0, a[R3]";
        faults(chip, &wrong, &header, &work, FaultKind::OutOfBounds, "is not a physical address of an input");
        wrong[2] = "AL2P R2, R1, 0x3fc";
        faults(chip, &wrong, &header, &work, FaultKind::OutOfBounds, "a[0x400], outside the 0x400 bytes");
    }
}

#[test]
fn what_the_header_does_not_declare_is_a_fault() {
    let header = header(Stage::Vertex, &VEC4[..3], &POSITION[..1]);
    let work = vertices(&[[1.0; 4]; 3]);
    for chip in Chip::ALL {
        let bad = |lines: &[&str], kind, said: &str| faults(chip, lines, &header, &work, kind, said);
        bad(
            &["ALD R0, a[0x8c]", "EXIT"],
            FaultKind::OutOfBounds,
            "reads input a[0x8c], which the header does not declare (vertex 0)",
        );
        bad(&["ALD.128 R0, a[0x80]", "EXIT"], FaultKind::OutOfBounds, "reads input a[0x8c]");
        bad(
            &["ALD.O R0, a[0x70]", "EXIT"],
            FaultKind::OutOfBounds,
            "reads back output a[0x70], which the header",
        );
        bad(
            &["ALD.128 R0, a[0x84]", "EXIT"],
            FaultKind::Misaligned,
            "16 bytes at a[0x84], which is not a multiple of 16",
        );
        bad(&["ALD.96 R0, a[0x84]", "EXIT"], FaultKind::Misaligned, "12 bytes at a[0x84]");
        bad(
            &["ALD.P R0, a[0x20]", "EXIT"],
            FaultKind::IllegalInstruction,
            "reads inputs of a patch in a vert shader",
        );
        bad(
            &["AST.P a[0x20], RZ", "EXIT"],
            FaultKind::IllegalInstruction,
            "writes output of a patch in a vert shader",
        );
        bad(&["VILD R0, v[0x0]", "EXIT"], FaultKind::IllegalInstruction, "a vert shader has no primitives");
        bad(
            &["OUT.EMIT R0, RZ, RZ", "EXIT"],
            FaultKind::IllegalInstruction,
            "emits vertices in a vert shader",
        );
        bad(
            &["IPA.PASS R0, a[0x80], RZ", "EXIT"],
            FaultKind::IllegalInstruction,
            "has nothing to interpolate",
        );
        bad(
            &["PIXLD.MY_INDEX R0, [RZ]", "EXIT"],
            FaultKind::IllegalInstruction,
            "a vert shader has no pixels",
        );
        bad(
            &["MOV R1, RZ", "ALD R0, a[0x80], R1", "EXIT"],
            FaultKind::IllegalInstruction,
            "names the vertex of an input",
        );
        bad(
            &["STL [RZ], RZ", "EXIT"],
            FaultKind::OutOfBounds,
            "uses local or global memory, which the header",
        );
        bad(&["LDL R0, [RZ]", "EXIT"], FaultKind::OutOfBounds, "uses local or global memory");
        bad(&["ST [RZ], RZ", "EXIT"], FaultKind::OutOfBounds, "writes global memory, which the header");
        bad(&["KIL", "EXIT"], FaultKind::OutOfBounds, "discards a pixel, which the header");
        let indexed = if chip == Chip::Gf100 { "ALD R0, a[R1+0x80]" } else { "AL2P R0, R1, 0x80" };
        bad(&[indexed, "EXIT"], FaultKind::Uninitialized, "R1, which nothing has written");
    }
}

#[test]
fn outputs_that_nothing_wrote_have_no_value() {
    let header = header(Stage::Vertex, &VEC4, &POSITION);
    let lines = ["ALD R0, a[0x80]", "FADD R1, R0, R2", "AST.64 a[0x70], R0", "EXIT"];
    for chip in Chip::ALL {
        let Ok(Output::Vertices(all)) = execute(chip, &lines, &header, &vertices(&[[1.0; 4]])) else {
            panic!()
        };
        assert_eq!(floats::<3>(&all[0], 0x70), [Some(1.0), None, None]);
        // The same holds for inputs.
        let work = Work::Vertices(vec![attributes(&[(0x80, &[1.0])])]);
        let Ok(Output::Vertices(all)) =
            execute(chip, &["ALD.64 R0, a[0x80]", "AST.64 a[0x70], R0", "EXIT"], &header, &work)
        else {
            panic!()
        };
        assert_eq!(floats::<2>(&all[0], 0x70), [Some(1.0), None]);
    }
}

#[test]
fn a_launch_of_another_stage_is_refused() {
    let work = vertices(&[[0.0; 4]]);
    faults(
        Chip::Gk110,
        &["EXIT"],
        &Header::new(Stage::Geometry),
        &work,
        FaultKind::IllegalInstruction,
        "the header is of a geom shader, the work is for a vert shader",
    );
    let patches = Work::Patches(vec![Primitive::default()]);
    let control = Header::new(Stage::TessControl);
    faults(
        Chip::Gk110,
        &["EXIT"],
        &control,
        &patches,
        FaultKind::IllegalInstruction,
        "0 threads an item: 1 to 32",
    );
    // In a kernel, the instructions are illegal.
    let program = Program::new(Chip::Gk110, &assemble(Chip::Gk110, &["ALD R0, a[0x80]", "EXIT"]));
    let fault =
        emu::run(&emu::Launch::new(&program), &mut Memory::new(), &mut Options::default()).unwrap_err();
    assert_eq!(
        (fault.kind, fault.detail.as_str()),
        (FaultKind::IllegalInstruction, "this instruction cannot run in a compute program")
    );
}

fn patches(count: usize, vertices: usize) -> Vec<Primitive> {
    let patch = |p: usize| Primitive {
        vertices: (0..vertices).map(|v| attributes(&[(0x80, &[(10 * p + v) as f32])])).collect(),
        patch: attributes(&[(0x20, &[p as f32 + 0.5]), (0x00, &[4.0])]),
        id: 100 + p as u32,
    };
    (0..count).map(patch).collect()
}

fn control(threads: u8, patch_words: u8) -> Header {
    let mut h = declared(Header::new(Stage::TessControl), &[0x60, 0x80], &[0x70, 0x80]);
    (h.threads, h.patch_words) = (threads, patch_words);
    h.set_read_back(0x80);
    h
}

/// Every invocation copies its vertex, then reads what the next one of its patch wrote; the first writes patch outputs.
const CONTROL: [&str; 16] = [
    "S2R R0, SR_INVOCATION_ID",
    "VILD R1, v[R0]",
    "ALD R2, a[0x80], R1",
    "AST a[0x80], R2",
    "S2R R3, SR_LANEID",
    "ISUB R3, R3, R0",
    // Its own number plus one, or the first one's.
    "IADD R4, R0, 0x1",
    "ISETP.EQ.AND P0, PT, R4, c[0x0][0x0], PT",
    "SEL R4, RZ, R4, P0",
    "IADD R4, R4, R3",
    "ALD.O R5, a[0x80], R4",
    "AST a[0x70], R5",
    "ISETP.EQ.AND P1, PT, R0, RZ, PT",
    "@P1 AST.P a[0x20], R2",
    "@P1 AST.P a[0x10], R2",
    "EXIT",
];

fn run_control(
    chip: Chip,
    threads: u8,
    lines: &[&str],
    header: &Header,
) -> Result<Vec<PatchOutput>, Box<Fault>> {
    let work = Work::Patches(patches(30, threads.into()));
    let around = Around {
        chip,
        checks: Checks::ALL,
        raster: Raster::default(),
        memory: &mut Memory::new(),
        constants: &[threads.into()],
        textures: Vec::new(),
    };
    execute_in(lines, header, &work, around).map(|output| match output {
        Output::Patches(all) => all,
        other => panic!("{other:?}"),
    })
}

#[test]
fn invocations_of_a_patch_see_each_others_outputs_however_many_patches_a_warp_has() {
    for chip in Chip::ALL {
        for threads in [1, 3, 5, 32] {
            let all = run_control(chip, threads, &CONTROL, &control(threads, 12))
                .unwrap_or_else(|f| panic!("{chip} {f}"));
            assert_eq!(all.len(), 30);
            for (p, patch) in all.iter().enumerate() {
                let n = usize::from(threads);
                assert_eq!(patch.vertices.len(), n);
                for (v, out) in patch.vertices.iter().enumerate() {
                    assert_eq!(floats::<1>(out, 0x80), [Some((10 * p + v) as f32)], "{chip} {threads}");
                    assert_eq!(
                        floats::<1>(out, 0x70),
                        [Some((10 * p + (v + 1) % n) as f32)],
                        "{chip} {threads}"
                    );
                }
                assert_eq!(
                    (floats::<1>(&patch.patch, 0x20), patch.patch.get(0x24)),
                    ([Some(10.0 * p as f32)], None)
                );
            }
        }
    }
}

#[test]
fn patches_keep_to_themselves() {
    for chip in Chip::ALL {
        let bad = |lines: &[&str], header: &Header, kind, said: &str| {
            let fault = run_control(chip, 3, lines, header).expect_err(said);
            assert_eq!(fault.kind, kind, "{fault}");
            assert!(fault.to_string().contains(said), "{said}: {fault}");
        };
        let header = control(3, 8);
        bad(
            &["ALD.O.P R0, a[0x20]", "EXIT"],
            &header,
            FaultKind::OutOfBounds,
            "reads output a[0x20] of the patch, of which the header declares 8 words (patch 0, invocation 0)",
        );
        // A vertex that the patch does not have: a fault where its attributes matter.
        let lines =
            ["VILD R1, v[0x3]", "ALD R0, a[0x80], R1", "ISETP.EQ.AND P0, PT, R0, RZ, PT", "@P0 NOP", "EXIT"];
        bad(&lines, &header, FaultKind::Uninitialized, "reads what nothing has written");
        run_control(chip, 3, &["VILD R1, v[0x3]", "ALD R0, a[0x80], R1", "EXIT"], &header)
            .unwrap_or_else(|f| panic!("{chip} {f}"));
        let lines = ["MOV R1, 0x0", "ALD R0, a[0x80], R1", "EXIT"];
        bad(&lines, &header, FaultKind::OutOfBounds, "0x0 is not a vertex handle that VILD gives");
        bad(
            &["ALD R0, a[0x80]", "EXIT"],
            &header,
            FaultKind::IllegalInstruction,
            "without a handle of a vertex",
        );
        let lines = ["MOV R1, 0x3", "ALD.O R0, a[0x80], R1", "EXIT"];
        bad(&lines, &header, FaultKind::OutOfBounds, "reads back outputs of lane 3, which has no part");
        let lines = ["MOV R1, 0x1f", "ALD.O R0, a[0x80], R1", "EXIT"];
        bad(&lines, &header, FaultKind::OutOfBounds, "reads back outputs of lane 31");
        bad(
            &["ALD.P R0, a[0x20]", "EXIT"],
            &header,
            FaultKind::IllegalInstruction,
            "reads inputs of a patch in a tesc shader",
        );
        // What no invocation has written yet: a fault where it matters.
        let lines = ["ALD.O R0, a[0x80]", "ISETP.EQ.AND P0, PT, R0, RZ, PT", "@P0 NOP", "EXIT"];
        bad(&lines, &header, FaultKind::Uninitialized, "reads what nothing has written");
    }
    let header = control(3, 12);
    let lines = ["S2R R0, SR_LANEID", "AST.P a[0x20], R0", "ALD.O.P R1, a[0x20]", "AST a[0x70], R1", "EXIT"];
    for chip in Chip::ALL {
        let all = run_control(chip, 3, &lines, &header).unwrap_or_else(|f| panic!("{f}"));
        // The last invocation of the patch wrote last.
        assert_eq!(all[1].vertices[0].get(0x70), Some(5), "{chip}");
        assert_eq!(all[10].vertices[0].get(0x70), Some(2), "{chip}");
    }
}

#[test]
fn points_of_patches_have_coordinates_and_the_patchs_attributes() {
    let mut header =
        declared(Header::new(Stage::TessEval), &[0x60, 0x80], &[0x70, 0x74, 0x78, 0x7c, 0x80, 0x84]);
    header.set_read_back(0x2f0);
    header.set_read_back(0x2f4);
    let points: Vec<Point> =
        (0..50).map(|n| Point { patch: n % 3, at: [n as f32 / 64.0, 1.0 - n as f32 / 64.0] }).collect();
    let work = Work::Points { patches: patches(3, 4), points };
    let lines = [
        "S2R R8, SR_LANEID",
        "ALD.O.64 R0, a[0x2f0], R8",
        "ALD.P R2, a[0x20]",
        "VILD R4, v[0x3]",
        "ALD R3, a[0x80], R4",
        "AST.128 a[0x70], R0",
        "ALD R5, a[0x60], R4",
        "AST a[0x80], R5",
        "S2R R6, SR_PRIM_TYPE",
        "AST a[0x84], R6",
        "EXIT",
    ];
    for chip in Chip::ALL {
        let Output::Vertices(all) = execute(chip, &lines, &header, &work).unwrap_or_else(|f| panic!("{f}"))
        else {
            panic!()
        };
        for (n, v) in all.iter().enumerate() {
            let (p, u) = (n % 3, n as f32 / 64.0);
            let want = [u, 1.0 - u, p as f32 + 0.5, (10 * p + 3) as f32].map(Some);
            assert_eq!(floats::<4>(v, 0x70), want, "{chip} {n}");
            assert_eq!((v.get(0x80), v.get(0x84)), (Some(100 + p as u32), Some(4 << 8)));
        }
        let mut other = lines;
        other[0] = "MOV R8, 0x1";
        faults(chip, &other, &header, &work, FaultKind::OutOfBounds, "reads back outputs of lane 1");
        other[0] = "AST.P a[0x20], RZ";
        faults(
            chip,
            &other,
            &header,
            &work,
            FaultKind::IllegalInstruction,
            "of a patch in a tese shader (point 0 of patch 0)",
        );
    }
    let beyond = Work::Points { patches: patches(1, 1), points: vec![Point { patch: 1, at: [0.0; 2] }] };
    faults(
        Chip::Gk104,
        &["EXIT"],
        &header,
        &beyond,
        FaultKind::IllegalInstruction,
        "point 0 is of patch 1: index out of range (0 to 0)",
    );
}
