//! Blending and the logic operation, as functions of values.
//!
//! Products and sums are rounded one by one in f32. Operands are clamped before to what the target holds ([`Range`]).

pub(crate) use nvir_hw::state::{BlendOp as Operation, Factor};
use std::fmt;

/// The factor of each channel.
#[inline]
fn values<const N: usize>(factor: Factor, o: &Operands<N>) -> Colors<N> {
    use Factor::*;
    let minus = |c: [f32; N]| c.map(|v| 1.0 - v);
    let [source, source1, destination, constant] = [o.source, o.source1, o.destination, o.constant];
    match factor {
        Zero => [[0.0; N]; 4],
        One => [[1.0; N]; 4],
        SourceColor => source,
        OneMinusSourceColor => source.map(minus),
        SourceAlpha => [source[3]; 4],
        OneMinusSourceAlpha => [minus(source[3]); 4],
        DestinationAlpha => [destination[3]; 4],
        OneMinusDestinationAlpha => [minus(destination[3]); 4],
        DestinationColor => destination,
        OneMinusDestinationColor => destination.map(minus),
        SourceAlphaSaturate => {
            let f = std::array::from_fn(|i| least(source[3][i], 1.0 - destination[3][i]));
            [f, f, f, [1.0; N]]
        }
        ConstantColor => constant,
        OneMinusConstantColor => constant.map(minus),
        ConstantAlpha => [constant[3]; 4],
        OneMinusConstantAlpha => [minus(constant[3]); 4],
        Source1Color => source1,
        OneMinusSource1Color => source1.map(minus),
        Source1Alpha => [source1[3]; 4],
        OneMinusSource1Alpha => [minus(source1[3]); 4],
    }
}

/// Operation and factors of colour or of alpha.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Equation {
    pub operation: Operation,
    pub source: Factor,
    pub destination: Factor,
}

impl fmt::Display for Equation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({:?}, {:?})", self.operation, self.source, self.destination)
    }
}

/// What zero times infinity or NaN is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ZeroRule {
    /// NaN.
    Ieee,
    /// Zero: method 19c0 is 1.
    ZeroWins,
}

/// Blending of one target, while it is on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct BlendState {
    pub color: Equation,
    pub alpha: Equation,
    /// BLEND_COLOR.
    pub constant: [f32; 4],
    pub zero: ZeroRule,
}

/// The values that a target holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Range {
    /// 0 to 1.
    Unsigned,
    /// -1 to 1.
    Signed,
    Float,
}

impl Range {
    #[inline]
    pub(super) fn clamp(self, v: f32) -> f32 {
        let low = match self {
            Range::Float => return v,
            Range::Unsigned => 0.0,
            Range::Signed => -1.0,
        };
        // NaN is 0, as it is where it is stored.
        let v = if v.is_nan() { 0.0 } else { v };
        let v = if v > low { v } else { low };
        if v < 1.0 { v } else { 1.0 }
    }

    #[inline]
    fn clamp_all<const N: usize>(self, c: &Colors<N>) -> Colors<N> {
        match self {
            Range::Float => *c,
            _ => c.map(|channel| channel.map(|v| self.clamp(v))),
        }
    }
}

/// Red, green, blue and alpha of so many pixels.
pub(super) type Colors<const N: usize> = [[f32; N]; 4];

struct Operands<const N: usize> {
    source: Colors<N>,
    source1: Colors<N>,
    destination: Colors<N>,
    constant: Colors<N>,
}

