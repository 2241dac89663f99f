//! Textures: every operation once with the texture in the instruction, and bindless (`.B`) where it
//! exists.

use super::field::*;
use crate::names;
use crate::row::{Bits, ImmEnc, Kind, Names, Row, Slot, b};
use crate::{Kw, Op};

pub(super) fn rows(t: &mut Vec<Row>) {
    sample(t);
    gather(t);
    fetch(t);
    gradients(t);
    queries(t);
    t.push(synced(Op::Stp, 0xffc, 0x750, 2).flag(34, names![_, Wait]).m(b(32, 2), PHASE).s(imm(b(23, 8))));
}

const PHASE: Names = names![_, T, P];
const NDV: Names = names![_, Ndv];
const NODEP: Names = names![_, Nodep];
const AOFFI: Names = names![_, Aoffi];
const DC: Names = names![_, Dc];
const KIND: Slot = Slot::new(Kind::Word { at: b(38, 3), words: TEXTURE_KINDS });
const MASK: Slot = imm(b(34, 4));

/// Dependency flags, which close every list of suffixes.
fn closing(r: Row) -> Row {
    r.flag(31, NODEP).m(b(32, 2), PHASE)
}

/// The operands of an operation with coordinates and a further vector, which is not written when it
/// is RZ.
fn two_vectors(t: &mut Vec<Row>, r: Row, texture: Slot) {
    let (second, r) = (b(23, 8), r.s(D).s(A));
    t.push(r.clone().fix(second, 255).s(texture).s(KIND).s(MASK));
    t.push(r.except(second, 255).s(B).s(texture).s(KIND).s(MASK));
}

/// Bindless operations have no texture number, but still a zero in the text.
const NO_TEXTURE: Slot = imm(Bits::NONE);

/// Loads through the read-only cache are textures 0 to 6 sampled or fetched with these `fields`,
/// one-dimensional or two-dimensional (`.E`), without a second vector. nvdisasm shows them as LDG.
/// Adds those rows and takes their words away from `texture`.
fn leave_loads(
    t: &mut Vec<Row>,
    texture: Row,
    fields: &[(Bits, u64)],
    number: Bits,
    cache: impl Fn(Row) -> Row,
) -> Row {
    const SIZES: [(u64, Names); 7] = [
        (1, names![U8]),
        (1, names![S8]),
        (1, names![U16]),
        (1, names![S16]),
        (1, names![_]),
        (3, names![B64]),
        (15, names![B128]),
    ];
    let opcode = Row::new(Op::Ldg, texture.mask, texture.bits);
    let mut rest = texture;
    for (kind, e) in [(0, names![_] as Names), (2, names![E])] {
        for (size, (mask, name)) in SIZES.into_iter().enumerate() {
            let mut all = fields.to_vec();
            all.extend([(b(23, 9), 255), (b(34, 4), mask), (b(38, 3), kind), (number, size as u64)]);
            let mut ldg = all.iter().fold(opcode.clone(), |r, &(at, v)| r.fix(at, v));
            (ldg.guard, ldg.sync) = (rest.guard, rest.sync);
            rest = rest.except_all(&all);
            t.push(cache(ldg.always(e)).always(name).m(b(32, 2), PHASE).s(D).s(mem(Bits::NONE)));
        }
    }
    rest
}

fn sample(t: &mut Vec<Row>) {
    const LOD_MODE: Names = names![_, Lz, Lb, Ll, !, !, Lba, Lla];
    let suffixes = |r: Row| closing(r.m(b(44, 3), LOD_MODE).flag(43, AOFFI).flag(42, DC).flag(41, NDV));
    let number = b(47, 13);
    let tex = leave_loads(
        t,
        suffixes(row(Op::Tex, 0xf00, 0x600, 1)),
        &[(b(41, 3), 0), (b(44, 3), 1)],
        number,
        |r| r,
    );
    two_vectors(t, tex, imm(number));
    two_vectors(t, suffixes(row(Op::Tex, 0xffc, 0x7d8, 2).always(names![B])), NO_TEXTURE);
}

