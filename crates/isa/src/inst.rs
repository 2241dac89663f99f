//! The machine instruction: what one word of code says, independent of how a generation encodes it.
//!
//! It mirrors SASS text, so that everybody who reads SASS reads this type: an operation, its
//! modifiers in the order in which nvdisasm prints them, and its operands in text order,
//! destinations first.
//!
//! ```text
//! @!P0 FADD.FTZ.RM R0, |R2|, -c[0x0][0x20]
//! guard op  mods   operands
//! ```
//!
//! Invariants: a register is physical ([`Reg`]), [`Reg::Z`] reads zero and drops writes on every
//! chip (63 on GF100 and GK104, 255 on GK110; the encoder translates). Branch targets are absolute
//! byte addresses in the code section.

use arrayvec::ArrayVec;
use nvir_base::num::SrcMods;
use std::hash::Hash;

/// A general register; 255 is RZ on every chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reg(pub u8);

impl Reg {
    /// RZ: reads as zero, writes are dropped.
    pub const Z: Reg = Reg(255);
}

/// A predicate register, possibly negated; number 7 is PT, which is always true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pred {
    /// Its number; 7 is PT, which is always true.
    pub num: u8,
    /// Negated.
    pub not: bool,
}

impl Pred {
    /// PT.
    pub const T: Pred = Pred { num: 7, not: false };

    /// The predicate of that number.
    pub const fn new(num: u8) -> Pred {
        Pred { num, not: false }
    }

    /// Whether this is PT without negation, the guard of an unconditional instruction.
    pub fn is_true(self) -> bool {
        self == Pred::T
    }
}

impl std::ops::Not for Pred {
    type Output = Pred;
    fn not(self) -> Pred {
        Pred { not: !self.not, ..self }
    }
}

/// A part of a register: `R0.H1`, `R0.B2`, and the byte permutations of video instructions,
/// `R0.4444`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Sel {
    /// All 32 bits.
    #[default]
    Whole,
    /// Byte 0.
    B0,
    /// Byte 1.
    B1,
    /// Byte 2.
    B2,
    /// Byte 3.
    B3,
    /// The low half.
    H0,
    /// The high half.
    H1,
    /// Four selector nibbles or a named pattern of a video instruction, by its number in the row's
    /// table.
    Video(u8),
}

impl Sel {
    /// The spelling after the point; none for the whole register.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Sel::Whole => return None,
            Sel::B0 => "B0",
            Sel::B1 => "B1",
            Sel::B2 => "B2",
            Sel::B3 => "B3",
            Sel::H0 => "H0",
            Sel::H1 => "H1",
            Sel::Video(n) => return VIDEO_SELECTORS.get(n as usize).copied(),
        })
    }

    /// The pattern of lanes with this spelling, for tables of rows.
    pub const fn video(name: &str) -> Option<Sel> {
        let mut i = 0;
        while i < VIDEO_SELECTORS.len() {
            if same_text(VIDEO_SELECTORS[i], name) {
                return Some(Sel::Video(i as u8));
            }
            i += 1;
        }
        None
    }

    /// The inverse of [`Sel::name`].
    pub fn from_name(name: &str) -> Option<Sel> {
        const PLAIN: [Sel; 6] = [Sel::B0, Sel::B1, Sel::B2, Sel::B3, Sel::H0, Sel::H1];
        let video = || VIDEO_SELECTORS.iter().position(|&n| n == name).map(|n| Sel::Video(n as u8));
        PLAIN.into_iter().find(|s| s.name() == Some(name)).or_else(video)
    }
}

const fn same_text(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len()
}

/// The patterns of lanes in video instructions, the highest lane first. Halves 0 and 1 or bytes 0
/// to 3 are those of the first source, the others those of the second.
#[rustfmt::skip]
const VIDEO_SELECTORS: &[&str] = &[
    "00", "01", "02", "03", "10", "11", "12", "13", "20", "21", "22", "23", "30", "31", "32", "33",
    "0000", "1111", "2222", "3333", "4444", "5555", "6666", "7777", "3210", "7654", "4321", "5432", "6543", "3201",
    "3012", "0213", "3120", "1230", "2310", "4567", "6745", "5476",
];

/// How an immediate is written, and what the encoder may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImmKind {
    /// A 32-bit pattern, written in hexadecimal (`0x10`, `-0x10` where the row's field is signed).
    Int,
    /// The bits of an f32, written as a decimal.
    F32,
    /// The high 32 bits of an f64 (the low are zero), written as a decimal.
    F64,
}

