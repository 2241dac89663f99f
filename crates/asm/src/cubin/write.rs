//! Writing cubins that NVIDIA's tools read: an executable ELF64 file with a `.text.K` and its
//! companions for each kernel, as ptxas 11.8 writes them for sm_35.
//!
//! Not written: global variables. Relocations are in the files of functions that are compiled
//! separately (`nvir::image::separate`).

use super::Kernel;
use nvir_base::Chip;
use nvir_isa::fetch;

/// The compute capability that a chip's code is marked with.
fn architecture(chip: Chip) -> u32 {
    match chip {
        Chip::Gf100 => 20,
        Chip::Gk104 => 30,
        Chip::Gk110 => 35,
    }
}

/// A section's type: contents in the file.
pub const PROGBITS: u32 = 1;
pub(crate) const SYMTAB: u32 = 2;
pub(crate) const STRTAB: u32 = 3;
/// A section's type: zeros that take no place in the file.
pub const NOBITS: u32 = 8;
/// Attribute records.
pub const NV_INFO: u32 = 0x7000_0000;

/// A section's flag: it is written at run time.
pub const WRITE: u64 = 1;
/// A section's flag: it is in memory at run time.
pub const ALLOC: u64 = 2;
/// A section's flag: it is code.
pub const EXEC: u64 = 4;

/// Types of files: one with relocations, and one that runs.
pub const RELOCATABLE: u16 = 1;
const EXECUTABLE: u16 = 2;

const HEADER_BYTES: usize = 64;
const SECTION_BYTES: usize = 64;
pub(crate) const SYMBOL_BYTES: usize = 24;

/// A section before it has a place in the file.
pub struct Section {
    /// Its name, with the leading dot.
    pub name: String,
    /// Its type.
    pub kind: u32,
    /// Its flags.
    pub flags: u64,
    /// Its contents.
    pub data: Vec<u8>,
    /// Size in memory of a NOBITS section.
    pub size: u64,
    /// `sh_link`: the section that it refers to.
    pub link: u32,
    /// `sh_info`, which depends on the type.
    pub info: u32,
    /// Its alignment in bytes.
    pub align: u64,
    /// Bytes of an entry, for tables.
    pub entry: u64,
}

impl Section {
    /// A section that is in memory at run time or not by its flags, which are none yet.
    pub fn new(name: &str, kind: u32, align: u64, data: Vec<u8>) -> Section {
        let size = data.len() as u64;
        Section { name: name.to_string(), kind, flags: 0, data, size, link: 0, info: 0, align, entry: 0 }
    }
}

/// The sections before those of the kernels.
const SHSTRTAB: u32 = 1;
pub(crate) const STRINGS: u32 = 2;
/// The number of the symbol table's section.
pub const SYMBOLS: u32 = 3;
/// The number of the first section that belongs to a kernel.
pub const FIRST_OF_KERNELS: u32 = 5;

/// `st_info` of the symbols: binding and type.
pub const LOCAL_SECTION: u8 = 0x03;
/// `st_info` of a function that other files may name.
pub const GLOBAL_FUNCTION: u8 = 0x12;
/// `st_other` of a kernel's symbol.
pub const KERNEL_ENTRY: u8 = 0x10;

/// A file with these kernels.
pub fn write(chip: Chip, kernels: &[Kernel]) -> Vec<u8> {
    write_with(chip, kernels, Vec::new())
}

