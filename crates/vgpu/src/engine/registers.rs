//! The method registers of a subchannel.

use nvir_hw::method::{COUNT, Table};

/// What was last written to each method of one subchannel; zero where nothing was. Addresses are byte addresses, as all
/// documents write them.
#[derive(Clone, Debug)]
pub struct Registers(Box<[u32]>);

impl Default for Registers {
    fn default() -> Self {
        Registers(vec![0; COUNT].into())
    }
}

impl Registers {
    /// Those of a class as they are before anything is written.
    pub fn of(table: &'static Table) -> Registers {
        let mut registers = Registers::default();
        for m in table.methods() {
            (0..m.count).for_each(|n| registers.set(m.address + n * m.stride, m.reset));
        }
        registers
    }

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
