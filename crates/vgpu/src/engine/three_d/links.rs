//! Where a fragment program finds its inputs: in the vertices of the last stage, and in those that the
//! rasteriser makes of them.

use super::regs::View;
use nvir_base::stage::attribute;
use nvir_emu::stage::batch::{Defaults, Interface, Linkage, Sides, Slots};
use nvir_hw::method::three_d::{ATTRIBUTE_DEFAULT, POINT_COORD_REPLACE};
use nvir_hw::word::PointReplace;
use std::sync::Arc;

/// What links are made of. The slots of a program's outputs are the same object from draw to draw.
struct Key {
    fragment: Arc<Interface>,
    slots: Arc<Slots>,
    sides: Sides,
    defaults: u32,
}

/// Kept from draw to draw.
pub(super) struct Links {
    key: Key,
    pub vertices: Linkage,
    /// The words of vertices that the rasteriser makes.
    pub made_slots: Arc<Slots>,
    pub made: Linkage,
    /// The addresses of attributes that are the coordinates in a point.
    pub point_coordinates: Vec<u32>,
}

/// Whether points are among the shapes of a draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Points {
    None,
    Some,
}

impl Links {
    /// Links of a draw: `known`, if those are they.
    pub(super) fn of(
        known: Option<Links>,
        view: View<'_>,
        (fragment, slots): (&Arc<Interface>, &Arc<Slots>),
        points: Points,
        defaults: &Defaults,
    ) -> Links {
        let sides = if view.is_two_sided() { Sides::Two } else { Sides::One };
        let key = Key {
            fragment: fragment.clone(),
            slots: slots.clone(),
            sides,
            defaults: view.0.get(ATTRIBUTE_DEFAULT),
        };
        let point_coordinates = match points {
            Points::None => Vec::new(),
            Points::Some => point_coordinates(view),
        };
        let same = |l: &Links| l.key.is(&key) && l.point_coordinates == point_coordinates;
        known.filter(same).unwrap_or_else(|| {
            let addresses = point_coordinates.iter().flat_map(|&a| [a, a + 4, a + 8, a + 12]);
            let made_slots = Arc::new(Slots::new(slots.addresses().chain(addresses)));
            Links {
                vertices: Linkage::new(&fragment.header, slots, defaults, sides),
                made: Linkage::new(&fragment.header, &made_slots, defaults, sides),
                made_slots,
                point_coordinates,
                key,
            }
        })
    }
}

impl Key {
    fn is(&self, other: &Key) -> bool {
        Arc::ptr_eq(&self.fragment, &other.fragment)
            && Arc::ptr_eq(&self.slots, &other.slots)
            && (self.sides, self.defaults) == (other.sides, other.defaults)
    }
}

/// The attributes that are the coordinates in a point: four words from each address on.
fn point_coordinates(view: View<'_>) -> Vec<u32> {
    let replaced = PointReplace::from_bits(view.0.get(POINT_COORD_REPLACE)).coordinates();
    let textures = (0..8).filter(|i| replaced >> i & 1 != 0).map(|i| attribute::TEX_COORD + 16 * i);
    std::iter::once(attribute::POINT_COORD).chain(textures).collect()
}