/// The same with further sections behind all others.
pub fn write_with(chip: Chip, kernels: &[Kernel], more: Vec<Section>) -> Vec<u8> {
    let mut strings = Strings::default();
    let mut locals = Vec::new();
    let mut globals = Vec::new();
    let mut sections = Vec::new();
    let mut global_info = Vec::new();
    // Symbol 0 is nobody's; then each section of a kernel's code and data has one (ELF wants local
    // symbols first), then each kernel.
    symbol(&mut locals, 0, 0, 0, 0, 0);
    let mut next_local = 1;
    let first_global = 1 + kernels.iter().map(symbols_of).sum::<u32>();
    for (k, number) in kernels.iter().zip(first_global..) {
        let first = FIRST_OF_KERNELS + sections.len() as u32;
        let of_kernel = kernel_sections(chip, k, number, first, next_local);
        for (n, s) in (first..).zip(&of_kernel).filter(|(_, s)| s.kind != NV_INFO) {
            symbol(&mut locals, strings.add(&s.name), LOCAL_SECTION, 0, n as u16, 0);
            next_local += 1;
            if s.flags & EXEC != 0 {
                let name = strings.add(&k.name);
                symbol(&mut globals, name, GLOBAL_FUNCTION, KERNEL_ENTRY, n as u16, k.code.len() as u64 * 8);
            }
        }
        sections.extend(of_kernel);
        sizes(&mut global_info, number, k.gprs, k.stack);
    }
    locals.extend(globals);
    sections.extend(more);
    assemble(chip, EXECUTABLE, with_tables(strings, locals, first_global, global_info, sections))
}

/// The attributes of a function for the whole file: registers; sizes of its frame and of its stack.
pub fn sizes(out: &mut Vec<u8>, symbol: u32, gprs: u32, stack: u32) {
    sized(out, 0x2f, &[symbol, gprs]);
    for attribute in [0x23, 0x12, 0x11] {
        sized(out, attribute, &[symbol, stack]);
    }
}

/// All sections: those that belong to the file, then these.
pub fn with_tables(
    strings: Strings,
    symbols: Vec<u8>,
    first_global: u32,
    global_info: Vec<u8>,
    sections: Vec<Section>,
) -> Vec<Section> {
    let mut symtab = Section::new(".symtab", SYMTAB, 8, symbols);
    (symtab.link, symtab.info, symtab.entry) = (STRINGS, first_global, SYMBOL_BYTES as u64);
    let mut info = Section::new(".nv.info", NV_INFO, 4, global_info);
    info.link = SYMBOLS;
    let mut all = vec![
        Section::new("", 0, 0, Vec::new()),
        Section::new(".shstrtab", STRTAB, 1, Vec::new()),
        Section::new(".strtab", STRTAB, 1, strings.data),
        symtab,
        info,
    ];
    all.extend(sections);
    all
}

/// Section symbols of a kernel: its constant banks (bank 0 always), its code, its shared memory.
pub fn symbols_of(k: &Kernel) -> u32 {
    let banks = k.banks.len() as u32 + u32::from(!k.banks.iter().any(|b| b.0 == 0));
    banks + 1 + u32::from(k.shared > 0)
}

/// The sections of a kernel, of which the first has number `first`; `symbol` is the kernel's
/// symbol, `locals` that of the first of its sections that has one.
pub fn kernel_sections(chip: Chip, k: &Kernel, symbol: u32, first: u32, locals: u32) -> Vec<Section> {
    let mut out = Vec::new();
    let base = chip.cuda_params();
    let mut banks = k.banks.clone();
    if !banks.iter().any(|b| b.0 == 0) {
        banks.insert(0, (0, vec![0; (base + k.param_bytes) as usize]));
    }
    let text = first + 1 + banks.len() as u32;
    let bank0 = banks.iter().position(|b| b.0 == 0).map_or(locals, |n| locals + n as u32);
    let mut info =
        Section::new(&format!(".nv.info.{}", k.name), NV_INFO, 4, kernel_info(chip, k, base, bank0));
    (info.link, info.info) = (SYMBOLS, text);
    out.push(info);
    for (bank, data) in banks {
        let name = format!(".nv.constant{bank}.{}", k.name);
        let mut s = Section::new(&name, PROGBITS, 4, data);
        (s.flags, s.info) = (ALLOC, text);
        out.push(s);
    }
    let code = k.code.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut s = Section::new(&format!(".text.{}", k.name), PROGBITS, 64, code);
    s.flags = ALLOC | EXEC | u64::from(k.barriers) << 20;
    (s.link, s.info) = (SYMBOLS, k.gprs << 24 | symbol);
    out.push(s);
    if k.shared > 0 {
        let mut s = Section::new(&format!(".nv.shared.{}", k.name), NOBITS, 16, Vec::new());
        (s.flags, s.size, s.info) = (ALLOC | WRITE, k.shared.into(), text);
        out.push(s);
    }
    out
}

