//! The state of a card, behind its one lock.

use crate::device::{Device, EngineResult, MethodLocation, WORK_LIMIT};
use crate::fifo::channel::Channel;
use crate::file::buffers::Buffers;
use crate::file::calls::{BufferUse, ChannelFault, ChannelInfo, GemInfo, GemNew, Push, Space};
use crate::trace::Recorder;
use crate::{Error, ErrorKind, PAGE, domain};
use nvir_hw::Class;
use std::collections::{BTreeMap, BTreeSet};

type Result<T> = std::result::Result<T, Error>;

/// GETPARAM's numbers, as the kernel's `nouveau_drm.h` has them.
pub(super) mod param {
    pub(super) const PCI_VENDOR: u64 = 3;
    pub(super) const PCI_DEVICE: u64 = 4;
    pub(super) const BUS_TYPE: u64 = 5;
    pub(in crate::file) const VRAM_BYTES: u64 = 8;
    pub(super) const GART_BYTES: u64 = 9;
    pub(super) const CHIPSET: u64 = 11;
    pub(super) const GRAPH_UNITS: u64 = 13;
    pub(super) const PTIMER: u64 = 14;
    pub(super) const HAS_BO_USAGE: u64 = 15;
}

/// What GETPARAM says of the card's units: one processing cluster with one multiprocessor, as blocks are executed one after the other,
/// and one partition of render outputs. Programs that fill the card launch 16 times as much on one of 16.
const UNITS: u64 = 1 << 32 | 1 << 8 | 1;

/// Limits of the kernel's interface.
const MAX_BUFFERS: usize = 1024;
const MAX_PUSHES: usize = 512;
/// Bytes of a range: 23 bits.
const MAX_RANGE: u32 = (1 << 23) - 4;
/// Channels of one file: the kernel has 127 for all.
const MAX_CHANNELS: usize = 127;
/// Bytes of a channel's notifier buffer.
const NOTIFIER_BYTES: u64 = PAGE;

/// Words that are read from a range at once.
const CHUNK: usize = 4096;

/// What belongs to one open file description.
#[derive(Default)]
struct Open {
    /// Buffer addresses, by handle.
    handles: BTreeMap<u32, u64>,
    /// Handles, by buffer address.
    addresses: BTreeMap<u64, u32>,
    /// Handles below the highest that are free: the lowest is used first, as in the kernel.
    free: BTreeSet<u32>,
    channels: BTreeMap<u32, Channel>,
    /// Channel and handle of objects that have a client's name.
    names: BTreeMap<u64, (u32, u32)>,
}

impl Open {
    fn add(&mut self, address: u64) -> u32 {
        let handle = self.free.pop_first().unwrap_or(self.handles.len() as u32 + 1);
        self.handles.insert(handle, address);
        self.addresses.insert(address, handle);
        handle
    }

    fn address(&self, handle: u32) -> Result<u64> {
        let address = self.handles.get(&handle).copied();
        address.ok_or_else(|| Error::not_found(format!("there is no buffer {handle}")))
    }

    fn channel(&mut self, channel: u32) -> Result<&mut Channel> {
        let found = self.channels.get_mut(&channel);
        found.ok_or_else(|| Error::not_found(format!("there is no channel {channel}")))
    }
}

pub(crate) struct Card {
    pub device: Device,
    pub buffers: Buffers,
    pub recorder: Option<Recorder>,
    pub work_limit: u64,
    files: BTreeMap<u32, Open>,
    next_file: u32,
    submissions: u64,
    /// The fault of the submission that is executed, until somebody takes it.
    pub fault: Option<ChannelFault>,
}

impl Card {
    pub(crate) fn new(device: Device, buffers: Buffers, recorder: Option<Recorder>) -> Card {
        let files = BTreeMap::new();
        Card {
            device,
            buffers,
            recorder,
            work_limit: WORK_LIMIT,
            files,
            next_file: 0,
            submissions: 0,
            fault: None,
        }
    }

    pub(crate) fn open(&mut self) -> u32 {
        self.next_file += 1;
        self.files.insert(self.next_file, Open::default());
        self.next_file
    }

    pub(crate) fn close(&mut self, file: u32) {
        let Some(open) = self.files.remove(&file) else { return };
        for address in open.handles.into_values() {
            self.release(address);
        }
    }

    fn file(&mut self, file: u32) -> Result<&mut Open> {
        self.files.get_mut(&file).ok_or_else(|| Error::not_found("the file is closed"))
    }

