//! Words of methods that have fields. Sources: rnndb (`gf100_3d.xml`, `gf100_compute.xml`,
//! `gf100_m2mf.xml`, `gk104_copy.xml`), NVIDIA's cl9039.h, cla040.h, cla0b5.h, cla0c0.h.

use bitfield_struct::bitfield;

/// `QUERY_GET`: writes a report, or a fence.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct QueryGet {
    /// 0 writes at once, 2 when what came before has been done; 1 and 3 wait for what is in memory.
    #[bits(2)]
    pub mode: u32,
    #[bits(2)]
    __: u32,
    /// Only says how far the stream has come.
    pub fence: bool,
    /// Vertex stream, or buffer of transform feedback.
    #[bits(3)]
    pub stream: u32,
    #[bits(4)]
    __: u32,
    /// The unit that reports; 15: the whole pipeline.
    #[bits(4)]
    pub unit: u32,
    #[bits(7)]
    __: u32,
    /// The counter.
    #[bits(5)]
    pub select: u32,
    /// The sequence alone, one word.
    pub short: bool,
    #[bits(3)]
    __: u32,
}

impl QueryGet {
    /// The sequence, one word, when all before has been done.
    pub const FENCE: QueryGet = QueryGet::new().with_short(true).with_unit(15).with_fence(true);
    /// Sequence, zero and the time in nanoseconds, when all before has been done.
    pub const TIME: QueryGet = QueryGet::new().with_unit(5).with_mode(2);
}

/// What `QUERY_GET` counts whose number has 32 bits behind the sequence; the others have 64 bits
/// without one.
pub mod counter {
    /// Nothing: sequence and time.
    pub const NOTHING: u32 = 0;
    /// Vertices of the assembly.
    pub const VERTICES: u32 = 1;
    /// Samples that passed.
    pub const SAMPLES: u32 = 2;
    /// Primitives of the assembly.
    pub const PRIMITIVES: u32 = 3;
    /// Runs of the vertex program.
    pub const VERTEX_INVOCATIONS: u32 = 5;
    /// Primitives of a stream that found no room in the buffers of transform feedback.
    pub const FEEDBACK_LOST: u32 = 6;
    /// Runs of the geometry program.
    pub const GEOMETRY_INVOCATIONS: u32 = 7;
    /// Primitives that it made.
    pub const GEOMETRY_PRIMITIVES: u32 = 9;
    /// Primitives that transform feedback has written of a stream.
    pub const FEEDBACK_WRITTEN: u32 = 0xb;
    /// Those that it would have written with more room.
    pub const FEEDBACK_WANTED: u32 = 0xd;
    /// Primitives that came to the clipper.
    pub const CLIPPER_IN: u32 = 0xf;
    /// Primitives that were left.
    pub const CLIPPER_OUT: u32 = 0x11;
    /// Primitives of a stream behind the last stage.
    pub const GENERATED: u32 = 0x12;
    /// Pixels for which the fragment program ran.
    pub const FRAGMENT_INVOCATIONS: u32 = 0x13;
    /// Bytes that transform feedback has written to a buffer.
    pub const FEEDBACK_BYTES: u32 = 0x1a;
    /// Patches of the tessellation control program.
    pub const CONTROL_INVOCATIONS: u32 = 0x1b;
    /// Runs of the tessellation evaluation program.
    pub const EVAL_INVOCATIONS: u32 = 0x1d;
    /// Primitives of all streams that found no room.
    pub const ALL_FEEDBACK_LOST: u32 = 0x1e;
}

/// `COND_MODE`: when clears, draws, blits and launches happen.
pub mod condition {
    /// Never.
    pub const NEVER: u32 = 0;
    /// Always, as at reset.
    pub const ALWAYS: u32 = 1;
    /// If the report's word is not zero.
    pub const NON_ZERO: u32 = 2;
    /// If two reports are equal.
    pub const EQUAL: u32 = 3;
    /// If they are not.
    pub const NOT_EQUAL: u32 = 4;
}

/// `SEMAPHORE_TRIGGER`: what the channel does with its semaphore.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct SemaphoreTrigger {
    /// Waits until the word is equal.
    pub acquire_equal: bool,
    /// Writes it.
    pub release: bool,
    /// Waits until it is at least as large.
    pub acquire_greater: bool,
    #[bits(21)]
    __: u32,
    /// A release writes one word, without a time.
    pub short: bool,
    #[bits(7)]
    __: u32,
}

/// `CLEAR_BUFFERS`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct ClearBuffers {
    /// Depth.
    pub depth: bool,
    /// Stencil.
    pub stencil: bool,
    /// Channels of the colour target: red in the lowest bit.
    #[bits(4)]
    pub channels: u32,
    /// The colour target.
    #[bits(4)]
    pub target: u32,
    /// Counted from the targets' first.
    #[bits(11)]
    pub layer: u32,
    #[bits(11)]
    __: u32,
}