/// The attribute records of a kernel; `bank0` is the symbol of its constant bank 0. Source: ptxas's
/// output.
fn kernel_info(chip: Chip, k: &Kernel, base: u32, bank0: u32) -> Vec<u8> {
    let mut out = Vec::new();
    sized(&mut out, 0x37, &[0x76]);
    sized(&mut out, 0x0a, &[bank0, base | k.param_bytes << 16]);
    inline(&mut out, 0x19, k.param_bytes as u16);
    for p in k.params.iter().rev() {
        let place = u32::from(p.ordinal) | u32::from(p.offset) << 16;
        sized(&mut out, 0x17, &[0, place, p.size << 18 | 0x0001_f000]);
    }
    inline(&mut out, 0x1b, 0xff);
    // Where the kernel ends.
    let is_exit = |pc, f| fetch::decode(chip, f, pc).is_some_and(|m| m.op == nvir_isa::Op::Exit);
    let insts = fetch::sweep(chip, &k.code);
    let exits: Vec<u32> = insts.filter(|&(pc, f)| is_exit(pc, f)).map(|(pc, _)| pc).collect();
    if !exits.is_empty() && exits.len() < 0x3fff {
        sized(&mut out, 0x1c, &exits);
    }
    if k.call_stack > 0 {
        sized(&mut out, 0x1e, &[k.call_stack]);
    }
    if let Some(size) = k.block_size {
        sized(&mut out, 0x05, &size);
    }
    if let Some(size) = k.required_block {
        sized(&mut out, 0x10, &size);
    }
    out
}

/// A record with a list of words.
pub fn sized(out: &mut Vec<u8>, attribute: u8, words: &[u32]) {
    out.extend([4, attribute]);
    out.extend((words.len() as u16 * 4).to_le_bytes());
    out.extend(words.iter().flat_map(|w| w.to_le_bytes()));
}

/// A record with 16 bits in place.
fn inline(out: &mut Vec<u8>, attribute: u8, value: u16) {
    out.extend([3, attribute]);
    out.extend(value.to_le_bytes());
}

/// Appends an entry of the symbol table.
pub fn symbol(out: &mut Vec<u8>, name: u32, info: u8, other: u8, section: u16, size: u64) {
    out.extend(name.to_le_bytes());
    out.extend([info, other]);
    out.extend(section.to_le_bytes());
    out.extend(0u64.to_le_bytes());
    out.extend(size.to_le_bytes());
}

/// A string table.
pub struct Strings {
    /// The bytes so far.
    pub data: Vec<u8>,
}

impl Default for Strings {
    fn default() -> Strings {
        Strings { data: vec![0] }
    }
}

impl Strings {
    /// Adds a string; gives its offset.
    pub fn add(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let at = self.data.len() as u32;
        self.data.extend(text.as_bytes());
        self.data.push(0);
        at
    }
}