fn gather(t: &mut Vec<Row>) {
    const COMPONENT: Names = names![R, G, B, A];
    let gather = |r: Row, bindless: Names| {
        closing(
            r.m(b(45, 2), COMPONENT)
                .always(bindless)
                .m(b(43, 2), names![_, Aoffi, Ptp])
                .flag(42, DC)
                .flag(41, NDV),
        )
    };
    two_vectors(t, gather(row(Op::Tld4, 0xf00, 0x700, 1), names![_]), imm(b(47, 13)));
    two_vectors(t, gather(row(Op::Tld4, 0xffc, 0x7dc, 2), names![B]), NO_TEXTURE);
}

fn fetch(t: &mut Vec<Row>) {
    const LEVEL: Names = names![Lz, Ll];
    const MS: Names = names![_, Ms];
    const CL: Names = names![_, Cl];
    let suffixes = |r: Row| closing(r.flag(44, LEVEL).flag(41, AOFFI).flag(43, MS).flag(42, CL));
    let number = b(45, 13);
    let tld = leave_loads(
        t,
        suffixes(row(Op::Tld, 0xfc0, 0x700, 2)),
        &[(b(41, 1), 0), (b(43, 2), 0)],
        number,
        |r| r.flag(42, names![Cg, Cs]),
    );
    two_vectors(t, tld, imm(number));
    two_vectors(t, suffixes(row(Op::Tld, 0xffc, 0x780, 2).always(names![B])), NO_TEXTURE);
}

fn gradients(t: &mut Vec<Row>) {
    let suffixes = |r: Row| closing(r.flag(54, AOFFI));
    // The second vector is written even if it is RZ.
    let operands = |r: Row, texture: Slot| r.s(D).s(A).s(B).s(texture).s(KIND).s(MASK);
    t.push(operands(suffixes(row(Op::Txd, 0xff8, 0x760, 2)), imm(b(41, 13))));
    t.push(operands(suffixes(row(Op::Txd, 0xff8, 0x7e0, 2).always(names![B])), NO_TEXTURE));
}

fn queries(t: &mut Vec<Row>) {
    let texture = imm(b(41, 13));
    // The rest of the second source's field; compilers write RZ into all of it.
    let unused = b(23, 7);
    let level = |r: Row, ndv| closing(r.always(names![Lod]).flag(ndv, NDV));
    let tmml = level(row(Op::Tmml, 0xffc, 0x768, 2), 30).free_as(unused, 0x7f);
    t.push(tmml.s(D).s(A).s(texture).s(KIND).s(MASK));
    two_vectors(t, level(row(Op::Tmml, 0xffc, 0x7e8, 2).always(names![B]), 41), NO_TEXTURE);
    let txa = closing(row(Op::Txa, 0xffc, 0x76c, 2).flag(30, NDV)).free_as(unused, 0x7f);
    t.push(txa.s(D).s(A).s(texture).s(MASK));
    const WHAT: &[Option<Kw>] = &[
        None,
        Some(Kw::TexHeaderDimension),
        Some(Kw::TexHeaderTextureType),
        None,
        None,
        Some(Kw::TexHeaderSamplerPos),
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        Some(Kw::TexSamplerFilter),
        None,
        Some(Kw::TexSamplerLod),
        None,
        Some(Kw::TexSamplerWrap),
        None,
        Some(Kw::TexSamplerBorderColor),
    ];
    // Queries without a name are written as numbers, half the field's value.
    const UNNAMED: Bits = b(26, 5);
    let nameless = |r: Row| {
        let numbered = [0, 1, 2, 8, 9, 10, 11].iter().fold(r.fix(b(25, 1), 0), |r, &v| r.except(UNNAMED, v));
        closing(numbered).s(D).s(A).s(Slot::new(Kind::Imm { at: UNNAMED, enc: ImmEnc::Decimal }))
    };
    let what = Slot::new(Kind::Word { at: b(25, 6), words: WHAT });
    let named = |r: Row| {
        let unnamed = [0, 4].into_iter().chain((6..16).step_by(2)).chain((24..64).step_by(2));
        closing(unnamed.fold(r, |r, v| r.except(b(25, 6), v))).s(D).s(A).s(what)
    };
    let bindless = || row(Op::Txq, 0xffc, 0x7d4, 2).always(names![B]);
    let numbered = || row(Op::Txq, 0xffc, 0x754, 2);
    for make in [&named as &dyn Fn(Row) -> Row, &nameless] {
        t.push(make(numbered()).s(texture).s(MASK));
        t.push(make(bindless()).s(NO_TEXTURE).s(MASK));
    }
}
