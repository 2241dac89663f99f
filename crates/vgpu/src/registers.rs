//! The method registers of a subchannel.

/// Method addresses have 13 bits, in words.
pub const COUNT: usize = 0x2000;

/// What was last written to each method of one subchannel; zero at first. Addresses are byte addresses, as all
/// documents write them.
#[derive(Clone, Debug)]
pub struct Registers(Box<[u32]>);

impl Default for Registers {
    fn default() -> Self {
        Registers(vec![0; COUNT].into())
    }
}

impl Registers {
    /// The register at a byte address; addresses wrap at the end.
    #[inline]
    pub fn get(&self, method: u32) -> u32 {
        self.0[(method as usize >> 2) % COUNT]
    }

    /// Sets the register at a byte address.
    #[inline]
    pub fn set(&mut self, method: u32, value: u32) {
        self.0[(method as usize >> 2) % COUNT] = value;
    }

    /// The 40-bit address whose high part is at `method` and whose low part follows.
    pub fn address(&self, method: u32) -> u64 {
        u64::from(self.get(method) & 0xff) << 32 | u64::from(self.get(method + 4))
    }
}
