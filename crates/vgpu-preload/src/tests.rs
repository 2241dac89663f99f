//! The test program exports the functions itself, so its own calls are intercepted, as a client's are.

mod launches;
mod outputs;

use libc::{c_int, c_void};
use std::ffi::{CStr, CString};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

const CARD: &CStr = c"/dev/dri/renderD128";
const OTHER_CARD: &CStr = c"/dev/dri/renderD129";

/// An open device.
struct Device(c_int);

impl Device {
    fn open(path: &CStr) -> Device {
        // SAFETY: a path that ends with a zero byte.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        assert!(fd >= 0, "{}", last_error());
        Device(fd)
    }

    /// A call with a structure; the `errno` of a failure.
    fn call<const N: usize>(&self, number: u32, args: &mut [u64; N]) -> Result<(), i32> {
        call(self.0, number, args)
    }

    fn new_buffer(&self, bytes: u64) -> Buffer {
        // Handle and domain, size, address, map handle, tile mode and flags, hint and alignment.
        let mut info = [4 << 32, bytes, 0, 0, 0, 0];
        self.call(0x80, &mut info).unwrap();
        Buffer { handle: info[0] as u32, bytes: info[1], address: info[2], map_handle: info[3] }
    }

    fn info(&self, handle: u32) -> Result<Buffer, i32> {
        let mut info = [u64::from(handle), 0, 0, 0, 0];
        self.call(0x84, &mut info)?;
        Ok(Buffer { handle, bytes: info[1], address: info[2], map_handle: info[3] })
    }

    fn close_buffer(&self, b: Buffer) -> Result<(), i32> {
        self.call(0x09, &mut [u64::from(b.handle)])
    }

