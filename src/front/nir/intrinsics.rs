//! The table of intrinsics: for each name what it does, and the shapes of its result and its sources, which the validator
//! asks for.
//!
//! Indices (`base=`, `access=`, …) are in the text by name, so the table need not list them; which ones an
//! intrinsic has is Mesa's matter (`nir_intrinsics.py`, 22.3 and later). What has no row is
//! [`Unknown`](super::ast::Unknown).

use super::names::Named;
use super::operands::*;
use crate::diag::closest;
pub use crate::front::common::emit::memory::Atomic;
pub use crate::front::common::emit::subgroup::Subgroup;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

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
    /// Through a deref, at a place in the pixel.
    InterpolateDeref(Barycentric),
    /// A fragment, always or where the source holds.
    Discard,
    DiscardIf,
    /// Along a row of pixels.
    Ddx,
    /// From row to row.
    Ddy,
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
    pub dest: Option<Operand>,
    pub srcs: &'static [Operand],
}

#[rustfmt::skip]
const ROWS: &[(&str, Kind, Option<Operand>, &[Operand])] = &[
    ("load_global", Kind::Load(Mem::Global), LOADED, &[ADDRESS]),
    ("load_global_2x32", Kind::Load(Mem::Global2x32), LOADED, &[ADDRESS_2X32]),
    ("load_global_constant", Kind::Load(Mem::GlobalConstant), LOADED, &[ADDRESS]),
    ("load_global_constant_offset", Kind::Load(Mem::GlobalConstantOffset), LOADED, &[ADDRESS, OFFSET]),
    ("load_global_constant_bounded", Kind::Load(Mem::GlobalConstantBounded), LOADED, &[ADDRESS, OFFSET, BOUND]),
    ("load_ssbo", Kind::Load(Mem::Ssbo), LOADED, &[BUFFER, OFFSET]),
    ("load_ubo", Kind::Load(Mem::Ubo), LOADED, &[BUFFER, OFFSET]),
    ("load_ubo_vec4", Kind::Load(Mem::UboVec4), LOADED, &[BUFFER, OFFSET]),
    ("load_shared", Kind::Load(Mem::Shared), LOADED, &[OFFSET]),
    ("load_scratch", Kind::Load(Mem::Scratch), LOADED, &[OFFSET]),
    ("load_uniform", Kind::Load(Mem::Uniform), LOADED, &[OFFSET]),
    ("load_kernel_input", Kind::Load(Mem::KernelInput), LOADED, &[OFFSET]),
    ("load_push_constant", Kind::Load(Mem::PushConstant), LOADED, &[OFFSET]),
    ("load_constant", Kind::Load(Mem::Constant), LOADED, &[OFFSET]),
    ("load_deref", Kind::Load(Mem::Deref), ANY, &[DEREF]),
    ("store_global", Kind::Store(Mem::Global), None, &[STORED, ADDRESS]),
    ("store_global_2x32", Kind::Store(Mem::Global2x32), None, &[STORED, ADDRESS_2X32]),
    ("store_ssbo", Kind::Store(Mem::Ssbo), None, &[STORED, BUFFER, OFFSET]),
    ("store_shared", Kind::Store(Mem::Shared), None, &[STORED, OFFSET]),
    ("store_scratch", Kind::Store(Mem::Scratch), None, &[STORED, OFFSET]),
    ("store_deref", Kind::Store(Mem::Deref), None, &[DEREF, STORED_ANY]),
    ("get_ssbo_size", Kind::SsboSize, words(1), &[BUFFER]), ("ssbo_size", Kind::SsboSize, words(1), &[BUFFER]),
    ("get_ubo_size", Kind::UboSize, words(1), &[BUFFER]),
    ("deref_buffer_array_length", Kind::BufferArrayLength, words(1), &[DEREF]),
    ("copy_deref", Kind::CopyDeref, None, &[DEREF, DEREF]),
    ("memcpy_deref", Kind::MemcpyDeref, None, &[DEREF, DEREF, BYTES]), ("load_param", Kind::Param, ANY, &[]),
    ("deref_mode_is", Kind::DerefModeIs, BOOL, &[DEREF]), ("addr_mode_is", Kind::DerefModeIs, BOOL, &[DEREF]),
    ("decl_reg", Kind::DeclReg, words(1), &[]), ("load_reg", Kind::LoadReg, ANY, &[REGISTER]),
    ("load_reg_indirect", Kind::LoadRegIndirect, ANY, &[REGISTER, OFFSET]),
    ("store_reg", Kind::StoreReg, None, &[STORED_ANY, REGISTER]),
    ("store_reg_indirect", Kind::StoreRegIndirect, None, &[STORED_ANY, REGISTER, OFFSET]),
    ("convert_alu_types", Kind::ConvertAluTypes, ANY, &[VECTOR]),
    // system values
    ("load_workgroup_id", Kind::System(System::WorkgroupId), wide(3), &[]),
    ("load_workgroup_id_zero_base", Kind::System(System::WorkgroupIdZeroBase), words(3), &[]),
    ("load_local_invocation_id", Kind::System(System::LocalInvocationId), words(3), &[]),
    ("load_local_invocation_index", Kind::System(System::LocalInvocationIndex), words(1), &[]),
    ("load_workgroup_size", Kind::System(System::WorkgroupSize), words(3), &[]),
    ("load_num_workgroups", Kind::System(System::NumWorkgroups), wide(3), &[]),
    ("load_global_invocation_id", Kind::System(System::GlobalInvocationId), wide(3), &[]),
    ("load_global_invocation_id_zero_base", Kind::System(System::GlobalInvocationId), wide(3), &[]),
    ("load_global_invocation_index", Kind::System(System::GlobalInvocationIndex), wide(1), &[]),
    ("load_workgroup_index", Kind::System(System::WorkgroupIndex), words(1), &[]),
    ("load_work_dim", Kind::System(System::WorkDim), words(1), &[]),
    ("load_base_global_invocation_id", Kind::System(System::Zero), wide(3), &[]),
    ("load_base_workgroup_id", Kind::System(System::Zero), wide(3), &[]),
    ("load_subgroup_invocation", Kind::System(System::SubgroupInvocation), words(1), &[]),
    ("load_subgroup_size", Kind::System(System::SubgroupSize), words(1), &[]),
    ("load_subgroup_id", Kind::System(System::SubgroupId), words(1), &[]),
    ("load_num_subgroups", Kind::System(System::NumSubgroups), words(1), &[]),
    ("load_subgroup_eq_mask", Kind::System(System::EqMask), MASK, &[]),
    ("load_subgroup_ge_mask", Kind::System(System::GeMask), MASK, &[]),
    ("load_subgroup_gt_mask", Kind::System(System::GtMask), MASK, &[]),
    ("load_subgroup_le_mask", Kind::System(System::LeMask), MASK, &[]),
    ("load_subgroup_lt_mask", Kind::System(System::LtMask), MASK, &[]),
    ("shader_clock", Kind::ShaderClock, words(2), &[]),
    ("load_helper_invocation", Kind::System(System::Helper), BOOL, &[]),
    ("is_helper_invocation", Kind::System(System::HelperNow), BOOL, &[]),
    ("load_shared_base_ptr", Kind::System(System::Zero), MASK, &[]),
    ("load_scratch_base_ptr", Kind::System(System::Zero), MASK, &[]),
    // system values of graphics stages
    ("load_vertex_id", Kind::System(System::VertexId), words(1), &[]),
    ("load_vertex_id_zero_base", Kind::System(System::VertexIdZeroBase), words(1), &[]),
    ("load_instance_id", Kind::System(System::InstanceId), words(1), &[]),
    ("load_base_vertex", Kind::System(System::BaseVertex), words(1), &[]),
    ("load_first_vertex", Kind::System(System::BaseVertex), words(1), &[]),
    ("load_base_instance", Kind::System(System::BaseInstance), words(1), &[]),
    ("load_draw_id", Kind::System(System::DrawId), words(1), &[]),
    ("load_primitive_id", Kind::System(System::PrimitiveId), words(1), &[]),
    ("load_invocation_id", Kind::System(System::InvocationId), words(1), &[]),
    ("load_patch_vertices_in", Kind::System(System::VerticesIn), words(1), &[]),
    ("load_tess_coord", Kind::System(System::TessCoord), words(3), &[]),
    ("load_tess_coord_xy", Kind::System(System::TessCoord), words(2), &[]),
    ("load_tess_level_outer", Kind::System(System::TessOuter), words(4), &[]),
    ("load_tess_level_inner", Kind::System(System::TessInner), words(2), &[]),
    ("load_frag_coord", Kind::System(System::FragCoord), words(4), &[]),
    ("load_point_coord", Kind::System(System::PointCoord), words(2), &[]),
    ("load_front_face", Kind::System(System::FrontFace), BOOL, &[]),
    ("load_layer_id", Kind::System(System::Layer), words(1), &[]),
    ("load_sample_id", Kind::System(System::SampleId), words(1), &[]),
    ("load_sample_pos", Kind::System(System::SamplePosition), words(2), &[]),
    ("load_sample_mask_in", Kind::System(System::SampleMask), words(1), &[]),
    // inputs and outputs of graphics stages
    ("load_input", Kind::LoadIo(Io::Input), LOADED_VEC4, &[OFFSET]),
    ("load_per_vertex_input", Kind::LoadIo(Io::VertexInput), LOADED_VEC4, &[VERTEX, OFFSET]),
    ("load_interpolated_input", Kind::LoadIo(Io::Interpolated), LOADED_VEC4, &[BARYCENTRIC, OFFSET]),
    ("load_output", Kind::LoadIo(Io::Output), LOADED_VEC4, &[OFFSET]),
    ("load_per_vertex_output", Kind::LoadIo(Io::VertexOutput), LOADED_VEC4, &[VERTEX, OFFSET]),
    ("store_output", Kind::StoreIo(Io::Output), None, &[STORED_TO_SLOT, OFFSET]),
    ("store_per_vertex_output", Kind::StoreIo(Io::VertexOutput), None, &[STORED_TO_SLOT, VERTEX, OFFSET]),
    ("load_barycentric_pixel", Kind::Barycentric(Barycentric::Pixel), words(2), &[]),
    ("load_barycentric_centroid", Kind::Barycentric(Barycentric::Centroid), words(2), &[]),
    ("load_barycentric_sample", Kind::Barycentric(Barycentric::Sample), words(2), &[]),
    ("load_barycentric_at_sample", Kind::Barycentric(Barycentric::AtSample), words(2), &[SAMPLE]),
    ("load_barycentric_at_offset", Kind::Barycentric(Barycentric::AtOffset), words(2), &[PIXEL_OFFSET]),
    ("interp_deref_at_centroid", Kind::InterpolateDeref(Barycentric::Centroid), ANY, &[DEREF]),
    ("interp_deref_at_sample", Kind::InterpolateDeref(Barycentric::AtSample), ANY, &[DEREF, SAMPLE]),
    ("interp_deref_at_offset", Kind::InterpolateDeref(Barycentric::AtOffset), ANY, &[DEREF, PIXEL_OFFSET]),
    ("discard", Kind::Discard, None, &[]), ("discard_if", Kind::DiscardIf, None, &[CONDITION]),
    ("demote", Kind::Discard, None, &[]), ("demote_if", Kind::DiscardIf, None, &[CONDITION]),
    ("terminate", Kind::Discard, None, &[]), ("terminate_if", Kind::DiscardIf, None, &[CONDITION]),
    ("ddx", Kind::Ddx, LIKE_FIRST, &[VECTOR]), ("ddy", Kind::Ddy, LIKE_FIRST, &[VECTOR]),
    ("ddx_fine", Kind::Ddx, LIKE_FIRST, &[VECTOR]), ("ddy_fine", Kind::Ddy, LIKE_FIRST, &[VECTOR]),
    ("ddx_coarse", Kind::Ddx, LIKE_FIRST, &[VECTOR]), ("ddy_coarse", Kind::Ddy, LIKE_FIRST, &[VECTOR]),
    ("emit_vertex", Kind::EmitVertex, None, &[]), ("end_primitive", Kind::EndPrimitive, None, &[]),
    // subgroups
    ("ballot", Kind::Subgroup(Subgroup::Ballot), MASK, &[CONDITION]),
    ("ballot_relaxed", Kind::Subgroup(Subgroup::Ballot), MASK, &[CONDITION]),
    ("inverse_ballot", Kind::Subgroup(Subgroup::InverseBallot), BOOL, &[BALLOT]),
    ("ballot_bitfield_extract", Kind::Subgroup(Subgroup::BallotBitfieldExtract), BOOL, &[BALLOT, LANE]),
    ("ballot_bit_count_reduce", Kind::Subgroup(Subgroup::BallotBitCountReduce), words(1), &[BALLOT]),
    ("ballot_bit_count_inclusive", Kind::Subgroup(Subgroup::BallotBitCountInclusive), words(1), &[BALLOT]),
    ("ballot_bit_count_exclusive", Kind::Subgroup(Subgroup::BallotBitCountExclusive), words(1), &[BALLOT]),
    ("ballot_find_lsb", Kind::Subgroup(Subgroup::BallotFindLsb), words(1), &[BALLOT]),
    ("ballot_find_msb", Kind::Subgroup(Subgroup::BallotFindMsb), words(1), &[BALLOT]),
    ("elect", Kind::Subgroup(Subgroup::Elect), BOOL, &[]),
    ("first_invocation", Kind::Subgroup(Subgroup::FirstInvocation), words(1), &[]),
    ("last_invocation", Kind::Subgroup(Subgroup::LastInvocation), words(1), &[]),
    ("vote_all", Kind::Subgroup(Subgroup::VoteAll), BOOL, &[CONDITION]),
    ("vote_any", Kind::Subgroup(Subgroup::VoteAny), BOOL, &[CONDITION]),
    ("vote_ieq", Kind::Subgroup(Subgroup::VoteIeq), BOOL, &[VECTOR]),
    ("vote_feq", Kind::Subgroup(Subgroup::VoteFeq), BOOL, &[VECTOR]),
    ("read_invocation", Kind::Subgroup(Subgroup::ReadInvocation), LIKE_FIRST, &[VECTOR, LANE]),
    ("read_first_invocation", Kind::Subgroup(Subgroup::ReadFirstInvocation), LIKE_FIRST, &[VECTOR]),
    ("shuffle", Kind::Subgroup(Subgroup::Shuffle), LIKE_FIRST, &[VECTOR, LANE]),
    ("shuffle_xor", Kind::Subgroup(Subgroup::ShuffleXor), LIKE_FIRST, &[VECTOR, LANE]),
    ("shuffle_up", Kind::Subgroup(Subgroup::ShuffleUp), LIKE_FIRST, &[VECTOR, LANE]),
    ("shuffle_down", Kind::Subgroup(Subgroup::ShuffleDown), LIKE_FIRST, &[VECTOR, LANE]),
    ("quad_broadcast", Kind::Subgroup(Subgroup::QuadBroadcast), LIKE_FIRST, &[VECTOR, LANE]),
    ("quad_swap_horizontal", Kind::Subgroup(Subgroup::QuadSwapHorizontal), LIKE_FIRST, &[VECTOR]),
    ("quad_swap_vertical", Kind::Subgroup(Subgroup::QuadSwapVertical), LIKE_FIRST, &[VECTOR]),
    ("quad_swap_diagonal", Kind::Subgroup(Subgroup::QuadSwapDiagonal), LIKE_FIRST, &[VECTOR]),
    ("quad_vote_any", Kind::Subgroup(Subgroup::QuadVoteAny), BOOL, &[CONDITION]),
    ("quad_vote_all", Kind::Subgroup(Subgroup::QuadVoteAll), BOOL, &[CONDITION]),
    ("rotate", Kind::Subgroup(Subgroup::Rotate), LIKE_FIRST, &[VECTOR, LANE]),
    ("as_uniform", Kind::Subgroup(Subgroup::AsUniform), LIKE_FIRST, &[VECTOR]),
    ("reduce", Kind::Subgroup(Subgroup::Reduce), LIKE_FIRST, &[VECTOR]),
    ("inclusive_scan", Kind::Subgroup(Subgroup::InclusiveScan), LIKE_FIRST, &[VECTOR]),
    ("exclusive_scan", Kind::Subgroup(Subgroup::ExclusiveScan), LIKE_FIRST, &[VECTOR]),
    // ours: whether this lane was asked for, in a kernel that runs whole warps
    ("init_whole_warp", Kind::Subgroup(Subgroup::WholeWarp), BOOL, &[]),
    // barriers
    ("control_barrier", Kind::Barrier(Barrier::Execution), None, &[]),
    ("memory_barrier", Kind::Barrier(Barrier::Device), None, &[]),
    ("memory_barrier_buffer", Kind::Barrier(Barrier::Device), None, &[]),
    ("memory_barrier_image", Kind::Barrier(Barrier::Device), None, &[]),
    ("memory_barrier_atomic_counter", Kind::Barrier(Barrier::Device), None, &[]),
    ("memory_barrier_shared", Kind::Barrier(Barrier::Workgroup), None, &[]),
    ("group_memory_barrier", Kind::Barrier(Barrier::Workgroup), None, &[]),
    ("scoped_barrier", Kind::Barrier(Barrier::Scoped), None, &[]),
    ("barrier", Kind::Barrier(Barrier::Scoped), None, &[]), ("memory_barrier_tcs_patch", Kind::Nothing, None, &[]),
    ("nop", Kind::Nothing, None, &[]), ("begin_invocation_interlock", Kind::Nothing, None, &[]),
    ("end_invocation_interlock", Kind::Nothing, None, &[]),
];

