//! Blending: how an output and what is in the target become what the target has then.

use nvir_hw::state::{BlendOp, Factor};

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
