//! A channel: subchannels with their engines, to which a stream of commands writes methods.

use super::call::{self, Call};
use super::engines::Engines;
use super::mme::Mme;
use super::push::{Parser, Run, Step};
use super::{log, semaphore};
use crate::device::{Device, EngineResult, work};
use crate::engine::query;
use crate::engine::registers::Registers;
use nvir_base::Chip;
use nvir_hw::Class;
use nvir_hw::class::SUBCHANNELS;
use nvir_hw::method::channel::{OBJECT, SEMAPHORE_TRIGGER};
use nvir_hw::method::query::{QUERY_ADDRESS_HIGH, QUERY_GET};
use nvir_hw::method::{self, macros};
use std::collections::BTreeMap;

/// Mesa writes to the copy engine on GK110 without binding a class first.
const COPY_SUBCHANNEL: usize = Class::Copy.subchannel() as usize;

/// One channel.
pub(crate) struct Channel {
    /// What handles stand for.
    pub objects: BTreeMap<u32, Class>,
    /// Why it is dead.
    pub lost: Option<String>,
    parser: Parser,
    bound: [Option<Class>; SUBCHANNELS],
    registers: Registers,
    engines: Engines,
    mme: Mme,
    call: Option<Call>,
}

impl Channel {
    pub(crate) fn new(chip: Chip) -> Channel {
        let mut bound = [None; SUBCHANNELS];
        if chip != Chip::Gf100 {
            bound[COPY_SUBCHANNEL] = Some(Class::Copy);
        }
        Channel {
            objects: BTreeMap::new(),
            lost: None,
            parser: Parser::default(),
            bound,
            registers: Registers::default(),
            engines: Engines::new(chip),
            mme: Mme::default(),
            call: None,
        }
    }

    /// Executes words of the stream that stand at a GPU address.
    pub(crate) fn execute(&mut self, device: &mut Device, address: u64, words: &[u32]) -> EngineResult {
        let mut rest = words;
        loop {
            let next = self.parser.next(&mut rest);
            // The run's first word, or the header.
            let last = next.as_ref().map_or(1, |run| run.map_or(0, |run| run.words().len()));
            device.place.address = address + 4 * (words.len() - rest.len() - last) as u64;
            match next? {
                Some(run) => self.run(device, run)?,
                None => return Ok(()),
            }
        }
    }

    /// Ends a submission: no packet and no macro may be waiting for more.
    pub(crate) fn finish(&mut self, device: &mut Device) -> EngineResult {
        self.call(device)?;
        match self.parser.missing() {
            0 => Ok(()),
            n => {
                self.parser = Parser::default();
                Err(format!("the submission ends in a packet that wants {n} words more"))
            }
        }
    }

    /// On a dead channel: signals fences, so that nobody waits for ever, and does nothing else.
    pub(crate) fn execute_fences(&mut self, device: &mut Device, words: &[u32]) {
        let mut rest = words;
        while let Ok(Some(run)) = self.parser.next(&mut rest) {
            if device.charge(run.words().len() as u64 * work::WORD).is_err() {
                return;
            }
            let Some(class @ (Class::ThreeD | Class::Compute)) = self.bound[run.subchannel] else { continue };
            let engine = self.engines.get(class).registers();
            let mut method = run.method;
            for &word in run.words() {
                if (QUERY_ADDRESS_HIGH..=QUERY_GET).contains(&method) {
                    engine.set(method, word);
                    if method == QUERY_GET && query::is_fence(word) {
                        // Where it cannot be written, nobody waits.
                        let _ = query::get(device, engine, |_| 0);
                    }
                }
                method += if run.step == Step::Next { 4 } else { 0 };
            }
        }
    }

    /// Forgets a packet that will not go on.
    pub(crate) fn abandon(&mut self) {
        self.parser = Parser::default();
        self.call = None;
    }

