//! The methods of the classes: name, address, how many there are at which distance, the group of
//! state, what a write does, the value at reset.
//!
//! A line of a table is a method, or a family of them at equal distances, and a constant of that
//! name: a number for a single method, a [`Family`] for several. What several classes have at the
//! same addresses stands once, in a module of its own ([`upload`], [`query`], [`shader`]), and the
//! classes list their modules. Tables that overlap do not compile.
//!
//! Sources of names and addresses: envytools' rnndb, as Mesa's `nv*.xml.h` have it, Mesa's names
//! where both exist. `//` in the table of the 3D class: the name in NVIDIA's open class headers
//! (cl9097.h, cla097.h), which say what the fields are. The role of a method is what 330 runs of
//! piglit on Mesa 22.3.6 need of it: those that are [`Effect::Nothing`] are caches, tuning and
//! waits for what has happened already.
//!
//! ```
//! use nvir_hw::Class;
//! use nvir_hw::method::{self, Effect, query, three_d};
//! assert_eq!(query::QUERY_GET, 0x1b0c);
//! assert_eq!(three_d::RT_FORMAT.at(2), 0x890);
//! let (found, n) = method::find(Class::ThreeD.table(nvir_base::Chip::Gk104), 0x890).unwrap();
//! assert_eq!((found.name, n), ("RT_FORMAT", 2));
//! assert_eq!(method::name(0xa097, 0x19d0), "CLEAR_BUFFERS");
//! ```
//!
//! To add a method, add its line.

mod blits;
mod drawing;
mod kernels;
mod shared;

mod transfers;

pub use blits::two_d;
pub use drawing::three_d;
pub use kernels::{compute, fermi_compute, kepler_compute};
pub use shared::{bindings, channel, condition, macros, query, shader, upload};
pub use transfers::{copy, m2mf, p2mf};

use crate::Class;

/// Method addresses have 13 bits, in words.
pub const COUNT: usize = 0x2000;

/// Methods below this are the channel's, whatever class is bound.
pub const CHANNEL_END: u32 = 0x100;

/// What a method belongs to. A draw reads its state by group, so what has not been written since
/// the last one is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "the names are the meaning")]
pub enum Group {
    Assembly,
    Blend,
    Blit,
    Cache,
    Channel,
    Clear,
    Clip,
    ClipId,
    Condition,
    Constants,
    Copy,
    Counters,
    DepthStencil,
    Draw,
    Draw2d,
    Feedback,
    Firmware,
    Fragment,
    Images,
    Index,
    Launch,
    Macro,
    Memory,
    Program,
    Query,
    Raster,
    Samples,
    Scissor,
    Target,
    Textures,
    Tuning,
    Upload,
    VertexInput,
    Viewport,
}

/// What a write does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// The value is kept, for what acts later.
    State,
    /// Something happens at once.
    Action,
    /// Nothing that results show.
    Nothing,
}

/// A line of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Method {
    /// Mesa's name.
    pub name: &'static str,
    /// Byte address of the first.
    pub address: u32,
    /// Bytes from one to the next.
    pub stride: u32,
    /// How many there are.
    pub count: u32,
    /// What it belongs to.
    pub group: Group,
    /// What a write does.
    pub effect: Effect,
    /// The register before anything is written.
    pub reset: u32,
}

/// Methods at equal distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Family {
    /// Byte address of the first.
    pub first: u32,
    /// Bytes from one to the next.
    pub stride: u32,
    /// How many there are.
    pub count: u32,
}

impl Family {
    /// The address of the n-th, which must be there.
    #[inline]
    pub const fn at(self, n: u32) -> u32 {
        debug_assert!(n < self.count);
        self.first + self.stride * n
    }

    /// Which of them an address is.
    #[inline]
    pub const fn index(self, address: u32) -> Option<u32> {
        let distance = address.wrapping_sub(self.first);
        if distance.is_multiple_of(self.stride) && distance / self.stride < self.count {
            Some(distance / self.stride)
        } else {
            None
        }
    }
}

/// A value, or what stands for its absence.
macro_rules! or {
    (; $default:expr) => {
        $default
    };
    ($value:expr; $default:expr) => {
        $value
    };
}
use or;

macro_rules! effect {
    () => {
        Effect::State
    };
    (acts) => {
        Effect::Action
    };
    (ignored) => {
        Effect::Nothing
    };
}
use effect;