/// How an engine says that it is done: `COMPLETION` of [`UploadExec`] and [`M2mfExec`].
pub const RELEASE: u32 = 2;

/// `UPLOAD_EXEC`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct UploadExec {
    /// The destination lies row by row.
    pub linear: bool,
    /// Joins the semaphore's word with the one in memory.
    pub reduction: bool,
    #[bits(2)]
    __: u32,
    /// At the end: nothing, or [`RELEASE`].
    #[bits(2)]
    pub completion: u32,
    /// Need not be seen by the processor.
    pub no_sysmembar: bool,
    #[bits(5)]
    __: u32,
    /// The semaphore is one word, without a time.
    pub short: bool,
    #[bits(19)]
    __: u32,
}

impl UploadExec {
    /// Rows that follow each other.
    pub const LINEAR: UploadExec = UploadExec::new().with_linear(true).with_short(true);
    /// The same in the compute class, for what only kernels see.
    pub const LINEAR_COMPUTE: UploadExec = UploadExec::new().with_linear(true).with_no_sysmembar(true);
}

/// `EXEC` of M2MF.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct M2mfExec {
    /// The data come in the stream.
    pub push: bool,
    #[bits(3)]
    __: u32,
    /// The source lies row by row.
    pub linear_in: bool,
    #[bits(3)]
    __: u32,
    /// The destination does.
    pub linear_out: bool,
    #[bits(3)]
    __: u32,
    /// At the end: nothing, or [`RELEASE`].
    #[bits(2)]
    pub completion: u32,
    #[bits(6)]
    __: u32,
    /// The semaphore is one word, without a time.
    pub short: bool,
    #[bits(11)]
    __: u32,
}

/// What one `EXEC` of M2MF can do.
pub mod m2mf {
    /// Lines of one copy, at most.
    pub const MAX_LINES: u32 = 2047;
    /// Bytes of a line, at most.
    pub const MAX_LINE: u64 = 1 << 17;
}

/// `EXEC` of the copy engine.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct CopyExec {
    /// 0 copies nothing, 2 waits for the copy before.
    #[bits(2)]
    pub transfer: u32,
    /// What was written is in memory at the end.
    pub flush: bool,
    /// At the end: 0 nothing, 1 a word, 2 four with the time.
    #[bits(2)]
    pub release: u32,
    #[bits(2)]
    __: u32,
    /// The source lies row by row. Mesa's header has the two names exchanged.
    pub src_linear: bool,
    /// The destination does.
    pub dst_linear: bool,
    /// Several lines.
    pub lines: bool,
    /// Elements of several bytes, as `SWIZZLE` says.
    pub elements: bool,
    __: bool,
    /// Physical addresses of source and destination.
    #[bits(2)]
    pub physical: u32,
    #[bits(5)]
    __: u32,
    /// Joins the semaphore's word with the one in memory.
    pub reduction: bool,
    #[bits(12)]
    __: u32,
}

impl CopyExec {
    /// Waits for the copy before, and flushes.
    pub const PLAIN: CopyExec = CopyExec::new().with_transfer(2).with_flush(true);
}

/// `SWIZZLE` of the copy engine: how elements are taken apart.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct CopySwizzle {
    /// Where each component comes from, four bits each.
    #[bits(16)]
    pub from: u32,
    /// Bytes of a component, less 1.
    #[bits(2)]
    pub bytes: u32,
    #[bits(2)]
    __: u32,
    /// Components of the source, less 1.
    #[bits(2)]
    pub source: u32,
    #[bits(2)]
    __: u32,
    /// Components of the destination, less 1.
    #[bits(2)]
    pub destination: u32,
    #[bits(6)]
    __: u32,
}

impl CopySwizzle {
    /// Every component from itself.
    pub const IDENTITY: u32 = 0x3210;
    /// In a block size of the copy engine: gobs have eight rows.
    pub const GOB_ROWS_8: u32 = 0x1000;
}

/// `BIND_TSC` of GF100's compute class.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct BindTsc {
    /// Not: nothing is bound.
    pub valid: bool,
    #[bits(3)]
    __: u32,
    /// The slot that instructions name.
    #[bits(8)]
    pub slot: u32,
    /// In the table.
    #[bits(13)]
    pub entry: u32,
    #[bits(7)]
    __: u32,
}

/// `BIND_TIC` of GF100's compute class.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct BindTic {
    /// Not: nothing is bound.
    pub valid: bool,
    /// The slot that instructions name.
    #[bits(8)]
    pub slot: u32,
    /// In the table.
    #[bits(22)]
    pub entry: u32,
    __: bool,
}

