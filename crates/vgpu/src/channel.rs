//! A channel: subchannels with their engines, to which a stream of commands writes methods.

use crate::compute;
use crate::device::{Device, Effect, Place, work};
use crate::launch;
use crate::mme::{self, Mme};
use crate::push::{Parser, Run, Step};
use crate::query::Release;
use crate::registers::Registers;
use crate::upload::{self, Inline};
use crate::{clear, condition, constants, copy, m2mf, query, twod};
use nvir_base::Chip;
use nvir_hw::Class;
use nvir_hw::class::SUBCHANNELS;
use nvir_hw::method::channel::{OBJECT, SEMAPHORE_ADDRESS_HIGH, SEMAPHORE_SEQUENCE, SEMAPHORE_TRIGGER};
use nvir_hw::method::query::{QUERY_ADDRESS_HIGH, QUERY_GET};
use nvir_hw::method::upload::{UPLOAD_DATA, UPLOAD_EXEC};
use nvir_hw::method::{
    self, condition::COND_ADDRESS_HIGH, fermi_compute, kepler_compute, macros, three_d, two_d,
};
use nvir_hw::word::{BindTic, BindTsc, CbBind, SemaphoreTrigger};
use std::collections::BTreeMap;

/// Mesa writes to the copy engine on GK110 without binding a class first.
const COPY_SUBCHANNEL: usize = Class::Copy.subchannel() as usize;

/// Registers of an engine, and data on their way to it.
#[derive(Clone, Debug, Default)]
struct Engine {
    regs: Registers,
    inline: Inline,
}

/// A macro whose parameters are coming.
#[derive(Clone, Debug)]
struct Call {
    subchannel: usize,
    id: usize,
    parameters: Vec<u32>,
    /// Where it was called.
    place: Place,
}

/// No packet has more.
const MAX_PARAMETERS: usize = 0x2000;

/// One channel.
#[derive(Debug)]
pub(crate) struct Channel {
    /// What handles stand for.
    pub objects: BTreeMap<u32, Class>,
    /// Why it is dead.
    pub lost: Option<String>,
    parser: Parser,
    bound: [Option<Class>; SUBCHANNELS],
    channel: Registers,
    three_d: Engine,
    compute: compute::State,
    compute_inline: Inline,
    /// M2MF or P2MF.
    memory: Engine,
    two_d: Registers,
    copy: Registers,
    software: Registers,
    mme: Mme,
    call: Option<Call>,
}

impl Channel {
    pub fn new(chip: Chip) -> Channel {
        let mut channel = Channel {
            objects: BTreeMap::new(),
            lost: None,
            parser: Parser::default(),
            bound: [None; SUBCHANNELS],
            channel: Registers::default(),
            three_d: Engine::default(),
            compute: compute::State::default(),
            compute_inline: Inline::default(),
            memory: Engine::default(),
            two_d: Registers::default(),
            copy: Registers::default(),
            software: Registers::default(),
            mme: Mme::default(),
            call: None,
        };
        if chip != Chip::Gf100 {
            channel.bound[COPY_SUBCHANNEL] = Some(Class::Copy);
        }
        for class in Class::ALL.into_iter().filter(|class| class.number(chip).is_some()) {
            *channel.registers(class) = Registers::of(class.table(chip));
        }
        channel
    }