/// Beginning and end of a name, the memory, sources of atomics with one operand and with two.
type AtomicMem = (&'static str, &'static str, Mem, &'static [Operand], &'static [Operand]);

/// Memories with atomics.
const ATOMIC_MEMS: &[AtomicMem] = &[
    ("ssbo", "", Mem::Ssbo, &[BUFFER, OFFSET, DATA], &[BUFFER, OFFSET, DATA, DATA]),
    ("global", "", Mem::Global, &[ADDRESS, DATA], &[ADDRESS, DATA, DATA]),
    ("global", "_2x32", Mem::Global2x32, &[ADDRESS_2X32, DATA], &[ADDRESS_2X32, DATA, DATA]),
    ("shared", "", Mem::Shared, &[OFFSET, DATA], &[OFFSET, DATA, DATA]),
    ("deref", "", Mem::Deref, &[DEREF, DATA], &[DEREF, DATA, DATA]),
];

/// What the names of accesses to images end with, and those of atomics, which in the older generation name the operation.
const ACCESSES: &[(&str, ImageOp)] = &[
    ("_load", ImageOp::Load),
    ("_store", ImageOp::Store),
    ("_size", ImageOp::Size),
    ("_samples", ImageOp::Samples),
    ("_atomic", ImageOp::Atomic(None)),
    ("_atomic_swap", ImageOp::AtomicSwap),
    ("_atomic_add", ImageOp::Atomic(Some(Atomic::Add))),
    ("_atomic_sub", ImageOp::Atomic(Some(Atomic::Sub))),
    ("_atomic_imin", ImageOp::Atomic(Some(Atomic::Imin))),
    ("_atomic_umin", ImageOp::Atomic(Some(Atomic::Umin))),
    ("_atomic_imax", ImageOp::Atomic(Some(Atomic::Imax))),
    ("_atomic_umax", ImageOp::Atomic(Some(Atomic::Umax))),
    ("_atomic_and", ImageOp::Atomic(Some(Atomic::And))),
    ("_atomic_or", ImageOp::Atomic(Some(Atomic::Or))),
    ("_atomic_xor", ImageOp::Atomic(Some(Atomic::Xor))),
    ("_atomic_exchange", ImageOp::Atomic(Some(Atomic::Exchange))),
    ("_atomic_comp_swap", ImageOp::Atomic(Some(Atomic::CompSwap))),
    ("_atomic_fadd", ImageOp::Atomic(Some(Atomic::Fadd))),
    ("_atomic_fmin", ImageOp::Atomic(Some(Atomic::Fmin))),
    ("_atomic_fmax", ImageOp::Atomic(Some(Atomic::Fmax))),
    ("_atomic_fcomp_swap", ImageOp::Atomic(Some(Atomic::FcompSwap))),
    ("_atomic_inc_wrap", ImageOp::Atomic(Some(Atomic::IncWrap))),
    ("_atomic_dec_wrap", ImageOp::Atomic(Some(Atomic::DecWrap))),
];

