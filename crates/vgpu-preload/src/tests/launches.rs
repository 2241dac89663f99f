//! Kernels that a client of raw calls launches, each in a process of its own: what the variables change.

use super::{CARD, Device, Mapping, last_error};
use nvir_asm::listing;
use nvir_base::Chip;
use nvir_hw::Class;
use nvir_hw::method::channel::OBJECT;
use nvir_hw::method::kepler_compute::{LAUNCH, LAUNCH_DESC_ADDRESS};
use nvir_hw::method::shader::CODE_ADDRESS_HIGH;
use nvir_hw::push::{Header, kind};
use nvir_hw::qmd::Qmd;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Says to [`client`] that it is one, and which kernel to launch.
const KERNEL: &str = "NVIR_VGPU_TEST_KERNEL";

/// Kernels, before whose code R2 and R3 are the address of the result.
const KERNELS: [(&str, &str); 6] = [
    ("writes", "MOV32I R4, 0x2a\nST.E [R2], R4\nEXIT\n"),
    ("writes nowhere", "MOV32I R3, 0x77\nMOV32I R4, 0x2a\nST.E [R2], R4\nEXIT\n"),
    ("reads what nobody wrote", "ST.E [R2], R9\nEXIT\n"),
    ("races", "S2R R0, SR_TID.X\nSTS [0x10], R0\nEXIT\n"),
    ("meets half", "S2R R0, SR_TID.X\nISETP.LT.AND P0, PT, R0, 0x5, PT\n@P0 BAR.SYNC 0x0\nEXIT\n"),
    ("is empty", ""),
];

const COMMANDS: usize = 0;
const DESCRIPTOR: usize = 0x1000;
const CODE: usize = 0x2000;
const RESULT: usize = 0x8000;
const BYTES: u64 = 0x1_0000;

/// A channel with one buffer, in which is all that a launch needs.
struct Client {
    device: Device,
    channel: u32,
    buffer: super::Buffer,
    memory: Mapping,
}

impl Client {
    /// Opens the card, whose chip is a GK110, and puts a kernel into the buffer.
    fn new(kernel: &str) -> Client {
        let device = Device::open(CARD);
        let mut channel = [0; 11];
        device.call(0x42, &mut channel).unwrap();
        let channel = channel[1] as u32;
        let buffer = device.new_buffer(BYTES);
        let memory = device.map(buffer);
        let client = Client { device, channel, buffer, memory };
        let at = |offset: usize| buffer.address + offset as u64;
        let address = |a: u64| [(a >> 32) as u32, a as u32];
        let [high, low] = address(at(RESULT));
        let text = match kernel {
            "" => String::new(),
            rest => format!(".kernel k\nMOV32I R2, {low:#x}\nMOV32I R3, {high:#x}\n{rest}"),
        };
        if !text.is_empty() {
            let code =
                listing::assemble(&text, Chip::Gk110, "text").expect("assembles").kernels.remove(0).code;
            let words: Vec<u32> = code.iter().flat_map(|w| [*w as u32, (*w >> 32) as u32]).collect();
            client.put(CODE, &words);
        }
        // No offset, one block of 64 threads, 64 bytes shared, 16 registers.
        let mut descriptor = Qmd::default();
        descriptor.set_grid([1, 1, 1]).set_block([64, 1, 1]);
        descriptor.set(Qmd::SHARED_MEMORY_SIZE, 64).set(Qmd::REGISTER_COUNT, 16);
        client.put(DESCRIPTOR, &descriptor.0);
        client
    }

    fn put(&self, at: usize, words: &[u32]) {
        words.iter().enumerate().for_each(|(i, w)| self.memory.set(at / 4 + i, *w));
    }

    /// Launches so many times, in one submission; the `errno` of a refusal.
    fn launch(&self, times: usize) -> Result<(), i32> {
        let at = Class::Compute.subchannel();
        let method = |m, count| Header::packet(kind::INCREASING, at, m, count).into_bits();
        let code = self.buffer.address + CODE as u64;
        let descriptor = (self.buffer.address + DESCRIPTOR as u64) >> 8;
        let mut commands = vec![
            method(OBJECT, 1),
            Class::Compute.number(Chip::Gk110).expect("it has it"),
            method(CODE_ADDRESS_HIGH, 2),
            (code >> 32) as u32,
            code as u32,
            method(LAUNCH_DESC_ADDRESS, 1),
            descriptor as u32,
        ];
        (0..times).for_each(|_| commands.extend([method(LAUNCH, 1), 3]));
        self.put(COMMANDS, &commands);
        let bytes = commands.len() as u64 * 4;
        // Handle and domains of the buffer; index, offset and length of the range.
        let uses = [0u64, u64::from(self.buffer.handle) | 4 << 32, 4 | 4 << 32, 0, 0];
        let range = [0u64, COMMANDS as u64, bytes];
        let address = |a: &[u64]| a.as_ptr().expose_provenance() as u64;
        let mut args =
            [u64::from(self.channel) | 1 << 32, address(&uses), 1 << 32, 0, address(&range), 0, 0, 0];
        self.device.call(0x81, &mut args)
    }

