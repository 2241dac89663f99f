//! The table of intrinsics: for each name what it does and how many sources it takes.
//!
//! Indices (`base=`, `access=`, …) are in the text by name, so the table need not list them; which ones an
//! intrinsic has is Mesa's matter (`nir_intrinsics.py`, 22.3 and later). What has no row is
//! [`Unknown`](super::ast::Unknown).

use super::names::Named;
use crate::diag::closest;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Where a load, store or atomic goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mem {
    /// 64-bit address.
    Global,
    /// The same, as two components of 32 bits.
    Global2x32,
    /// 64-bit address, never written.
    GlobalConstant,
    /// 64-bit address and an offset, never written.
    GlobalConstantOffset,
    /// The same with a bound: what would reach beyond it is zero.
    GlobalConstantBounded,
    /// Storage buffer number and byte offset.
    Ssbo,
    /// Uniform block number and byte offset.
    Ubo,
    /// Uniform block number and offset in vec4s.
    UboVec4,
    Shared,
    Scratch,
    /// Default uniforms: `base` and offset in vec4s.
    Uniform,
    KernelInput,
    PushConstant,
    /// The shader's constant data.
    Constant,
    /// Through a deref.
    Deref,
}

/// Atomic operations, by both generations' names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[rustfmt::skip]
pub enum Atomic {
    Add, Sub, Imin, Umin, Imax, Umax, And, Or, Xor, Exchange, CompSwap, Fadd, Fmin, Fmax, FcompSwap, IncWrap, DecWrap,
}

/// How an image is named.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ImageRef {
    Index,
    Bindless,
    Deref,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ImageOp {
    Load,
    Store,
    /// With `None`: the operation is in the index `atomic_op`.
    Atomic(Option<Atomic>),
    AtomicSwap,
    Size,
    Samples,
}

/// System values; vectors give their components in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[rustfmt::skip]
pub enum System {
    WorkgroupId, WorkgroupIdZeroBase, LocalInvocationId, LocalInvocationIndex, WorkgroupSize, NumWorkgroups,
    GlobalInvocationId, GlobalInvocationIndex, WorkDim, SubgroupInvocation, SubgroupSize, SubgroupId, NumSubgroups,
    EqMask, GeMask, GtMask, LeMask, LtMask, WorkgroupIndex, Zero,
    // of graphics stages
    VertexId, VertexIdZeroBase, InstanceId, BaseVertex, BaseInstance, DrawId, PrimitiveId, InvocationId, VerticesIn,
    TessCoord, TessOuter, TessInner, FragCoord, PointCoord, FrontFace, Layer, SampleId, SamplePosition, SampleMask,
    /// Whether the invocation was a helper from the start; no in stages that have none.
    Helper,
    /// Whether it is one, or has become one.
    HelperNow,
}

/// Loads and stores of a stage's inputs and outputs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Io {
    Input,
    /// Of a vertex of a primitive or patch.
    VertexInput,
    /// At barycentric coordinates.
    Interpolated,
    Output,
    /// Of a vertex of a patch.
    VertexOutput,
}

/// Where in a pixel an input is interpolated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Barycentric {
    Pixel,
    Centroid,
    Sample,
    AtSample,
    AtOffset,
}

