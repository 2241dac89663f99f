//! The syntax tree of a TGSI program, as written: nothing is resolved but labels and nesting.
//!
//! Registers are vectors of four 32-bit components. An instruction's number is its index in [`Program::code`];
//! numbers printed in the text are decoration, labels (`:12`) count instructions.

use arrayvec::ArrayVec;
use rustc_hash::FxHashSet;

pub use super::names::*;
pub use super::opcode::{Info, Opcode, Shape, Ty};
use crate::diag::{Diagnostic, Diagnostics, Span};
use crate::format::Format;

/// A whole program. Made by [`super::parse()`], which guarantees what the fields say.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Program {
    pub stage: Stage,
    /// Where that stands.
    pub stage_span: Span,
    pub decls: Vec<Decl>,
    pub imms: Vec<Imm>,
    pub props: Vec<(Property, u32, Span)>,
    pub code: Vec<Head>,
    /// The operands of all instructions, one after the other.
    pub dsts: Vec<Dst>,
    pub srcs: Vec<Src>,
    /// What follows the operands of texture and memory instructions.
    pub textures: Vec<Texture>,
    pub memories: Vec<Memory>,
    /// For each instruction, the one that it is tied to (itself, where there is none):
    /// IF, UIF: its ELSE or ENDIF. ELSE: its ENDIF. BGNLOOP: its ENDLOOP, and back. SWITCH, CASE, DEFAULT: the next
    /// CASE or DEFAULT of the same switch, or its ENDSWITCH. BRK, BREAKC: the ENDLOOP or ENDSWITCH that it leaves to.
    /// CONT: its ENDLOOP. BGNSUB: its ENDSUB, and back. CAL, CALLNZ: the BGNSUB that is called.
    pub partner: Vec<u32>,
}

impl Program {
    /// Makes room for what a text of so many bytes holds at most of ordinary instructions.
    pub fn make_room(&mut self, bytes: usize) {
        self.decls.reserve(8);
        self.props.reserve(4);
        self.imms.reserve(4);
        self.code.reserve(bytes / 40);
        self.dsts.reserve(bytes / 40);
        self.srcs.reserve(bytes / 24);
    }