/// One operand of a machine instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A general register. A vector or pair is named by its first register; the operation says how
    /// many.
    Reg {
        /// The first register.
        reg: Reg,
        /// How it is modified.
        mods: SrcMods,
        /// The part that is read.
        sel: Sel,
        /** `.CC` on a destination: writes the condition code too. */
        cc: bool,
    },
    /// A predicate register.
    Pred(Pred),
    /// Always 32 bits, sign-extended or shifted into place as the row says: never the raw field.
    Imm {
        /// The pattern.
        bits: u32,
        /// What it stands for.
        kind: ImmKind,
        /// How it is modified.
        mods: SrcMods,
    },
    /// `c[bank][base + offset]`, offset in bytes; `base` is RZ for a direct access.
    Const {
        /// The bank.
        bank: u8,
        /// Added to the offset.
        base: Reg,
        /// Bytes.
        offset: i32,
        /// How it is modified.
        mods: SrcMods,
        /// The part that is read.
        sel: Sel,
    },
    /// `[base + offset]`, offset in bytes; `base` is RZ for an absolute address.
    Mem {
        /// Added to the offset.
        base: Reg,
        /// Bytes.
        offset: i32,
    },
    /// `a[base + offset]`: shader inputs and outputs.
    Attr {
        /// Added to the offset.
        base: Reg,
        /// Bytes.
        offset: i32,
    },
    /// A special register, by hardware number (`SR_TID.X` is 33).
    Sreg(u8),
    /// An absolute byte address in the code section.
    Target(u32),
    /// A condition-code test: `CC.NEU`, by hardware number; 15 (always) is not written.
    CcTest(u8),
    /// A word that the row names: `2D`, `ARRAY_CUBE`, `CC`, `PR`. By its number in
    /// [`mod@super::names`]' keyword table.
    Word(Kw),
}

impl Operand {
    /// A plain register.
    pub const fn reg(reg: Reg) -> Operand {
        Operand::Reg { reg, mods: SrcMods { neg: false, abs: false, inv: false }, sel: Sel::Whole, cc: false }
    }

    /// The predicate of that number as an operand.
    pub const fn pred(num: u8) -> Operand {
        Operand::Pred(Pred::new(num))
    }

    /// An integer immediate.
    pub const fn imm(bits: u32) -> Operand {
        Operand::Imm { bits, kind: ImmKind::Int, mods: SrcMods { neg: false, abs: false, inv: false } }
    }

    /// A direct constant-buffer operand; `offset` in bytes.
    pub const fn cbuf(bank: u8, offset: i32) -> Operand {
        Operand::Const {
            bank,
            base: Reg::Z,
            offset,
            mods: SrcMods { neg: false, abs: false, inv: false },
            sel: Sel::Whole,
        }
    }
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MInst {
    /// What it does.
    pub op: Op,
    /// The predicate under which it does it.
    pub guard: Pred,
    /// `.S`: after this instruction the threads that executed it go to the reconvergence point.
    pub sync: bool,
    /// Suffixes in nvdisasm's order, defaults that are not printed left out.
    pub mods: ArrayVec<Mod, 8>,
    /// Operands in text order, destinations first.
    pub operands: ArrayVec<Operand, 7>,
    /// Tells apart encodings that print as the same text (don't-care bits and duplicate forms); 0
    /// is what a compiler writes. Only the decoder sets anything else, and [`MInst::SHORT`] may be
    /// set to ask for 4 bytes.
    pub form: u64,
}

impl MInst {
    /// The bit of [`MInst::form`] that says that this is a short form, 4 bytes long.
    pub const SHORT: u64 = 1 << 59;

    /// Whether it is one of GF100's 4-byte instructions.
    pub const fn is_short(&self) -> bool {
        self.form & MInst::SHORT != 0
    }

    /// Bytes of code that it takes.
    pub const fn bytes(&self) -> u32 {
        if self.is_short() { 4 } else { 8 }
    }

    /// Without operands and modifiers.
    #[inline(always)]
    pub fn new(op: Op) -> MInst {
        MInst { op, guard: Pred::T, sync: false, mods: ArrayVec::new(), operands: ArrayVec::new(), form: 0 }
    }

    /// Adds a modifier; the order is nvdisasm's.
    #[inline(always)]
    pub fn with(mut self, m: Mod) -> MInst {
        self.mods.push(m);
        self
    }

