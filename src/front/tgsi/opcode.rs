//! The opcode table: every TGSI opcode with the types of its results and operands, written once.
//!
//! It holds what Mesa 22.3 knows, and what the 2011 and 2016 dialects had besides. A type says how the bits of a
//! component are read, so it also says what the modifiers `-` and `|x|` mean on that operand. 64-bit types occupy
//! pairs of components: `.xy` is the first value of a register, `.zw` the second.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// How an operand's components are read, or a result's written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    F32,
    U32,
    I32,
    F64,
    U64,
    I64,
    /// 32 bits that are moved as they are; modifiers act as on a float.
    Any,
    /// A resource: sampler, view, buffer, image or memory. Its components are not read.
    Res,
}

impl Ty {
    pub fn is_64(self) -> bool {
        matches!(self, Ty::F64 | Ty::U64 | Ty::I64)
    }
}

/// How the components of an instruction belong together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// Component by component (pair by pair for 64-bit types).
    Comp,
    /// One value from the first component, copied to every result component.
    Scalar,
    /// A dot product over so many components, copied to every result component.
    Dot(u8),
    /// Each component has its own formula.
    Vec,
    /// A texture operation with a target and perhaps offsets after the operands.
    Tex,
    /// A texture operation whose target is its view's (`SAMPLE` and its kin), perhaps with offsets.
    Sample,
    /// Access to a buffer, image or memory, with qualifiers after the operands.
    Mem,
    /// Control flow, perhaps with a label.
    Flow,
    /// Barriers.
    Sync,
    /// Communication between the threads of a warp.
    Lane,
    /// Only meaningful in graphics stages.
    Graphics,
}

/// What the table says about an opcode.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    pub name: &'static str,
    pub shape: Shape,
    pub dsts: &'static [Ty],
    pub srcs: &'static [Ty],
}

macro_rules! opcodes {
    ($($name:ident $shape:ident $(($n:literal))? [$($dst:ident)*] [$($src:ident)*];)*) => {
        /// An operation, by its mnemonic.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)] // the names are the mnemonics
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Opcode { $($name),* }

        static TABLE: &[Info] = &[$(
            Info {
                name: stringify!($name),
                shape: Shape::$shape $(($n))?,
                dsts: &[$(Ty::$dst),*],
                srcs: &[$(Ty::$src),*],
            },
        )*];

        impl Opcode {
            /// Every opcode, in the order of the table.
            pub const ALL: &[Opcode] = &[$(Opcode::$name),*];
        }
    };
}

