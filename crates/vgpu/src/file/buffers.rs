//! The card's buffers: their GPU addresses, and how much memory they take.

use crate::file::backing::Backing;
use crate::file::calls::GemNew;
use crate::{Error, ErrorKind, Memory, PAGE, domain};
use std::collections::BTreeMap;

/// The first GPU address if nobody says another: above the windows of shared and local memory, which have 32 bits.
pub(crate) const FIRST: u64 = 1 << 32;
/// Where these windows begin; they end at 4 GiB.
const WINDOWS: u64 = nvir_hw::window::SHARED as u64;
/// The end of the address space.
const END: u64 = 1 << 40;
/// Bytes that nothing maps behind a buffer.
const GAP: u64 = PAGE;

/// A buffer.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub bytes: u64,
    /// What the client asked for.
    pub asked: GemNew,
    /// VRAM or GART.
    pub domain: u32,
    pub map_handle: u64,
    /// Handles and shares.
    pub references: u32,
    /// Its global name.
    pub name: Option<u32>,
}

/// All buffers, by GPU address.
pub(crate) struct Buffers {
    backing: Box<dyn Backing>,
    all: BTreeMap<u64, Buffer>,
    /// The lowest address, and the one to try next.
    first: u64,
    next: u64,
    names: BTreeMap<u32, u64>,
    next_name: u32,
    /// Bytes there are, and in use: VRAM, GART.
    limit: [u64; 2],
    used: [u64; 2],
}

impl Buffers {
    pub(crate) fn new(backing: Box<dyn Backing>, vram: u64, gart: u64, first: u64) -> Buffers {
        let all = BTreeMap::new();
        Buffers {
            backing,
            all,
            first,
            next: first,
            names: BTreeMap::new(),
            next_name: 1,
            limit: [vram, gart],
            used: [0; 2],
        }
    }

    pub(crate) fn get(&self, address: u64) -> Option<&Buffer> {
        self.all.get(&address)
    }

    pub(crate) fn get_mut(&mut self, address: u64) -> Option<&mut Buffer> {
        self.all.get_mut(&address)
    }

    pub(crate) fn limits(&self) -> [u64; 2] {
        self.limit
    }

    /// Makes a buffer with one reference, at `fixed` or where there is room, and maps it.
    pub(crate) fn create(
        &mut self,
        memory: &mut Memory,
        asked: GemNew,
        fixed: Option<u64>,
    ) -> Result<u64, Error> {
        let none = |why: &str| Error::new(ErrorKind::NoMemory, format!("{} bytes: {why}", asked.size));
        if asked.size == 0 {
            return Err(Error::invalid("a buffer of 0 bytes"));
        }
        if asked.align != 0 && !asked.align.is_power_of_two() {
            return Err(Error::invalid(format!("alignment {:#x} is not a power of two", asked.align)));
        }
        let bytes = asked
            .size
            .checked_next_multiple_of(PAGE)
            .filter(|&b| b <= END)
            .ok_or_else(|| none("too many"))?;
        if bytes > nvir_emu::MAX_BUFFER {
            return Err(none("no buffer is that large"));
        }
        let wanted =
            if asked.domain & (domain::VRAM | domain::GART) == 0 { domain::GART } else { asked.domain };
        let fits = |i: usize| self.used[i] + bytes <= self.limit[i];
        let place = match (wanted & domain::VRAM != 0 && fits(0), wanted & domain::GART != 0 && fits(1)) {
            (true, _) => 0,
            (_, true) => 1,
            _ => return Err(none("the card's memory is full")),
        };
        let align = PAGE.max(asked.align.into());
        let address = match fixed {
            Some(address) if self.is_free(address, bytes) => {
                self.next = self.next.max(address + bytes + GAP);
                address
            }
            Some(address) => return Err(Error::invalid(format!("{bytes} bytes at {address:#x} are taken"))),
            None => self.find(bytes, align).ok_or_else(|| none("no addresses are left"))?,
        };
        let (map_handle, words) = self.backing.alloc(bytes).ok_or_else(|| none("the host has no memory"))?;
        memory.insert(address, bytes, words).map_err(|e| none(&e.to_string()))?;
        self.used[place] += bytes;
        let domain = [domain::VRAM, domain::GART][place];
        let buffer = Buffer { bytes, asked, domain, map_handle, references: 1, name: None };
        self.all.insert(address, buffer);
        Ok(address)
    }

    /// Gives a reference back. Whether the buffer ended.
    pub(crate) fn release(&mut self, memory: &mut Memory, address: u64) -> bool {
        let Some(buffer) = self.all.get_mut(&address) else { return false };
        buffer.references -= 1;
        if buffer.references != 0 {
            return false;
        }
        let (bytes, map_handle) = (buffer.bytes, buffer.map_handle);
        self.used[usize::from(buffer.domain != domain::VRAM)] -= bytes;
        if let Some(name) = buffer.name {
            self.names.remove(&name);
        }
        self.all.remove(&address);
        memory.remove(address);
        self.backing.free(map_handle, bytes);
        true
    }

    /// The global name of a buffer, made if there is none.
    pub(crate) fn name(&mut self, address: u64) -> Option<u32> {
        let buffer = self.all.get_mut(&address)?;
        let name = *buffer.name.get_or_insert(self.next_name);
        if self.names.insert(name, address).is_none() {
            self.next_name += 1;
        }
        Some(name)
    }

    pub(crate) fn by_name(&self, name: u32) -> Option<u64> {
        self.names.get(&name).copied()
    }

    fn is_free(&self, address: u64, bytes: u64) -> bool {
        let Some(end) = address.checked_add(bytes).filter(|&end| end <= END) else { return false };
        let before = self.all.range(..end).next_back();
        address.is_multiple_of(PAGE) && before.is_none_or(|(a, b)| a + b.bytes <= address)
    }

    /// Addresses behind those that were handed out last; at the end of all, the first gap that is large enough.
    fn find(&mut self, bytes: u64, align: u64) -> Option<u64> {
        let mut address = behind_windows(self.next.next_multiple_of(align), bytes, align);
        if address + bytes > END {
            address = self.first.next_multiple_of(align);
            for (a, b) in &self.all {
                address = behind_windows(address, bytes, align);
                if address + bytes + GAP <= *a {
                    break;
                }
                address = address.max((a + b.bytes + GAP).next_multiple_of(align));
            }
            address = behind_windows(address, bytes, align);
            return (address + bytes <= END).then_some(address);
        }
        self.next = address + bytes + GAP;
        Some(address)
    }
}

/// The address, or one behind the windows if bytes there would lie in them.
fn behind_windows(address: u64, bytes: u64, align: u64) -> u64 {
    let inside = address < FIRST && address + bytes > WINDOWS;
    if inside { FIRST.next_multiple_of(align) } else { address }
}