/// `CB_BIND` of GF100's compute class: binds what `CB_SIZE` and `CB_ADDRESS` say.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct CbBind {
    /// Not: nothing is bound.
    pub valid: bool,
    #[bits(7)]
    __: u32,
    /// The bank.
    #[bits(5)]
    pub index: u32,
    #[bits(19)]
    __: u32,
}

/// `VERTEX_BEGIN_GL`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct VertexBegin {
    /// The primitive.
    #[bits(16)]
    pub primitive: u32,
    #[bits(8)]
    __: u32,
    /// PrimitiveID goes on from the sequence before; else it begins at 0.
    pub same_ids: bool,
    __: bool,
    /// The next instance; else, and without the next bit, the first.
    pub next_instance: bool,
    /// The same instance.
    pub same_instance: bool,
    __: bool,
    /// The sequence has no begin, or no end.
    #[bits(2)]
    pub open: u32,
    __: bool,
}

/// `VERTEX_ID_GEN_MODE`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct VertexIdMode {
    #[bits(12)]
    __: u32,
    /// Numbers of the vertices of arrays begin at the first that is drawn; else at 0.
    pub from_first: bool,
    #[bits(19)]
    __: u32,
}

/// `VERTEX_ID_REPLACE`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct VertexIdReplace {
    /// The number of a vertex is one of its inputs.
    pub enable: bool,
    #[bits(3)]
    __: u32,
    /// The word address of that.
    #[bits(8)]
    pub input: u32,
    #[bits(20)]
    __: u32,
}

/// `VTX_ATTR_DEFINE`: what `VTX_ATTR_DATA` is.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct AttributeDefine {
    /// The attribute.
    #[bits(8)]
    pub attribute: u32,
    /// How many components come.
    #[bits(3)]
    pub components: u32,
    __: bool,
    /// Of a component: only [`AttributeDefine::WORDS`] is sent.
    #[bits(3)]
    pub size: u32,
    __: bool,
    /// A [`Type`](crate::format::vertex::Type).
    #[bits(3)]
    pub ty: u32,
    #[bits(13)]
    __: u32,
}

impl AttributeDefine {
    /// Components of 32 bits.
    pub const WORDS: u32 = 4;
}

/// `VERTEX_ARRAY_FETCH`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct ArrayFetch {
    /// Bytes from element to element.
    #[bits(12)]
    pub stride: u32,
    /// The array is read.
    pub enable: bool,
    #[bits(19)]
    __: u32,
}

/// `SP_SELECT`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct ProgramSelect {
    /// The stage has a program.
    pub enable: bool,
    #[bits(3)]
    __: u32,
    /// Which stage.
    #[bits(4)]
    pub stage: u32,
    #[bits(24)]
    __: u32,
}

/// `ATTRIBUTE_DEFAULT`: what a stage reads where the one before has no output: 0, 0, 0, 1 where a
/// bit is set, zeros where it is not; of the first bit 1, 1, 1, 1 and 0, 0, 0, 1.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct AttributeDefault {
    /// The first front colour.
    pub color_0: bool,
    /// The second.
    pub color_1: bool,
    /// Generic attributes.
    pub generic: bool,
    /// Texture coordinates of the fixed pipeline.
    pub texture: bool,
    #[bits(28)]
    __: u32,
}

/// `POINT_COORD_REPLACE`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct PointReplace {
    /// The third coordinate: 0 is zero.
    #[bits(2)]
    pub r: u32,
    /// The second coordinate is 0 at the first row of memory; else at the last.
    pub upper_left: bool,
    /// Texture coordinates of the fixed pipeline that are those in the point, a bit each.
    pub coordinates: u8,
    #[bits(21)]
    __: u32,
}

/// `VIEW_VOLUME_CLIP_CTRL`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct ViewVolume {
    /// Depths are from 0 to 1, whatever the viewport's range.
    pub unit_range: bool,
    #[bits(2)]
    __: u32,
    /// Depths before the near end are clamped; else what has them is not drawn.
    pub clamp_near: bool,
    /// The same at the far end.
    pub clamp_far: bool,
    #[bits(27)]
    __: u32,
}

/// `LAYER`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Layer {
    /// The layer, counted from the targets' first.
    #[bits(16)]
    pub number: u32,
    /// Primitives say it.
    pub from_primitive: bool,
    #[bits(15)]
    __: u32,
}

/// `MULTISAMPLE_CTRL`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct MultisampleControl {
    /// Alpha becomes a mask of samples.
    pub alpha_to_coverage: bool,
    #[bits(3)]
    __: u32,
    /// Then alpha is 1.
    pub alpha_to_one: bool,
    #[bits(27)]
    __: u32,
}