opcodes! {
    // Moves and address registers.
    MOV Comp [Any] [Any];
    ARL Comp [I32] [F32];
    ARR Comp [I32] [F32];
    UARL Comp [I32] [I32];
    CMP Comp [Any] [F32 Any Any];
    UCMP Comp [Any] [U32 Any Any];

    // 32-bit floats.
    ADD Comp [F32] [F32 F32];
    SUB Comp [F32] [F32 F32];
    MUL Comp [F32] [F32 F32];
    DIV Comp [F32] [F32 F32];
    MAD Comp [F32] [F32 F32 F32];
    FMA Comp [F32] [F32 F32 F32];
    LRP Comp [F32] [F32 F32 F32];
    MIN Comp [F32] [F32 F32];
    MAX Comp [F32] [F32 F32];
    ABS Comp [F32] [F32];
    SSG Comp [F32] [F32];
    FRC Comp [F32] [F32];
    FLR Comp [F32] [F32];
    CEIL Comp [F32] [F32];
    ROUND Comp [F32] [F32];
    TRUNC Comp [F32] [F32];
    CLAMP Comp [F32] [F32 F32 F32];
    LDEXP Comp [F32] [F32 I32];
    SLT Comp [F32] [F32 F32];
    SGE Comp [F32] [F32 F32];
    SEQ Comp [F32] [F32 F32];
    SNE Comp [F32] [F32 F32];
    SGT Comp [F32] [F32 F32];
    SLE Comp [F32] [F32 F32];
    FSLT Comp [U32] [F32 F32];
    FSGE Comp [U32] [F32 F32];
    FSEQ Comp [U32] [F32 F32];
    FSNE Comp [U32] [F32 F32];
    RCP Scalar [F32] [F32];
    RSQ Scalar [F32] [F32];
    SQRT Scalar [F32] [F32];
    EX2 Scalar [F32] [F32];
    LG2 Scalar [F32] [F32];
    POW Scalar [F32] [F32 F32];
    SIN Scalar [F32] [F32];
    COS Scalar [F32] [F32];
    DP2 Dot(2) [F32] [F32 F32];
    DP3 Dot(3) [F32] [F32 F32];
    DP4 Dot(4) [F32] [F32 F32];
    DP2A Vec [F32] [F32 F32 F32];
    DPH Vec [F32] [F32 F32];
    XPD Vec [F32] [F32 F32];
    SCS Vec [F32] [F32];
    DST Vec [F32] [F32 F32];
    LIT Vec [F32] [F32];
    EXP Vec [F32] [F32];
    LOG Vec [F32] [F32];

    // 32-bit integers.
    UADD Comp [U32] [U32 U32];
    UMUL Comp [U32] [U32 U32];
    UMAD Comp [U32] [U32 U32 U32];
    UDIV Comp [U32] [U32 U32];
    UMOD Comp [U32] [U32 U32];
    IDIV Comp [I32] [I32 I32];
    MOD Comp [I32] [I32 I32];
    IMUL_HI Comp [I32] [I32 I32];
    UMUL_HI Comp [U32] [U32 U32];
    UMAX Comp [U32] [U32 U32];
    UMIN Comp [U32] [U32 U32];
    IMAX Comp [I32] [I32 I32];
    IMIN Comp [I32] [I32 I32];
    INEG Comp [I32] [I32];
    IABS Comp [I32] [I32];
    ISSG Comp [I32] [I32];
    USEQ Comp [U32] [U32 U32];
    USNE Comp [U32] [U32 U32];
    USLT Comp [U32] [U32 U32];
    USGE Comp [U32] [U32 U32];
    ISLT Comp [U32] [I32 I32];
    ISGE Comp [U32] [I32 I32];

    // Bits.
    NOT Comp [U32] [U32];
    AND Comp [U32] [U32 U32];
    OR Comp [U32] [U32 U32];
    XOR Comp [U32] [U32 U32];
    SHL Comp [U32] [U32 U32];
    USHR Comp [U32] [U32 U32];
    ISHR Comp [I32] [I32 I32];
    IBFE Comp [I32] [I32 I32 I32];
    UBFE Comp [U32] [U32 U32 U32];
    BFI Comp [U32] [U32 U32 U32 U32];
    BREV Comp [U32] [U32];
    POPC Comp [U32] [U32];
    LSB Comp [I32] [U32];
    IMSB Comp [I32] [I32];
    UMSB Comp [I32] [U32];

    // Conversions.
    I2F Comp [F32] [I32];
    U2F Comp [F32] [U32];
    F2I Comp [I32] [F32];
    F2U Comp [U32] [F32];
    F2D Comp [F64] [F32];
    I2D Comp [F64] [I32];
    U2D Comp [F64] [U32];
    D2F Comp [F32] [F64];
    D2I Comp [I32] [F64];
    D2U Comp [U32] [F64];
    F2I64 Comp [I64] [F32];
    F2U64 Comp [U64] [F32];
    I2I64 Comp [I64] [I32];
    U2I64 Comp [I64] [U32];
    D2I64 Comp [I64] [F64];
    D2U64 Comp [U64] [F64];
    I642F Comp [F32] [I64];
    U642F Comp [F32] [U64];
    I642D Comp [F64] [I64];
    U642D Comp [F64] [U64];

    // Packing.
    PK2H Vec [U32] [F32];
    PK2US Vec [U32] [F32];
    PK4B Vec [U32] [F32];
    PK4UB Vec [U32] [F32];
    UP2H Vec [F32] [U32];
    UP2US Vec [F32] [U32];
    UP4B Vec [F32] [U32];
    UP4UB Vec [F32] [U32];

    // Doubles.
    DADD Comp [F64] [F64 F64];
    DMUL Comp [F64] [F64 F64];
    DDIV Comp [F64] [F64 F64];
    DMAD Comp [F64] [F64 F64 F64];
    DFMA Comp [F64] [F64 F64 F64];
    DMIN Comp [F64] [F64 F64];
    DMAX Comp [F64] [F64 F64];
    DABS Comp [F64] [F64];
    DNEG Comp [F64] [F64];
    DRCP Comp [F64] [F64];
    DSQRT Comp [F64] [F64];
    DRSQ Comp [F64] [F64];
    DFRAC Comp [F64] [F64];
    DTRUNC Comp [F64] [F64];
    DCEIL Comp [F64] [F64];
    DFLR Comp [F64] [F64];
    DROUND Comp [F64] [F64];
    DSSG Comp [F64] [F64];
    DLDEXP Comp [F64] [F64 I32];
    DFRACEXP Vec [F64 I32] [F64];
    DSLT Comp [U32] [F64 F64];
    DSGE Comp [U32] [F64 F64];
    DSEQ Comp [U32] [F64 F64];
    DSNE Comp [U32] [F64 F64];

    // 64-bit integers.
    U64ADD Comp [U64] [U64 U64];
    U64MUL Comp [U64] [U64 U64];
    U64DIV Comp [U64] [U64 U64];
    U64MOD Comp [U64] [U64 U64];
    I64DIV Comp [I64] [I64 I64];
    I64MOD Comp [I64] [I64 I64];
    I64ABS Comp [I64] [I64];
    I64NEG Comp [I64] [I64];
    I64SSG Comp [I64] [I64];
    I64MIN Comp [I64] [I64 I64];
    I64MAX Comp [I64] [I64 I64];
    U64MIN Comp [U64] [U64 U64];
    U64MAX Comp [U64] [U64 U64];
    U64SHL Comp [U64] [U64 U32];
    I64SHR Comp [I64] [I64 U32];
    U64SHR Comp [U64] [U64 U32];
    U64SEQ Comp [U32] [U64 U64];
    U64SNE Comp [U32] [U64 U64];
    U64SLT Comp [U32] [U64 U64];
    U64SGE Comp [U32] [U64 U64];
    I64SLT Comp [U32] [I64 I64];
    I64SGE Comp [U32] [I64 I64];

    // Textures by sampler.
    TEX Tex [Any] [F32 Res];
    TEX_LZ Tex [Any] [F32 Res];
    TXP Tex [Any] [F32 Res];
    TXB Tex [Any] [F32 Res];
    TXL Tex [Any] [F32 Res];
    TXD Tex [Any] [F32 F32 F32 Res];
    TXF Tex [Any] [I32 Res];
    TXF_LZ Tex [Any] [I32 Res];
    TXQ Tex [U32] [I32 Res];
    TXQS Tex [U32] [Res];
    TEX2 Tex [Any] [F32 F32 Res];
    TXB2 Tex [Any] [F32 F32 Res];
    TXL2 Tex [Any] [F32 F32 Res];
    TG4 Tex [Any] [F32 Any Res];
    LODQ Tex [F32] [F32 Res];
    SAMP2HND Tex [U64] [Res];

    // Textures by view.
    SAMPLE Sample [Any] [F32 Res Res];
    SAMPLE_I Sample [Any] [I32 Res];
    SAMPLE_I_MS Sample [Any] [I32 Res I32];
    SAMPLE_B Sample [Any] [F32 Res Res F32];
    SAMPLE_C Sample [Any] [F32 Res Res F32];
    SAMPLE_C_LZ Sample [Any] [F32 Res Res F32];
    SAMPLE_D Sample [Any] [F32 Res Res F32 F32];
    SAMPLE_L Sample [Any] [F32 Res Res F32];
    GATHER4 Sample [Any] [F32 Res Res];
    LOD Sample [F32] [F32 Res Res];
    SVIEWINFO Sample [U32] [I32 Res];
    SAMPLE_POS Sample [F32] [Res I32];
    SAMPLE_INFO Sample [U32] [Res I32];

    // Memory.
    LOAD Mem [Any] [Res U32];
    STORE Mem [Res] [U32 Any];
    RESQ Mem [U32] [Res];
    IMG2HND Mem [U64] [Res];
    ATOMUADD Mem [U32] [Res U32 U32];
    ATOMFADD Mem [F32] [Res U32 F32];
    ATOMXCHG Mem [Any] [Res U32 Any];
    ATOMCAS Mem [Any] [Res U32 Any Any];
    ATOMAND Mem [U32] [Res U32 U32];
    ATOMOR Mem [U32] [Res U32 U32];
    ATOMXOR Mem [U32] [Res U32 U32];
    ATOMUMIN Mem [U32] [Res U32 U32];
    ATOMUMAX Mem [U32] [Res U32 U32];
    ATOMIMIN Mem [I32] [Res U32 I32];
    ATOMIMAX Mem [I32] [Res U32 I32];
    ATOMINC_WRAP Mem [U32] [Res U32 U32];
    ATOMDEC_WRAP Mem [U32] [Res U32 U32];

    // Barriers.
    BARRIER Sync [] [];
    MEMBAR Sync [] [U32];
    MFENCE Sync [] [Res];
    LFENCE Sync [] [Res];
    SFENCE Sync [] [Res];

    // Warps.
    VOTE_ANY Lane [U32] [U32];
    VOTE_ALL Lane [U32] [U32];
    VOTE_EQ Lane [U32] [U32];
    BALLOT Lane [U64] [U32];
    READ_INVOC Lane [Any] [Any U32];
    READ_FIRST Lane [Any] [Any];
    CLOCK Lane [U64] [];

    // Control flow.
    IF Flow [] [F32];
    UIF Flow [] [U32];
    // Ours: whole warps run; what it opens is for the lanes that were asked for.
    IF_ASKED Flow [] [];
    ELSE Flow [] [];
    ENDIF Flow [] [];
    BGNLOOP Flow [] [];
    ENDLOOP Flow [] [];
    BRK Flow [] [];
    BREAKC Flow [] [U32];
    CONT Flow [] [];
    SWITCH Flow [] [U32];
    CASE Flow [] [U32];
    DEFAULT Flow [] [];
    ENDSWITCH Flow [] [];
    CAL Flow [] [];
    CALLNZ Flow [] [U32];
    RET Flow [] [];
    BGNSUB Flow [] [];
    ENDSUB Flow [] [];
    END Flow [] [];
    NOP Flow [] [];

    // Graphics.
    DDX Graphics [F32] [F32];
    DDY Graphics [F32] [F32];
    DDX_FINE Graphics [F32] [F32];
    DDY_FINE Graphics [F32] [F32];
    KILL Graphics [] [];
    KILL_IF Graphics [] [F32];
    DEMOTE Graphics [] [];
    READ_HELPER Graphics [U32] [];
    FBFETCH Graphics [F32] [F32];
    EMIT Graphics [] [U32];
    ENDPRIM Graphics [] [U32];
    INTERP_CENTROID Graphics [F32] [F32];
    INTERP_SAMPLE Graphics [F32] [F32 I32];
    INTERP_OFFSET Graphics [F32] [F32 F32];
}