    fn map(&self, b: Buffer) -> Mapping {
        map(self.0, b.bytes, b.map_handle).unwrap()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: our descriptor.
        unsafe { libc::close(self.0) };
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Buffer {
    handle: u32,
    bytes: u64,
    address: u64,
    map_handle: u64,
}

/// A client's view of a buffer.
struct Mapping {
    at: *mut u32,
    words: usize,
}

impl Mapping {
    fn get(&self, i: usize) -> u32 {
        assert!(i < self.words);
        // SAFETY: inside the mapping; volatile, since others write it.
        unsafe { self.at.add(i).read_volatile() }
    }

    fn set(&self, i: usize, v: u32) {
        assert!(i < self.words);
        // SAFETY: as above.
        unsafe { self.at.add(i).write_volatile(v) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping that was made.
        unsafe { libc::munmap(self.at.cast(), self.words * 4) };
    }
}

fn map(fd: c_int, bytes: u64, offset: u64) -> Result<Mapping, i32> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping where the kernel wants it.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes as usize,
            protection,
            libc::MAP_SHARED,
            fd,
            offset as libc::off_t,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(last_error());
    }
    Ok(Mapping { at: at.cast(), words: bytes as usize / 4 })
}

fn last_error() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn request(number: u32, bytes: usize) -> u64 {
    u64::from(3 << 30 | (bytes as u32) << 16 | u32::from(b'd') << 8 | number)
}

fn call<const N: usize>(fd: c_int, number: u32, args: &mut [u64; N]) -> Result<(), i32> {
    // SAFETY: the request says how long the structure is.
    match unsafe { libc::ioctl(fd, request(number, N * 8), args.as_mut_ptr()) } {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}

#[test]
fn folders_list_the_cards_before_what_is_there() {
    let names: Vec<String> =
        fs::read_dir("/dev/dri").unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names[..2], ["renderD128", "renderD129"]);
    assert_eq!(names.iter().filter(|n| *n == "renderD128").count(), 1);
    let of_device = fs::read_dir("/sys/dev/char/226:128/device/drm").unwrap();
    assert_eq!(of_device.map(|e| e.unwrap().file_name()).collect::<Vec<_>>(), ["renderD128"]);
    assert!(fs::read_dir("/sys/dev/char/226:130/device/drm").is_err());
}

#[test]
fn folders_are_scanned_sorted_and_filtered() {
    type Filter = unsafe extern "C" fn(*const libc::dirent64) -> c_int;
    unsafe extern "C" {
        fn scandir(
            path: *const libc::c_char,
            list: *mut *mut *mut libc::dirent64,
            filter: Option<Filter>,
            compare: Option<
                unsafe extern "C" fn(*mut *const libc::dirent64, *mut *const libc::dirent64) -> c_int,
            >,
        ) -> c_int;
    }
    unsafe extern "C" fn last_is_9(entry: *const libc::dirent64) -> c_int {
        // SAFETY: the entry that `scandir` passes.
        let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
        c_int::from(name.to_bytes().ends_with(b"9"))
    }
    let mut list: *mut *mut libc::dirent64 = std::ptr::null_mut();
    // SAFETY: a path that ends with a zero byte, a place for the list, a filter of the right type; the list and its
    // entries are freed once.
    unsafe {
        let n = scandir(c"/dev/dri".as_ptr(), &mut list, Some(last_is_9), None);
        assert_eq!(n, 1);
        assert_eq!(CStr::from_ptr((**list).d_name.as_ptr()), c"renderD129");
        libc::free((*list).cast());
        libc::free(list.cast());
    }
}

#[test]
fn paths_say_what_libdrm_asks() {
    let node = fs::metadata("/dev/dri/renderD128").unwrap();
    assert!(node.file_type().is_char_device());
    assert_eq!(node.rdev(), libc::makedev(226, 128));
    assert_eq!(fs::metadata("/dev/dri//./renderD129").unwrap().rdev(), libc::makedev(226, 129));
    assert!(fs::metadata("/dev/dri/renderD130").is_err());
    assert!(fs::metadata("/dev/dri").unwrap().is_dir());
    let folder = "/sys/dev/char/226:128/device";
    assert_eq!(fs::canonicalize(folder).unwrap().to_str(), Some(folder));
    assert!(fs::read_link(format!("{folder}/subsystem")).unwrap().ends_with("pci"));
    assert!(fs::metadata(format!("{folder}/drm")).unwrap().is_dir());
    assert_eq!(fs::read_to_string(format!("{folder}/vendor")).unwrap(), "0x10de\n");
    let slot = |card: u32| {
        let text = fs::read_to_string(format!("/sys/dev/char/226:{}/device/uevent", 128 + card)).unwrap();
        text.lines().find_map(|l| l.strip_prefix("PCI_SLOT_NAME=").map(str::to_string)).unwrap()
    };
    assert_ne!(slot(0), slot(1), "libdrm takes two nodes of one place for one device");
}

#[test]
fn descriptors_are_the_device() {
    let d = Device::open(CARD);
    // SAFETY: zero bytes are a valid `stat`, which the call fills.
    let number = unsafe {
        let mut s: libc::stat = std::mem::zeroed();
        assert_eq!(libc::fstat(d.0, &mut s), 0);
        s.st_rdev
    };
    assert_eq!(number, libc::makedev(226, 128));
    let mut name = [0u8; 16];
    // Version; length and address of name, date and description.
    let mut version = [0, 0, 16, name.as_mut_ptr().expose_provenance() as u64, 0, 0, 0, 0];
    d.call(0x00, &mut version).unwrap();
    assert_eq!((version[0], version[1] as u32), (3 << 32 | 1, 1), "1.3.1");
    assert_eq!((version[2], &name[..7]), (7, &b"nouveau"[..]));
    let mut parameter = [11, 0];
    d.call(0x40, &mut parameter).unwrap();
    assert_eq!(parameter[1], 0xf0);
    let mut parameter = [13, 0];
    d.call(0x40, &mut parameter).unwrap();
    assert_eq!(parameter[1] >> 8 & 0xffff, 1, "one multiprocessor");
    assert_eq!(d.call(0x40, &mut [999, 0]), Err(libc::EINVAL));
    assert_eq!(d.call(0x7f, &mut [0]), Err(libc::EINVAL), "no such call");
}

/// NVIF's header: version and type, owner and route; a token; an object.
fn nvif(kind: u64, route: u64, token: u64, object: u64) -> [u64; 3] {
    [kind << 8 | 0xff << 48 | route << 56, token, object]
}

/// A request for a new object: header, route, token, object, handle and class.
fn nvif_new(route: u64, channel: u64, object: u64, handle: u64, class: u64) -> [u64; 7] {
    let [a, b, c] = nvif(2, route, channel, 0);
    [a, b, c, 0, object, object, class << 32 | handle]
}

#[test]
fn objects_are_made_and_freed_by_nvif() {
    const NVIF: u32 = 0x47;
    let d = Device::open(CARD);
    // The card itself, and what it says of itself.
    let [a, b, c, e, f, g, h] = nvif_new(0, 0, 0x1000, 0, 0x80);
    d.call(NVIF, &mut [a, b, c, e, f, g, h, 0, u64::MAX]).unwrap();
    let mut info = [0; 17];
    info[..3].copy_from_slice(&nvif(4, 0, 0, 0x1000));
    d.call(NVIF, &mut info).unwrap();
    // Version, bus, chipset, revision and family; memory; the chip's name.
    assert_eq!((info[4] >> 8 & 0xff, info[4] >> 16 & 0xffff, info[4] >> 40 & 0xff), (3, 0xf0, 8));
    let mut memory = [8, 0];
    d.call(0x40, &mut memory).unwrap();
    assert_eq!((info[5], info[6]), (memory[1], memory[1]));
    assert_eq!(&info[7].to_le_bytes()[..6], b"GK110\0");

    // A channel, and the classes that it takes: as many as there is room for, and how many there are.
    let mut channel = [0; 11];
    d.call(0x42, &mut channel).unwrap();
    let channel = channel[1] & 0xffff_ffff;
    let list = |room: u64| {
        let mut list = [0; 20];
        list[..3].copy_from_slice(&nvif(1, 0xff, channel, 0));
        list[3] = room << 8;
        d.call(NVIF, &mut list).unwrap();
        (list[3] >> 8 & 0xff, list[4..].iter().map(|c| *c as u32).filter(|c| *c != 0).collect::<Vec<_>>())
    };
    assert_eq!(list(16), (6, vec![0xa197, 0xa1c0, 0xa140, 0x902d, 0xa0b5, -7i32 as u32]));
    assert_eq!(list(2), (6, vec![0xa197, 0xa1c0]));

    // Objects: once with a handle, until they are deleted by the client's name, or their channel ends.
    let new = |object, class| d.call(NVIF, &mut nvif_new(0xff, channel, object, 0xbeef, class));
    let delete = |object| d.call(NVIF, &mut nvif(3, 0, 0, object));
    assert_eq!(new(0x2000, 0xa197), Ok(()));
    assert_eq!(new(0x3000, 0xa1c0), Err(libc::EINVAL), "the handle is taken");
    delete(0x3000).unwrap();
    assert_eq!(new(0x3000, 0xa1c0), Err(libc::EINVAL), "what was deleted has no such name");
    delete(0x2000).unwrap();
    assert_eq!(new(0x3000, 0xffff_fff9), Ok(()), "nouveau's class of methods that the kernel sees");
    delete(0x1000).unwrap();
    d.call(0x43, &mut [channel]).unwrap();
    assert_eq!(new(0x2000, 0xa197), Err(libc::ENOENT), "the channel has ended");
}

#[test]
fn bad_nvif_requests_are_errors() {
    const NVIF: u32 = 0x47;
    let d = Device::open(CARD);
    assert_eq!(d.call(NVIF, &mut [0]), Err(libc::EINVAL), "no header");
    assert_eq!(d.call(NVIF, &mut nvif(0, 0, 0, 0)), Ok(()), "no operation");
    assert_eq!(d.call(NVIF, &mut nvif(7, 0, 0, 0)), Err(libc::ENOSYS), "maps are not made");
    assert_eq!(d.call(NVIF, &mut nvif(2, 0, 0, 0)), Err(libc::EINVAL), "a new one without a class");
    assert_eq!(
        d.call(NVIF, &mut nvif_new(0, 0, 1, 0, 0xa197)),
        Err(libc::EINVAL),
        "an engine without a channel"
    );
    assert_eq!(d.call(NVIF, &mut nvif_new(0xff, 99, 1, 0, 0xa197)), Err(libc::ENOENT), "no such channel");
    let mut channel = [0; 11];
    d.call(0x42, &mut channel).unwrap();
    let channel = channel[1] & 0xffff_ffff;
    assert_eq!(d.call(NVIF, &mut nvif_new(0xff, channel, 1, 0, 0x9097)), Err(libc::EINVAL), "GF100's class");
    let [a, b, c] = nvif(1, 0xff, channel, 0);
    assert_eq!(d.call(NVIF, &mut [a, b, c, 200 << 8]), Err(libc::EINVAL), "no room for 200 classes");
    let [a, b, c] = nvif(4, 0, 0, 0);
    assert_eq!(d.call(NVIF, &mut [a, b, c, 0]), Err(libc::EINVAL), "no room for what the card says");
    assert_eq!(d.call(NVIF, &mut [a, b, c, 1 << 8]), Err(libc::ENOSYS), "time is asked by a parameter");
}

#[test]
fn bad_addresses_are_errors() {
    let d = Device::open(CARD);
    for address in [0u64, 8, 1 << 46, u64::MAX - 7] {
        // SAFETY: the call is to find out that the address is bad.
        let r = unsafe { libc::ioctl(d.0, request(0x40, 16), address) };
        assert_eq!((r, last_error()), (-1, libc::EFAULT), "{address:#x}");
    }
    assert_eq!(d.call(0x00, &mut [0, 0, 16, 8, 0, 0, 0, 0]), Err(libc::EFAULT), "the name's address");
    // A submission whose lists are nowhere.
    assert_eq!(d.call(0x81, &mut [3 << 32 | 1, 8, 0, 0, 0, 0, 0, 0]), Err(libc::EFAULT));
    assert_eq!(d.call(0x81, &mut [u64::MAX, 8, 0, 0, 0, 0, 0, 0]), Err(libc::EINVAL));
    // SAFETY: null is to be refused.
    assert_eq!(unsafe { libc::open(std::ptr::null(), 0) }, -1);
    assert_eq!(last_error(), libc::EFAULT);
}

#[test]
fn mappings_show_the_same_memory_and_new_buffers_are_zero() {
    let d = Device::open(CARD);
    for round in 0..3 {
        let b = d.new_buffer(5000);
        assert_eq!(b.bytes, 8192);
        assert_eq!(d.info(b.handle), Ok(b));
        let (m, n) = (d.map(b), d.map(b));
        assert_eq!((m.get(0), m.get(2047)), (0, 0), "round {round}");
        m.set(2047, 7);
        assert_eq!(n.get(2047), 7);
        assert_eq!(map(d.0, 8192, b.map_handle + 4096).err(), Some(libc::EINVAL), "longer than the buffer");
        drop((m, n));
        d.close_buffer(b).unwrap();
        assert_eq!(d.info(b.handle), Err(libc::ENOENT));
        assert_eq!(map(d.0, 4096, b.map_handle).err(), Some(libc::EINVAL));
    }
}

#[test]
fn copies_of_a_descriptor_share_handles_and_others_do_not() {
    let d = Device::open(CARD);
    let b = d.new_buffer(4096);
    // SAFETY: our descriptors.
    let (copy, again, chosen) = unsafe {
        let copy = libc::dup(d.0);
        let again = libc::fcntl(d.0, libc::F_DUPFD_CLOEXEC, 100);
        let chosen = libc::dup2(d.0, again + 300);
        (Device(copy), Device(again), Device(chosen))
    };
    assert!(again.0 >= 100);
    let opened = Device::open(CARD);
    assert_eq!(opened.info(b.handle), Err(libc::ENOENT));
    drop(d);
    for d in [copy, again, chosen] {
        assert_eq!(d.info(b.handle), Ok(b));
    }
    assert_eq!(opened.new_buffer(4096).handle, b.handle, "handles of another description start anew");
}

#[test]
fn a_number_that_is_another_files_now_is_not_ours() {
    let d = Device::open(CARD);
    // SAFETY: our descriptor, closed behind the library's back, and its number used for another file.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        libc::syscall(libc::SYS_dup3, null, d.0, 0);
        libc::close(null);
    }
    assert_eq!(d.call(0x40, &mut [11, 0]), Err(libc::ENOTTY));
    let d = Device::open(CARD);
    // SAFETY: our descriptors.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        assert_eq!(libc::dup2(null, d.0), d.0);
        libc::close(null);
    }
    assert_eq!(d.call(0x40, &mut [11, 0]), Err(libc::ENOTTY));
}