fn swaps(op: Atomic) -> bool {
    matches!(op, Atomic::CompSwap | Atomic::FcompSwap)
}

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

/// How an image is named, and with it the sources of each kind of access.
struct ImageRow {
    prefix: &'static str,
    image: ImageRef,
    samples: &'static [Operand],
    size: &'static [Operand],
    load: &'static [Operand],
    store: &'static [Operand],
    atomic: &'static [Operand],
    swap: &'static [Operand],
}

macro_rules! on_image {
    ($prefix:literal, $image:expr, $it:expr) => {
        ImageRow {
            prefix: $prefix,
            image: $image,
            samples: &[$it],
            size: &[$it, LEVEL],
            load: &[$it, COORDINATES, SAMPLE, LEVEL],
            store: &[$it, COORDINATES, SAMPLE, TEXEL, LEVEL],
            atomic: &[$it, COORDINATES, SAMPLE, DATA],
            swap: &[$it, COORDINATES, SAMPLE, DATA, DATA],
        }
    };
}

const IMAGES: &[ImageRow] = &[
    on_image!("image", ImageRef::Index, IMAGE),
    on_image!("bindless_image", ImageRef::Bindless, IMAGE_HANDLE),
    on_image!("image_deref", ImageRef::Deref, DEREF),
];