/// Spellings of older dialects.
const ALIASES: &[(&str, Opcode)] = &[("KIL", Opcode::KILL_IF), ("KILP", Opcode::KILL), ("CALL", Opcode::CAL)];

/// All spellings.
static BY_NAME: LazyLock<FxHashMap<&'static str, Opcode>> = LazyLock::new(|| {
    let names = Opcode::ALL.iter().map(|&op| (op.name(), op));
    names.chain(ALIASES.iter().copied()).collect()
});

/// Makes the table of names.
pub(crate) fn prepare() {
    LazyLock::force(&BY_NAME);
}

impl Opcode {
    pub fn info(self) -> &'static Info {
        &TABLE[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The opcode that `text` (in upper case, without suffixes) names.
    pub fn parse(text: &str) -> Option<Opcode> {
        BY_NAME.get(text).copied()
    }

    /// An atomic operation on memory.
    pub fn is_atomic(self) -> bool {
        self.name().starts_with("ATOM")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_finds_its_opcode() {
        for &op in Opcode::ALL {
            assert_eq!(Opcode::parse(op.name()), Some(op));
        }
        for &(alias, op) in ALIASES {
            assert_eq!(Opcode::parse(alias), Some(op));
        }
        assert_eq!(Opcode::parse("NO_SUCH"), None);
    }
}
