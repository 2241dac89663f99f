//! Choices of a compile.

use crate::chip::{Chip, LimitError};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// How much effort goes into good code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum OptLevel {
    /// What is necessary only.
    O0,
    /// Cheap passes once.
    O1,
    /// All passes, and instructions in a good order.
    O2,
    /// Passes again after the ones that enable them.
    #[default]
    O3,
    /// As O3, without what makes code longer: loops stay loops, what is long is called.
    Os,
}

impl OptLevel {
    /// All levels, by the number that the C interface gives them.
    pub const ALL: [OptLevel; 5] = [OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3, OptLevel::Os];

    /// Whether code may become longer to be faster.
    pub(crate) fn may_lengthen(self) -> bool {
        matches!(self, OptLevel::O2 | OptLevel::O3)
    }

    /// What stands behind `-O`.
    pub fn name(self) -> &'static str {
        ["0", "1", "2", "3", "s"][self as usize]
    }
}

impl fmt::Display for OptLevel {
    /// What stands behind `-O`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

impl FromStr for OptLevel {
    type Err = String;

    /// `0` to `3` or `s`.
    fn from_str(text: &str) -> Result<OptLevel, String> {
        let level = OptLevel::ALL.into_iter().find(|l| l.name() == text);
        level.ok_or_else(|| format!("`{text}` is not a level: 0, 1, 2, 3 or s"))
    }
}

/// What happens to registers that a program may read before it writes them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum InitRegs {
    /// Nothing: they hold anything.
    Leave,
    /// All are zero at entry.
    All,
    /// Those that are possibly read before a write are zero at entry.
    AtEntry,
    /// The same, on the paths on which a write is missing.
    #[default]
    OnEdges,
}

impl InitRegs {
    /// All modes, by the number that the command line gives them.
    pub const ALL: [InitRegs; 4] = [InitRegs::Leave, InitRegs::All, InitRegs::AtEntry, InitRegs::OnEdges];
}

/// Choices of one compile; the default is what a driver wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// How much effort goes into good code.
    pub opt_level: OptLevel,
    /// What happens to registers that are read before they are written.
    pub init_regs: InitRegs,
    /// A bound on general registers below the chip's.
    pub max_gprs: Option<u32>,
    /// Threads of the largest block that will be launched, where the program does not declare it.
    pub threads: Option<u32>,
    /// Threads in x, y and z of every block that will be launched, where the program does not
    /// declare it: code for that size alone, which
    /// [`Shader::block_size`](crate::Shader::block_size) then says.
    pub block_size: Option<[u32; 3]>,
    /// Dimensions of every grid that will be launched, 1 to 3: what the program reads as its work
    /// dimension.
    pub work_dim: Option<u32>,
    /// What may be assumed of the address of a buffer argument in the kernel input, in bytes: a
    /// power of two.
    pub pointer_align: u32,
    /// Bytes of private memory that a TGSI program addresses itself.
    pub private_bytes: u32,
    /// Values of SPIR-V's specialisation constants, by `SpecId`; of bools 0 is false. Those that a module does not have are
    /// ignored, as Vulkan does.
    pub spec_constants: BTreeMap<u32, u64>,
    /// What is to be known of a graphics stage besides its text.
    pub stage: StageOptions,
    /// Memories whose accesses the program checks itself.
    pub sanitize: Sanitize,
    /// What only people who debug the compiler want.
    pub debug: DebugOptions,
}

/// Memories whose accesses a compiled program checks itself ([`crate::driver::sanitizer`]).
/// Displayed and parsed as names between commas: `shared,global,private,zones`; `all` (the first
/// three) and `none`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sanitize {
    /// Shared memory of blocks.
    pub shared: bool,
    /// Storage buffers and global memory.
    pub global: bool,
    /// The memory of a thread.
    pub private: bool,
    /// Nothing is checked, but variables in shared memory lie apart as `shared` has them, and the
    /// shader says where: for who watches the program from outside, as the emulator does.
    pub zones: bool,
}

impl Sanitize {
    /// All memories.
    pub const ALL: Sanitize = Sanitize { shared: true, global: true, private: true, zones: false };

    /// Whether variables in shared memory lie apart.
    pub(crate) fn has_zones(self) -> bool {
        self.shared || self.zones
    }

    /// Whether the program is as ever.
    pub fn is_none(self) -> bool {
        self == Sanitize::default()
    }
}