/// Operations between the lanes of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[rustfmt::skip]
pub enum Subgroup {
    Ballot, InverseBallot, BallotBitfieldExtract, BallotBitCountReduce, BallotBitCountInclusive, BallotBitCountExclusive,
    BallotFindLsb, BallotFindMsb, Elect, WholeWarp, FirstInvocation, LastInvocation, VoteAll, VoteAny, VoteIeq, VoteFeq,
    ReadInvocation, ReadFirstInvocation, Shuffle, ShuffleXor, ShuffleUp, ShuffleDown, QuadBroadcast,
    QuadSwapHorizontal, QuadSwapVertical, QuadSwapDiagonal, QuadVoteAny, QuadVoteAll, Rotate, AsUniform, Reduce, InclusiveScan, ExclusiveScan,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Barrier {
    Execution,
    /// Memory, for the whole device.
    Device,
    /// Memory, for the block.
    Workgroup,
    /// Of the scopes in the indices.
    Scoped,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    Load(Mem),
    Store(Mem),
    LoadIo(Io),
    StoreIo(Io),
    Barycentric(Barycentric),
    /// A fragment, always or where the source holds.
    Discard,
    DiscardIf,
    EmitVertex,
    EndPrimitive,
    /// With `None`: the operation is in the index `atomic_op`.
    Atomic(Mem, Option<Atomic>),
    AtomicSwap(Mem),
    Image(ImageRef, ImageOp),
    System(System),
    Subgroup(Subgroup),
    Barrier(Barrier),
    SsboSize,
    UboSize,
    /// Elements of the array that ends a storage buffer.
    BufferArrayLength,
    CopyDeref,
    MemcpyDeref,
    DerefModeIs,
    Param,
    ShaderClock,
    LoadReg,
    LoadRegIndirect,
    StoreReg,
    StoreRegIndirect,
    DeclReg,
    ConvertAluTypes,
    /// Has no effect here.
    Nothing,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IntrinsicInfo {
    pub name: Cow<'static, str>,
    pub kind: Kind,
    pub srcs: u8,
}

#[rustfmt::skip]
const ROWS: &[(&str, Kind, u8)] = &[
    ("load_global", Kind::Load(Mem::Global), 1), ("load_global_2x32", Kind::Load(Mem::Global2x32), 1),
    ("load_global_constant", Kind::Load(Mem::GlobalConstant), 1),
    ("load_global_constant_offset", Kind::Load(Mem::GlobalConstantOffset), 2),
    ("load_global_constant_bounded", Kind::Load(Mem::GlobalConstantBounded), 3),
    ("load_ssbo", Kind::Load(Mem::Ssbo), 2), ("load_ubo", Kind::Load(Mem::Ubo), 2),
    ("load_ubo_vec4", Kind::Load(Mem::UboVec4), 2), ("load_shared", Kind::Load(Mem::Shared), 1),
    ("load_scratch", Kind::Load(Mem::Scratch), 1), ("load_uniform", Kind::Load(Mem::Uniform), 1),
    ("load_kernel_input", Kind::Load(Mem::KernelInput), 1), ("load_push_constant", Kind::Load(Mem::PushConstant), 1),
    ("load_constant", Kind::Load(Mem::Constant), 1), ("load_deref", Kind::Load(Mem::Deref), 1),
    ("store_global", Kind::Store(Mem::Global), 2), ("store_global_2x32", Kind::Store(Mem::Global2x32), 2),
    ("store_ssbo", Kind::Store(Mem::Ssbo), 3), ("store_shared", Kind::Store(Mem::Shared), 2),
    ("store_scratch", Kind::Store(Mem::Scratch), 2), ("store_deref", Kind::Store(Mem::Deref), 2),
    ("get_ssbo_size", Kind::SsboSize, 1), ("ssbo_size", Kind::SsboSize, 1), ("get_ubo_size", Kind::UboSize, 1),
    ("deref_buffer_array_length", Kind::BufferArrayLength, 1),
    ("copy_deref", Kind::CopyDeref, 2), ("memcpy_deref", Kind::MemcpyDeref, 3), ("load_param", Kind::Param, 0),
    ("deref_mode_is", Kind::DerefModeIs, 1), ("addr_mode_is", Kind::DerefModeIs, 1),
    ("decl_reg", Kind::DeclReg, 0), ("load_reg", Kind::LoadReg, 1), ("load_reg_indirect", Kind::LoadRegIndirect, 2),
    ("store_reg", Kind::StoreReg, 2), ("store_reg_indirect", Kind::StoreRegIndirect, 3),
    ("convert_alu_types", Kind::ConvertAluTypes, 1),
    // system values
    ("load_workgroup_id", Kind::System(System::WorkgroupId), 0),
    ("load_workgroup_id_zero_base", Kind::System(System::WorkgroupIdZeroBase), 0),
    ("load_local_invocation_id", Kind::System(System::LocalInvocationId), 0),
    ("load_local_invocation_index", Kind::System(System::LocalInvocationIndex), 0),
    ("load_workgroup_size", Kind::System(System::WorkgroupSize), 0),
    ("load_num_workgroups", Kind::System(System::NumWorkgroups), 0),
    ("load_global_invocation_id", Kind::System(System::GlobalInvocationId), 0),
    ("load_global_invocation_id_zero_base", Kind::System(System::GlobalInvocationId), 0),
    ("load_global_invocation_index", Kind::System(System::GlobalInvocationIndex), 0),
    ("load_workgroup_index", Kind::System(System::WorkgroupIndex), 0),
    ("load_work_dim", Kind::System(System::WorkDim), 0),
    ("load_base_global_invocation_id", Kind::System(System::Zero), 0),
    ("load_base_workgroup_id", Kind::System(System::Zero), 0),
    ("load_subgroup_invocation", Kind::System(System::SubgroupInvocation), 0),
    ("load_subgroup_size", Kind::System(System::SubgroupSize), 0),
    ("load_subgroup_id", Kind::System(System::SubgroupId), 0),
    ("load_num_subgroups", Kind::System(System::NumSubgroups), 0),
    ("load_subgroup_eq_mask", Kind::System(System::EqMask), 0), ("load_subgroup_ge_mask", Kind::System(System::GeMask), 0),
    ("load_subgroup_gt_mask", Kind::System(System::GtMask), 0), ("load_subgroup_le_mask", Kind::System(System::LeMask), 0),
    ("load_subgroup_lt_mask", Kind::System(System::LtMask), 0), ("shader_clock", Kind::ShaderClock, 0),
    ("load_helper_invocation", Kind::System(System::Helper), 0), ("is_helper_invocation", Kind::System(System::HelperNow), 0),
    ("load_shared_base_ptr", Kind::System(System::Zero), 0), ("load_scratch_base_ptr", Kind::System(System::Zero), 0),
    // system values of graphics stages
    ("load_vertex_id", Kind::System(System::VertexId), 0),
    ("load_vertex_id_zero_base", Kind::System(System::VertexIdZeroBase), 0),
    ("load_instance_id", Kind::System(System::InstanceId), 0), ("load_base_vertex", Kind::System(System::BaseVertex), 0),
    ("load_first_vertex", Kind::System(System::BaseVertex), 0),
    ("load_base_instance", Kind::System(System::BaseInstance), 0), ("load_draw_id", Kind::System(System::DrawId), 0),
    ("load_primitive_id", Kind::System(System::PrimitiveId), 0),
    ("load_invocation_id", Kind::System(System::InvocationId), 0),
    ("load_patch_vertices_in", Kind::System(System::VerticesIn), 0),
    ("load_tess_coord", Kind::System(System::TessCoord), 0), ("load_tess_coord_xy", Kind::System(System::TessCoord), 0),
    ("load_tess_level_outer", Kind::System(System::TessOuter), 0),
    ("load_tess_level_inner", Kind::System(System::TessInner), 0),
    ("load_frag_coord", Kind::System(System::FragCoord), 0), ("load_point_coord", Kind::System(System::PointCoord), 0),
    ("load_front_face", Kind::System(System::FrontFace), 0), ("load_layer_id", Kind::System(System::Layer), 0),
    ("load_sample_id", Kind::System(System::SampleId), 0), ("load_sample_pos", Kind::System(System::SamplePosition), 0),
    ("load_sample_mask_in", Kind::System(System::SampleMask), 0),
    // inputs and outputs of graphics stages
    ("load_input", Kind::LoadIo(Io::Input), 1), ("load_per_vertex_input", Kind::LoadIo(Io::VertexInput), 2),
    ("load_interpolated_input", Kind::LoadIo(Io::Interpolated), 2), ("load_output", Kind::LoadIo(Io::Output), 1),
    ("load_per_vertex_output", Kind::LoadIo(Io::VertexOutput), 2), ("store_output", Kind::StoreIo(Io::Output), 2),
    ("store_per_vertex_output", Kind::StoreIo(Io::VertexOutput), 3),
    ("load_barycentric_pixel", Kind::Barycentric(Barycentric::Pixel), 0),
    ("load_barycentric_centroid", Kind::Barycentric(Barycentric::Centroid), 0),
    ("load_barycentric_sample", Kind::Barycentric(Barycentric::Sample), 0),
    ("load_barycentric_at_sample", Kind::Barycentric(Barycentric::AtSample), 1),
    ("load_barycentric_at_offset", Kind::Barycentric(Barycentric::AtOffset), 1),
    ("discard", Kind::Discard, 0), ("discard_if", Kind::DiscardIf, 1), ("demote", Kind::Discard, 0),
    ("demote_if", Kind::DiscardIf, 1), ("terminate", Kind::Discard, 0), ("terminate_if", Kind::DiscardIf, 1),
    ("emit_vertex", Kind::EmitVertex, 0), ("end_primitive", Kind::EndPrimitive, 0),
    // subgroups
    ("ballot", Kind::Subgroup(Subgroup::Ballot), 1), ("ballot_relaxed", Kind::Subgroup(Subgroup::Ballot), 1),
    ("inverse_ballot", Kind::Subgroup(Subgroup::InverseBallot), 1),
    ("ballot_bitfield_extract", Kind::Subgroup(Subgroup::BallotBitfieldExtract), 2),
    ("ballot_bit_count_reduce", Kind::Subgroup(Subgroup::BallotBitCountReduce), 1),
    ("ballot_bit_count_inclusive", Kind::Subgroup(Subgroup::BallotBitCountInclusive), 1),
    ("ballot_bit_count_exclusive", Kind::Subgroup(Subgroup::BallotBitCountExclusive), 1),
    ("ballot_find_lsb", Kind::Subgroup(Subgroup::BallotFindLsb), 1),
    ("ballot_find_msb", Kind::Subgroup(Subgroup::BallotFindMsb), 1), ("elect", Kind::Subgroup(Subgroup::Elect), 0),
    ("first_invocation", Kind::Subgroup(Subgroup::FirstInvocation), 0),
    ("last_invocation", Kind::Subgroup(Subgroup::LastInvocation), 0),
    ("vote_all", Kind::Subgroup(Subgroup::VoteAll), 1), ("vote_any", Kind::Subgroup(Subgroup::VoteAny), 1),
    ("vote_ieq", Kind::Subgroup(Subgroup::VoteIeq), 1), ("vote_feq", Kind::Subgroup(Subgroup::VoteFeq), 1),
    ("read_invocation", Kind::Subgroup(Subgroup::ReadInvocation), 2),
    ("read_first_invocation", Kind::Subgroup(Subgroup::ReadFirstInvocation), 1),
    ("shuffle", Kind::Subgroup(Subgroup::Shuffle), 2), ("shuffle_xor", Kind::Subgroup(Subgroup::ShuffleXor), 2),
    ("shuffle_up", Kind::Subgroup(Subgroup::ShuffleUp), 2), ("shuffle_down", Kind::Subgroup(Subgroup::ShuffleDown), 2),
    ("quad_broadcast", Kind::Subgroup(Subgroup::QuadBroadcast), 2),
    ("quad_swap_horizontal", Kind::Subgroup(Subgroup::QuadSwapHorizontal), 1),
    ("quad_swap_vertical", Kind::Subgroup(Subgroup::QuadSwapVertical), 1),
    ("quad_swap_diagonal", Kind::Subgroup(Subgroup::QuadSwapDiagonal), 1),
    ("quad_vote_any", Kind::Subgroup(Subgroup::QuadVoteAny), 1),
    ("quad_vote_all", Kind::Subgroup(Subgroup::QuadVoteAll), 1),
    ("rotate", Kind::Subgroup(Subgroup::Rotate), 2), ("as_uniform", Kind::Subgroup(Subgroup::AsUniform), 1),
    ("reduce", Kind::Subgroup(Subgroup::Reduce), 1), ("inclusive_scan", Kind::Subgroup(Subgroup::InclusiveScan), 1),
    ("exclusive_scan", Kind::Subgroup(Subgroup::ExclusiveScan), 1),
    // ours: whether this lane was asked for, in a kernel that runs whole warps
    ("init_whole_warp", Kind::Subgroup(Subgroup::WholeWarp), 0),
    // barriers
    ("control_barrier", Kind::Barrier(Barrier::Execution), 0), ("memory_barrier", Kind::Barrier(Barrier::Device), 0),
    ("memory_barrier_buffer", Kind::Barrier(Barrier::Device), 0),
    ("memory_barrier_image", Kind::Barrier(Barrier::Device), 0),
    ("memory_barrier_atomic_counter", Kind::Barrier(Barrier::Device), 0),
    ("memory_barrier_shared", Kind::Barrier(Barrier::Workgroup), 0),
    ("group_memory_barrier", Kind::Barrier(Barrier::Workgroup), 0),
    ("scoped_barrier", Kind::Barrier(Barrier::Scoped), 0), ("barrier", Kind::Barrier(Barrier::Scoped), 0),
    ("memory_barrier_tcs_patch", Kind::Nothing, 0), ("nop", Kind::Nothing, 0),
    ("begin_invocation_interlock", Kind::Nothing, 0), ("end_invocation_interlock", Kind::Nothing, 0),
];

/// Memories with atomics: beginning and end of the name, sources before the data.
const ATOMIC_MEMS: &[(&str, &str, Mem, u8)] = &[
    ("ssbo", "", Mem::Ssbo, 2),
    ("global", "", Mem::Global, 1),
    ("global", "_2x32", Mem::Global2x32, 1),
    ("shared", "", Mem::Shared, 1),
    ("deref", "", Mem::Deref, 1),
];

/// Names of the operations in the older generation, where they are part of the intrinsic's name.
const ATOMICS: &[(&str, Atomic)] = &[
    ("add", Atomic::Add),
    ("sub", Atomic::Sub),
    ("imin", Atomic::Imin),
    ("umin", Atomic::Umin),
    ("imax", Atomic::Imax),
    ("umax", Atomic::Umax),
    ("and", Atomic::And),
    ("or", Atomic::Or),
    ("xor", Atomic::Xor),
    ("exchange", Atomic::Exchange),
    ("comp_swap", Atomic::CompSwap),
    ("fadd", Atomic::Fadd),
    ("fmin", Atomic::Fmin),
    ("fmax", Atomic::Fmax),
    ("fcomp_swap", Atomic::FcompSwap),
    ("inc_wrap", Atomic::IncWrap),
    ("dec_wrap", Atomic::DecWrap),
];

/// The newer generation's, in the index `atomic_op`.
impl Named for Atomic {
    const WHAT: &'static str = "atomic operation";
    const NAMES: &'static [(&'static str, Atomic)] = &[
        ("iadd", Atomic::Add),
        ("isub", Atomic::Sub),
        ("imin", Atomic::Imin),
        ("umin", Atomic::Umin),
        ("imax", Atomic::Imax),
        ("umax", Atomic::Umax),
        ("iand", Atomic::And),
        ("ior", Atomic::Or),
        ("ixor", Atomic::Xor),
        ("xchg", Atomic::Exchange),
        ("cmpxchg", Atomic::CompSwap),
        ("fadd", Atomic::Fadd),
        ("fmin", Atomic::Fmin),
        ("fmax", Atomic::Fmax),
        ("fcmpxchg", Atomic::FcompSwap),
        ("inc_wrap", Atomic::IncWrap),
        ("dec_wrap", Atomic::DecWrap),
    ];
}