    fn release(&mut self, address: u64) {
        if self.buffers.release(&mut self.device.memory, address)
            && let Some(recorder) = &mut self.recorder
        {
            recorder.free(address);
        }
    }

    pub(crate) fn getparam(&mut self, number: u64) -> Result<u64> {
        let [vram, gart] = self.buffers.limits();
        let chip = self.device.chip;
        Ok(match number {
            param::PCI_VENDOR => 0x10de,
            param::PCI_DEVICE => pci_device(chip),
            // PCI Express.
            param::BUS_TYPE => 2,
            param::VRAM_BYTES => vram,
            param::GART_BYTES => gart,
            param::CHIPSET => chip.chipset().into(),
            param::GRAPH_UNITS => UNITS,
            param::PTIMER => self.device.now(),
            param::HAS_BO_USAGE => 1,
            _ => return Err(Error::invalid(format!("parameter {number} does not exist"))),
        })
    }

    pub(crate) fn channel_alloc(&mut self, file: u32) -> Result<ChannelInfo> {
        let chip = self.device.chip;
        let number = {
            let open = self.file(file)?;
            if open.channels.len() == MAX_CHANNELS {
                return Err(Error::new(ErrorKind::NoMemory, "no channels are left"));
            }
            (1..).find(|n| !open.channels.contains_key(n)).unwrap_or(0)
        };
        let notifier = GemNew { domain: domain::GART, size: NOTIFIER_BYTES, ..GemNew::default() };
        let address = self.buffers.create(&mut self.device.memory, notifier, None)?;
        let open = self.file(file)?;
        open.channels.insert(number, Channel::new(chip));
        let notifier_handle = open.add(address);
        Ok(ChannelInfo { channel: number, pushbuf_domains: domain::VRAM | domain::GART, notifier_handle })
    }

    pub(crate) fn channel_free(&mut self, file: u32, channel: u32) -> Result<()> {
        let open = self.file(file)?;
        open.names.retain(|_, (of, _)| *of != channel);
        let removed = open.channels.remove(&channel);
        removed.map(|_| ()).ok_or_else(|| Error::not_found(format!("there is no channel {channel}")))
    }

    pub(crate) fn object_alloc(&mut self, file: u32, channel: u32, handle: u32, number: u32) -> Result<()> {
        let chip = self.device.chip;
        let class = Class::of(number, chip)
            .ok_or_else(|| Error::invalid(format!("class {number:04x} does not exist on {chip}")))?;
        let objects = &mut self.file(file)?.channel(channel)?.objects;
        if objects.contains_key(&handle) {
            return Err(Error::invalid(format!("handle {handle:#x} is taken")));
        }
        objects.insert(handle, class);
        if let Some(recorder) = &mut self.recorder {
            recorder.object(handle, number);
        }
        Ok(())
    }

    pub(crate) fn notifier_alloc(&mut self, file: u32, channel: u32, size: u32) -> Result<u32> {
        self.file(file)?.channel(channel)?;
        if u64::from(size) > NOTIFIER_BYTES {
            return Err(Error::new(ErrorKind::NoMemory, format!("{size} bytes of notifiers")));
        }
        Ok(0)
    }

    pub(crate) fn object_free(&mut self, file: u32, channel: u32, handle: u32) -> Result<()> {
        // Notifiers are objects too, but nobody remembers them.
        self.file(file)?.channel(channel)?.objects.remove(&handle);
        Ok(())
    }

    pub(crate) fn object_name(&mut self, file: u32, name: u64, channel: u32, handle: u32) -> Result<()> {
        self.file(file)?.names.insert(name, (channel, handle));
        Ok(())
    }

    pub(crate) fn object_delete(&mut self, file: u32, name: u64) -> Result<()> {
        match self.file(file)?.names.remove(&name) {
            Some((channel, handle)) => self.object_free(file, channel, handle),
            None => Ok(()),
        }
    }

    pub(crate) fn gem_new(&mut self, file: u32, request: GemNew, at: Option<u64>) -> Result<GemInfo> {
        self.file(file)?;
        let address = self.buffers.create(&mut self.device.memory, request, at)?;
        let handle = self.file(file)?.add(address);
        let info = self.gem_info(file, handle)?;
        if let Some(recorder) = &mut self.recorder {
            recorder.buffer(handle, address, info.size, &request);
        }
        Ok(info)
    }