macro_rules! constant {
    ($name:ident $address:literal) => {
        #[doc = concat!("The method at `", stringify!($address), "`.")]
        pub const $name: u32 = $address;
    };
    ($name:ident $address:literal $count:literal $stride:literal) => {
        #[doc = concat!(stringify!($count), " methods from `", stringify!($address), "` on.")]
        pub const $name: Family = Family { first: $address, stride: $stride, count: $count };
    };
}
use constant;

/// A table: `address NAME[count; stride] Group effect = reset;` gives a constant and a line of
/// `METHODS`. Without brackets there is one, without an effect (`acts`, `ignored`) the value is
/// state, without a value it is zero at reset.
macro_rules! methods {
    ($(#[$doc:meta])* pub mod $block:ident;
     $($address:literal $name:ident $([$count:literal; $stride:literal])? $group:ident $($effect:ident)? $(= $reset:literal)?;)*) => {
        $(#[$doc])*
        pub mod $block {
            #[allow(unused_imports)]
            use crate::method::{Effect, Family, Group, Method, constant, effect, or};

            $(constant! { $name $address $($count $stride)? })*

            /// All of them by address.
            pub const METHODS: &[Method] = &[$(Method {
                name: stringify!($name),
                address: $address,
                stride: or!($($stride)?; 4),
                count: or!($($count)?; 1),
                group: Group::$group,
                effect: effect!($($effect)?),
                reset: or!($($reset)?; 0),
            }),*];
        }
    };
}
use methods;

/// All methods of a class.
#[derive(Debug)]
pub struct Table {
    blocks: &'static [&'static [Method]],
    /// By word address: 0, or 1 + the place of the line in the blocks one after the other.
    lines: [u16; COUNT],
}

impl Table {
    const fn new(blocks: &'static [&'static [Method]]) -> Table {
        let mut lines = [0; COUNT];
        let (mut block, mut line) = (0, 1);
        while block < blocks.len() {
            let mut i = 0;
            while i < blocks[block].len() {
                let m = &blocks[block][i];
                let mut n = 0;
                while n < m.count {
                    let at = ((m.address + n * m.stride) / 4) as usize;
                    assert!(lines[at] == 0, "two methods of a class have the same address");
                    lines[at] = line;
                    n += 1;
                }
                (i, line) = (i + 1, line + 1);
            }
            block += 1;
        }
        Table { blocks, lines }
    }

    /// The lines, each module's by address.
    pub fn methods(&self) -> impl Iterator<Item = &'static Method> {
        self.blocks.iter().flat_map(|block| block.iter())
    }
}

/// The line that has a method, and which of the line's it is.
pub fn find(table: &'static Table, address: u32) -> Option<(&'static Method, u32)> {
    let line = *table.lines.get(address as usize / 4).filter(|_| address.is_multiple_of(4))?;
    let mut line = usize::from(line.checked_sub(1)?);
    for block in table.blocks {
        match block.get(line) {
            Some(method) => return Some((method, (address - method.address) / method.stride)),
            None => line -= block.len(),
        }
    }
    None
}

/// The name of a method of the class with a number, for people: `CLEAR_COLOR(2)`. Methods without a
/// name are `UNK1234`, and where the class is not known the channel's have one.
pub fn name(class: u32, address: u32) -> String {
    let table = match Class::find(class) {
        Some((class, chip)) => class.table(chip),
        None => &CHANNEL,
    };
    match find(table, address) {
        Some((m, n)) if m.group == Group::Macro && m.count > 1 => {
            format!("MACRO_{n}{}", if m.address % 8 == 4 { "_PARAM" } else { "" })
        }
        Some((m, n)) if m.count > 1 => format!("{}({n})", m.name),
        Some((m, _)) => m.name.into(),
        None => format!("UNK{address:04X}"),
    }
}