/// The lesser value; the second if either is NaN.
#[inline]
fn least(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline]
fn greatest(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

impl BlendState {
    /// The blended colours, which may lie outside of the range.
    #[inline]
    pub(super) fn blend<const N: usize>(
        &self,
        source: &Colors<N>,
        source1: &Colors<N>,
        destination: &Colors<N>,
        range: Range,
    ) -> Colors<N> {
        let o = Operands {
            source: range.clamp_all(source),
            source1: range.clamp_all(source1),
            destination: *destination,
            constant: range.clamp_all(&self.constant.map(|c| [c; N])),
        };
        let [r, g, b, a] = self.color.apply(&o, self.zero);
        let a = if self.alpha == self.color { a } else { self.alpha.apply(&o, self.zero)[3] };
        [r, g, b, a]
    }
}

impl Equation {
    #[inline]
    fn apply<const N: usize>(&self, o: &Operands<N>, zero: ZeroRule) -> Colors<N> {
        let (s, d) = (&o.source, &o.destination);
        match self.operation {
            Operation::Min => return each(s, d, least),
            Operation::Max => return each(s, d, greatest),
            _ => {}
        }
        let (by_s, by_d) = (&values(self.source, o), &values(self.destination, o));
        let (s, d) = match zero {
            ZeroRule::Ieee => (&each(s, by_s, |a, b| a * b), &each(d, by_d, |a, b| a * b)),
            ZeroRule::ZeroWins => (&each(s, by_s, multiply), &each(d, by_d, multiply)),
        };
        match self.operation {
            Operation::Subtract => each(s, d, |s, d| s - d),
            Operation::ReverseSubtract => each(s, d, |s, d| d - s),
            _ => each(s, d, |s, d| s + d),
        }
    }
}

/// A function of each channel of each pixel.
#[inline]
fn each<const N: usize>(a: &Colors<N>, b: &Colors<N>, f: impl Fn(f32, f32) -> f32) -> Colors<N> {
    std::array::from_fn(|n| std::array::from_fn(|i| f(a[n][i], b[n][i])))
}

/// The product with [`ZeroRule::ZeroWins`].
#[inline]
fn multiply(a: f32, b: f32) -> f32 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// The logic operation, on the bits of a texel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LogicOp(u8);

impl LogicOp {
    /// By GL's numbers, 0x1500 (clear) to 0x150f (set).
    pub(crate) fn from_code(code: u32) -> Option<LogicOp> {
        (0x1500..0x1510).contains(&code).then_some(LogicOp(code as u8 & 15))
    }

    /// The low bits of the number say for which of (1, 1), (1, 0), (0, 1), (0, 0) of source and destination the result is 1.
    #[inline]
    pub(crate) fn apply(self, source: u32, destination: u32) -> u32 {
        let on = |bit: u8, v: u32| if self.0 >> bit & 1 != 0 { v } else { 0 };
        on(0, source & destination)
            | on(1, source & !destination)
            | on(2, !source & destination)
            | on(3, !(source | destination))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: [f32; 4] = [0.5, 0.25, 1.0, 0.75];
    const S1: [f32; 4] = [0.125, 0.5, 0.0, 0.25];
    const D: [f32; 4] = [0.25, 0.5, 0.125, 0.5];
    const C: [f32; 4] = [0.375, 0.0, 1.0, 0.625];

    fn state(operation: Operation, source: Factor, destination: Factor) -> BlendState {
        let e = Equation { operation, source, destination };
        BlendState { color: e, alpha: e, constant: C, zero: ZeroRule::Ieee }
    }

    /// One pixel.
    fn blend(state: BlendState, s: [f32; 4], s1: [f32; 4], d: [f32; 4], range: Range) -> [f32; 4] {
        let [s, s1, d] = [s, s1, d].map(|c| c.map(|v| [v]));
        state.blend(&s, &s1, &d, range).map(|[v]| v)
    }

    #[test]
    fn codes() {
        for bad in [0, 0x4002, 0x4309, 0xc000, 0xc005, 0xc904, 0x302, 2] {
            assert_eq!(Factor::from_code(bad), None, "{bad:#x}");
        }
        assert_eq!((Operation::from_code(0x8009), LogicOp::from_code(0x1510)), (None, None));
        assert_eq!(Factor::from_code(0x4302), Some(Factor::SourceAlpha));
        assert!(
            Factor::from_code(0xc900).unwrap().is_dual() && !Factor::from_code(0xc001).unwrap().is_dual()
        );
    }

    #[test]
    fn every_factor() {
        // The source alone: 0.5, 0.25, 1, 0.75 times the factor.
        let minus = |c: [f32; 4]| c.map(|v| 1.0 - v);
        let factors = [
            (0x4000, [0.0; 4]),
            (0x4001, [1.0; 4]),
            (0x4300, S),
            (0x4301, minus(S)),
            (0x4302, [0.75; 4]),
            (0x4303, [0.25; 4]),
            (0x4304, [0.5; 4]),
            (0x4305, [0.5; 4]),
            (0x4306, D),
            (0x4307, minus(D)),
            (0x4308, [0.5, 0.5, 0.5, 1.0]),
            (0xc001, C),
            (0xc002, minus(C)),
            (0xc003, [0.625; 4]),
            (0xc004, [0.375; 4]),
            (0xc900, S1),
            (0xc901, minus(S1)),
            (0xc902, [0.25; 4]),
            (0xc903, [0.75; 4]),
        ];
        for (code, values) in factors {
            let factor = Factor::from_code(code).unwrap();
            let times = |c: [f32; 4]| -> [f32; 4] { std::array::from_fn(|n| c[n] * values[n]) };
            let of = |s, d| blend(state(Operation::Add, s, d), S, S1, D, Range::Unsigned);
            assert_eq!(of(factor, Factor::Zero), times(S), "{factor:?}");
            assert_eq!(of(Factor::Zero, factor), times(D), "{factor:?}");
        }
    }

    #[test]
    fn every_operation() {
        let of = |op| blend(state(op, Factor::SourceAlpha, Factor::One), S, S1, D, Range::Unsigned);
        assert_eq!(of(Operation::Add), [0.625, 0.6875, 0.875, 1.0625]);
        assert_eq!(of(Operation::Subtract), [0.125, -0.3125, 0.625, 0.0625]);
        assert_eq!(of(Operation::ReverseSubtract), [-0.125, 0.3125, -0.625, -0.0625]);
        assert_eq!(of(Operation::Min), [0.25, 0.25, 0.125, 0.5]);
        assert_eq!(of(Operation::Max), [0.5, 0.5, 1.0, 0.75]);
        let alpha = Equation { operation: Operation::Max, source: Factor::Zero, destination: Factor::Zero };
        let separate = BlendState { alpha, ..state(Operation::Add, Factor::One, Factor::One) };
        assert_eq!(blend(separate, S, S1, D, Range::Unsigned), [0.75, 0.75, 1.125, 0.75]);
    }

    #[test]
    fn operands_are_clamped_to_what_the_target_holds() {
        let s = [2.0, -2.0, f32::NAN, 1.0];
        let of = |range| blend(state(Operation::Add, Factor::One, Factor::Zero), s, S1, D, range);
        assert_eq!(of(Range::Unsigned), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(of(Range::Signed), [1.0, -1.0, 0.0, 1.0]);
        assert_eq!(of(Range::Float)[..2], [2.0, -2.0]);
        assert!(of(Range::Float)[2].is_nan());
        let mut zero = state(Operation::Add, Factor::Zero, Factor::One);
        zero.zero = ZeroRule::ZeroWins;
        assert_eq!(blend(zero, [f32::INFINITY; 4], S1, D, Range::Float), D);
        let ieee = state(Operation::Add, Factor::Zero, Factor::One);
        assert!(blend(ieee, [f32::INFINITY; 4], S1, D, Range::Float)[0].is_nan());
    }

    #[test]
    fn every_logic_operation() {
        // In GL's order, of source 1100 and destination 1010.
        let (s, d) = (0b1100, 0b1010);
        let want = [
            0, 0b1000, 0b0100, 0b1100, 0b0010, 0b1010, 0b0110, 0b1110, 0b0001, 0b1001, 0b0101, 0b1101,
            0b0011, 0b1011, 0b0111, 0b1111,
        ];
        for (code, want) in (0x1500..).zip(want) {
            assert_eq!(LogicOp::from_code(code).unwrap().apply(s, d) & 15, want, "{code:#x}");
        }
    }
}