/// Of an atomic on an image, whose data is the fourth source.
const IMAGE_ATOMIC: Option<Operand> = like(3);

/// All but accesses to images and atomics.
static TABLE: LazyLock<FxHashMap<&'static str, IntrinsicInfo>> = LazyLock::new(|| {
    let row = |&(name, kind, dest, srcs): &(&'static str, _, _, _)| {
        (name, IntrinsicInfo { name: name.into(), kind, dest, srcs })
    };
    ROWS.iter().map(row).collect()
});

/// Makes the table that every text needs.
pub(super) fn prepare() {
    LazyLock::force(&TABLE);
}

/// What an access does, what it gives and takes.
type Shape = (Kind, Option<Operand>, &'static [Operand]);

fn of_memory(&(_, _, mem, one, two): &AtomicMem, access: ImageOp) -> Option<Shape> {
    let dest = like(one.len() as u8 - 1);
    Some(match access {
        ImageOp::Atomic(op) => (Kind::Atomic(mem, op), dest, if op.is_some_and(swaps) { two } else { one }),
        ImageOp::AtomicSwap => (Kind::AtomicSwap(mem), dest, two),
        _ => return None,
    })
}

fn of_image(it: &ImageRow, access: ImageOp) -> Shape {
    let (dest, srcs) = match access {
        ImageOp::Load => (LOADED_VEC4, it.load),
        ImageOp::Store => (None, it.store),
        ImageOp::Size => (SIZES, it.size),
        ImageOp::Samples => (words(1), it.samples),
        ImageOp::Atomic(op) => (IMAGE_ATOMIC, if op.is_some_and(swaps) { it.swap } else { it.atomic }),
        ImageOp::AtomicSwap => (IMAGE_ATOMIC, it.swap),
    };
    (Kind::Image(it.image, access), dest, srcs)
}

/// An access to an image or an atomic. Its row is made when it is first asked for: most processes compile few shaders, and
/// all rows at once take longer than a shader.
fn composed(name: &str) -> Option<&'static IntrinsicInfo> {
    type Made = [OnceLock<IntrinsicInfo>; ACCESSES.len()];
    static OF_MEMORY: [Made; ATOMIC_MEMS.len()] = [const { [const { OnceLock::new() }; _] }; _];
    static OF_IMAGES: [Made; IMAGES.len()] = [const { [const { OnceLock::new() }; _] }; _];
    let access = |prefix, suffix| {
        let rest = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
        ACCESSES.iter().position(|a| a.0 == rest)
    };
    let made = |made: &'static Made, access: usize, (kind, dest, srcs): Shape| {
        made[access].get_or_init(|| IntrinsicInfo { name: name.to_string().into(), kind, dest, srcs })
    };
    for (row, rows) in ATOMIC_MEMS.iter().zip(&OF_MEMORY) {
        if let Some(n) = access(row.0, row.1) {
            return Some(made(rows, n, of_memory(row, ACCESSES[n].1)?));
        }
    }
    for (row, rows) in IMAGES.iter().zip(&OF_IMAGES) {
        if let Some(n) = access(row.prefix, "") {
            return Some(made(rows, n, of_image(row, ACCESSES[n].1)));
        }
    }
    None
}

