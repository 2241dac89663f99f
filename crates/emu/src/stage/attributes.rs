//! Attributes of one vertex or patch: what lies at which address.

use nvir_base::stage::ATTRIBUTE_BYTES;

/// Words of an attribute space.
const WORDS: usize = ATTRIBUTE_BYTES as usize / 4;

/// Words at addresses of the attribute space; those that were never given are undefined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attributes {
    words: Box<[u32; WORDS]>,
    /// Which of them have a value.
    defined: [u64; WORDS / 64],
}

impl Default for Attributes {
    fn default() -> Attributes {
        Attributes { words: Box::new([0; WORDS]), defined: [0; WORDS / 64] }
    }
}

impl Attributes {
    /// No attribute has a value.
    pub fn new() -> Attributes {
        Attributes::default()
    }

    /// The word at a byte address, if it has a value.
    pub fn get(&self, address: u32) -> Option<u32> {
        let at = address as usize / 4;
        let defined = *self.defined.get(at / 64)? >> (at % 64) & 1 != 0;
        defined.then(|| self.words[at])
    }

    /// Gives the word at a byte address a value; none makes it undefined. Addresses outside the space are left alone.
    pub fn put(&mut self, address: u32, value: Option<u32>) {
        let at = address as usize / 4;
        let Some(defined) = self.defined.get_mut(at / 64) else { return };
        *defined = *defined & !(1 << (at % 64)) | u64::from(value.is_some()) << (at % 64);
        self.words[at] = value.unwrap_or(0);
    }

    /// Gives words from a byte address on.
    pub fn put_all(&mut self, address: u32, values: &[u32]) {
        (address..).step_by(4).zip(values).for_each(|(a, v)| self.put(a, Some(*v)));
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.defined = [0; WORDS / 64];
    }

    /// Addresses that have a value, ascending.
    pub fn addresses(&self) -> impl Iterator<Item = u32> + '_ {
        (0..ATTRIBUTE_BYTES).step_by(4).filter(|&a| self.get(a).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_values_once_they_are_given() {
        let mut a = Attributes::new();
        a.put_all(0xfc, &[1, 2, 3]);
        a.put(0x100, None);
        a.put(0x400, Some(1));
        a.put(u32::MAX, Some(1));
        assert_eq!(
            [0xfc, 0x100, 0x104, 0x108, 0x400].map(|x| a.get(x)),
            [Some(1), None, Some(3), None, None]
        );
        assert_eq!(a.addresses().collect::<Vec<_>>(), [0xfc, 0x104]);
        a.clear();
        assert_eq!(a.addresses().count(), 0);
    }
}