const IMAGES: &[(&str, ImageRef)] =
    &[("image", ImageRef::Index), ("bindless_image", ImageRef::Bindless), ("image_deref", ImageRef::Deref)];

static TABLE: LazyLock<FxHashMap<Cow<'static, str>, IntrinsicInfo>> = LazyLock::new(|| {
    let mut table = FxHashMap::with_capacity_and_hasher(512, Default::default());
    let mut row =
        |name: Cow<'static, str>, kind, srcs| table.insert(name.clone(), IntrinsicInfo { name, kind, srcs });
    for &(name, kind, srcs) in ROWS {
        row(name.into(), kind, srcs);
    }
    let two = |op| u8::from(matches!(op, Atomic::CompSwap | Atomic::FcompSwap));
    for &(prefix, suffix, mem, srcs) in ATOMIC_MEMS {
        for &(old, op) in ATOMICS {
            row(
                [prefix, "_atomic_", old, suffix].concat().into(),
                Kind::Atomic(mem, Some(op)),
                srcs + 1 + two(op),
            );
        }
        row([prefix, "_atomic", suffix].concat().into(), Kind::Atomic(mem, None), srcs + 1);
        row([prefix, "_atomic_swap", suffix].concat().into(), Kind::AtomicSwap(mem), srcs + 2);
    }
    for &(prefix, image) in IMAGES {
        for &(old, op) in ATOMICS {
            let kind = Kind::Image(image, ImageOp::Atomic(Some(op)));
            row([prefix, "_atomic_", old].concat().into(), kind, 4 + two(op));
        }
        row([prefix, "_atomic"].concat().into(), Kind::Image(image, ImageOp::Atomic(None)), 4);
        row([prefix, "_atomic_swap"].concat().into(), Kind::Image(image, ImageOp::AtomicSwap), 5);
        row([prefix, "_load"].concat().into(), Kind::Image(image, ImageOp::Load), 4);
        row([prefix, "_store"].concat().into(), Kind::Image(image, ImageOp::Store), 5);
        row([prefix, "_size"].concat().into(), Kind::Image(image, ImageOp::Size), 2);
        row([prefix, "_samples"].concat().into(), Kind::Image(image, ImageOp::Samples), 1);
    }
    table
});

/// Every intrinsic's name.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().map(|name| &**name)
}

/// The intrinsic that is written most like `name`.
pub fn nearest(name: &str) -> Option<&'static str> {
    closest(name, &names().collect::<Vec<_>>())
}

/// The row of an intrinsic.
pub fn lookup(name: &str) -> Option<&'static IntrinsicInfo> {
    TABLE.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_generations_of_atomics_are_known() {
        let row = |name| lookup(name).map(|r| (r.kind, r.srcs));
        assert_eq!(row("ssbo_atomic_comp_swap"), Some((Kind::Atomic(Mem::Ssbo, Some(Atomic::CompSwap)), 4)));
        assert_eq!(row("shared_atomic"), Some((Kind::Atomic(Mem::Shared, None), 2)));
        assert_eq!(row("global_atomic_swap"), Some((Kind::AtomicSwap(Mem::Global), 3)));
        assert_eq!(
            row("bindless_image_atomic_add"),
            Some((Kind::Image(ImageRef::Bindless, ImageOp::Atomic(Some(Atomic::Add))), 4))
        );
        assert_eq!(Atomic::of("xchg"), Some(Atomic::Exchange));
    }
}
