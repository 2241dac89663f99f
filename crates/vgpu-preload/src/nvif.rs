//! NVIF, the way in which clients of nouveau 1.3.1 and later make objects: one call that carries a request about an object. Structures
//! are those of the kernel's `nvif/ioctl.h` and `nvif/cl0080.h`, which libdrm and Mesa have copies of.
//!
//! A client names its objects by addresses of its own ("tokens"), and a channel by its number.

use crate::ioctl::{Args, EINVAL, log, refused};
use crate::sys::{Errno, Result};
use nvir_base::Chip;
use nvir_hw::Class;
use nvir_vgpu::File;

/// Bytes of the longest request: header, count, and as many classes as a byte counts.
pub(crate) const LONGEST: usize = SCLASS_LIST + 255 * SCLASS_BYTES;

/// What a request wants: the second byte of its header.
mod request {
    pub(super) const NOP: u8 = 0;
    pub(super) const SCLASS: u8 = 1;
    pub(super) const NEW: u8 = 2;
    pub(super) const DEL: u8 = 3;
    pub(super) const MTHD: u8 = 4;
}

/// The route to objects of channels; the token is the channel's number then.
const ROUTE_CHANNEL: u8 = 0xff;

/// The class of the card itself, and its method that describes it.
const NV_DEVICE: u32 = 0x80;
const NV_DEVICE_INFO: u8 = 0;
/// `struct nv_device_info_v0`: the bus, and the families of chips.
const PCI_EXPRESS: u8 = 3;
const FERMI: u8 = 7;
const KEPLER: u8 = 8;

/// nouveau's own number for the class of methods that the kernel sees.
const SOFTWARE: u32 = -7i32 as u32;

// Where fields are. The header: version, type, (4), owner, route, token, object.
const TYPE: usize = 1;
const ROUTE: usize = 7;
const TOKEN: usize = 8;
const OBJECT: usize = 16;
const HEADER_BYTES: usize = 24;
// What follows it, by type.
const NEW_OBJECT: usize = HEADER_BYTES + 16;
const NEW_HANDLE: usize = HEADER_BYTES + 24;
const NEW_CLASS: usize = HEADER_BYTES + 28;
const NEW_BYTES: usize = HEADER_BYTES + 32;
const SCLASS_COUNT: usize = HEADER_BYTES + 1;
const SCLASS_LIST: usize = HEADER_BYTES + 8;
const SCLASS_BYTES: usize = 8;
const MTHD_METHOD: usize = HEADER_BYTES + 1;
const INFO: usize = HEADER_BYTES + 8;
const INFO_BYTES: usize = 104;

/// Executes a request. It is `EINVAL` where it is too short for what it wants, and `ENOSYS` where only other engines have it.
pub(crate) fn call(file: &File, a: &mut Args) -> Result<()> {
    a.at_least(HEADER_BYTES)?;
    match a.u8(TYPE) {
        request::NOP => Ok(()),
        request::SCLASS => classes(file, a),
        request::NEW => new(file, a),
        request::DEL => file.object_delete(a.u64(OBJECT)).map_err(refused),
        request::MTHD => method(file, a),
        other => {
            log(&format!("NVIF request {other} is not known"));
            Err(Errno(libc::ENOSYS))
        }
    }
}

/// The channel that a request is about; none: the card.
fn channel(a: &Args) -> Option<u32> {
    (a.u8(ROUTE) == ROUTE_CHANNEL).then(|| a.u64(TOKEN) as u32)
}

/// nouveau's number for a class.
fn number(class: Class, chip: Chip) -> Option<u32> {
    if class == Class::Software { Some(SOFTWARE) } else { class.number(chip) }
}

/// What objects can be made in a channel. The count is that of all of them, however many there is room for.
fn classes(file: &File, a: &mut Args) -> Result<()> {
    let room = usize::from(a.u8(SCLASS_COUNT));
    a.at_least(SCLASS_LIST + room * SCLASS_BYTES)?;
    let chip = file.gpu().chip();
    let all = Class::ALL.into_iter().filter(|_| channel(a).is_some()).filter_map(|class| number(class, chip));
    let all: Vec<u32> = all.collect();
    for (n, class) in all.iter().enumerate().take(room) {
        // Number, and lowest and highest version, which are words of 16 bits.
        a.set_u32(SCLASS_LIST + n * SCLASS_BYTES, *class);
        a.set_u32(SCLASS_LIST + n * SCLASS_BYTES + 4, 0);
    }
    a.set(SCLASS_COUNT, &[all.len() as u8]);
    Ok(())
}

fn new(file: &File, a: &Args) -> Result<()> {
    a.at_least(NEW_BYTES)?;
    let class = match a.u32(NEW_CLASS) {
        SOFTWARE => Class::Software.number(file.gpu().chip()).ok_or(EINVAL)?,
        class => class,
    };
    match channel(a) {
        Some(channel) => {
            file.object_alloc(channel, a.u32(NEW_HANDLE), class).map_err(refused)?;
            file.object_name(a.u64(NEW_OBJECT), channel, a.u32(NEW_HANDLE)).map_err(refused)
        }
        None if class == NV_DEVICE => Ok(()),
        None => {
            log(&format!("NVIF class {class:#x} is not of the card"));
            Err(EINVAL)
        }
    }
}

fn method(file: &File, a: &mut Args) -> Result<()> {
    if channel(a).is_some() || a.u8(MTHD_METHOD) != NV_DEVICE_INFO {
        log(&format!("NVIF method {:#x} is not known", a.u8(MTHD_METHOD)));
        return Err(Errno(libc::ENOSYS));
    }
    a.at_least(INFO + INFO_BYTES)?;
    let chip = file.gpu().chip();
    let family = if chip == Chip::Gf100 { FERMI } else { KEPLER };
    let memory = file.vram_bytes().map_err(refused)?;
    let chipset = chip.chipset() as u16;
    // Version, bus, chipset, revision, family, (2); memory, and what clients may use of it; the chip's name, the card's.
    let mut info = [0; INFO_BYTES];
    info[1] = PCI_EXPRESS;
    info[2..4].copy_from_slice(&chipset.to_le_bytes());
    info[4] = 0xa1;
    info[5] = family;
    info[8..16].copy_from_slice(&memory.to_le_bytes());
    info[16..24].copy_from_slice(&memory.to_le_bytes());
    let name = chip.to_string().to_uppercase();
    info[24..24 + name.len()].copy_from_slice(name.as_bytes());
    info[40..40 + name.len()].copy_from_slice(name.as_bytes());
    a.set(INFO, &info);
    Ok(())
}
