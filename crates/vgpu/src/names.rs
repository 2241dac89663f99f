//! Names of methods, for people.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A method, or a family of methods at equal distances.
struct Name {
    name: &'static str,
    stride: u32,
    count: u32,
}

/// By class, then by the first address.
static NAMES: LazyLock<BTreeMap<u32, BTreeMap<u32, Name>>> = LazyLock::new(|| {
    let mut all = BTreeMap::new();
    let mut classes: Vec<u32> = Vec::new();
    let hex = |s: &str| u32::from_str_radix(s, 16).unwrap_or(0);
    for line in include_str!("methods.txt").lines().filter(|l| !l.starts_with('#')) {
        if let Some((_, numbers)) = line.split_once("] ") {
            classes = numbers.split(' ').map(hex).collect();
            continue;
        }
        for (place, name) in line.split(' ').filter_map(|entry| entry.split_once('=')) {
            let mut place = place.split('.').map(hex);
            let mut next = |or| place.next().unwrap_or(or);
            let (address, stride, count) = (next(0), next(4), next(1));
            for class in &classes {
                let names: &mut BTreeMap<u32, Name> = all.entry(*class).or_default();
                names.insert(address, Name { name, stride, count });
            }
        }
    }
    all
});

/// Mesa's name of a class's method, `CLEAR_COLOR(2)`; class 0 stands for the channel itself. Methods without a name are
/// `UNK1234`.
pub fn method(class: u32, method: u32) -> String {
    if method == 0 && class != 0 {
        return "OBJECT".into();
    }
    if let Some(macros) =
        method.checked_sub(crate::mme::FIRST_METHOD).filter(|m| *m < 8 * crate::mme::MACROS as u32)
        && class != 0
    {
        return format!("MACRO_{}{}", macros / 8, if macros % 8 < 4 { "" } else { "_PARAM" });
    }
    let class = if method < 0x100 { 0 } else { class };
    let families = NAMES.get(&class).into_iter().flat_map(|names| names.range(..=method).rev().take(32));
    // Families interleave: the one whose member this is begins a few names before.
    for (first, n) in families {
        let distance = method - first;
        if distance == 0 && n.count == 1 {
            return n.name.into();
        }
        if n.count > 1 && distance.is_multiple_of(n.stride) && distance / n.stride < n.count {
            return format!("{}({})", n.name, distance / n.stride);
        }
    }
    format!("UNK{method:04X}")
}

#[cfg(test)]
mod tests {
    use super::method;

    #[test]
    fn names_are_mesas() {
        for (class, address, name) in [
            (0x9097, 0x19d0, "CLEAR_BUFFERS"),
            (0xa197, 0xd88, "CLEAR_COLOR(2)"),
            (0xa097, 0x0854, "RT_TILE_MODE(1)"),
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
            assert_eq!(method(class, address), name, "{class:x} {address:x}");
        }
    }
}
