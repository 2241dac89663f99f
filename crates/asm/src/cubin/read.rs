//! Reading cubins of sm_20 to sm_37.
//!
//! A kernel K is its section `.text.K`; beside it lie `.nv.info.K` (attribute records),
//! `.nv.constantN.K` (the initial contents of constant bank N), `.nv.shared.K` (NOBITS: the size of
//! static shared memory) and relocations. Bank 3 (`__constant__` data) and global variables belong
//! to the file. Sources: readelf and cuobjdump on ptxas's output; attribute numbers by comparison
//! with `cuobjdump -elf`.

use nvir_base::Chip;
use object::read::elf::{ElfFile, FileHeader, SectionHeader};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SymbolIndex,
};

/// `e_machine` of CUDA binaries.
const EM_CUDA: u16 = 190;

/// Sections with more bytes than this are refused: no chip's code or constants come near it.
const MAX_SECTION: u64 = 1 << 28;

/// What is wrong with a container.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CubinError {
    /// It is no ELF file.
    #[error("not an ELF file: {0}")]
    Elf(String),
    /// It is for another machine (ELF machine number).
    #[error("not a CUDA binary: e_machine is {0}, expected 190")]
    Machine(u16),
    /// It is for a chip that nvir does not know (`sm_` number).
    #[error("code for sm_{0}: supported are sm_20 to sm_37")]
    Architecture(u32),
    /// A section is missing or says something impossible.
    #[error("section {0} is damaged")]
    Section(String),
    /// There is no kernel of that name.
    #[error("no kernel `{name}`; the file has {available}")]
    NoKernel {
        /// What was asked for.
        name: String,
        /// What there is.
        available: String,
    },
}

/// A whole file.
#[derive(Clone, Debug)]
pub struct Cubin {
    /// What it runs on.
    pub chip: Chip,
    /// 20, 21, 30, 32, 35 or 37.
    pub sm: u32,
    /// Its kernels, in the order of the file.
    pub kernels: Vec<Kernel>,
    /// Global variables' memory: `.nv.global.init` and `.nv.global`.
    pub globals: Vec<Global>,
}

/// A section of global variables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// The symbol.
    pub name: String,
    /// Initial contents; zeros for NOBITS.
    pub data: Vec<u8>,
    /// Alignment in bytes: a power of two.
    pub align: u64,
}

/// One `.text.K`.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// The symbol.
    pub name: String,
    /// The section, scheduling words included.
    pub code: Vec<u64>,
    /// General registers of a thread.
    pub gprs: u32,
    /// Barriers used.
    pub barriers: u32,
    /// Static shared memory, bytes.
    pub shared: u32,
    /// Stack bytes a thread needs, callees included.
    pub stack: u32,
    /// Bytes of call-return stack of a warp that a launch provides (0: what is on the chip is
    /// enough).
    pub call_stack: u32,
    /// Threads of the largest block, where the kernel says that.
    pub block_size: Option<[u32; 3]>,
    /// Threads of every block, where the code is for one size only.
    pub required_block: Option<[u32; 3]>,
    /// Bytes of the parameter block.
    pub param_bytes: u32,
    /// Parameters, by number.
    pub params: Vec<Param>,
    /// Initial contents of constant banks.
    pub banks: Vec<(u8, Vec<u8>)>,
    /// Places to patch once addresses are known.
    pub relocs: Vec<Reloc>,
}

/// A kernel's parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its number, from 0.
    pub ordinal: u16,
    /// Bytes from the start of the parameter block.
    pub offset: u16,
    /// Bytes.
    pub size: u32,
}

/// Where a relocation's value goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelocKind {
    /// The low 32 bits into the immediate of a MOV32I.
    Lo,
    /// The high 32 bits, likewise.
    Hi,
    /// 32 bits of data.
    Abs32,
    /// 64 bits of data.
    Abs64,
}

/// One place that holds an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reloc {
    /// `None`: the code; else a constant bank.
    pub bank: Option<u8>,
    /// Byte offset there.
    pub offset: u64,
    /// How the address is written.
    pub kind: RelocKind,
    /// The section that the symbol is defined in (`.nv.global`, `.nv.shared.K`, `.text.K`).
    pub section: String,
    /// The symbol's value, an offset in that section.
    pub value: u64,
    /// The addend, where the file has explicit ones; else the place holds it.
    pub addend: i64,
}