    /// An instruction, by its number.
    pub fn inst(&self, at: u32) -> Inst<'_> {
        let head = &self.code[at as usize];
        let info = head.op.info();
        let (mut texture, mut memory) = (None, None);
        match head.detail {
            Detail::Texture(n) => texture = Some(&self.textures[n as usize]),
            Detail::Memory(n) => memory = Some(&self.memories[n as usize]),
            Detail::None | Detail::Label(_) => {}
        }
        Inst {
            op: head.op,
            saturate: head.saturate,
            precise: head.precise,
            dsts: &self.dsts[head.dsts as usize..][..info.dsts.len()],
            srcs: &self.srcs[head.srcs as usize..][..info.srcs.len()],
            texture,
            memory,
            span: head.span,
        }
    }

    /// The value of a property, if it is set.
    pub fn property(&self, p: Property) -> Option<u32> {
        self.props.iter().find(|(name, ..)| *name == p).map(|&(_, v, _)| v)
    }

    /// Where a property is set.
    pub(crate) fn property_span(&self, p: Property) -> Option<Span> {
        self.props.iter().find(|(name, ..)| *name == p).map(|&(.., span)| span)
    }

    /// The declaration of a register.
    pub fn decl(&self, file: File, index: u32) -> Option<&Decl> {
        self.decls.iter().find(|d| d.file == file && d.first <= index && index <= d.last)
    }

    /// The subroutines: the numbers of their BGNSUBs.
    pub fn subs(&self) -> impl Iterator<Item = u32> + '_ {
        self.code.iter().enumerate().filter(|(_, i)| i.op == Opcode::BGNSUB).map(|(i, _)| i as u32)
    }

    /// Which memory `MEMORY[n]` is: as declared; where n is not, the only one that is; else by the order of the kinds.
    /// (Mesa's own dumps declare `MEMORY[1], SHARED` and access `MEMORY[0]`.)
    pub fn memory_kind(&self, n: u32) -> MemoryKind {
        let kind = |d: &Decl| if let DeclKind::Memory(k) = d.kind { k } else { MemoryKind::Global };
        let mut declared = self.decls.iter().filter(|d| d.file == File::Memory);
        if let Some(d) = self.decl(File::Memory, n) {
            return kind(d);
        }
        match (declared.next(), declared.next(), n) {
            (Some(only), None, _) => kind(only),
            (_, _, 1) => MemoryKind::Shared,
            (_, _, 2) => MemoryKind::Private,
            (_, _, 3) => MemoryKind::Input,
            _ => MemoryKind::Global,
        }
    }

    /// The memory that the 2011 dialect calls `RES[n]`, if n is one of its special numbers.
    pub fn res_memory(index: &Index) -> Option<MemoryKind> {
        match (index.offset, index.indirect) {
            (32767, None) => Some(MemoryKind::Global),
            (32766, None) => Some(MemoryKind::Shared),
            (32765, None) => Some(MemoryKind::Private),
            (32764, None) => Some(MemoryKind::Input),
            _ => None,
        }
    }

    /// Where the buffers of hardware counters begin: after the storage buffers.
    pub fn counter_buffers(&self) -> u32 {
        self.decls.iter().filter(|d| d.file == File::Buffer).map(|d| d.last + 1).max().unwrap_or(0)
    }

    /// Threads of a block in x, y and z as the properties declare them; 0 where they leave it to the launch (Mesa 22.3.6,
    /// `nv50_ir_from_tgsi.cpp`: each property is a number of its own).
    pub fn block_size(&self) -> [u32; 3] {
        use Property::*;
        [CsFixedBlockWidth, CsFixedBlockHeight, CsFixedBlockDepth].map(|p| self.property(p).unwrap_or(0))
    }

    /// Whether the kernel that begins there runs whole warps.
    pub fn runs_whole_warps(&self, entry: u32) -> bool {
        let start = entry as usize + usize::from(self.code[entry as usize].op == Opcode::BGNSUB);
        let body = self.code[start..].iter().take_while(|i| !matches!(i.op, Opcode::BGNSUB | Opcode::ENDSUB));
        body.into_iter().any(|i| i.op == Opcode::IF_ASKED)
    }

    /// Where the properties declare that.
    pub(crate) fn block_size_span(&self) -> Span {
        use Property::*;
        let of_block = |p| matches!(p, CsFixedBlockWidth | CsFixedBlockHeight | CsFixedBlockDepth);
        let spans = self.props.iter().filter(|(p, ..)| of_block(*p)).map(|&(.., span)| span);
        spans.reduce(Span::to).unwrap_or_default()
    }

    /// The instruction that a kernel begins with. `name`: the number of its BGNSUB, alone or as listings and cubins have it
    /// (`kernel25`), or `main`; none: the main code, else the only subroutine that is not called.
    pub fn entry(&self, name: Option<&str>) -> Result<u32, Diagnostics> {
        if name.is_none() && self.has_main() {
            return Ok(0);
        }
        let subs: Vec<u32> = self.subs().collect();
        let known = || {
            let list: Vec<String> = subs.iter().take(20).map(u32::to_string).collect();
            if list.is_empty() {
                "the program has no subroutines".to_owned()
            } else {
                format!("available: {}", list.join(", "))
            }
        };
        if let Some(name) = name {
            let number = name.strip_prefix("kernel").unwrap_or(name);
            let at = number.parse().ok().filter(|n| subs.contains(n) || *n == 0 && self.has_main());
            let at = at.or_else(|| (name == "main" && self.has_main()).then_some(0));
            return at.ok_or_else(|| {
                let d = Diagnostic::error(format!("no kernel `{name}`"));
                d.help(format!("a kernel is named by the instruction number of its BGNSUB: {}", known()))
                    .into()
            });
        }
        let uncalled = self.uncalled();
        match *uncalled {
            [one] => Ok(one),
            _ => Err(Diagnostic::error("the kernel is ambiguous")
                .help(format!("name it by the instruction number of its BGNSUB: {}", known()))
                .into()),
        }
    }

    /// The subroutines that nothing calls.
    fn uncalled(&self) -> Vec<u32> {
        let calls =
            |(n, i): (usize, &Head)| matches!(i.op, Opcode::CAL | Opcode::CALLNZ).then(|| self.partner[n]);
        let called: FxHashSet<u32> = self.code.iter().enumerate().filter_map(calls).collect();
        self.subs().filter(|s| !called.contains(s)).collect()
    }

    /// The names of all kernels: what [`Program::entry`] takes.
    pub fn kernels(&self) -> Vec<String> {
        let main = self.has_main().then(|| "main".to_string());
        main.into_iter().chain(self.uncalled().iter().map(u32::to_string)).collect()
    }

    /// Whether there is code outside subroutines.
    pub fn has_main(&self) -> bool {
        self.code.first().is_some_and(|i| i.op != Opcode::BGNSUB)
    }
}