    fn run(&mut self, device: &mut Device, run: Run<'_>) -> EngineResult {
        let words = run.words();
        device.charge(words.len() as u64 * work::WORD)?;
        let class = self.bound[run.subchannel];
        device.place.subchannel = run.subchannel;
        device.place.method = run.method;
        device.place.class = class.and_then(|c| c.number(device.chip)).unwrap_or(0);
        if device.log.is_some() {
            log::run(device, &run);
        }
        if run.step == Step::Same && self.bulk(device, &run)? {
            return Ok(());
        }
        let mut method = run.method;
        for &word in words {
            device.place.method = method;
            self.method(device, run.subchannel, method, word)?;
            device.place.address += 4;
            if run.step == Step::Next {
                method = (method + 4) & 0x7ffc;
            }
        }
        Ok(())
    }

    /// Data, all at once. Whether this was data.
    fn bulk(&mut self, device: &mut Device, run: &Run<'_>) -> EngineResult<bool> {
        // A macro that waits for its parameters has got them all, unless these are some.
        if macros::MACRO_PARAM.index(run.method).is_some() {
            return Ok(false);
        }
        let Some(class) = self.bound[run.subchannel] else { return Ok(false) };
        self.call(device)?;
        self.engines.get(class).bulk(device, run.method, run.words())
    }

    /// A method as it stands in the stream.
    fn method(&mut self, device: &mut Device, subchannel: usize, method: u32, value: u32) -> EngineResult {
        // A macro begins to run when its parameters have ended.
        if let Some(call) = &mut self.call {
            if call.parameter(subchannel, method, value)? {
                return Ok(());
            }
            self.call(device)?;
        }
        let with_macros = matches!(self.bound[subchannel], Some(Class::ThreeD | Class::Compute));
        if with_macros && macros::MACRO_PARAM.index(method).is_some() {
            return Err("a parameter without a macro".into());
        }
        if let Some(id) = macros::MACRO.index(method).filter(|_| with_macros) {
            let place = device.place;
            self.call = Some(Call { subchannel, id: id as usize, parameters: vec![value], place });
            return Ok(());
        }
        self.write(device, subchannel, method, value)
    }

    /// Runs the macro whose parameters have come.
    fn call(&mut self, device: &mut Device) -> EngineResult {
        let Some(call) = self.call.take() else { return Ok(()) };
        let here = std::mem::replace(&mut device.place, call.place);
        let mme = std::mem::take(&mut self.mme);
        let mut target = call::Target { channel: self, device, subchannel: call.subchannel };
        let result = mme.run(call.id, &call.parameters, &mut target);
        self.mme = mme;
        // A fault keeps the place of the call.
        result?;
        device.place = here;
        Ok(())
    }

    /// What was last written to a method of a subchannel.
    pub(super) fn read(&mut self, subchannel: usize, method: u32) -> u32 {
        self.bound[subchannel].map_or(0, |class| self.engines.get(class).registers().get(method))
    }

    /// A method with its effect.
    pub(super) fn write(
        &mut self,
        device: &mut Device,
        subchannel: usize,
        method: u32,
        value: u32,
    ) -> EngineResult {
        if method < method::CHANNEL_END {
            return self.channel_method(device, subchannel, method, value);
        }
        let Some(class) = self.bound[subchannel] else {
            return Err("no class is bound to the subchannel".into());
        };
        let engine = self.engines.get(class);
        engine.registers().set(method, value);
        match method {
            macros::MACRO_UPLOAD_POS..=macros::MACRO_POS if class == Class::ThreeD => {
                self.mme.method(method, value)
            }
            _ => engine.method(device, method, value),
        }
    }

    fn channel_method(
        &mut self,
        device: &mut Device,
        subchannel: usize,
        method: u32,
        value: u32,
    ) -> EngineResult {
        self.registers.set(method, value);
        match method {
            OBJECT => {
                let class = self.objects.get(&value).copied().or_else(|| Class::of(value, device.chip));
                let class =
                    class.ok_or_else(|| format!("{value:#x} is not a class of this chip, nor an object"))?;
                self.bound[subchannel] = Some(class);
                Ok(())
            }
            SEMAPHORE_TRIGGER => semaphore::trigger(device, &self.registers, value),
            _ => Ok(()),
        }
    }
}