    /// Executes words of the stream that stand at a GPU address.
    pub fn execute(&mut self, device: &mut Device, address: u64, words: &[u32]) -> Effect {
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
    pub fn finish(&mut self, device: &mut Device) -> Effect {
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
    pub fn execute_fences(&mut self, device: &mut Device, words: &[u32]) {
        let mut rest = words;
        while let Ok(Some(run)) = self.parser.next(&mut rest) {
            if device.charge(run.words().len() as u64 * work::WORD).is_err() {
                return;
            }
            let engine = match self.bound[run.subchannel] {
                Some(Class::ThreeD) => &mut self.three_d.regs,
                Some(Class::Compute) => &mut self.compute.regs,
                _ => continue,
            };
            let mut method = run.method;
            for &word in run.words() {
                if (QUERY_ADDRESS_HIGH..=QUERY_GET).contains(&method) {
                    engine.set(method, word);
                    if method == QUERY_GET && query::is_fence(word) {
                        // Where it cannot be written, nobody waits.
                        let _ = query::get(device, engine);
                    }
                }
                method += if run.step == Step::Next { 4 } else { 0 };
            }
        }
    }

    /// Forgets a packet that will not go on.
    pub fn abandon(&mut self) {
        self.parser = Parser::default();
        self.call = None;
    }

    fn run(&mut self, device: &mut Device, run: Run<'_>) -> Effect {
        let words = run.words();
        device.charge(words.len() as u64 * work::WORD)?;
        let class = self.bound[run.subchannel];
        device.place.subchannel = run.subchannel;
        device.place.method = run.method;
        device.place.class = class.and_then(|c| c.number(device.chip)).unwrap_or(0);
        if device.log.is_some() {
            log(device, &run);
        }
        if run.step == Step::Same && self.bulk(device, class, &run)? {
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
    fn bulk(&mut self, device: &mut Device, class: Option<Class>, run: &Run<'_>) -> Effect<bool> {
        let words = run.words();
        match (class, run.method) {
            (Some(Class::ThreeD), m) if constants::is_data(m) => {
                self.call(device)?;
                constants::data(device, &mut self.three_d.regs, words)?;
            }
            (Some(Class::Compute), m) if constants::is_data(m) && device.chip == Chip::Gf100 => {
                self.call(device)?;
                constants::data(device, &mut self.compute.regs, words)?;
            }
            (Some(Class::ThreeD), UPLOAD_DATA) if device.chip != Chip::Gf100 => {
                self.call(device)?;
                self.three_d.inline.data(device, words)?;
            }
            (Some(Class::Compute), UPLOAD_DATA) if device.chip != Chip::Gf100 => {
                self.call(device)?;
                self.compute_inline.data(device, words)?;
            }
            (Some(Class::P2mf), UPLOAD_DATA) | (Some(Class::M2mf), method::m2mf::DATA) => {
                self.call(device)?;
                self.memory.inline.data(device, words)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The registers that macros of a subchannel read.
    fn registers(&mut self, class: Class) -> &mut Registers {
        match class {
            Class::ThreeD => &mut self.three_d.regs,
            Class::Compute => &mut self.compute.regs,
            Class::M2mf | Class::P2mf => &mut self.memory.regs,
            Class::TwoD => &mut self.two_d,
            Class::Copy => &mut self.copy,
            Class::Software => &mut self.software,
        }
    }

    /// A method as it stands in the stream.
    fn method(&mut self, device: &mut Device, subchannel: usize, method: u32, value: u32) -> Effect {
        // A macro begins to run when its parameters have ended.
        if let Some(call) = &mut self.call {
            let parameter = macros::MACRO_PARAM.at(call.id as u32);
            if subchannel == call.subchannel && method == parameter {
                if call.parameters.len() == MAX_PARAMETERS {
                    return Err("too many parameters".into());
                }
                call.parameters.push(value);
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
    fn call(&mut self, device: &mut Device) -> Effect {
        let Some(call) = self.call.take() else { return Ok(()) };
        let here = std::mem::replace(&mut device.place, call.place);
        let mme = std::mem::take(&mut self.mme);
        let mut target = MacroTarget { channel: self, device, subchannel: call.subchannel };
        let result = mme.run(call.id, &call.parameters, &mut target);
        self.mme = mme;
        // A fault keeps the place of the call.
        result?;
        device.place = here;
        Ok(())
    }

    /// A method with its effect.
    fn write(&mut self, device: &mut Device, subchannel: usize, method: u32, value: u32) -> Effect {
        if method < method::CHANNEL_END {
            return self.channel_method(device, subchannel, method, value);
        }
        let Some(class) = self.bound[subchannel] else {
            return Err("no class is bound to the subchannel".into());
        };
        self.registers(class).set(method, value);
        match class {
            Class::ThreeD => self.three_d(device, method, value),
            Class::Compute if device.chip == Chip::Gf100 => self.fermi_compute(device, method, value),
            Class::Compute => self.kepler_compute(device, method, value),
            Class::M2mf => match method {
                method::m2mf::EXEC if condition::holds(device, &self.memory.regs, m2mf::CONDITION)? => {
                    m2mf::exec(device, &self.memory.regs, &mut self.memory.inline)
                }
                method::m2mf::DATA => self.memory.inline.data(device, &[value]),
                _ => Ok(()),
            },
            Class::P2mf => {
                uploads(device, &self.memory.regs, &mut self.memory.inline, method, value).map(|_| ())
            }
            Class::TwoD => self.two_d(device, method),
            Class::Copy if method == method::copy::EXEC => copy::exec(device, &self.copy),
            Class::Copy | Class::Software => Ok(()),
        }
    }

    fn channel_method(&mut self, device: &mut Device, subchannel: usize, method: u32, value: u32) -> Effect {
        self.channel.set(method, value);
        match method {
            OBJECT => {
                let class = self.objects.get(&value).copied().or_else(|| Class::of(value, device.chip));
                let class =
                    class.ok_or_else(|| format!("{value:#x} is not a class of this chip, nor an object"))?;
                self.bound[subchannel] = Some(class);
                Ok(())
            }
            SEMAPHORE_TRIGGER => semaphore(device, &self.channel, value),
            _ => Ok(()),
        }
    }

    fn three_d(&mut self, device: &mut Device, method: u32, value: u32) -> Effect {
        let regs = &mut self.three_d.regs;
        if device.chip != Chip::Gf100 && uploads(device, regs, &mut self.three_d.inline, method, value)? {
            return Ok(());
        }
        match method {
            macros::MACRO_UPLOAD_POS => self.mme.set_upload_position(value),
            macros::MACRO_UPLOAD_DATA => self.mme.upload(value)?,
            macros::MACRO_ID => self.mme.set_id(value),
            macros::MACRO_POS => self.mme.set_start(value)?,
            QUERY_GET => query::get(device, regs)?,
            m if constants::is_data(m) => constants::data(device, regs, &[value])?,
            three_d::CLEAR_BUFFERS if condition::holds(device, regs, COND_ADDRESS_HIGH)? => {
                clear::clear(device, regs)?;
            }
            three_d::VERTEX_BEGIN_GL | three_d::CLIPID_FILL => {
                return Err("drawing is not implemented".into());
            }
            _ => {}
        }
        Ok(())
    }

    fn fermi_compute(&mut self, device: &mut Device, method: u32, value: u32) -> Effect {
        let state = &mut self.compute;
        match method {
            QUERY_GET => query::get(device, &state.regs)?,
            m if constants::is_data(m) => constants::data(device, &mut state.regs, &[value])?,
            fermi_compute::CB_BIND => {
                let bind = CbBind::from_bits(value);
                state.banks[bind.index() as usize] = bind.valid().then(|| constants::bank(&state.regs));
            }
            fermi_compute::BIND_TSC => {
                let bind = BindTsc::from_bits(value);
                state.samplers[bind.slot() as usize] = bind.valid().then_some(bind.entry());
            }
            fermi_compute::BIND_TIC => {
                let bind = BindTic::from_bits(value);
                state.textures[bind.slot() as usize] = bind.valid().then_some(bind.entry());
            }
            fermi_compute::LAUNCH => self.launch(device)?,
            _ => {}
        }
        Ok(())
    }

    fn kepler_compute(&mut self, device: &mut Device, method: u32, value: u32) -> Effect {
        if uploads(device, &self.compute.regs, &mut self.compute_inline, method, value)? {
            return Ok(());
        }
        match method {
            QUERY_GET => query::get(device, &self.compute.regs),
            kepler_compute::LAUNCH => self.launch(device),
            _ => Ok(()),
        }
    }

    fn two_d(&mut self, device: &mut Device, method: u32) -> Effect {
        match method {
            two_d::BLIT_SRC_Y_INT if condition::holds(device, &self.two_d, two_d::COND_ADDRESS_HIGH)? => {
                twod::blit(device, &self.two_d)
            }
            two_d::DRAW_POINT16 | two_d::SIFC_DATA => Err("drawing in 2D is not implemented".into()),
            m if two_d::DRAW_POINT32_X.index(m).or(two_d::DRAW_POINT32_Y.index(m)).is_some() => {
                Err("drawing in 2D is not implemented".into())
            }
            _ => Ok(()),
        }
    }

    fn launch(&mut self, device: &mut Device) -> Effect {
        device.charge(work::LAUNCH)?;
        let time = device.now();
        device.launched();
        let Device { chip, memory, launcher, log, .. } = device;
        let mut line = log.as_mut().map(|log| |text: &str| log.line(format_args!("{text}")));
        let context = launch::Context {
            chip: *chip,
            state: &self.compute,
            memory,
            time,
            log: line.as_mut().map(|l| l as &mut dyn FnMut(&str)),
        };
        let report = launcher.launch(context).map_err(|failure| {
            device.found = failure.found.clone();
            String::from(failure)
        })?;
        device.advance(report.nanoseconds);
        report.releases.iter().flatten().try_for_each(|release| release.write(device))
    }
}

/// Methods of data in the stream, where a class has them; whether this is one.
fn uploads(
    device: &mut Device,
    regs: &Registers,
    inline: &mut Inline,
    method: u32,
    value: u32,
) -> Effect<bool> {
    match method {
        UPLOAD_EXEC => upload::exec(device, regs, inline)?,
        UPLOAD_DATA => inline.data(device, &[value])?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// A semaphore of the channel. Nothing else runs, so that what is not there when it is waited for never comes.
fn semaphore(device: &mut Device, channel: &Registers, trigger: u32) -> Effect {
    let (address, value) = (channel.address(SEMAPHORE_ADDRESS_HIGH), channel.get(SEMAPHORE_SEQUENCE));
    let trigger = SemaphoreTrigger::from_bits(trigger);
    if trigger.release() {
        return Release::of(channel, SEMAPHORE_ADDRESS_HIGH, !trigger.short()).write(device);
    }
    if trigger.acquire_equal() || trigger.acquire_greater() {
        let there = device.memory.word(address).map_err(|e| e.to_string())?;
        let enough =
            if trigger.acquire_equal() { there == value } else { there.wrapping_sub(value) as i32 >= 0 };
        if !enough {
            return Err(format!(
                "the wait for {value:#x} at {address:#x}, which holds {there:#x}, never returns"
            ));
        }
    }
    Ok(())
}

/// A line for each word, or one for many to one method.
fn log(device: &mut Device, run: &Run<'_>) {
    let place = device.place;
    let Some(log) = &mut device.log else { return };
    let name = |method| method::name(place.class, method);
    let words = run.words();
    if run.step == Step::Same && words.len() > 1 {
        let first: String = words.iter().take(8).map(|w| format!(" {w:08x}")).collect();
        let more = if words.len() > 8 { " ..." } else { "" };
        let name = name(run.method);
        log.line(format_args!(
            "  {:x} {} {:04x} {name} = {} words:{first}{more}",
            place.address,
            run.subchannel,
            place.class,
            words.len()
        ));
        return;
    }
    let mut method = run.method;
    for (i, word) in words.iter().enumerate() {
        let name = name(method);
        let at = place.address + 4 * i as u64;
        log.line(format_args!("  {at:x} {} {:04x} {name} = {word:08x}", run.subchannel, place.class));
        method += if run.step == Step::Next { 4 } else { 0 };
    }
}

/// What a macro reads and writes: the subchannel that called it.
struct MacroTarget<'a> {
    channel: &'a mut Channel,
    device: &'a mut Device,
    subchannel: usize,
}

impl mme::Target for MacroTarget<'_> {
    fn read(&mut self, method: u32) -> u32 {
        let class = self.channel.bound[self.subchannel];
        class.map_or(0, |class| self.channel.registers(class).get(method))
    }

    fn write(&mut self, method: u32, value: u32) -> Result<(), String> {
        if (macros::MACRO_UPLOAD_POS..=macros::MACRO_POS).contains(&method) || method >= macros::MACRO.first {
            return Err(format!("writes method {method:04x}: macros cannot call or change macros"));
        }
        if let Some(log) = &mut self.device.log {
            let name = method::name(self.device.place.class, method);
            log.line(format_args!("    macro {} {name} = {value:08x}", self.subchannel));
        }
        self.channel.write(self.device, self.subchannel, method, value)
    }

    fn step(&mut self) -> Result<(), String> {
        self.device.charge(work::MACRO_STEP)
    }
}