    pub(crate) fn gem_info(&mut self, file: u32, handle: u32) -> Result<GemInfo> {
        let address = self.file(file)?.address(handle)?;
        let buffer = self.buffers.get(address);
        let b = buffer.ok_or_else(|| Error::not_found(format!("buffer {handle} has ended")))?;
        Ok(GemInfo {
            handle,
            domain: b.domain,
            size: b.bytes,
            offset: address,
            map_handle: b.map_handle,
            tile_mode: b.asked.tile_mode,
            tile_flags: b.asked.tile_flags,
        })
    }

    pub(crate) fn gem_close(&mut self, file: u32, handle: u32) -> Result<()> {
        let open = self.file(file)?;
        let address = open.address(handle)?;
        open.handles.remove(&handle);
        open.addresses.remove(&address);
        open.free.insert(handle);
        self.release(address);
        Ok(())
    }

    /// Takes a reference on a handle's buffer.
    pub(crate) fn share(&mut self, file: u32, handle: u32) -> Result<u64> {
        let address = self.file(file)?.address(handle)?;
        self.retain(address)?;
        Ok(address)
    }

    fn retain(&mut self, address: u64) -> Result<()> {
        let buffer = self.buffers.get_mut(address).ok_or_else(|| Error::not_found("the buffer has ended"))?;
        buffer.references = buffer
            .references
            .checked_add(1)
            .ok_or_else(|| Error::new(ErrorKind::NoMemory, "too many references"))?;
        Ok(())
    }

    /// Gives back what `share` took.
    pub(crate) fn unshare(&mut self, address: u64) {
        self.release(address);
    }

    /// A handle in this file for a buffer, the one it has if it has one.
    pub(crate) fn adopt(&mut self, file: u32, address: u64) -> Result<u32> {
        if let Some(handle) = self.file(file)?.addresses.get(&address) {
            return Ok(*handle);
        }
        self.retain(address)?;
        Ok(self.file(file)?.add(address))
    }

    pub(crate) fn name(&mut self, file: u32, handle: u32) -> Result<u32> {
        let address = self.file(file)?.address(handle)?;
        self.buffers.name(address).ok_or_else(|| Error::not_found("the buffer has ended"))
    }

    pub(crate) fn open_name(&mut self, file: u32, name: u32) -> Result<GemInfo> {
        let address = self.buffers.by_name(name);
        let address = address.ok_or_else(|| Error::not_found(format!("there is no buffer named {name}")))?;
        let handle = self.adopt(file, address)?;
        self.gem_info(file, handle)
    }

    /// What one submission's buffers may take.
    fn space(&self) -> Space {
        let [vram, gart] = self.buffers.limits();
        Space { vram, gart }
    }

    pub(crate) fn submit(
        &mut self,
        file: u32,
        channel: u32,
        uses: &[BufferUse],
        pushes: &[Push],
    ) -> Result<Space> {
        let open = self.files.get_mut(&file).ok_or_else(|| Error::not_found("the file is closed"))?;
        open.channel(channel)?;
        if uses.len() > MAX_BUFFERS || pushes.len() > MAX_PUSHES {
            return Err(Error::invalid(format!(
                "{} buffers and {} ranges in a submission",
                uses.len(),
                pushes.len()
            )));
        }
        let addresses = uses.iter().map(|u| open.address(u.handle)).collect::<Result<Vec<_>>>()?;
        if pushes.is_empty() {
            return Ok(self.space());
        }
        let mut ranges = Vec::with_capacity(pushes.len());
        for (i, push) in pushes.iter().enumerate() {
            let address = addresses.get(push.bo_index as usize);
            let address = *address.ok_or_else(|| {
                Error::invalid(format!("range {i} is in buffer {} of {}", push.bo_index, uses.len()))
            })?;
            let size = self.buffers.get(address).map_or(0, |b| b.bytes);
            let inside = push.offset.checked_add(push.bytes.into()).is_some_and(|end| end <= size);
            if !inside || push.offset % 4 != 0 || push.bytes % 4 != 0 || push.bytes > MAX_RANGE {
                return Err(Error::invalid(format!(
                    "range {i}: {:#x} bytes at {:#x} of a buffer of {size:#x}",
                    push.bytes, push.offset
                )));
            }
            ranges.push((address + push.offset, push.bytes));
        }
        self.execute(file, channel, uses, &addresses, pushes, &ranges)
    }