impl Cubin {
    /// Reads a file; damage is an error, never a panic.
    pub fn read(data: &[u8]) -> Result<Cubin, CubinError> {
        match data.get(4) {
            Some(1) => parse(&open::<object::elf::FileHeader32<Endianness>>(data)?),
            _ => parse(&open::<object::elf::FileHeader64<Endianness>>(data)?),
        }
    }

    /// A kernel by name.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, CubinError> {
        self.kernels.iter().find(|k| k.name == name).ok_or_else(|| CubinError::NoKernel {
            name: name.to_string(),
            available: match self.kernels.as_slice() {
                [] => "none".to_string(),
                all => all.iter().map(|k| k.name.as_str()).collect::<Vec<_>>().join(", "),
            },
        })
    }
}

/// The ELF file in `data`, of one of the two classes.
pub fn open<H: FileHeader<Endian = Endianness>>(data: &[u8]) -> Result<ElfFile<'_, H>, CubinError> {
    ElfFile::parse(data).map_err(|e| CubinError::Elf(e.to_string()))
}

fn parse<H: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, H>) -> Result<Cubin, CubinError> {
    let endian = file.endian();
    let (chip, sm) = target(file)?;
    let mut cubin = Cubin { chip, sm, kernels: Vec::new(), globals: Vec::new() };
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        if let Some(kernel) = name.strip_prefix(".text.") {
            let code = bytes(&section)?;
            cubin.kernels.push(Kernel {
                name: kernel.to_string(),
                code: code.chunks(8).map(word).collect(),
                barriers: (elf_flags(&section) >> 20) as u32 & 0x1f,
                gprs: section.elf_section_header().sh_info(endian) >> 24,
                relocs: relocs(file, &section, None),
                ..Kernel::default()
            });
        } else if name == ".nv.global" || name == ".nv.global.init" {
            let data = bytes(&section)?;
            cubin.globals.push(Global { name: name.to_string(), data, align: section.align().max(1) });
        }
    }
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        let of = |k: &Kernel, prefix: &str| name.strip_prefix(prefix) == Some(k.name.as_str());
        if name == ".nv.info" {
            let data = bytes(&section)?;
            for (attr, payload) in records(&data) {
                let (Some(symbol), Some(value)) = (u32_at(payload, 0), u32_at(payload, 4)) else { continue };
                let Ok(symbol) = file.symbol_by_index(SymbolIndex(symbol as usize)) else { continue };
                let name = symbol.name().unwrap_or_default();
                let Some(kernel) = cubin.kernels.iter_mut().find(|k| k.name == name) else { continue };
                match attr {
                    0x2f => kernel.gprs = value,
                    0x11 | 0x12 | 0x23 => kernel.stack = kernel.stack.max(value),
                    _ => {}
                }
            }
        } else if let Some(rest) = name.strip_prefix(".nv.constant") {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let Ok(bank) = rest[..digits].parse::<u8>() else { continue };
            let data = bytes(&section)?;
            let owner = rest[digits..].strip_prefix('.');
            let places = relocs(file, &section, Some(bank));
            for kernel in cubin.kernels.iter_mut().filter(|k| owner.is_none_or(|o| o == k.name)) {
                kernel.banks.push((bank, data.clone()));
                kernel.relocs.extend(places.iter().cloned());
            }
        } else if let Some(kernel) = cubin.kernels.iter_mut().find(|k| of(k, ".nv.shared.")) {
            kernel.shared = u32::try_from(section.size()).map_err(|_| damaged(&section))?;
        } else if let Some(kernel) = cubin.kernels.iter_mut().find(|k| of(k, ".nv.info.")) {
            kernel_info(kernel, &bytes(&section)?);
        }
    }
    Ok(cubin)
}

/// What a file runs on, and its `sm_` number.
pub fn target<H: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, H>) -> Result<(Chip, u32), CubinError> {
    let endian = file.endian();
    let header = file.elf_header();
    let machine = header.e_machine(endian).0;
    if machine != EM_CUDA {
        return Err(CubinError::Machine(machine));
    }
    let sm = header.e_flags(endian).0 & 0xff;
    match sm {
        20 | 21 => Ok((Chip::Gf100, sm)),
        30 | 32 => Ok((Chip::Gk104, sm)),
        35 | 37 => Ok((Chip::Gk110, sm)),
        _ => Err(CubinError::Architecture(sm)),
    }
}