    fn result(&self) -> u32 {
        self.memory.get(RESULT / 4)
    }
}

/// The client, if this process is one: launches its kernel twice and once more, and prints what it got.
#[test]
fn client() {
    let Ok(name) = std::env::var(KERNEL) else { return };
    let (_, text) = KERNELS.iter().find(|(n, _)| *n == name).expect("a kernel's name");
    let client = Client::new(text);
    let (first, second) = (client.launch(2), client.launch(1));
    println!("\nresult {first:?} {second:?} {}", client.result());
}

/// Runs the client with variables.
pub(super) fn run(kernel: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::launches::client", "--nocapture"]).env(KERNEL, kernel);
    command.env("NOUVEAU_CHIPSET", "f0").envs(variables.iter().copied());
    command.output().unwrap()
}

/// The line that the client printed, if it lived to do so, and standard error.
pub(super) fn said(out: &Output) -> (Option<String>, String) {
    let text = String::from_utf8_lossy(&out.stdout);
    let line = text.lines().find_map(|l| l.strip_prefix("result ").map(str::to_string));
    (line, String::from_utf8_lossy(&out.stderr).into_owned())
}

/// A folder that is not there yet.
pub(super) fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("nvir-vgpu-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

#[test]
fn a_kernel_runs() {
    let (line, errors) = said(&run("writes", &[]));
    assert_eq!(line.as_deref(), Some("Ok(()) Ok(()) 42"), "{errors}");
    assert!(!errors.contains("nvir-vgpu:"), "{errors}");
}

#[test]
fn a_fault_is_reported_and_the_program_goes_on_or_is_refused_or_ends() {
    for (mode, wants) in [
        ("continue", Some("Ok(()) Ok(()) 0".to_string())),
        ("refuse", Some(format!("Err({0}) Err({0}) 0", libc::ENODEV))),
        ("exit", None),
    ] {
        for kernel in ["writes nowhere", "is empty"] {
            let out = run(kernel, &[("NVIR_VGPU_ON_FAULT", mode)]);
            let (line, errors) = said(&out);
            assert_eq!(line, wants, "{mode}: {errors}");
            assert_eq!(out.status.code(), Some(i32::from(mode == "exit")), "{mode}: {errors}");
            let place = "nvir-vgpu: submission 0, word at ";
            assert_eq!(errors.matches(place).count(), 1, "once: {errors}");
            let why = if kernel == "is empty" { "there is no code" } else { "out_of_bounds" };
            assert!(errors.contains(why), "{errors}");
        }
    }
}

#[test]
fn checkers_see_what_a_card_lets_pass() {
    for (kernel, checker, kind) in [
        ("writes nowhere", "memcheck", "out_of_bounds"),
        ("reads what nobody wrote", "initcheck", "uninitialized"),
        ("races", "racecheck", "race"),
        ("meets half", "synccheck", "divergent_barrier"),
    ] {
        let (line, errors) = said(&run(kernel, &[("NVIR_VGPU_CHECK", "none")]));
        assert!(line.is_some() && !errors.contains("nvir-vgpu:"), "{kernel}: {errors}");
        for check in [checker, "all"] {
            let (line, errors) = said(&run(kernel, &[("NVIR_VGPU_CHECK", check)]));
            assert!(line.is_some(), "{kernel}: {errors}");
            assert!(errors.contains(kind), "{kernel} with {check}: {errors}");
            // The code around it, with a mark at its place.
            let marked = errors.lines().filter(|l| l.starts_with("nvir-vgpu:   > ")).count();
            assert_eq!(marked, 1, "{errors}");
            assert!(errors.contains("MOV32I R2"), "{errors}");
        }
    }
    let (_, errors) = said(&run("writes", &[("NVIR_VGPU_CHECK", "all")]));
    assert!(!errors.contains("nvir-vgpu:"), "{errors}");
}

#[test]
fn a_profile_is_told_at_the_end() {
    let (_, errors) = said(&run("writes", &[("NVIR_VGPU_PROFILE", "1")]));
    // Two warps of five instructions, three times.
    assert!(
        errors.contains("profile of card 0: 1 kernels, 3 launches, 960 thread instructions, "),
        "{errors}"
    );
    assert!(errors.contains(": 3 launches, 960 thread instructions, 30 warp instructions, "), "{errors}");
    let hot = errors.lines().find(|l| l.contains(" % ")).unwrap_or_else(|| panic!("{errors}"));
    assert!(hot.contains("EXIT") && hot.contains(" 6 times "), "{errors}");
    let (_, errors) =
        said(&run("writes nowhere", &[("NVIR_VGPU_PROFILE", "1"), ("NVIR_VGPU_ON_FAULT", "exit")]));
    assert!(errors.contains("profile of card 0: 1 kernels, 1 launches, 0 thread instructions"), "{errors}");
    let (_, errors) = said(&run("writes", &[("NVIR_VGPU_PROFILE", "0")]));
    assert!(!errors.contains("profile"), "{errors}");
}

#[test]
fn kernels_are_written_as_cubins_and_sass() {
    let folder = folder("kernels");
    let name = folder.to_str().unwrap();
    for _ in 0..2 {
        let (_, errors) = said(&run("writes", &[("NVIR_VGPU_DUMP_SHADERS", name)]));
        assert!(!errors.contains("nvir-vgpu:"), "{errors}");
    }
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let [cubin, sass] = &files[..] else { panic!("one kernel, two files: {files:?}") };
    let cubin = nvir_asm::cubin::Cubin::read(&fs::read(cubin).unwrap()).unwrap();
    assert_eq!((cubin.chip, cubin.kernels.len(), cubin.kernels[0].gprs), (Chip::Gk110, 1, 16));
    let text = fs::read_to_string(sass).unwrap();
    assert!(text.starts_with("// Launched at 0x"), "{text}");
    let at = text.find("MOV32I R4, 0x2a").unwrap();
    assert!(text[at..].contains("ST.E [R2], R4") && text.contains("EXIT"), "{text}");
    // What is written is what would be assembled again.
    let again = listing::assemble(&text, Chip::Gk110, "dump").unwrap();
    assert_eq!(again.kernels[0].code, cubin.kernels[0].code);
    fs::remove_dir_all(&folder).unwrap();
    let (line, errors) = said(&run("writes", &[("NVIR_VGPU_DUMP_SHADERS", "/dev/null/x")]));
    assert_eq!(line.as_deref(), Some("Ok(()) Ok(()) 42"));
    assert_eq!(errors.matches("NVIR_VGPU_DUMP_SHADERS=/dev/null/x: ").count(), 1, "{errors}");
}

#[test]
fn wrong_variables_are_reported() {
    for (name, value, says) in [
        ("NVIR_VGPU_CHECK", "all,other", "unknown checker `other`"),
        ("NVIR_VGPU_PROFILE", "yes", "1 or 0"),
        ("NVIR_VGPU_ON_FAULT", "stop", "continue or refuse or exit"),
        ("NVIR_VGPU_CLOCK", "now", "counter or real"),
        ("NVIR_VGPU_DEVICES", "17", "expected a number from 0 to 16"),
        ("NVIR_VGPU_THREADS", "-1", "expected a number from 0 to 256"),
        ("NVIR_VGPU_ENGINE", "fast", "expected interpreter"),
        ("NOUVEAU_CHIPSET", "50", "unknown chip; available: c0, e4, f0"),
        ("NVIR_VGPU_LOG", "/dev/null/x", "not a directory"),
    ] {
        let out = run("writes", &[(name, value)]);
        let errors = said(&out).1;
        assert!(
            errors.contains(&format!("nvir-vgpu: {name}={value}: ")) && errors.contains(says),
            "{errors}"
        );
        assert!(!out.status.success(), "there is no card");
    }
}

/// The parent has more threads than one, which do not come along.
#[test]
fn launches_in_a_forked_child_end() {
    let Ok(_) = std::env::var("NVIR_VGPU_TEST_FORK") else {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "tests::launches::launches_in_a_forked_child_end", "--nocapture"]);
        command.envs([("NVIR_VGPU_TEST_FORK", "1"), ("NVIR_VGPU_THREADS", "4"), ("NVIR_VGPU_PROFILE", "1")]);
        let out = command.output().unwrap();
        let errors = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{errors}");
        // The child ends without telling, and what it did is not its parent's.
        assert!(errors.contains(": 1 launches,"), "{errors}");
        return;
    };
    let client = Client::new(KERNELS[0].1);
    // Blocks enough for several threads.
    client.memory.set(DESCRIPTOR / 4 + 12, 100);
    client.launch(1).unwrap();
    assert_eq!(client.result(), 42);
    client.memory.set(RESULT / 4, 0);
    // SAFETY: the child only calls what is safe after `fork` in this library, and ends by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let fine = client.launch(1).is_ok() && client.result() == 42;
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!fine)) };
    }
    let mut status = -1;
    // SAFETY: a place for the status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child, "{}", last_error());
    assert_eq!(status, 0);
}