    fn execute(
        &mut self,
        file: u32,
        number: u32,
        uses: &[BufferUse],
        addresses: &[u64],
        pushes: &[Push],
        ranges: &[(u64, u32)],
    ) -> Result<Space> {
        let submission = self.submissions;
        self.submissions += 1;
        if let Some(recorder) = &mut self.recorder {
            let memory = &self.device.memory;
            recorder.before(memory);
            recorder.submission(memory, submission, (uses, addresses), (pushes, ranges));
        }
        if let Some(log) = &mut self.device.log {
            log.line(format_args!(
                "submission {submission}: channel {number} of file {file}, {} buffers, {} ranges",
                uses.len(),
                ranges.len()
            ));
        }
        let space = self.space();
        self.device.begin(self.work_limit);
        self.device.place = MethodLocation { submission, ..MethodLocation::default() };
        let Card { device, files, .. } = self;
        let channel = files
            .get_mut(&file)
            .and_then(|open| open.channels.get_mut(&number))
            .ok_or_else(|| Error::not_found("the channel ended"))?;
        let was_lost = channel.lost.is_some();
        let mut faulted = was_lost;
        for &(address, bytes) in ranges {
            if !faulted && let Err(reason) = careful(|| execute_range(channel, device, address, bytes)) {
                faulted = true;
                self.fault = Some(fault(channel, device, &reason));
                device.begin_fences(self.work_limit);
            }
            if faulted {
                fences(channel, device, address, bytes);
            }
        }
        if !faulted && let Err(reason) = careful(|| channel.finish(device)) {
            faulted = true;
            self.fault = Some(fault(channel, device, &reason));
        }
        if faulted {
            channel.abandon();
        }
        let lost = channel.lost.clone();
        let Device { frames, memory, .. } = &mut self.device;
        if let Some(frames) = frames {
            frames.end(memory);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.after(&self.device.memory);
        }
        match lost {
            None => Ok(space),
            Some(text) if was_lost => {
                Err(Error::new(ErrorKind::NoDevice, format!("channel {number} is lost: {text}")))
            }
            Some(text) => Err(Error::new(ErrorKind::NoDevice, text)),
        }
    }
}

/// A card's number on the PCI bus.
fn pci_device(chip: nvir_base::Chip) -> u64 {
    match chip {
        nvir_base::Chip::Gf100 => 0x06c0,
        nvir_base::Chip::Gk104 => 0x1180,
        nvir_base::Chip::Gk110 => 0x1004,
    }
}

fn fault(channel: &mut Channel, device: &mut Device, reason: &str) -> ChannelFault {
    let text = format!("{}: {reason}", device.place);
    if let Some(log) = &mut device.log {
        log.line(format_args!("fault: {text}"));
    }
    channel.lost = Some(text.clone());
    channel.abandon();
    ChannelFault { text, place: device.place, found: std::mem::take(&mut device.found) }
}

/// A panic inside is an error, too: whoever uses the card goes on without this channel.
fn careful(work: impl FnOnce() -> EngineResult) -> EngineResult {
    nvir_base::caught::catching(work).unwrap_or_else(|said| {
        Err(format!("{said}: this is a bug in nvir, please report it with a recording"))
    })
}

/// Reads a range in parts, each when its turn has come: commands may have been written by commands.
fn execute_range(channel: &mut Channel, device: &mut Device, address: u64, bytes: u32) -> EngineResult {
    each_chunk(address, bytes, |at, words| {
        device.memory.read_words(at, words).map_err(|e| e.to_string())?;
        channel.execute(device, at, words)
    })
}

/// On a lost channel.
fn fences(channel: &mut Channel, device: &mut Device, address: u64, bytes: u32) {
    let _ = each_chunk(address, bytes, |at, words| {
        device.memory.read_words(at, words).map_err(|e| e.to_string())?;
        channel.execute_fences(device, words);
        Ok(())
    });
}

fn each_chunk(
    address: u64,
    bytes: u32,
    mut body: impl FnMut(u64, &mut [u32]) -> EngineResult,
) -> EngineResult {
    let mut words = [0; CHUNK];
    let mut done = 0;
    while done < u64::from(bytes) {
        let count = ((u64::from(bytes) - done) / 4).min(CHUNK as u64);
        body(address + done, &mut words[..count as usize])?;
        done += count * 4;
    }
    Ok(())
}