/// `DCL file[dim][first..last].mask, ...`
#[derive(Clone, PartialEq, Debug)]
pub struct Decl {
    pub file: File,
    /// The first index of a two-dimensional register, e.g. the constant buffer.
    pub dim: Option<u32>,
    pub first: u32,
    pub last: u32,
    /// Bit i: component i is used.
    pub mask: u8,
    /// `ARRAY(n)`; 0 where it is none.
    pub array: u32,
    pub semantic: Option<(Semantic, u32)>,
    /// `STREAM(x, y, z, w)`
    pub streams: [u8; 4],
    pub local: bool,
    pub invariant: bool,
    pub interpolate: Option<Interpolate>,
    pub location: Option<Location>,
    pub kind: DeclKind,
    pub span: Span,
}

/// What only some files' declarations say.
#[derive(Clone, PartialEq, Debug)]
pub enum DeclKind {
    Plain,
    Image {
        target: Target,
        format: Option<Format>,
        writable: bool,
        raw: bool,
    },
    View {
        target: Target,
        returns: [ReturnType; 4],
    },
    Buffer {
        atomic: bool,
    },
    Memory(MemoryKind),
    /// A resource of the 2011 dialect.
    Res {
        target: Target,
        writable: bool,
        raw: bool,
    },
}

/// An immediate: four components. A 64-bit one fills two, low word first.
#[derive(Clone, PartialEq, Debug)]
pub struct Imm {
    pub ty: ImmType,
    pub words: [u32; 4],
    pub span: Span,
}

/// An instruction as the program keeps it; see [`Program::inst`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Head {
    pub op: Opcode,
    pub saturate: bool,
    pub precise: bool,
    /// Where its operands begin in the program's lists. How many there are, the opcode says.
    pub dsts: u32,
    pub srcs: u32,
    pub detail: Detail,
    pub span: Span,
}

/// What follows the operands: nothing, a label (`:n`) as written, or an element of the program's lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    None,
    Label(u32),
    Texture(u32),
    Memory(u32),
}

/// An instruction with what belongs to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inst<'a> {
    pub op: Opcode,
    pub saturate: bool,
    pub precise: bool,
    pub dsts: &'a [Dst],
    pub srcs: &'a [Src],
    pub texture: Option<&'a Texture>,
    pub memory: Option<&'a Memory>,
    pub span: Span,
}

/// What follows the operands of a texture instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Texture {
    pub target: Target,
    pub offsets: ArrayVec<Src, 4>,
}

/// What follows the operands of a memory instruction.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Memory {
    pub coherent: bool,
    pub restrict: bool,
    pub volatile: bool,
    pub streaming: bool,
    pub target: Option<Target>,
    pub format: Option<Format>,
}

/// The register that an index is added to: `ADDR[0].x` in `TEMP[ADDR[0].x+4](2)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Indirect {
    pub file: File,
    pub index: u16,
    pub comp: u8,
    /// The array that is accessed, `(2)`; 0 where it is not said.
    pub array: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Index {
    pub offset: i16,
    pub indirect: Option<Indirect>,
}

/// `FILE[dim][index]`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reg {
    pub file: File,
    pub dim: Option<Index>,
    pub index: Index,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dst {
    pub reg: Reg,
    /// Bit i: component i is written.
    pub mask: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Src {
    pub reg: Reg,
    pub swizzle: [u8; 4],
    pub neg: bool,
    pub abs: bool,
}

impl Src {
    /// The swizzle of an operand without one.
    pub const IDENTITY: [u8; 4] = [0, 1, 2, 3];
}

impl Dst {
    /// The components that are written.
    pub fn comps(&self) -> impl Iterator<Item = usize> + use<> {
        let mask = self.mask;
        (0..4).filter(move |c| mask >> c & 1 != 0)
    }
}
