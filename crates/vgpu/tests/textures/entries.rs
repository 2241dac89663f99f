//! Entries of both tables, field by field.

use crate::rig::{FLOAT, LINEAR, NEAREST, Tic, Tsc, UNORM, WORDS};
use nvir::Chip;
use nvir::emu::image::Compare;
use nvir::emu::{Dim, Filter, MipFilter, Sampler, Source, Wrap};
use nvir_vgpu::texture::{tic, tsc};

#[test]
fn samplers_field_by_field() {
    let plain = |chip| tsc::sampler(chip, &nvir_hw::tsc::Tsc(NEAREST.words()));
    let max = 4095.0 / 256.0;
    let expected = Sampler {
        wrap: [Wrap::ClampToEdge; 3],
        max_lod: max,
        border_bits: Some([0; 4]),
        ..Sampler::default()
    };
    assert_eq!(plain(Chip::Gk104), expected);
    let of = |tsc: Tsc| tsc::sampler(Chip::Gk110, &nvir_hw::tsc::Tsc(tsc.words()));
    let modes = [
        Wrap::Repeat,
        Wrap::MirroredRepeat,
        Wrap::ClampToEdge,
        Wrap::ClampToBorder,
        Wrap::Clamp,
        Wrap::MirrorClampToEdge,
        Wrap::MirrorClampToBorder,
        Wrap::MirrorClamp,
    ];
    for (code, mode) in modes.into_iter().enumerate() {
        for axis in 0..3 {
            let (mut wrap, mut wanted) = ([2; 3], expected);
            (wrap[axis], wanted.wrap[axis]) = (code as u32, mode);
            assert_eq!(of(Tsc { wrap, ..NEAREST }), wanted);
        }
    }
    let functions = [
        Compare::Never,
        Compare::Less,
        Compare::Equal,
        Compare::Lequal,
        Compare::Greater,
        Compare::Notequal,
        Compare::Gequal,
        Compare::Always,
    ];
    for (code, function) in functions.into_iter().enumerate() {
        let wanted = Sampler { compare: Some(function), ..expected };
        assert_eq!(of(Tsc { compare: Some(code as u32), ..NEAREST }), wanted);
    }
    let border = [1.5f32, -2.0, 0.25, 1e9];
    for (tsc, wanted) in [
        (Tsc { mag: 2, ..NEAREST }, Sampler { mag: Filter::Linear, ..expected }),
        (Tsc { min: 2, ..NEAREST }, Sampler { min: Filter::Linear, ..expected }),
        (Tsc { mip: 2, ..NEAREST }, Sampler { mip: MipFilter::Nearest, ..expected }),
        (Tsc { mip: 3, ..NEAREST }, Sampler { mip: MipFilter::Linear, ..expected }),
        (Tsc { anisotropy: 3, ..NEAREST }, Sampler { max_anisotropy: 6, ..expected }),
        (Tsc { anisotropy: 7, ..NEAREST }, Sampler { max_anisotropy: 16, ..expected }),
        (Tsc { bias: 0xfff, ..NEAREST }, Sampler { lod_bias: max, ..expected }),
        (Tsc { bias: -0x1000, ..NEAREST }, Sampler { lod_bias: -16.0, ..expected }),
        (Tsc { lod: [1, 0x180], ..NEAREST }, Sampler { min_lod: 1.0 / 256.0, max_lod: 1.5, ..expected }),
        (
            Tsc { border: border.map(f32::to_bits), ..NEAREST },
            Sampler { border, border_bits: Some(border.map(f32::to_bits)), ..expected },
        ),
    ] {
        assert_eq!(of(tsc), wanted);
    }
    // Kepler has two fields more.
    let both = Tsc { seamless: true, unnormalized: true, ..NEAREST };
    assert_eq!(of(both), Sampler { seamless: true, unnormalized: true, ..expected });
    assert_eq!(tsc::sampler(Chip::Gf100, &nvir_hw::tsc::Tsc(both.words())), expected);
    // How exactly levels are chosen changes nothing here.
    let mut words = LINEAR.words();
    words[1] |= 0x1f << 26;
    assert_eq!(tsc::sampler(Chip::Gk110, &nvir_hw::tsc::Tsc(words)), of(LINEAR));
}