/// Header, contents, section headers.
pub fn assemble(chip: Chip, kind: u16, mut sections: Vec<Section>) -> Vec<u8> {
    let mut names = Strings::default();
    let name_of: Vec<u32> = sections.iter().map(|s| names.add(&s.name)).collect();
    sections[SHSTRTAB as usize].size = names.data.len() as u64;
    sections[SHSTRTAB as usize].data = names.data;
    let mut out = vec![0; HEADER_BYTES];
    let mut offsets = Vec::with_capacity(sections.len());
    for s in &sections {
        pad(&mut out, s.align.max(1) as usize);
        offsets.push(out.len() as u64);
        out.extend(&s.data);
    }
    pad(&mut out, 8);
    let table = out.len() as u64;
    for ((s, name), offset) in sections.iter().zip(name_of).zip(offsets) {
        let offset = if s.kind == 0 { 0 } else { offset };
        out.extend(name.to_le_bytes());
        out.extend(s.kind.to_le_bytes());
        for v in [s.flags, 0, offset, s.size] {
            out.extend(v.to_le_bytes());
        }
        out.extend(s.link.to_le_bytes());
        out.extend(s.info.to_le_bytes());
        out.extend(s.align.to_le_bytes());
        out.extend(s.entry.to_le_bytes());
    }
    out[..HEADER_BYTES].copy_from_slice(&header(chip, kind, table, sections.len() as u16));
    out
}

fn pad(out: &mut Vec<u8>, align: usize) {
    out.resize(out.len().next_multiple_of(align), 0);
}

fn header(chip: Chip, kind: u16, table: u64, sections: u16) -> [u8; HEADER_BYTES] {
    let mut h = [0; HEADER_BYTES];
    // 64 bits, little-endian; the system and version are NVIDIA's.
    h[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0x33, 7]);
    let sm = architecture(chip);
    // 64-bit addresses (0x400), one namespace for textures and samplers (0x100).
    let flags = sm << 16 | 0x500 | sm;
    let fields: [(usize, &[u8]); 9] = [
        (16, &kind.to_le_bytes()),
        (18, &190u16.to_le_bytes()),
        (20, &0x76u32.to_le_bytes()),
        (40, &table.to_le_bytes()),
        (48, &flags.to_le_bytes()),
        (52, &(HEADER_BYTES as u16).to_le_bytes()),
        (58, &(SECTION_BYTES as u16).to_le_bytes()),
        (60, &sections.to_le_bytes()),
        (62, &(SHSTRTAB as u16).to_le_bytes()),
    ];
    for (at, bytes) in fields {
        h[at..at + bytes.len()].copy_from_slice(bytes);
    }
    h
}

#[cfg(test)]
mod tests {
    use super::super::{Cubin, Kernel, Param};
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let kernel = Kernel {
            name: "k".to_string(),
            code: vec![0x0880_8080_8080_8080, 0x1800_0000_001c_003c],
            gprs: 12,
            barriers: 2,
            shared: 256,
            stack: 16,
            call_stack: 1024,
            block_size: Some([64, 2, 1]),
            required_block: Some([32, 2, 1]),
            param_bytes: 12,
            params: vec![Param { ordinal: 0, offset: 0, size: 8 }, Param { ordinal: 1, offset: 8, size: 4 }],
            banks: vec![(2, vec![1, 2, 3, 4])],
            relocs: Vec::new(),
        };
        for chip in Chip::ALL {
            let file = Cubin::read(&write(chip, std::slice::from_ref(&kernel))).expect("a cubin");
            assert_eq!(file.chip, chip);
            let back = file.kernel("k").expect("the kernel");
            assert_eq!(back.code, kernel.code);
            assert_eq!((back.gprs, back.barriers, back.shared, back.stack), (12, 2, 256, 16));
            assert_eq!(back.call_stack, 1024);
            assert_eq!((back.block_size, back.required_block), (Some([64, 2, 1]), Some([32, 2, 1])));
            assert_eq!((back.param_bytes, &back.params), (12, &kernel.params));
            assert!(back.banks.contains(&(2, vec![1, 2, 3, 4])));
            let bank0 = back.banks.iter().find(|b| b.0 == 0).map(|b| b.1.len());
            assert_eq!(bank0, Some(chip.cuda_params() as usize + 12));
        }
    }
}