/// The records of `.nv.info.K`.
fn kernel_info(kernel: &mut Kernel, data: &[u8]) {
    for (attr, payload) in records(data) {
        match attr {
            0x17 => {
                let (Some(place), Some(size)) = (u32_at(payload, 4), u32_at(payload, 8)) else { continue };
                kernel.params.push(Param {
                    ordinal: place as u16,
                    offset: (place >> 16) as u16,
                    size: size >> 18,
                });
            }
            0x1e => kernel.call_stack = u32_at(payload, 0).unwrap_or(0),
            0x05 => kernel.block_size = size(payload),
            0x10 => kernel.required_block = size(payload),
            0x19 => kernel.param_bytes = payload.iter().take(2).rev().fold(0, |n, &b| n << 8 | u32::from(b)),
            _ => {}
        }
    }
    kernel.params.sort_by_key(|p| p.ordinal);
}

/// Threads in x, y and z.
fn size(payload: &[u8]) -> Option<[u32; 3]> {
    Some([u32_at(payload, 0)?, u32_at(payload, 4)?, u32_at(payload, 8)?])
}

/// Attribute records: format byte (1 none, 2 byte, 3 halfword inline, 4 sized), attribute, payload.
fn records(data: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let (&[format, attr, a, b], tail) = rest.split_first_chunk::<4>()?;
        if format == 4 {
            let size = usize::from(u16::from_le_bytes([a, b])).min(tail.len());
            let (payload, tail) = tail.split_at(size);
            rest = tail;
            Some((attr, payload))
        } else {
            let payload = &rest[2..4];
            rest = tail;
            Some((attr, payload))
        }
    })
}

fn relocs<'d, H: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'d, H>,
    section: &object::read::elf::ElfSection<'d, '_, H>,
    bank: Option<u8>,
) -> Vec<Reloc> {
    let mut all = Vec::new();
    for (offset, r) in section.relocations() {
        let RelocationFlags::Elf { r_type } = r.flags() else { continue };
        // Numbers seen in ptxas's output; 1 and 2 are the plain data words of every CUDA ELF.
        let kind = match r_type.0 {
            1 | 3 => RelocKind::Abs32,
            2 | 4 => RelocKind::Abs64,
            13 => RelocKind::Lo,
            14 => RelocKind::Hi,
            _ => continue,
        };
        let RelocationTarget::Symbol(symbol) = r.target() else { continue };
        let Ok(symbol) = file.symbol_by_index(symbol) else { continue };
        let home = symbol.section_index().and_then(|i| file.section_by_index(i).ok());
        let home = home.and_then(|s| s.name().ok().map(str::to_string)).unwrap_or_default();
        all.push(Reloc { bank, offset, kind, section: home, value: symbol.address(), addend: r.addend() });
    }
    all
}

fn damaged<'d>(section: &impl ObjectSection<'d>) -> CubinError {
    CubinError::Section(section.name().unwrap_or("?").to_string())
}

/// A section's bytes; NOBITS gives zeros.
pub fn bytes<'d>(section: &impl ObjectSection<'d>) -> Result<Vec<u8>, CubinError> {
    if section.size() > MAX_SECTION {
        return Err(damaged(section));
    }
    let data = section.data().map_err(|_| damaged(section))?;
    let mut data = data.to_vec();
    data.resize(section.size() as usize, 0);
    Ok(data)
}

fn elf_flags<'d>(section: &impl ObjectSection<'d>) -> u64 {
    match section.flags() {
        object::SectionFlags::Elf { sh_flags, .. } => sh_flags.0,
        _ => 0,
    }
}

/// Eight bytes as a word, the first lowest; missing ones are 0.
pub fn word(chunk: &[u8]) -> u64 {
    chunk.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b))
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_split_by_their_formats() {
        let data = [4, 0x11, 8, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0x19, 0x10, 0, 1, 2, 3];
        let all: Vec<_> = records(&data).collect();
        assert_eq!(all, [(0x11, &data[4..12]), (0x19, &data[14..16])]);
    }

    #[test]
    fn damage_is_an_error() {
        assert!(matches!(Cubin::read(b""), Err(CubinError::Elf(_))));
        assert!(matches!(Cubin::read(b"\x7fELF\x02\x01\x01"), Err(CubinError::Elf(_))));
        let mut header = vec![0u8; 64];
        header[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x33");
        header[16] = 2;
        header[18] = 62;
        header[20] = 1;
        header[52] = 64;
        assert!(matches!(Cubin::read(&header), Err(CubinError::Machine(62) | CubinError::Elf(_))));
    }
}