/// Every intrinsic's name.
pub fn names() -> impl Iterator<Item = &'static str> {
    let families = ATOMIC_MEMS.iter().map(|m| (m.0, m.1)).chain(IMAGES.iter().map(|i| (i.prefix, "")));
    let accesses = families.flat_map(|(prefix, suffix)| {
        ACCESSES.iter().filter_map(move |a| composed(&[prefix, a.0, suffix].concat()))
    });
    TABLE.values().chain(accesses).map(|row| &*row.name)
}

/// The intrinsic that is written most like `name`.
pub fn nearest(name: &str) -> Option<&'static str> {
    closest(name, &names().collect::<Vec<_>>())
}

/// The row of an intrinsic.
pub fn lookup(name: &str) -> Option<&'static IntrinsicInfo> {
    TABLE.get(name).or_else(|| composed(name))
}

/// The intrinsic of a kind that loads or stores inputs and outputs, or gives the coordinates for it.
pub(super) fn of_interface(kind: Kind) -> Option<&'static IntrinsicInfo> {
    static TABLE: LazyLock<FxHashMap<Kind, &'static IntrinsicInfo>> = LazyLock::new(|| {
        let of_interface = |kind| matches!(kind, Kind::LoadIo(_) | Kind::StoreIo(_) | Kind::Barycentric(_));
        let rows = ROWS.iter().filter(|row| of_interface(row.1));
        rows.filter_map(|row| Some((row.1, lookup(row.0)?))).collect()
    });
    TABLE.get(&kind).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_no_other() {
        let all: Vec<&str> = names().collect();
        assert_eq!(all.iter().filter(|n| lookup(n).is_some_and(|row| row.name == **n)).count(), all.len());
        // Five memories with atomics, three ways to name an image, which is loaded, stored and measured, too.
        assert_eq!(all.iter().filter(|n| composed(n).is_some()).count(), 5 * 19 + 3 * 23);
        for name in [
            "deref_load",
            "ssbo_samples",
            "ssbo_atomic_",
            "global_atomic_add_2x",
            "image",
            "images_load",
            "image_load_2x32",
        ] {
            assert!(lookup(name).is_none(), "{name}");
        }
    }

    #[test]
    fn both_generations_of_atomics_are_known() {
        let row = |name| lookup(name).map(|r| (r.kind, r.srcs.len()));
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