/// `CB_BIND` of a stage of the 3D class: binds what `CB_SIZE` and `CB_ADDRESS` say.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct StageCbBind {
    /// Not: nothing is bound.
    pub valid: bool,
    #[bits(3)]
    __: u32,
    /// The bank.
    #[bits(5)]
    pub index: u32,
    #[bits(23)]
    __: u32,
}

/// `TEX_MISC`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct TexMisc {
    #[bits(2)]
    __: u32,
    /// GF100's samplers filter over the edges of cubes.
    pub seamless_cube: bool,
    #[bits(29)]
    __: u32,
}

/// `IMAGE_HEIGHT` of a surface slot.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct ImageHeight {
    /// Rows.
    #[bits(20)]
    pub rows: u32,
    /// They follow each other; else they lie in blocks.
    pub linear: bool,
    #[bits(11)]
    __: u32,
}

/// `IMAGE_FORMAT` of a surface slot.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct ImageFormat {
    #[bits(4)]
    __: u32,
    /// The number of a [`Color`](crate::format::color::Color); 0: nothing is bound.
    #[bits(8)]
    pub color: u32,
    /// The number of a [`Zeta`](crate::format::zeta::Zeta), which is not looked at where there is a colour.
    #[bits(5)]
    pub zeta: u32,
    #[bits(15)]
    __: u32,
}

/// `FLUSH` of the compute classes: waits for what came before to be in memory, and forgets what is
/// cached.
pub mod flush {
    /// Code.
    pub const CODE: u32 = 0x1;
    /// Global memory.
    pub const GLOBAL: u32 = 0x110;
    /// Constants.
    pub const CONSTANTS: u32 = 0x1000;
}

/// `MEM_BARRIER`: what programs of the 3D and compute classes have cached, and see anew (NVIDIA's
/// cl9097.h, INVALIDATE_SHADER_CACHES).
pub mod memory_barrier {
    /// Code, data and constants, as Mesa has it behind the upload of a program.
    pub const CODE: u32 = 0x1011;
    /// Data and constants.
    pub const DATA: u32 = 0x1010;
}

/// `OPERATION` of the 2D class.
pub mod operation {
    /// Texels are copied.
    pub const SOURCE_COPY: u32 = 3;
    /// Words are joined with the destination and a pattern, as the truth table `ROP` says.
    pub const ROP: u32 = 4;
    /// Texels are multiplied by `BETA4` and copied.
    pub const SOURCE_COPY_PREMULTIPLIED: u32 = 5;
}

/// `BETA4` of the 2D class: factors, of 255.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Beta4 {
    /// Blue.
    pub blue: u8,
    /// Green.
    pub green: u8,
    /// Red.
    pub red: u8,
    /// Alpha.
    pub alpha: u8,
}

/// `BLIT_CONTROL` of the 2D class.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct BlitControl {
    /// Coordinates are those of a pixel's corner, not of its centre.
    pub corner: bool,
    #[bits(3)]
    __: u32,
    /// Bilinear.
    pub linear: bool,
    #[bits(27)]
    __: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_mesas_recordings() {
        assert_eq!(QueryGet::FENCE.into_bits(), 0x1000_f010);
        assert_eq!(QueryGet::TIME.into_bits(), 0x5002);
        assert_eq!(QueryGet::from_bits(0x0d00_5022).select(), 0x1a);
        assert_eq!(UploadExec::LINEAR.into_bits(), 0x1001);
        assert_eq!(UploadExec::LINEAR_COMPUTE.into_bits(), 0x41);
        assert_eq!(CopyExec::PLAIN.into_bits(), 6);
        let both = M2mfExec::new().with_short(true).with_linear_in(true).with_linear_out(true);
        assert_eq!(both.into_bits(), 0x10_0110);
        let rows = CopyExec::PLAIN.with_src_linear(true).with_dst_linear(true).with_lines(true);
        assert_eq!(rows.with_elements(true).into_bits(), 0x786);
        assert_eq!(ImageFormat::new().with_zeta(0x14).into_bits(), 0x1_4000);
        assert_eq!(
            BindTic::new().with_valid(true).with_slot(3).with_entry(5).into_bits(),
            5 << 9 | 3 << 1 | 1
        );
        assert_eq!(
            BindTsc::new().with_valid(true).with_slot(3).with_entry(5).into_bits(),
            5 << 12 | 3 << 4 | 1
        );
        assert_eq!(ClearBuffers::from_bits(0x83f).layer(), 2);
        assert_eq!(
            SemaphoreTrigger::from_bits(0x100_0002),
            SemaphoreTrigger::new().with_release(true).with_short(true)
        );
    }
}