    /// Adds a modifier if `on`.
    #[inline(always)]
    pub fn with_if(mut self, on: bool, m: Mod) -> MInst {
        if on {
            self.mods.push(m);
        }
        self
    }

    /// Adds an operand.
    #[inline(always)]
    pub fn arg(mut self, o: Operand) -> MInst {
        self.operands.push(o);
        self
    }

    /// Adds a plain register operand.
    #[inline(always)]
    pub fn r(self, reg: Reg) -> MInst {
        self.arg(Operand::reg(reg))
    }

    /// The same under a predicate.
    #[inline(always)]
    pub fn guarded(mut self, guard: Pred) -> MInst {
        self.guard = guard;
        self
    }

    /// Whether it has that modifier.
    pub fn has(&self, m: Mod) -> bool {
        self.mods.contains(&m)
    }
}

/// Declares a fieldless enum whose variants have a SASS spelling each.
macro_rules! spelled {
    ($(#[$doc:meta])* $name:ident { $($var:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum $name { $(#[doc = $text] $var,)* }

        impl $name {
            /// All, in the order of their declaration.
            pub const ALL: &'static [$name] = &[$($name::$var,)*];

            /// The spelling in SASS text.
            pub const fn name(self) -> &'static str {
                const NAMES: &[&str] = &[$($text,)*];
                NAMES[self as usize]
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

spelled! {
    /// Operations, by SASS mnemonic. Where GF100 or GK104 has an operation that GK110 lacks, the
    /// name is the one that NVIDIA's disassemblers for those chips use.
    Op {
        // float
        Fadd "FADD", Fadd32i "FADD32I", Fmul "FMUL", Fmul32i "FMUL32I", Ffma "FFMA", Ffma32i "FFMA32I",
        Fmnmx "FMNMX", Fset "FSET", Fsetp "FSETP", Fcmp "FCMP", Fswz "FSWZ", Fchk "FCHK", Mufu "MUFU", Rro "RRO",
        Dadd "DADD", Dmul "DMUL", Dfma "DFMA", Dmnmx "DMNMX", Dset "DSET", Dsetp "DSETP", Dchk "DCHK",
        // integer
        Iadd "IADD", Iadd32i "IADD32I", Isub "ISUB", Imul "IMUL", Imul32i "IMUL32I", Imad "IMAD", Imad32i "IMAD32I",
        Imadsp "IMADSP", Iscadd "ISCADD", Iscadd32i "ISCADD32I", Imnmx "IMNMX", Iset "ISET", Isetp "ISETP",
        Icmp "ICMP", Isad "ISAD", Bfe "BFE", Bfi "BFI", Shl "SHL", Shr "SHR", Shf "SHF", Lop "LOP", Lop32i "LOP32I",
        Flo "FLO", Popc "POPC", Prmt "PRMT", Fcco "FCCO",
        // conversions
        F2f "F2F", F2i "F2I", I2f "I2F", I2i "I2I",
        // video
        Vadd "VADD", Vadd2 "VADD2", Vadd4 "VADD4", Vabsdiff "VABSDIFF", Vabsdiff2 "VABSDIFF2",
        Vabsdiff4 "VABSDIFF4", Vmnmx "VMNMX", Vmnmx2 "VMNMX2", Vmnmx4 "VMNMX4", Vset "VSET", Vset2 "VSET2",
        Vset4 "VSET4", Vsetp "VSETP", Vsel "VSEL", Vsel2 "VSEL2", Vsel4 "VSEL4", Vshl "VSHL", Vshr "VSHR",
        Vmad "VMAD", Vavrg2 "VAVRG2", Vavrg4 "VAVRG4", Vadd2x "VADD2X",
        Vshl2 "VSHL2", Vshl4 "VSHL4", Vshr2 "VSHR2", Vshr4 "VSHR4",
        // moves and predicates
        Mov "MOV", Mov32i "MOV32I", Sel "SEL", S2r "S2R", P2r "P2R", R2p "R2P", B2r "B2R", R2b "R2B", Lepc "LEPC",
        Pset "PSET", Psetp "PSETP", Cset "CSET", Csetp "CSETP", Vote "VOTE", Votevtg "VOTE.VTG", Shfl "SHFL",
        // memory
        Ld "LD", Ldu "LDU", Ldl "LDL", Lds "LDS", Ldslk "LDSLK", Ldlk "LDLK", Stul "STUL", Ldc "LDC", Ldg "LDG", St "ST", Stl "STL", Sts "STS",
        Stsul "STSUL", Stscul "STSCUL", Stp "STP", Atom "ATOM", Red "RED", Cctl "CCTL", Cctll "CCTLL",
        Cctls "CCTLS", Membar "MEMBAR",
        // textures and surfaces
        Tex "TEX", Texs "TEXS", Tld "TLD", Tld4 "TLD4", Txd "TXD", Txq "TXQ", Txa "TXA", Tmml "TMML",
        Texdepbar "TEXDEPBAR", Sulea "SULEA", Suld "SULD", Sust "SUST", Suldga "SULDGA", Sustga "SUSTGA", Sured "SURED",
        Suq "SUQ", Subfm "SUBFM", Sueau "SUEAU", Suclamp "SUCLAMP",
        // graphics
        Ald "ALD", Ast "AST", Al2p "AL2P", Vild "VILD", Out "OUT", Isberd "ISBERD", Pixld "PIXLD", Ipa "IPA",
        // control flow
        Bra "BRA", Brx "BRX", Jmp "JMP", Jmx "JMX", Cal "CAL", Jcal "JCAL", Ret "RET", Pret "PRET", Ssy "SSY",
        Sync "SYNC", Pbk "PBK", Brk "BRK", Pcnt "PCNT", Cont "CONT", Plongjmp "PLONGJMP", Longjmp "LONGJMP",
        Exit "EXIT", Kil "KIL", Bpt "BPT", Rtt "RTT", Ide "IDE", Ram "RAM", Sam "SAM", Bar "BAR", Nop "NOP",
        Getcrsptr "GETCRSPTR", Getlmembase "GETLMEMBASE", Setcrsptr "SETCRSPTR", Setlmembase "SETLMEMBASE",
    }
}

spelled! {
    /// Suffixes of a mnemonic, by their SASS spelling without the point.
    Mod {
        // float
        Ftz "FTZ", Fmz "FMZ", Sat "SAT", Rm "RM", Rp "RP", Rz "RZ", Rn "RN", Round "ROUND", Floor "FLOOR", Ceil "CEIL",
        Trunc "TRUNC", D2 "D2", D4 "D4", D8 "D8", M8 "M8", M4 "M4", M2 "M2", Pass "PASS", Divide "DIVIDE",
        // types
        U8 "U8", S8 "S8", U16 "U16", S16 "S16", U24 "U24", S24 "S24", U32 "U32", S32 "S32", U64 "U64", S64 "S64",
        F16 "F16", F32 "F32", F64 "F64", B32 "32", B64 "64", B96 "96", B128 "128", U128 "U128",
        // comparisons and logic
        F "F", Lt "LT", Eq "EQ", Le "LE", Gt "GT", Ne "NE", Ge "GE", Num "NUM", Nan "NAN", Ltu "LTU", Equ "EQU",
        Leu "LEU", Gtu "GTU", Neu "NEU", Geu "GEU", T "T", And "AND", Or "OR", Xor "XOR", PassB "PASS_B", Bf "BF",
        // integer
        X "X", Hi "HI", Lo "LO", W "W", Sh "SH", Po "PO", Cc "CC", Brev "BREV", Xlo "XLO", Xmed "XMED", Xhi "XHI",
        F4e "F4E", B4e "B4E", Rc8 "RC8", Ecl "ECL", Ecr "ECR", Rc16 "RC16",
        // special functions
        Cos "COS", Sin "SIN", Ex2 "EX2", Lg2 "LG2", Rcp "RCP", Rsq "RSQ", Rcp64h "RCP64H", Rsq64h "RSQ64H",
        Sincos "SINCOS",
        // memory
        E "E", Cg "CG", Cs "CS", Cv "CV", Ca "CA", Lu "LU", Wb "WB", Wt "WT", Ign "IGN", Nc "NC",
        Add "ADD", Min "MIN", Max "MAX", Inc "INC", Dec "DEC", Safeadd "SAFEADD", Exch "EXCH", Cas "CAS",
        Cta "CTA", Gl "GL", Sys "SYS", Il "IL", Is "IS", Isl "ISL",
        Iv "IV", Ivall "IVALL", Qry1 "QRY1", Pf1 "PF1", Pf15 "PF1.5", Pf2 "PF2", Wball "WBALL", Rs "RS", Rslb "RSLB",
        // lanes and barriers
        All "ALL", Any "ANY", Idx "IDX", Up "UP", Down "DOWN", Bfly "BFLY", Arv "ARV", Red "RED", Popc "POPC",
        Scan "SCAN", Syncall "SYNCALL", Barsync "SYNC", Result "RESULT",
        // control flow
        Noinc "NOINC", Lmt "LMT", U "U", Keeprefcount "KEEPREFCOUNT",
        // textures
        Lz "LZ", Lb "LB", Ll "LL", Lba "LBA", Lla "LLA", B "B", Dc "DC", Aoffi "AOFFI", Ptp "PTP", Ndv "NDV", Nodep "NODEP", P "P",
        L "L", Ms "MS", Cl "CL", R "R", G "G", A "A",
        Clamp "CLAMP", Lod "LOD",
        // condition codes, predicates, breakpoints, counters
        Off "OFF", Sff "SFF", Ls "LS", Sft "SFT", Hs "HS", Oft "OFT", CsmTa "CSM_TA", CsmTr "CSM_TR", CsmMx "CSM_MX",
        FcsmTa "FCSM_TA", FcsmTr "FCSM_TR", FcsmMx "FCSM_MX", Rle "RLE", Rgt "RGT", H1 "H1",
        Terminate "TERMINATE", Drain "DRAIN", Cal "CAL", Pause "PAUSE", Trap "TRAP", Trig "TRIG",
        // parts of registers in IMADSP, quads in FSWZ
        Sd "SD", U16h0 "U16H0", U16h1 "U16H1", S16h0 "S16H0", S16h1 "S16H1", C "C", I "I",
        Q0000 "0000", Q1111 "1111", Q2222 "2222", Q3333 "3333", Q1032 "1032", Q2301 "2301",
        // attributes and pixels
        O "O", Phys "PHYS", Emit "EMIT", Cut "CUT", EmitThenCut "EMIT_THEN_CUT", Constant "CONSTANT", Sc "SC",
        Centroid "CENTROID", Offset "OFFSET", Covmask "COVMASK", Covered "COVERED",
        CentroidOffset "CENTROID_OFFSET", MyIndex "MY_INDEX",
        // surfaces
        Z "Z", Sdcl "SDCL", D1 "1D", D3 "3D", Bl "BL", Pl "PL", R1 "R1", R2 "R2", R4 "R4", R8 "R8", R16 "R16",
        Rg "RG", Rb "RB", Gb "GB", Rgb "RGB", Ra "RA", Ga "GA", Rga "RGA", Ba "BA", Rba "RBA", Gba "GBA",
        Rank "RANK", PixelFormat "PIXEL_FORMAT", SampleSize "SAMPLE_SIZE", Dimension "DIMENSION", Rgba "RGBA",
        BlockSize "BLOCK_SIZE",
        // carry-outs, results, steering
        Sp "SP", Dp0z "DP0Z", Dp1xy "DP1XY", Dp1z "DP1Z", Warp "WARP", Wait "WAIT", Crs "CRS", En "EN", Int "INT",
        DrainIllegal "DRAIN_ILLEGAL", Fallthrough "FALLTHROUGH", Preempted "PREEMPTED",
        // video
        Ud "UD", Mx "MX", Avrg "AVRG", Acc "ACC", Mrg16h "MRG_16H", Mrg16l "MRG_16L", Mrg8b0 "MRG_8B0",
        Mrg8b2 "MRG_8B2", Shr7 "SHR_7", Shr15 "SHR_15", SimdMin "SIMD_MIN", SimdMax "SIMD_MAX", Y "Y", Xy "XY",
        Xz "XZ", Yz "YZ", Xyz "XYZ", Xw "XW", Yw "YW", Xyw "XYW", Zw "ZW", Xzw "XZW", Yzw "YZW", NoLanes "NONE", Wrap "WRAP",
    }
}

spelled! {
    /// Words that stand as operands.
    Kw {
        T1d "1D", Array1d "ARRAY_1D", T2d "2D", Array2d "ARRAY_2D", T3d "3D", Array3d "ARRAY_3D", Cube "CUBE",
        ArrayCube "ARRAY_CUBE", E2d "E2D", Cc "CC", Pr "PR",
        TexHeaderDimension "TEX_HEADER_DIMENSION", TexHeaderTextureType "TEX_HEADER_TEXTURE_TYPE",
        TexHeaderSamplerPos "TEX_HEADER_SAMPLER_POS", TexSamplerFilter "TEX_SAMPLER_FILTER",
        TexSamplerLod "TEX_SAMPLER_LOD", TexSamplerWrap "TEX_SAMPLER_WRAP",
        TexSamplerBorderColor "TEX_SAMPLER_BORDER_COLOR",
    }
}
