//! Structures of several words whose fields are read and written by name.

use std::marker::PhantomData;

/// A field of the structure `T`, or one of several alike: bits within a word.
#[derive(Debug)]
pub struct Field<T> {
    word: u16,
    low: u8,
    bits: u8,
    of: PhantomData<fn(T)>,
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Field<T> {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T> Field<T> {
    pub(crate) const fn new(word: u16, high: u8, low: u8) -> Field<T> {
        assert!(low <= high && high < 32);
        Field { word, low, bits: high - low + 1, of: PhantomData }
    }

    /// The largest value.
    #[inline]
    pub const fn mask(self) -> u32 {
        u32::MAX >> (32 - self.bits)
    }

    #[inline]
    pub(crate) const fn get(self, words: &[u32]) -> u32 {
        words[self.word as usize] >> self.low & self.mask()
    }

    #[inline]
    pub(crate) fn set(self, words: &mut [u32], value: u32) {
        debug_assert!(value <= self.mask(), "{value:#x} in {} bits of word {}", self.bits, self.word);
        let word = &mut words[self.word as usize];
        *word = *word & !(self.mask() << self.low) | (value & self.mask()) << self.low;
    }

    #[cfg(test)]
    pub(crate) const fn place(self) -> (u16, u8, u8) {
        (self.word, self.low, self.bits)
    }
}

/// Fields that lie at equal distances, in bits.
#[derive(Clone, Copy, Debug)]
pub struct Fields<T> {
    first: Field<T>,
    step: u16,
    count: u8,
}

impl<T: Copy> Fields<T> {
    pub(crate) const fn new(first: Field<T>, count: u8, step: u16) -> Fields<T> {
        Fields { first, step, count }
    }

    /// The n-th, which must be there.
    #[inline]
    pub const fn at(self, n: u32) -> Field<T> {
        debug_assert!(n < self.count as u32);
        let bit = self.first.word as u32 * 32 + self.first.low as u32 + n * self.step as u32;
        Field { word: (bit / 32) as u16, low: (bit % 32) as u8, bits: self.first.bits, of: PhantomData }
    }

    /// How many there are.
    pub const fn count(self) -> u32 {
        self.count as u32
    }
}

/// A structure of words: `NAME = word[high:low];`, `NAME[count; bits from one to the next] =
/// word[high:low];`, as the headers write them. Fields that overlap are found by a test.
macro_rules! words {
    ($(#[$doc:meta])* pub struct $name:ident[$n:literal];
     $($(#[$field_doc:meta])* $field:ident $([$count:literal; $step:literal])? = $word:literal[$high:literal:$low:literal];)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(pub [u32; $n]);

        impl Default for $name {
            fn default() -> $name {
                $name([0; $n])
            }
        }

        impl $name {
            $($(#[$field_doc])* pub const $field: $crate::field::words!(@type $name $($count)?) =
                $crate::field::words!(@new $word, $high, $low $(, $count, $step)?);)*

            /// A field's value.
            #[inline]
            pub const fn get(&self, field: $crate::field::Field<$name>) -> u32 {
                field.get(&self.0)
            }

            /// Sets a field; the value must fit.
            #[inline]
            pub fn set(&mut self, field: $crate::field::Field<$name>, value: u32) -> &mut $name {
                field.set(&mut self.0, value);
                self
            }

            #[cfg(test)]
            fn fields() -> Vec<(&'static str, $crate::field::Field<$name>)> {
                let mut all = Vec::new();
                $($crate::field::words!(@list all, $field, $name $(, $count)?);)*
                all
            }
        }
    };
    (@type $name:ident) => { $crate::field::Field<$name> };
    (@type $name:ident $count:literal) => { $crate::field::Fields<$name> };
    (@new $word:literal, $high:literal, $low:literal) => { $crate::field::Field::new($word, $high, $low) };
    (@new $word:literal, $high:literal, $low:literal, $count:literal, $step:literal) => {
        $crate::field::Fields::new($crate::field::Field::new($word, $high, $low), $count, $step)
    };
    (@list $all:ident, $field:ident, $name:ident) => { $all.push((stringify!($field), $name::$field)) };
    (@list $all:ident, $field:ident, $name:ident, $count:literal) => {
        (0..$count).for_each(|n| $all.push((stringify!($field), $name::$field.at(n))))
    };
}
pub(crate) use words;

/// That no two fields share a bit.
#[cfg(test)]
pub(crate) fn check_apart<T: Copy>(fields: &[(&'static str, Field<T>)]) {
    let mut taken = std::collections::BTreeMap::new();
    for (name, field) in fields {
        let (word, low, bits) = field.place();
        for bit in low..low + bits {
            assert_eq!(taken.insert((word, bit), *name), None, "{name}: word {word}, bit {bit}");
        }
    }
}