#[test]
fn cards_have_their_own_memory_and_buffers_travel() {
    let (one, two) = (Device::open(CARD), Device::open(OTHER_CARD));
    let same = Device::open(CARD);
    let b = one.new_buffer(4096);
    one.map(b).set(3, 33);
    let mut prime = [u64::from(b.handle) | u64::from(libc::O_CLOEXEC as u32) << 32, 0];
    one.call(0x2d, &mut prime).unwrap();
    let fd = prime[1] as c_int;
    let shared = map(fd, 4096, 0).unwrap();
    assert_eq!(shared.get(3), 33);
    // SAFETY: the descriptor of the buffer.
    assert_eq!(unsafe { libc::lseek(fd, 0, libc::SEEK_END) }, 4096);
    let mut import = [0, fd as u64];
    same.call(0x2e, &mut import).unwrap();
    let there = same.info(import[0] as u32).unwrap();
    assert_eq!(there.address, b.address);
    assert_eq!(two.call(0x2e, &mut [0, fd as u64]), Err(libc::EINVAL), "another card's memory");
    one.close_buffer(b).unwrap();
    assert_eq!(same.map(there).get(3), 33, "the last handle keeps it");
    // SAFETY: the descriptor of the buffer.
    unsafe { libc::close(fd) };
}

