//! Blending: how an output and what is in the target become what the target has then.

/// What an operand of a blend is multiplied by. "Second" is the second output of the program, with two for one target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the formulas")]
pub enum Factor {
    Zero,
    One,
    Source,
    OneMinusSource,
    SourceAlpha,
    OneMinusSourceAlpha,
    DestinationAlpha,
    OneMinusDestinationAlpha,
    Destination,
    OneMinusDestination,
    /// The smaller of source alpha and one minus destination alpha; 1 for alpha.
    SourceAlphaSaturate,
    Constant,
    OneMinusConstant,
    ConstantAlpha,
    OneMinusConstantAlpha,
    Second,
    OneMinusSecond,
    SecondAlpha,
    OneMinusSecondAlpha,
}

impl Factor {
    /// The number of the hardware: those of GL, with a bit.
    pub(crate) fn code(self) -> u32 {
        match self {
            Factor::Zero => 0x4000,
            Factor::One => 0x4001,
            Factor::Source => 0x4300,
            Factor::OneMinusSource => 0x4301,
            Factor::SourceAlpha => 0x4302,
            Factor::OneMinusSourceAlpha => 0x4303,
            Factor::DestinationAlpha => 0x4304,
            Factor::OneMinusDestinationAlpha => 0x4305,
            Factor::Destination => 0x4306,
            Factor::OneMinusDestination => 0x4307,
            Factor::SourceAlphaSaturate => 0x4308,
            Factor::Constant => 0xc001,
            Factor::OneMinusConstant => 0xc002,
            Factor::ConstantAlpha => 0xc003,
            Factor::OneMinusConstantAlpha => 0xc004,
            Factor::Second => 0xc900,
            Factor::OneMinusSecond => 0xc901,
            Factor::SecondAlpha => 0xc902,
            Factor::OneMinusSecondAlpha => 0xc903,
        }
    }
}

/// What is made of the two products.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum BlendOp {
    /// Their sum.
    #[default]
    Add,
    /// Source less destination.
    Subtract,
    /// Destination less source.
    ReverseSubtract,
    /// The smaller of the operands, without factors.
    Min,
    /// The larger of the operands, without factors.
    Max,
}

impl BlendOp {
    pub(crate) fn code(self) -> u32 {
        match self {
            BlendOp::Add => 0x8006,
            BlendOp::Min => 0x8007,
            BlendOp::Max => 0x8008,
            BlendOp::Subtract => 0x800a,
            BlendOp::ReverseSubtract => 0x800b,
        }
    }
}

/// Of colours, or of alpha.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Equation {
    /// What is made of the products.
    pub op: BlendOp,
    /// What the output is multiplied by.
    pub source: Factor,
    /// What is in the target is multiplied by.
    pub destination: Factor,
}

impl Equation {
    /// The sum of two products.
    pub const fn add(source: Factor, destination: Factor) -> Equation {
        Equation { op: BlendOp::Add, source, destination }
    }

    pub(crate) fn words(self) -> [u32; 3] {
        [self.op.code(), self.source.code(), self.destination.code()]
    }
}

/// Blending of one target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Blend {
    /// Of red, green and blue.
    pub color: Equation,
    /// Of alpha.
    pub alpha: Equation,
}

impl Blend {
    /// The output over what is there, by its alpha.
    pub const OVER: Blend = Blend::both(Equation::add(Factor::SourceAlpha, Factor::OneMinusSourceAlpha));
    /// The sum of the two.
    pub const ADD: Blend = Blend::both(Equation::add(Factor::One, Factor::One));

    /// The same for colours and alpha.
    pub const fn both(equation: Equation) -> Blend {
        Blend { color: equation, alpha: equation }
    }
}
