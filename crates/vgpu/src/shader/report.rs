//! What launches tell: why one failed, which kernels there were, and what they did.

use nvir_base::stage::Stage;
use nvir_emu::{Fault, Note, Profile, Program, Stats};
use nvir_isa::header::Header;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Instructions that are shown before and behind one at fault.
const AROUND: usize = 5;

/// Why a launch failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// A sentence with place and reason.
    pub message: String,
    /// What the kernel did wrong, if it ran: the first fault.
    pub fault: Option<Box<Fault>>,
    /// All that was gathered, by kind and instruction.
    pub found: Vec<Note>,
    /// The SASS around the place: address, text.
    pub sass: Vec<(u32, String)>,
}

impl Failure {
    pub(super) fn of(fault: Box<Fault>, program: &Program) -> Failure {
        let sass = program.around(fault.place.pc, AROUND);
        let found = vec![Note { what: Fault::clone(&fault), times: 1 }];
        Failure { message: fault.to_string(), fault: Some(fault), found, sass }
    }

    /// Of what was gathered; the first is the one whose kind and place are told.
    pub(super) fn of_several(faults: &[Note], program: &Program) -> Failure {
        let first = faults.first().map(|n| Box::new(n.what.clone()));
        let sass = first.as_ref().map_or(Vec::new(), |f| program.around(f.place.pc, AROUND));
        Failure { message: Note::summary(faults), fault: first, found: faults.to_vec(), sass }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure { message, fault: None, found: Vec::new(), sass: Vec::new() }
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> String {
        failure.to_string()
    }
}

impl fmt::Display for Failure {
    /// The sentence, and the SASS in lines of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let at = self.fault.as_ref().map(|fault| fault.place.pc);
        self.sass.iter().try_for_each(|(pc, text)| {
            let mark = if Some(*pc) == at { '>' } else { ' ' };
            write!(f, "\n  {mark} {pc:06x}  {text}")
        })
    }
}

impl std::error::Error for Failure {}

/// A kernel or a stage's program, as the first launch of it shows it.
#[derive(Debug)]
pub struct Kernel<'a> {
    /// What a stage's program declares; a kernel has no header.
    pub header: Option<&'a Header>,
    /// The address that the program's addresses count from.
    pub code: u64,
    /// The first instruction's address in the program.
    pub entry: u32,
    /// Its code, decoded.
    pub program: &'a Program,
    /// Registers of a thread.
    pub gprs: u32,
    /// Shared memory of a block, bytes.
    pub shared: u32,
    /// Local memory of a thread, bytes.
    pub local: u64,
    /// Threads of a block in x, y and z; of a stage, those of a warp.
    pub block: [u32; 3],
}

impl Kernel<'_> {
    /// Compute, or the stage of draws that it is.
    pub fn stage(&self) -> Stage {
        self.header.map_or(Stage::Compute, Header::stage)
    }
}

/// Who is told of kernels and of the programs of stages.
pub type OnKernel = Box<dyn FnMut(&Kernel<'_>) + Send>;

/// What a kernel did.
#[derive(Clone, Debug)]
pub struct KernelProfile {
    /// Compute, or the stage of draws that it is.
    pub stage: Stage,
    /// Of its first instruction.
    pub address: u64,
    /// Its code, decoded.
    pub program: Arc<Program>,
    /// How often it was launched.
    pub launches: u64,
    /// Of the launches that did not fault.
    pub warp_instructions: u64,
    /// Of these, too.
    pub thread_instructions: u64,
    /// By code address, operation and line, if launches are profiled.
    pub profile: Option<Profile>,
}

/// What a draw did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DrawProfile {
    /// Counted from 1 in the channel, as faults and the log count.
    pub number: u64,
    /// The primitives that it draws.
    pub what: &'static str,
    /// Vertices that were drawn, as often as they were named.
    pub vertices: u64,
    /// Primitives of these.
    pub primitives: u64,
    /// Pixels that the fragment program ran for; for each sample, where it runs so.
    pub fragments: u64,
    /// Instructions of threads by stage: vertex, tessellation control and evaluation, geometry, fragment.
    pub instructions: [u64; 5],
}

impl DrawProfile {
    /// Instructions of all stages.
    pub fn all_instructions(&self) -> u64 {
        self.instructions.iter().sum()
    }
}

/// Draws whose profiles are kept: those with the most instructions.
const MAX_DRAWS: usize = 20;

/// What draws did.
#[derive(Clone, Default, Debug)]
pub struct DrawProfiles {
    /// How many there were.
    pub count: u64,
    /// What all of them did: vertices, primitives, fragments.
    pub vertices: u64,
    /// See `vertices`.
    pub primitives: u64,
    /// See `vertices`.
    pub fragments: u64,
    /// Instructions of threads.
    pub instructions: u64,
    /// Those with the most instructions, and of equal ones the first, in this order.
    pub heaviest: Vec<DrawProfile>,
}

impl DrawProfiles {
    pub(super) fn add(&mut self, draw: &DrawProfile) {
        self.count += 1;
        self.vertices += draw.vertices;
        self.primitives += draw.primitives;
        self.fragments += draw.fragments;
        let all = draw.all_instructions();
        self.instructions += all;
        let at = self.heaviest.partition_point(|d| d.all_instructions() >= all);
        if at < MAX_DRAWS {
            self.heaviest.insert(at, draw.clone());
            self.heaviest.truncate(MAX_DRAWS);
        }
    }
}

/// Kernels that are remembered at most: those of programs that make new ones without end are forgotten.
const MAX_KERNELS: usize = 4096;

/// The kernels so far.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    all: Vec<KernelProfile>,
    /// By the place of the program in memory: that is kept, so no other one gets it.
    index: HashMap<usize, usize>,
}

impl Kernels {
    /// A launch of a kernel or of a stage begins.
    pub(super) fn launched(
        &mut self,
        kernel: &Kernel<'_>,
        program: &Arc<Program>,
        on_kernel: &mut Option<OnKernel>,
    ) {
        let address = kernel.code.wrapping_add(kernel.entry.into());
        if self.count(program, kernel.stage(), address)
            && let Some(on_kernel) = on_kernel
        {
            on_kernel(kernel);
        }
    }

    /// Counts a launch of a program; whether it is the first.
    fn count(&mut self, program: &Arc<Program>, stage: Stage, address: u64) -> bool {
        let key = Arc::as_ptr(program) as usize;
        if let Some(&at) = self.index.get(&key) {
            self.all[at].launches += 1;
            return false;
        }
        if self.all.len() < MAX_KERNELS {
            self.index.insert(key, self.all.len());
            self.all.push(KernelProfile {
                stage,
                address,
                program: program.clone(),
                launches: 1,
                warp_instructions: 0,
                thread_instructions: 0,
                profile: None,
            });
        }
        true
    }

    pub(super) fn ran(&mut self, program: &Program, stats: Stats) {
        let Some(&at) = self.index.get(&(std::ptr::from_ref(program) as usize)) else { return };
        let kernel = &mut self.all[at];
        kernel.warp_instructions += stats.warp_instructions;
        kernel.thread_instructions += stats.thread_instructions;
        if let Some(more) = stats.profile {
            kernel.profile.get_or_insert_default().add(&more);
        }
    }

    pub(super) fn take_profile(&mut self, program: &Program) -> Option<Profile> {
        let at = *self.index.get(&(std::ptr::from_ref(program) as usize))?;
        self.all[at].profile.take()
    }

    pub(super) fn profile(&self) -> &[KernelProfile] {
        &self.all
    }
}