#[test]
fn textures_field_by_field() {
    let of = |tic: Tic| tic::texture(&nvir_hw::tic::Tic(tic.words())).expect("a texture");
    let base = Tic { size: [40, 30, 12], last: 3, view: [0, 3], tile: 0x20, ..WORDS };
    let kinds = [
        (0, Dim::D1, [40, 1, 1]),
        (1, Dim::D2, [40, 30, 1]),
        (2, Dim::D3, [40, 30, 12]),
        (3, Dim::Cube, [40, 30, 6]),
        (4, Dim::D1Array, [40, 1, 12]),
        (5, Dim::D2Array, [40, 30, 12]),
        (6, Dim::Buffer, [40, 1, 1]),
        (7, Dim::D2, [40, 30, 1]),
        (8, Dim::CubeArray, [40, 30, 72]),
    ];
    for (kind, dim, size) in kinds {
        let texture = of(Tic { kind, ..base });
        assert_eq!((texture.dim, texture.levels[0].size), (dim, size));
        assert_eq!(texture.levels.len(), if kind == 6 { 1 } else { 4 });
        assert_eq!((texture.layers, texture.samples, texture.first_z), (12, 1, 0));
    }
    // The address has 40 bits, the width 30, the height 16, the depth 12.
    assert_eq!(of(Tic { address: 0xff_1234_5678, ..base }).address, 0xff_1234_5678);
    assert_eq!(of(Tic { kind: 6, size: [0x3fff_ffff, 0, 0], ..base }).levels[0].size, [0x3fff_ffff, 1, 1]);
    assert_eq!(
        of(Tic { kind: 5, size: [0x4000, 0xffff, 0xfff], ..base }).levels[0].size,
        [0x4000, 0xffff, 0xfff]
    );
    assert_eq!(of(Tic { size: [40, 30, 0], kind: 5, ..base }).layers, 1);
    let sources = of(Tic { sources: [5, 0, 6, 7], ..base }).sources;
    assert_eq!(sources, [Source::Channel(3), Source::Zero, Source::OneInt, Source::OneFloat]);
    assert_eq!((of(base).scaled, of(Tic { normalized: false, ..base }).scaled), (false, true));
    // Levels: those that are seen, inside those that there are.
    let seen =
        |last, view| of(Tic { last, view, ..base }).levels.iter().map(|l| l.size[0]).collect::<Vec<_>>();
    assert_eq!(seen(3, [0, 3]), [40, 20, 10, 5]);
    assert_eq!(seen(3, [1, 2]), [20, 10]);
    assert_eq!(seen(1, [1, 5]), [20]);
    // Rows, blocks and samples.
    let place = of(Tic { pitch: Some(0xf_ffe0), ..base }).levels[0].place;
    assert_eq!((place.pitch, place.byte(8, 2, 0)), (0xf_ffe0, 2 * 0xf_ffe0 + 8));
    for (tile, stride) in [(0, 512), (0x10, 1024), (0x40, 8192), (0x320, 16384)] {
        let texture = of(Tic { kind: 2, size: [16, 1, 1], last: 0, view: [0, 0], tile, ..base });
        assert_eq!(texture.layer_stride, stride, "{tile:#x}");
    }
    for (mode, samples, grid) in
        [(0, 1, (0, 0)), (1, 2, (1, 0)), (2, 4, (1, 1)), (3, 8, (2, 1)), (9, 4, (1, 1)), (15, 1, (0, 0))]
    {
        let texture = of(Tic { mode, last: 0, view: [0, 0], ..base });
        assert_eq!((texture.samples, texture.grid), (samples, grid), "mode {mode}");
        assert_eq!(texture.dim == Dim::D2Ms, samples > 1);
        // The source of a resolve counts samples as texels.
        let texture = of(Tic { mode, last: 0, view: [0, 0], normalized: false, ..base });
        assert_eq!((texture.samples, texture.grid), (1, (0, 0)), "mode {mode}");
    }
    let texels = |tic| of(tic).texels.clone();
    assert_eq!((texels(base).bytes(), texels(base).integer()), (4, true));
    let half = texels(Tic { sizes: 3, types: [FLOAT; 4], sources: [2, 3, 4, 5], ..base });
    assert_eq!((half.bytes(), half.integer(), half.block()), (8, false, [1, 1]));
    let dxt = texels(Tic { sizes: 0x24, types: [UNORM; 4], ..base });
    assert_eq!((dxt.bytes(), dxt.block()), (8, [4, 4]));
}
