//! What a breakpoint may ask of registers, and places that can be watched.

use super::show::running;
use nvir::emu::engine::open::LANES;
use nvir::emu::engine::{Cx, Warp};
use std::cmp::Ordering;
use std::fmt;

/// How 32 bits are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum View {
    Hex,
    Unsigned,
    Signed,
    Float,
}

impl View {
    pub(super) fn of(letter: &str) -> Option<View> {
        Some(match letter {
            "x" => View::Hex,
            "u" => View::Unsigned,
            "i" => View::Signed,
            "f" => View::Float,
            _ => return None,
        })
    }

    pub(super) fn text(self, bits: u32) -> String {
        match self {
            View::Hex => format!("{bits:08x}"),
            View::Unsigned => bits.to_string(),
            View::Signed => (bits as i32).to_string(),
            View::Float => format!("{:?}", f32::from_bits(bits)),
        }
    }

    /// Every number of these is one of 64 bits.
    fn number(self, bits: u32) -> f64 {
        match self {
            View::Hex | View::Unsigned => bits.into(),
            View::Signed => (bits as i32).into(),
            View::Float => f32::from_bits(bits).into(),
        }
    }
}

/// A place that has a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// A register of a warp.
    Register(u8),
    /// A predicate: 0 or 1.
    Predicate(u8),
    Global(u64),
    /// Byte offset in the block's shared memory.
    Shared(u64),
    /// Byte offset in a thread's local memory.
    Local(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Register(n) => write!(f, "R{n}"),
            Place::Predicate(n) => write!(f, "P{n}"),
            Place::Global(at) => write!(f, "g[{at:#x}]"),
            Place::Shared(at) => write!(f, "s[{at:#x}]"),
            Place::Local(at) => write!(f, "l[{at:#x}]"),
        }
    }
}

impl Place {
    /// `R3`, `P0`, `g[0x1000]`, `s[0]`, `l[4]`; addresses are multiples of 4.
    pub(super) fn parse(text: &str) -> Result<Place, String> {
        let wrong = || format!("`{text}` is not a place such as R3, P0, g[0x1000], s[0] or l[0]");
        if let Some(inside) = text.strip_suffix(']') {
            let (space, at) = inside.split_once('[').ok_or_else(wrong)?;
            let at = number(at).ok_or_else(wrong)?;
            if at % 4 != 0 {
                return Err(format!("{text}: words lie at multiples of 4"));
            }
            return match space {
                "g" => Ok(Place::Global(at)),
                "s" => Ok(Place::Shared(at)),
                "l" => Ok(Place::Local(at)),
                _ => Err(wrong()),
            };
        }
        let index = |digits: &str, most: u8| digits.parse().ok().filter(|&n| n <= most).ok_or_else(wrong);
        match text.split_at_checked(1) {
            Some(("R" | "r", digits)) => index(digits, 254).map(Place::Register),
            Some(("P" | "p", digits)) => index(digits, 6).map(Place::Predicate),
            _ => Err(wrong()),
        }
    }

    /// Whether all threads of a warp see the same there.
    pub(super) fn is_common(self) -> bool {
        matches!(self, Place::Global(_) | Place::Shared(_))
    }

    /// The value in a lane; none where there is nothing.
    pub(super) fn value(self, cx: &Cx<'_>, warp: &Warp, lane: usize) -> Option<u32> {
        match self {
            Place::Register(n) => warp.regs.get(usize::from(n)).map(|row| row.0[lane]),
            Place::Predicate(n) => warp.preds.get(usize::from(n)).map(|mask| mask >> lane & 1),
            Place::Global(at) => cx.global_word(at),
            Place::Shared(at) => cx.shared_word(at),
            Place::Local(at) => warp.local.get(usize::try_from(at / 4).ok()?).map(|row| row.0[lane]),
        }
    }
}

/// A number, decimal or hexadecimal.
pub(super) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// `R3 == 7`, `R4:f > 0.5`: holds where it does in a thread that runs, or in that lane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Condition {
    place: Place,
    view: View,
    holds: &'static [Ordering],
    /// Also where the two cannot be compared.
    unordered: bool,
    wanted: f64,
}

impl Condition {
    /// Place, comparison, number.
    pub(super) fn parse(words: &[&str]) -> Result<Condition, String> {
        use Ordering::*;
        let &[place, comparison, wanted] = words else {
            return Err("a condition is like `R3 == 7`, `R4:f > 0.5` or `P0 == 1`".into());
        };
        let (place, view) = match place.split_once(':') {
            Some((place, view)) => {
                (place, View::of(view).ok_or_else(|| format!("`:{view}` is none of :x, :u, :i and :f"))?)
            }
            None => (place, if wanted.starts_with('-') { View::Signed } else { View::Unsigned }),
        };
        let holds: &[Ordering] = match comparison {
            "==" => &[Equal],
            "!=" => &[Less, Greater],
            "<" => &[Less],
            "<=" => &[Less, Equal],
            ">" => &[Greater],
            ">=" => &[Greater, Equal],
            _ => return Err(format!("`{comparison}` is none of == != < <= > >=")),
        };
        let parsed = number(wanted).map(|n| n as f64).or_else(|| wanted.parse().ok());
        let wanted = parsed.ok_or_else(|| format!("`{wanted}` is not a number"))?;
        Ok(Condition { place: Place::parse(place)?, view, holds, unordered: comparison == "!=", wanted })
    }

    pub(super) fn holds(&self, cx: &Cx<'_>, warp: &Warp, lane: Option<usize>) -> bool {
        let holds = |lane: usize| {
            let Some(bits) = self.place.value(cx, warp, lane) else { return false };
            let order = self.view.number(bits).partial_cmp(&self.wanted);
            order.map_or(self.unordered, |order| self.holds.contains(&order))
        };
        match lane {
            Some(lane) => lane < LANES && holds(lane),
            None => running(warp).any(holds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written_alike() {
        for text in ["R0", "R254", "P6", "g[0x1000]", "s[0x0]", "l[0x8]"] {
            assert_eq!(Place::parse(text).map(|p| p.to_string()), Ok(text.to_string()));
        }
        assert_eq!(Place::parse("s[16]"), Ok(Place::Shared(16)));
        for text in ["", "R", "R255", "P7", "g[0x2]", "g[", "q[0]", "g[-4]", "R3x", "[0]", "ä"] {
            assert!(Place::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn conditions_say_what_is_wrong_with_them() {
        let said = |text: &str| {
            Condition::parse(&text.split_whitespace().collect::<Vec<_>>()).map(|_| ()).unwrap_err()
        };
        assert!(said("R3").contains("is like"));
        assert!(said("R3 = 7").contains("`=` is none of =="));
        assert!(said("R3 == seven").contains("`seven` is not a number"));
        assert!(said("R3:q == 7").contains("`:q` is none of"));
        assert!(said("Q3 == 7").contains("`Q3` is not a place"));
    }

    #[test]
    fn numbers_are_read_as_the_view_says() {
        assert_eq!(View::Signed.text(u32::MAX), "-1");
        assert_eq!(View::Float.text(0x3f80_0000), "1.0");
        let below = Condition::parse(&["R0", "<", "-1"]).expect("a condition");
        assert_eq!((below.view, below.wanted), (View::Signed, -1.0));
    }
}
