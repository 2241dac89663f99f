//! A channel with its state: what every call works on.

use crate::code::CodeHeap;
use crate::commands::{Commands, Part, Subchannel, halves};
use crate::device::{Alloc, Device, Domain, Push};
use crate::error::{Error, Result};
use crate::graphics::Graphics;
use crate::launch::Report;
use crate::memory::{Buffer, Shared};
use crate::setup::{self, LocalArea};
use crate::tables::Tables;
use nvir::Chip;
use nvir::driver::Abi;
use nvir_hw::Class;
use nvir_hw::method::{channel::OBJECT, query::QUERY_ADDRESS_HIGH};
use nvir_hw::word::QueryGet;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Bytes of memory for commands.
const PUSH_BYTES: u64 = 1 << 20;
/// Words that are collected before they are submitted.
const FLUSH_WORDS: usize = 1 << 16;
/// Bytes of memory that both sides see, through which data go.
pub(crate) const STAGING_BYTES: u64 = 4 << 20;
/// Bytes of a constant bank.
pub(crate) const BANK_BYTES: u64 = 64 << 10;
/// Constant banks, each with memory of its own: the ABI has 16, CUDA's code for Fermi uses two more.
pub(crate) const BANKS: u64 = 18;

/// A channel of a card with its state. Calls queue commands; [`Context::read`], [`Context::finish`] and [`Context::wait`] submit
/// and wait.
///
/// A context is used by one thread at a time; several contexts of one device are independent.
pub struct Context {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) chip: Chip,
    pub(crate) abi: Abi,
    channel: u32,
    pub(crate) commands: Commands,
    /// What the queued commands use, by handle.
    used: BTreeMap<u32, Arc<Shared>>,
    push: Arc<Shared>,
    push_at: u64,
    pub(crate) code: CodeHeap,
    pub(crate) tables: Tables,
    pub(crate) local: LocalArea,
    /// One bank after the other, then launch descriptors.
    pub(crate) constants: Arc<Shared>,
    pub(crate) descriptor: u32,
    pub(crate) staging: Arc<Shared>,
    fence: Arc<Shared>,
    sequence: u32,
    lost: Option<String>,
    /// What drawing needs, once something is drawn.
    pub(crate) graphics: Option<Box<Graphics>>,
    /// Launches of kernels that check themselves, whose reports nobody has read.
    pub(crate) reports: Vec<Report>,
}

impl Context {
    /// A new channel of a device.
    ///
    /// # Errors
    /// No memory, or what the operating system says.
    pub fn new(device: impl Device + 'static) -> Result<Context> {
        Context::on(Arc::new(device))
    }

    /// A further channel of a device that others use, too.
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn on(device: Arc<dyn Device>) -> Result<Context> {
        let chip = device.chip();
        let shared = |what: Alloc| device.alloc(what).map(|m| Shared::new(device.clone(), m));
        let host = |bytes| shared(Alloc::linear(bytes, Domain::Host));
        let (push, staging, fence) = (host(PUSH_BYTES)?, host(STAGING_BYTES)?, host(4096)?);
        let constants = shared(Alloc::linear(BANKS * BANK_BYTES + setup::DESCRIPTORS_BYTES, Domain::Vram))?;
        let code = CodeHeap::new(&device)?;
        let tables = Tables::new(&device)?;
        let local = LocalArea::new(&device)?;
        let channel = device.open_channel()?;
        let mut context = Context {
            chip,
            abi: Abi::nvc0(chip),
            channel,
            commands: Commands::default(),
            used: BTreeMap::new(),
            push,
            push_at: 0,
            code,
            tables,
            local,
            constants,
            descriptor: 0,
            staging,
            fence,
            sequence: 0,
            lost: None,
            graphics: None,
            reports: Vec::new(),
            device,
        };
        context.bind_objects()?;
        setup::commands(&mut context);
        context.flush()?;
        Ok(context)
    }

    fn bind_objects(&mut self) -> Result<()> {
        let classes = [
            (Subchannel::Compute, Class::Compute),
            (Subchannel::Upload, Class::upload(self.chip)),
            (Subchannel::Copy, Class::Copy),
        ];
        for (at, class) in classes {
            self.bind_object(at, class)?;
        }
        Ok(())
    }

    /// Binds an engine, if the chip has it.
    pub(crate) fn bind_object(&mut self, at: Subchannel, class: Class) -> Result<()> {
        if let Some(number) = class.number(self.chip) {
            self.device.object(self.channel, 0xbeef_0000 | number, number)?;
            self.commands.methods(at, OBJECT, &[number]);
        }
        Ok(())
    }

    /// The classes that execute programs: compute, and that of drawing once something was drawn.
    pub(crate) fn programmed(&self) -> impl Iterator<Item = Subchannel> + use<> {
        [Subchannel::Compute].into_iter().chain(self.graphics.is_some().then_some(Subchannel::ThreeD))
    }

    /// Which chip it works on.
    pub fn chip(&self) -> Chip {
        self.chip
    }