impl fmt::Display for Sanitize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (self.shared, "shared"),
            (self.global, "global"),
            (self.private, "private"),
            (self.zones, "zones"),
        ];
        let names: Vec<&str> = names.into_iter().filter(|n| n.0).map(|n| n.1).collect();
        f.write_str(if names.is_empty() { "none" } else { "" })?;
        f.write_str(&names.join(","))
    }
}

impl std::str::FromStr for Sanitize {
    type Err = String;

    fn from_str(s: &str) -> Result<Sanitize, String> {
        let mut spaces = Sanitize::default();
        for name in s.split(',') {
            match name.trim() {
                "shared" => spaces.shared = true,
                "global" => spaces.global = true,
                "private" => spaces.private = true,
                "all" => spaces = Sanitize { zones: spaces.zones, ..Sanitize::ALL },
                "zones" => spaces.zones = true,
                "none" => {}
                other => {
                    return Err(format!("no memory `{other}`: shared, global, private, zones, all, none"));
                }
            }
        }
        Ok(spaces)
    }
}

impl Options {
    /// The defaults at a level.
    pub fn at(opt_level: OptLevel) -> Options {
        Options { opt_level, ..Options::default() }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            opt_level: OptLevel::default(),
            init_regs: InitRegs::default(),
            max_gprs: None,
            threads: None,
            block_size: None,
            work_dim: None,
            pointer_align: 4,
            private_bytes: 0,
            spec_constants: BTreeMap::new(),
            stage: StageOptions::default(),
            sanitize: Sanitize::default(),
            debug: DebugOptions::default(),
        }
    }
}

/// What the text of a graphics stage leaves out, and the state that it is compiled for.
///
/// TGSI says everything but the clip planes. What NIR's printer leaves out must be given; what it
/// prints too, counts as printed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct StageOptions {
    /// Of a tessellation shader: NIR text says none of it.
    pub tess: Option<TessInfo>,
    /// Of a geometry shader: NIR text says it, except for primitives with adjacency.
    pub geometry: Option<GeometryInfo>,
    /// Of a fragment shader: NIR text says none of it.
    pub fragment: Option<FragmentInfo>,
    /// How many of the values in CLIPDIST clip and how many cull: NIR text says only the sum.
    pub distances: Option<Distances>,
    /// User clip planes that are evaluated, 0 to 8: those up to the highest that is switched on.
    /// Programs that write clip distances themselves get none.
    pub clip_planes: u8,
    /// A stage behind this one reads its clip vertex, which otherwise leaves a stage as clip distances only. TGSI says so by
    /// NEXT_SHADER.
    pub clip_vertex_read: bool,
    /// Arithmetic on single floats takes subnormal numbers for zero, and gives zero for them, as OpenGL allows and Mesa's
    /// drivers have it; division is shorter for it.
    pub flush_subnormals: bool,
}

/// What a tessellation shader declares; which of the two declares what is up to the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TessInfo {
    /// Vertices of a patch that the control shader writes; 0: not said.
    pub vertices_out: u8,
    /// What a patch is divided into; none: not said.
    pub domain: Option<Domain>,
    /// Where edges are divided; none: not said.
    pub spacing: Option<Spacing>,
    /// Triangles are counter-clockwise.
    pub ccw: bool,
    /// Points, rather than lines or triangles.
    pub point_mode: bool,
}

/// What the tessellator makes of a patch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Domain {
    /// A triangle.
    Triangles,
    /// A square.
    Quads,
    /// Parallel lines.
    Isolines,
}

/// How the tessellator divides edges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Spacing {
    /// In equal parts.
    Equal,
    /// In an odd number of parts, two of which grow.
    FractionalOdd,
    /// In an even number of parts, two of which grow.
    FractionalEven,
}

/// What a geometry shader declares. Primitives have OpenGL's numbers: 0 points, 1 lines, 3 line
/// strip, 4 triangles, 5 triangle strip, 10 lines with adjacency, 12 triangles with adjacency.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct GeometryInfo {
    /// Primitives that it gets.
    pub input: u8,
    /// Primitives that it emits.
    pub output: u8,
    /// Vertices that an invocation may emit.
    pub vertices_out: u16,
    /// Vertices of a primitive that it gets.
    pub vertices_in: u8,
    /// Invocations a primitive.
    pub invocations: u8,
    /// Streams that it emits to, one bit each.
    pub streams: u8,
}

