//! What a shader uses: what a driver must bind, and what it may leave out.

/// How a resource is used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Access {
    /// Contents are read.
    pub read: bool,
    /// Contents are written.
    pub written: bool,
}

impl Access {
    /// Neither read nor written: only the size or the like is asked for.
    pub(crate) const QUERIED: Access = Access { read: false, written: false };
    /// Read.
    pub const READ: Access = Access { read: true, written: false };
    /// Written.
    pub(crate) const WRITTEN: Access = Access { read: false, written: true };
    /// Both, as atomic operations do.
    pub(crate) const BOTH: Access = Access { read: true, written: true };

    /// What one or the other does.
    pub const fn and(self, other: Access) -> Access {
        Access { read: self.read || other.read, written: self.written || other.written }
    }
}

/// One numbered resource.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Use {
    /// Its number, as the program has it.
    pub slot: u32,
    /// Its contents are read.
    pub read: bool,
    /// Its contents are written.
    pub written: bool,
}

/// The resources of one kind.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Uses {
    /// Those that the program names by number, ascending.
    pub slots: Vec<Use>,
    /// What is done with resources whose number is computed: any one may be meant.
    pub indexed: Option<Access>,
}

impl Uses {
    /// Whether any is used.
    pub fn any(&self) -> bool {
        !self.slots.is_empty() || self.indexed.is_some()
    }

    /// Notes a use; `None` for a number that is computed.
    pub(crate) fn note(&mut self, slot: Option<u32>, access: Access) {
        let Some(slot) = slot else {
            self.indexed = Some(self.indexed.unwrap_or_default().and(access));
            return;
        };
        match self.slots.binary_search_by_key(&slot, |u| u.slot) {
            Ok(at) => {
                let u = &mut self.slots[at];
                (u.read, u.written) = (u.read || access.read, u.written || access.written);
            }
            Err(at) => self.slots.insert(at, Use { slot, read: access.read, written: access.written }),
        }
    }
}

/// A bank of constant memory, `c[bank]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConstantBank {
    /// Its number: 0 to 17.
    pub bank: u8,
    /// Bytes from its beginning to the end of the last read; `None` where an address is computed.
    pub bytes: Option<u32>,
}

/// What a shader uses.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Resources {
    /// Banks of constant memory that the code reads, ascending: the kernel input, uniform blocks
    /// and the driver's own among them, as the ABI places them.
    pub constants: Vec<ConstantBank>,
    /// Storage buffers (TGSI `BUFFER[n]`, NIR `load_ssbo`).
    pub buffers: Uses,
    /// Uniform blocks (TGSI `CONST[n + 1]`, NIR `load_ubo`).
    pub uniforms: Uses,
    /// Images (TGSI `IMAGE[n]`).
    pub images: Uses,
    /// Textures (TGSI `SVIEW[n]`).
    pub textures: Uses,
    /// Samplers (TGSI `SAMP[n]`), where textures are filtered.
    pub samplers: Uses,
    /// Textures and samplers of other numbers that are used together, ascending. GF100 has in the texture's header whether
    /// coordinates count texels, so there a texture is bound in the way of one of them.
    pub sampled_by_others: Vec<[u32; 2]>,
    /// What is done with images whose handle is data.
    pub bindless_images: Option<Access>,
    /// Textures are read whose handle is data.
    pub bindless_textures: bool,
}

impl Resources {
    /// Bytes of a bank that the code reads; 0 where it reads none, or where it computes addresses.
    pub(crate) fn bytes_of_bank(&self, bank: u8) -> u32 {
        self.constants.iter().find(|c| c.bank == bank).and_then(|c| c.bytes).unwrap_or(0)
    }
}