#[test]
fn threads_allocate_and_free() {
    let d = Device::open(CARD);
    std::thread::scope(|s| {
        for t in 0..4u32 {
            let d = &d;
            s.spawn(move || {
                for i in 0..50 {
                    let b = d.new_buffer(4096 * u64::from(i % 7 + 1));
                    let m = d.map(b);
                    assert_eq!(m.get(5), 0);
                    m.set(5, t << 16 | i);
                    std::thread::yield_now();
                    assert_eq!(m.get(5), t << 16 | i);
                    drop(m);
                    d.close_buffer(b).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_child_has_the_device_and_memory_of_its_own() {
    let d = Device::open(CARD);
    let b = d.new_buffer(4096);
    let m = d.map(b);
    m.set(1, 11);
    // SAFETY: the child only calls what is safe after `fork` in this library, and ends by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let new = d.new_buffer(4096);
        let (there, theirs) = (d.map(b), d.map(new));
        let fine = there.get(1) == 11 && theirs.get(1) == 0 && new.map_handle != b.map_handle;
        there.set(2, 22);
        theirs.set(1, 99);
        let freed = d.close_buffer(b).is_ok() && d.close_buffer(new).is_ok();
        // SAFETY: ends the child.
        unsafe { libc::_exit(if fine && freed { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: a place for the status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    assert_eq!((m.get(1), m.get(2)), (11, 22), "what the child closed is still ours");
    assert_eq!(d.info(b.handle), Ok(b));
    assert_eq!(d.map(d.new_buffer(4096)).get(1), 0);
}

#[test]
fn what_is_not_ours_is_as_ever() {
    let path = std::env::temp_dir().join(format!("nvir-vgpu-{}", std::process::id()));
    fs::write(&path, "text").unwrap();
    let mut text = String::new();
    fs::File::open(&path).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "text");
    assert_eq!(fs::metadata(&path).unwrap().len(), 4);
    assert_eq!(
        fs::canonicalize("/proc/self/../self/fd/..").unwrap().parent().unwrap(),
        fs::canonicalize("/proc").unwrap()
    );
    fs::remove_file(&path).unwrap();
    let gone = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a path that ends with a zero byte.
    assert_eq!(unsafe { libc::open(gone.as_ptr(), 0) }, -1);
    assert_eq!(last_error(), libc::ENOENT);
    // SAFETY: an anonymous mapping.
    let at = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        libc::mmap(std::ptr::null_mut::<c_void>(), 4096, libc::PROT_READ, flags, -1, 0)
    };
    assert_ne!(at, libc::MAP_FAILED);
    // SAFETY: the mapping.
    unsafe { libc::munmap(at, 4096) };
}
