//! Geometry shaders: emission, streams and handles.

use super::*;
use nvir::emu::stage::{Emitted, Primitive};
use nvir::isa::header::Topology;
use nvir::stage::Stage;

fn header(topology: Topology, threads: u8, max_vertices: u16) -> Header {
    let mut h = declared(Header::new(Stage::Geometry), &[0x60, 0x80], &[0x70, 0x74]);
    h.topology = Some(topology);
    (h.threads, h.max_vertices) = (threads, max_vertices);
    h.streams = if topology == Topology::Points { 15 } else { 1 };
    h
}

fn primitives(count: u32) -> Work {
    let one = |n: u32| Primitive {
        vertices: (0..3).map(|v| attributes(&[(0x80, &[(10 * n + v) as f32])])).collect(),
        id: n,
        ..Primitive::default()
    };
    Work::Primitives((0..count).map(one).collect())
}

fn streams(output: Output) -> [Vec<String>; 4] {
    let Output::Streams(all) = output else { panic!("{output:?}") };
    let text = |e: &Emitted| match e {
        Emitted::Cut => "cut".to_string(),
        Emitted::Vertex(v) => match (v.get(0x70).map(f32::from_bits), v.get(0x74)) {
            (Some(x), Some(y)) => format!("{x}/{y}"),
            (Some(x), None) => format!("{x}"),
            (x, y) => format!("{x:?}/{y:?}"),
        },
    };
    all.map(|list| list.iter().map(text).collect())
}

/// Emits the three vertices, with a cut after the second.
const STRIP: [&str; 12] = [
    "VILD R1, v[0x0]",
    "ALD R2, a[0x80], R1",
    "AST a[0x70], R2",
    "OUT.EMIT R0, RZ, RZ",
    "VILD R1, v[0x1]",
    "ALD R2, a[0x80], R1",
    "AST a[0x70], R2, R0",
    "OUT.EMIT_THEN_CUT R0, R0, RZ",
    "VILD R1, v[0x2]",
    "ALD R2, a[0x80], R1",
    "AST a[0x70], R2, R0",
    "OUT.EMIT R0, R0, RZ",
];

#[test]
fn strips_come_out_in_the_order_of_primitives_and_invocations() {
    let lines = [&STRIP[..], &["OUT.CUT R0, R0, RZ", "OUT.CUT R0, R0, RZ", "EXIT"]].concat();
    for chip in Chip::ALL {
        for lines in [&lines[..], &[&STRIP[..], &["EXIT"]].concat()[..]] {
            let h = header(Topology::Triangles, 2, 3);
            let all =
                streams(execute(chip, lines, &h, &primitives(20)).unwrap_or_else(|f| panic!("{chip} {f}")));
            let mut want = Vec::new();
            for p in 0..20 {
                let v = |n| format!("{}", 10 * p + n);
                let one = [v(0), v(1), "cut".into(), v(2), "cut".into()];
                want.extend(one.iter().cloned().chain(one.iter().cloned()));
            }
            assert_eq!(all[0], want, "{chip}");
        }
        let h = header(Topology::Points, 1, 3);
        let all = streams(execute(chip, &lines, &h, &primitives(2)).unwrap_or_else(|f| panic!("{chip} {f}")));
        assert_eq!(all[0], ["0", "1", "2", "10", "11", "12"]);
    }
}

#[test]
fn streams_are_apart_and_invocations_have_numbers() {
    let lines = [
        "S2R R4, SR_INVOCATION_ID",
        "ALD R3, a[0x60]",
        "I2F.F32.U32 R2, R3",
        "AST.64 a[0x70], R2",
        "OUT.EMIT R0, RZ, RZ",
        "AST a[0x70], R2, R0",
        "OUT.EMIT R0, R0, R4",
        "EXIT",
    ];
    for chip in Chip::ALL {
        let h = header(Topology::Points, 3, 2);
        let all = streams(execute(chip, &lines, &h, &primitives(2)).unwrap_or_else(|f| panic!("{chip} {f}")));
        // What is not written again after a vertex was emitted has no value.
        assert_eq!(all[0], ["0/0", "0", "0/0", "0/0", "1/1", "1", "1/1", "1/1"], "{chip}");
        assert_eq!(all[1], ["0", "1"]);
        assert_eq!((&all[2][..], all[3].len()), (&["0".to_string(), "1".into()][..], 0));
    }
}

#[test]
fn emission_keeps_to_the_header_and_to_the_handles() {
    let h = header(Topology::Triangles, 1, 2);
    let work = primitives(1);
    for chip in Chip::ALL {
        let bad = |lines: &[&str], kind, said: &str| faults(chip, lines, &h, &work, kind, said);
        let illegal = FaultKind::IllegalInstruction;
        // A vertex beyond the maximum is dropped.
        let three = [&STRIP[..], &["EXIT"]].concat();
        let all = streams(execute(chip, &three, &h, &work).unwrap_or_else(|f| panic!("{chip} {f}")));
        assert_eq!(all[0], ["0", "1", "cut"], "{chip}");
        let lines = ["OUT.EMIT R1, RZ, RZ", "EXIT"];
        bad(&lines, illegal, "R0 is 0x0 at the end, but the last handle");
        let lines = ["OUT.EMIT R0, RZ, RZ", "AST a[0x70], R0", "EXIT"];
        bad(&lines, illegal, "writes vertex 0x0, but the handle that OUT gave last is");
        let lines = ["OUT.EMIT R0, RZ, RZ", "OUT.EMIT R0, RZ, RZ", "EXIT"];
        bad(&lines, illegal, "OUT takes handle 0x0, but the last one is");
        let lines = ["MOV R1, 0x1", "OUT.EMIT R0, RZ, R1", "EXIT"];
        bad(&lines, illegal, "stream 1, which the header does not declare");
        bad(&["ALD R1, a[0x80]", "EXIT"], illegal, "reads input a[0x80] without a handle");
        // Vertices that the primitive does not have are no fault before somebody uses their attributes.
        for lines in [
            &["VILD R1, v[0x3]", "MOV R0, RZ", "EXIT"][..],
            &["MOV R1, -0x1", "VILD R1, v[R1]", "MOV R0, RZ", "EXIT"],
        ] {
            execute(chip, lines, &h, &work).unwrap_or_else(|f| panic!("{chip} {f}"));
        }
    }
    // A shader that emits nothing leaves 0.
    for chip in Chip::ALL {
        let all = streams(
            execute(chip, &["MOV R0, RZ", "EXIT"], &h, &work).unwrap_or_else(|f| panic!("{chip} {f}")),
        );
        assert!(all.iter().all(Vec::is_empty));
    }
}
