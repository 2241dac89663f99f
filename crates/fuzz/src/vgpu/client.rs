//! Executes a client's calls, and checks what they answer.

use super::seeds::{Action, Range};
use nvir::Chip;
use nvir::random::Random;
use nvir_vgpu::{BufferUse, Config, Error, ErrorKind, File, GemNew, Gpu, Owned, Push, domain};
use std::collections::BTreeMap;

/// Bytes of buffers that a card has, of each kind.
pub(super) const MEMORY: u64 = 64 << 20;
/// Work of a submission.
pub(super) const WORK: u64 = 1 << 28;
/// Instructions of a launch.
pub(super) const STEPS: u64 = 1 << 18;

#[derive(Default)]
pub(super) struct Outcome {
    pub counts: Vec<&'static str>,
    pub messages: Vec<String>,
}

struct Client {
    file: File,
    channel: u32,
    /// Handles, by address.
    handles: BTreeMap<u64, u32>,
}

pub(super) fn run(chip: Chip, actions: &[Action], r: &mut Random) -> Result<Outcome, String> {
    let mut config = Config::new(chip);
    (config.vram_bytes, config.gart_bytes) = (MEMORY, MEMORY);
    config.work_limit = WORK;
    config.launch.step_limit = STEPS;
    if r.one_in(2) {
        config.launch.checks = nvir::emu::Checks::ALL;
    }
    let gpu = Gpu::new(config, Box::new(Owned::default()));
    let file = gpu.open();
    let channel = file.channel_alloc(0, 0).map_err(|e| e.to_string())?.channel;
    let mut client = Client { file, channel, handles: BTreeMap::new() };
    let mut outcome = Outcome::default();
    let mut submissions = 0;
    for action in actions {
        let result = client.action(action);
        submissions += u64::from(matches!(action, Action::Submit { .. }) && result.is_ok());
        let Err(e) = result else { continue };
        if e.message.len() < 5 {
            return Err(format!("an error that says nothing: {e}"));
        }
        if e.kind == ErrorKind::NoDevice {
            outcome.counts.push("faults");
            client.fault(&e)?;
            outcome.messages.push(e.message);
            break;
        }
        outcome.counts.push("errors of calls");
        outcome.messages.push(e.message);
    }
    if submissions > 1 {
        outcome.counts.push("more than one submission");
    }
    drop(client);
    if !r.one_in(16) {
        return Ok(outcome);
    }
    // Everything was given back.
    let file = gpu.open();
    let request = GemNew { domain: domain::VRAM, size: MEMORY, ..GemNew::default() };
    file.gem_new(request).map_err(|e| format!("memory is lost: {e}"))?;
    file.gem_new(GemNew { domain: domain::GART, ..request }).map_err(|e| format!("memory is lost: {e}"))?;
    Ok(outcome)
}

impl Client {
    fn action(&mut self, action: &Action) -> Result<(), Error> {
        let Client { file, channel, handles } = self;
        match action {
            Action::Create { request, address: 0 } => {
                let info = file.gem_new(*request)?;
                handles.insert(info.offset, info.handle);
                Ok(())
            }
            Action::Create { request, address } => {
                let info = file.gem_new_at(*request, *address)?;
                handles.insert(*address, info.handle);
                Ok(())
            }
            Action::Close { address } => match handles.remove(address) {
                Some(handle) => file.gem_close(handle),
                // The notifier's.
                None => Ok(()),
            },
            Action::Object { handle, class } => file.object_alloc(*channel, *handle, *class),
            Action::Write { address, words } => file.gpu().write(*address, words),
            Action::Submit { buffers, pushes } => self.submit(buffers, pushes),
            Action::Call { which, arguments } => self.call(*which, *arguments),
        }
    }

    fn submit(&self, buffers: &[u64], pushes: &[Range]) -> Result<(), Error> {
        let uses: Vec<BufferUse> = buffers
            .iter()
            .map(|a| BufferUse {
                handle: self.handles.get(a).copied().unwrap_or(0xdead),
                read_domains: 6,
                write_domains: 6,
                valid_domains: 6,
            })
            .collect();
        let mut ranges = Vec::new();
        for push in pushes {
            if push.write {
                self.file.gpu().write(push.address, &push.words)?;
            }
            let holder =
                (0..buffers.len()).filter(|&i| buffers[i] <= push.address).max_by_key(|&i| buffers[i]);
            let index = holder.unwrap_or(buffers.len());
            let offset = push.address.wrapping_sub(buffers.get(index).copied().unwrap_or(0));
            ranges.push(Push {
                bo_index: index as u32,
                offset: offset.wrapping_add_signed(push.skew.0),
                bytes: (push.words.len() as u32 * 4).wrapping_add(push.skew.1 as u32),
                no_prefetch: push.no_prefetch,
            });
        }
        self.file.submit(self.channel, &uses, &ranges).map(|_| ())
    }

    fn call(&mut self, which: usize, [a, b, c]: [u64; 3]) -> Result<(), Error> {
        let (file, handle) = (&self.file, a as u32);
        match which % 14 {
            0 => file.getparam(a).map(|_| ()),
            1 => file.channel_alloc(a as u32, b as u32).map(|_| ()),
            2 => file.channel_free(handle),
            3 => file.object_free(self.channel, handle),
            4 => file.notifier_alloc(self.channel, b as u32, c as u32).map(|_| ()),
            5 => file.gem_info(handle).map(|_| ()),
            6 => file.gem_close(handle),
            7 => file.cpu_prep(handle, b as u32).and_then(|()| file.cpu_fini(handle)),
            8 => file.flink(handle).and_then(|name| file.gpu().open().open_name(name)).map(|_| ()),
            9 => file.open_name(handle).map(|_| ()),
            10 => file.export(handle).and_then(|shared| file.import(&shared)).map(|_| ()),
            11 => {
                let request = GemNew { size: a, domain: b as u32, align: c as u32, ..GemNew::default() };
                file.gem_new(request).map(|_| ())
            }
            12 => file.object_alloc(a as u32, b as u32, c as u32),
            _ => file.submit(handle, &[], &[]).map(|_| ()),
        }
    }

    /// What a fault says, and what happens to its channel then.
    fn fault(&self, e: &Error) -> Result<(), String> {
        let place = e.message.strip_prefix("submission ").and_then(|m| m.split_once(", word at 0x"));
        if place.is_none() {
            return Err(format!("a fault without a place: {}", e.message));
        }
        let push = Push { bo_index: 0, offset: 0, bytes: 4096, no_prefetch: false };
        // A call of the mutant's may have closed some.
        let Some(&handle) = self.handles.values().find(|&&h| self.file.gem_info(h).is_ok()) else {
            return Ok(());
        };
        let uses = [BufferUse { handle, read_domains: 4, write_domains: 0, valid_domains: 4 }];
        match self.file.submit(self.channel, &uses, &[push]) {
            Err(again) if again.kind == ErrorKind::NoDevice && again.message.contains("is lost: ") => {}
            other => return Err(format!("a lost channel answers {other:?}")),
        }
        self.file.channel_alloc(0, 0).map(|_| ()).map_err(|e| format!("no channel after a fault: {e}"))
    }
}