/// What a fragment shader declares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FragmentInfo {
    /// Depth and stencil tests come before it runs.
    pub early_fragment_tests: bool,
    /// The coverage mask is that after the early tests.
    pub post_depth_coverage: bool,
    /// It runs once a sample.
    pub uses_sample_shading: bool,
    /// It discards.
    pub uses_discard: bool,
    /// It demotes invocations to helpers.
    pub uses_demote: bool,
    /// What is promised of the depth that it writes, as NIR counts: 0 nothing, 1 any, 2 greater, 3
    /// less, 4 unchanged.
    pub depth_layout: u8,
    /// Rows of the window count from the top.
    pub origin_upper_left: bool,
    /// Centres of pixels have integer coordinates.
    pub pixel_center_integer: bool,
    /// It uses derivatives.
    pub needs_quad_helper_invocations: bool,
}

/// Distances to planes that a program writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Distances {
    /// How many clip.
    pub clip: u8,
    /// How many cull; they follow the others.
    pub cull: u8,
}

/// Choices for debugging the compiler.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DebugOptions {
    /// Only these optimiser passes, in the pipeline's order.
    pub passes: Option<Vec<String>>,
    /// Only that many pass runs.
    pub bisect_limit: Option<u32>,
    /// Verify the IR after each pass; always so in debug builds.
    pub verify_each: bool,
    /// Passes (or `all`) before which the IR is put into the report.
    pub print_before: Vec<String>,
    /// Passes (or `all`) after which the IR is put into the report.
    pub print_after: Vec<String>,
    /// Put the time of each pass into the report.
    pub time_passes: bool,
    /// Gather remarks: what was not done, and why.
    pub remarks: bool,
    /// Keep every value that lives across basic blocks in local memory: what happens by itself to
    /// those that live longest where so many live across so many blocks that allocating registers
    /// would take too long.
    pub through_memory: bool,
    /// A defect that a pass is to have: what tools that look for defects are tested with.
    pub inject: Option<InjectedFault>,
}

/// A miscompile that a pass makes on request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InjectedFault {
    /// `fold` adds one to the first constant that an addition of integers has.
    Fold,
    /// `gvn` drops the last store of the kernel if there are several.
    Gvn,
    /// `copy_prop` leaves a value behind that nothing defines, which the verifier sees.
    CopyProp,
}

impl InjectedFault {
    /// All of them.
    pub const ALL: [InjectedFault; 3] = [InjectedFault::Fold, InjectedFault::Gvn, InjectedFault::CopyProp];

    /// The pass that has it.
    pub fn pass(self) -> &'static str {
        match self {
            InjectedFault::Fold => "fold",
            InjectedFault::Gvn => "gvn",
            InjectedFault::CopyProp => "copy_prop",
        }
    }

    /// By the name of its pass.
    pub fn in_pass(pass: &str) -> Option<InjectedFault> {
        InjectedFault::ALL.into_iter().find(|d| d.pass() == pass)
    }
}

impl DebugOptions {
    /// Verify the IR after each pass.
    pub fn verifying() -> DebugOptions {
        DebugOptions { verify_each: true, ..DebugOptions::default() }
    }
}

/// A choice that does not exist, or that the chip cannot do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadOption {
    /// There is no such pass; the help names those that there are, or what was probably meant.
    #[error("unknown pass `{name}`; {help}")]
    Pass {
        /// What was asked for.
        name: String,
        /// What there is.
        help: String,
    },
    /// Not a power of two.
    #[error("pointer_align is a power of two, not {0}")]
    PointerAlign(u32),
    /// More than the chip has, or less than it needs.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

impl Options {
    /// General registers with which every program compiles, spilling as needed.
    pub(crate) const MIN_GPRS: u32 = 16;

    /// Whether the chip can do what the numbers ask for.
    pub(crate) fn check_numbers(&self, chip: Chip) -> Result<(), BadOption> {
        if !self.pointer_align.is_power_of_two() {
            return Err(BadOption::PointerAlign(self.pointer_align));
        }
        let number = |what, value: Option<u32>, min, max| match value {
            Some(n) if n < min || n > max => Err(LimitError::Number { chip, what, value: n, min, max }),
            _ => Ok(()),
        };
        // More than the chip has is no bound, but nothing wrong.
        number("max_gprs", self.max_gprs, Options::MIN_GPRS, Chip::MAX_GPRS)?;
        number("threads", self.threads, 1, chip.max_block_threads())?;
        number("work_dim", self.work_dim, 1, 3)?;
        self.block_size.map_or(Ok(()), |size| chip.check_block(size))?;
        number("stage.clip_planes", Some(self.stage.clip_planes.into()), 0, 8)?;
        number("private_bytes", Some(self.private_bytes), 0, chip.max_local())?;
        Ok(())
    }
}