static CHANNEL: Table = Table::new(&[channel::METHODS]);
/// The 3D class.
pub(crate) static THREE_D: Table = Table::new(&[
    channel::METHODS,
    macros::METHODS,
    upload::METHODS,
    condition::METHODS,
    query::METHODS,
    shader::METHODS,
    bindings::METHODS,
    three_d::METHODS,
]);
pub(crate) static FERMI_COMPUTE: Table = Table::new(&[
    channel::METHODS,
    macros::METHODS,
    condition::METHODS,
    query::METHODS,
    shader::METHODS,
    bindings::METHODS,
    compute::METHODS,
    fermi_compute::METHODS,
]);
pub(crate) static KEPLER_COMPUTE: Table = Table::new(&[
    channel::METHODS,
    macros::METHODS,
    upload::METHODS,
    condition::METHODS,
    query::METHODS,
    shader::METHODS,
    compute::METHODS,
    kepler_compute::METHODS,
]);
pub(crate) static M2MF: Table = Table::new(&[channel::METHODS, m2mf::METHODS]);
pub(crate) static P2MF: Table =
    Table::new(&[channel::METHODS, upload::METHODS, condition::METHODS, p2mf::METHODS]);
pub(crate) static TWO_D: Table = Table::new(&[channel::METHODS, two_d::METHODS]);
pub(crate) static COPY: Table = Table::new(&[channel::METHODS, copy::METHODS]);
pub(crate) static SOFTWARE: Table = Table::new(&[channel::METHODS]);

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_base::Chip;

    fn tables() -> impl Iterator<Item = &'static Table> {
        Chip::ALL
            .into_iter()
            .flat_map(|chip| Class::ALL.map(move |class| class.number(chip).map(|_| class.table(chip))))
            .flatten()
    }

    #[test]
    fn every_module_is_sorted_and_every_method_is_found() {
        let mut seen = 0;
        for table in tables() {
            for block in table.blocks {
                assert!(block.is_sorted_by(|a, b| a.address < b.address), "{}", block[0].name);
            }
            for m in table.methods() {
                assert!(m.count > 0 && m.stride >= 4 && m.stride.is_multiple_of(4), "{}", m.name);
                for n in 0..m.count {
                    assert_eq!(find(table, m.address + n * m.stride), Some((m, n)), "{}", m.name);
                    seen += 1;
                }
            }
            assert_eq!(find(table, 1), None);
            assert_eq!(find(table, 0x8000), None);
        }
        assert!(seen > 3000, "{seen}");
    }

    #[test]
    fn names_within_a_class_differ() {
        for table in tables() {
            // The channel and the 3D class have a WRCACHE_FLUSH each.
            let own = table.methods().filter(|m| m.address >= CHANNEL_END);
            let mut names: Vec<_> = own.map(|m| m.name).collect();
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }

    #[test]
    fn families_give_addresses_and_indices() {
        let rt = three_d::RT_FORMAT;
        assert_eq!((rt.at(0), rt.at(7)), (0x810, 0x9d0));
        assert_eq!((rt.index(0x890), rt.index(0x894), rt.index(0xa10)), (Some(2), None, None));
        assert_eq!(rt.index(0x80c), None);
        assert_eq!(bindings::CB_DATA.index(0x23cc), Some(15));
    }

    #[test]
    fn names_are_mesas() {
        for (class, address, name) in [
            (0x9097, 0x19d0, "CLEAR_BUFFERS"),
            (0xa197, 0xd88, "CLEAR_COLOR(2)"),
            (0xa097, 0x0854, "RT_TILE_MODE(1)"),
            (0xa097, 0x2100, "SP_SELECT(4)"),
            (0xa097, 0x3394, "MP_PM_B_SIGSEL(2)"),
            (0xa097, 0x3870, "MACRO_14"),
            (0x90c0, 0x3864, "MACRO_12_PARAM"),
            (0x90c0, 0x368, "LAUNCH"),
            (0xa1c0, 0x2b4, "LAUNCH_DESC_ADDRESS"),
            (0xa0c0, 0x1b4, "UPLOAD_DATA"),
            (0xa040, 0x180, "UPLOAD_LINE_LENGTH_IN"),
            (0xa0b5, 0x300, "EXEC"),
            (0x9039, 0x344, "TILING_POSITION_IN_X"),
            (0x902d, 0x8dc, "BLIT_SRC_Y_INT"),
            (0x902d, 0, "OBJECT"),
            (0x902d, 0x50, "REF_CNT"),
            (0x9097, 0x7ff0, "UNK7FF0"),
            (0x1234, 0x100, "UNK0100"),
        ] {
            assert_eq!(super::name(class, address), name, "{class:x} {address:x}");
        }
    }
}