    /// Whose channel it is.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Zeroed memory of the card.
    ///
    /// # Errors
    /// No memory is left, or 0 bytes.
    pub fn buffer(&mut self, bytes: u64) -> Result<Buffer> {
        self.alive()?;
        let memory = self.alloc(Alloc::linear(bytes, Domain::Vram))?;
        Ok(Buffer::new(memory, bytes))
    }

    pub(crate) fn alloc(&mut self, what: Alloc) -> Result<Arc<Shared>> {
        Ok(Shared::new(self.device.clone(), self.device.alloc(what)?))
    }

    /// Whether the channel still is; else the error that each call gives.
    pub(crate) fn alive(&self) -> Result<()> {
        self.lost.clone().map_or(Ok(()), |why| Err(Error::Lost(why)))
    }

    /// Notes that queued commands use memory.
    pub(crate) fn using(&mut self, memory: &Arc<Shared>) {
        self.used.entry(memory.memory.handle).or_insert_with(|| memory.clone());
    }

    /// Submits when much has been queued.
    pub(crate) fn queued(&mut self) -> Result<()> {
        if self.commands.words() > FLUSH_WORDS { self.flush() } else { Ok(()) }
    }

    /// Submits what is queued, without waiting for it.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn flush(&mut self) -> Result<()> {
        self.alive()?;
        if self.commands.is_empty() {
            return Ok(());
        }
        self.sequence = self.sequence.wrapping_add(1);
        let fence = self.fence.memory.address;
        self.release(fence, self.sequence, QueryGet::FENCE);
        let commands = std::mem::take(&mut self.commands);
        let bytes = 4 * commands.words() as u64;
        if bytes > PUSH_BYTES {
            return Err(Error::Unsupported(format!("{bytes} bytes of commands at once")));
        }
        if self.push_at + bytes > PUSH_BYTES {
            self.device.wait(&self.push.memory)?;
            self.push_at = 0;
        }
        // The context's own, the commands first; then what else they use.
        let own = [&self.push, &self.fence, &self.constants, &self.staging].map(|s| s.memory);
        let mut memory = own.to_vec();
        memory.extend([self.code.memory(), self.tables.memory(), self.local.memory()]);
        memory.extend(self.graphics.iter().map(|g| g.memory()));
        memory.extend(self.used.values().map(|s| s.memory));
        let mut pushes = Vec::new();
        for part in &commands.parts {
            match part {
                Part::Words(words) => {
                    let data: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                    self.device.write(&self.push.memory, self.push_at, &data)?;
                    pushes.push(Push { memory: 0, offset: self.push_at, bytes: data.len() as u32 });
                    self.push_at += data.len() as u64;
                }
                Part::Memory(from, offset, bytes) => {
                    let handle = from.memory.handle;
                    let index = memory.iter().position(|m| m.handle == handle);
                    let index =
                        index.ok_or_else(|| Error::Invalid("commands in memory that is not named".into()))?;
                    pushes.push(Push { memory: index as u32, offset: *offset, bytes: *bytes });
                }
            }
        }
        let result = self.device.submit(self.channel, &memory, &pushes);
        self.used.clear();
        if let Err(Error::Lost(why)) = &result {
            self.lost = Some(why.clone());
        }
        result
    }

    /// Submits what is queued and waits until it has been executed.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn finish(&mut self) -> Result<()> {
        self.flush()?;
        self.wait_for(self.sequence)
    }

    /// Waits for a submission.
    pub(crate) fn wait_for(&mut self, sequence: u32) -> Result<()> {
        self.device.wait(&self.fence.memory)?;
        let mut word = [0; 4];
        self.device.read(&self.fence.memory, 0, &mut word)?;
        if (u32::from_le_bytes(word).wrapping_sub(sequence) as i32) < 0 {
            // A card's kernel driver ends a channel without a word.
            let why = "the channel ended before its commands did; the kernel's log says why".to_string();
            self.lost = Some(why.clone());
            return Err(Error::Lost(why));
        }
        Ok(())
    }

    /// The number of the last submission.
    pub(crate) fn last(&self) -> u32 {
        self.sequence
    }

    /// Lets the engine write when all before has been done.
    pub(crate) fn release(&mut self, address: u64, sequence: u32, what: QueryGet) {
        let [high, low] = halves(address);
        self.commands.methods(Subchannel::Compute, QUERY_ADDRESS_HIGH, &[high, low, sequence, what.into()]);
    }

    /// The memory of a constant bank.
    pub(crate) fn bank_address(&self, bank: u8) -> u64 {
        self.constants.memory.address + u64::from(bank) * BANK_BYTES
    }

    /// Where launch descriptors lie.
    pub(crate) fn descriptors_address(&self) -> u64 {
        self.constants.memory.address + BANKS * BANK_BYTES
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // What was queued is the caller's wish; whether it can still be done is nobody's to hear.
        let _ = self.finish();
        self.device.close_channel(self.channel);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("device", &self.device.name())
            .field("lost", &self.lost)
            .finish_non_exhaustive()
    }
}
