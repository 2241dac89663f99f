//! Buffers, handles and channels: what a client of the kernel driver can do, and what it cannot.

mod common;

use common::Client;
use nvir::Chip;
use nvir_hw::Class;
use nvir_vgpu::{BufferUse, Config, ErrorKind, GemNew, Gpu, Owned, Push, domain};

fn class(class: Class, chip: Chip) -> u32 {
    class.number(chip).expect("the chip has it")
}

fn request(size: u64, align: u32) -> GemNew {
    GemNew { domain: domain::VRAM, size, align, ..GemNew::default() }
}

#[test]
fn addresses_are_those_of_the_recordings() {
    let file = Gpu::new(Config::new(Chip::Gk110), Box::new(Owned::default())).open();
    let channel = file.channel_alloc(0, 0).unwrap();
    assert_eq!((channel.channel, channel.notifier_handle, channel.pushbuf_domains), (1, 1, 6));
    assert_eq!(file.gem_info(1).unwrap().offset, 0x1_0000_0000);
    let a = file.gem_new(request(0x8_0000, 0)).unwrap();
    assert_eq!((a.handle, a.offset, a.size, a.domain), (2, 0x1_0000_2000, 0x8_0000, domain::VRAM));
    let b = file.gem_new(request(5, 0x2_0000)).unwrap();
    assert_eq!((b.handle, b.offset, b.size), (3, 0x1_000a_0000, 4096));
    // The lowest handle first; addresses are not used again.
    file.gem_close(2).unwrap();
    let c = file.gem_new(request(4096, 0)).unwrap();
    assert_eq!((c.handle, c.offset), (2, 0x1_000a_2000));
    assert_eq!(file.gem_info(2), Ok(c));
}

#[test]
fn memory_is_zero_and_bounded() {
    let mut config = Config::new(Chip::Gf100);
    (config.vram_bytes, config.gart_bytes) = (1 << 20, 1 << 20);
    let gpu = Gpu::new(config, Box::new(Owned::default()));
    let file = gpu.open();
    let both =
        GemNew { domain: domain::VRAM | domain::GART | domain::MAPPABLE, size: 1 << 20, ..GemNew::default() };
    let a = file.gem_new(both).unwrap();
    let b = file.gem_new(both).unwrap();
    assert_eq!((a.domain, b.domain), (domain::VRAM, domain::GART));
    assert_eq!(file.gem_new(both).unwrap_err().kind, ErrorKind::NoMemory);
    gpu.write(a.offset, &[1, 2]).unwrap();
    file.gem_close(a.handle).unwrap();
    let mut words = [9; 2];
    assert!(gpu.read(a.offset, &mut words).is_err());
    let a = file.gem_new(both).unwrap();
    gpu.read(a.offset, &mut words).unwrap();
    assert_eq!(words, [0, 0]);
    for (size, align, kind) in [
        (0, 0, ErrorKind::Invalid),
        (4096, 3, ErrorKind::Invalid),
        (u64::MAX, 0, ErrorKind::NoMemory),
        (1 << 39, 0, ErrorKind::NoMemory),
    ] {
        assert_eq!(file.gem_new(request(size, align)).unwrap_err().kind, kind, "{size} {align}");
    }
    assert_eq!(file.gem_close(77).unwrap_err().kind, ErrorKind::NotFound);
    drop(file);
    assert!(gpu.read(a.offset, &mut words).is_err());
}

#[test]
fn buffers_are_shared_between_files() {
    let gpu = Gpu::new(Config::new(Chip::Gk104), Box::new(Owned::default()));
    let (one, two) = (gpu.open(), gpu.open());
    let a = one.gem_new(request(4096, 0)).unwrap();
    let shared = one.export(a.handle).unwrap();
    let imported = two.import(&shared).unwrap();
    assert_eq!(two.import(&shared).unwrap(), imported);
    assert_eq!(one.import(&shared).unwrap(), a.handle);
    let name = one.flink(a.handle).unwrap();
    assert_eq!(one.flink(a.handle).unwrap(), name);
    assert_eq!(two.open_name(name).unwrap().handle, imported);
    // It lives as long as anybody has it.
    gpu.write(a.offset, &[5]).unwrap();
    one.gem_close(a.handle).unwrap();
    two.gem_close(imported).unwrap();
    let mut word = [0];
    gpu.read(a.offset, &mut word).unwrap();
    assert_eq!(word, [5]);
    drop(shared);
    assert!(gpu.read(a.offset, &mut word).is_err());
    assert_eq!(two.open_name(name).unwrap_err().kind, ErrorKind::NotFound);
    let other = Gpu::new(Config::new(Chip::Gk104), Box::new(Owned::default())).open();
    let b = one.gem_new(request(4096, 0)).unwrap();
    assert_eq!(other.import(&one.export(b.handle).unwrap()).unwrap_err().kind, ErrorKind::Invalid);
}

#[test]
fn submissions_are_checked_before_they_execute() {
    let c = Client::new(Chip::Gk110);
    let at = |handle| BufferUse { handle, read_domains: 4, write_domains: 0, valid_domains: 4 };
    let push = |bo_index, offset, bytes| Push { bo_index, offset, bytes, no_prefetch: false };
    let own = c.commands.handle;
    let size = c.commands.size;
    let space = c.file.submit(c.channel, &[], &[]).unwrap();
    assert_eq!((space.vram, space.gart), (1 << 30, 4 << 30));
    for (channel, buffers, range, kind) in [
        (c.channel + 1, own, push(0, 0, 4), ErrorKind::NotFound),
        (c.channel, 99, push(0, 0, 4), ErrorKind::NotFound),
        (c.channel, own, push(1, 0, 4), ErrorKind::Invalid),
        (c.channel, own, push(0, 2, 4), ErrorKind::Invalid),
        (c.channel, own, push(0, 0, 3), ErrorKind::Invalid),
        (c.channel, own, push(0, size, 4), ErrorKind::Invalid),
        (c.channel, own, push(0, u64::MAX - 3, 4), ErrorKind::Invalid),
    ] {
        let e = c.file.submit(channel, &[at(buffers)], &[range]).unwrap_err();
        assert_eq!(e.kind, kind, "{e}");
    }
    let many = vec![push(0, 0, 4); 600];
    assert_eq!(c.file.submit(c.channel, &[at(own)], &many).unwrap_err().kind, ErrorKind::Invalid);
    // The channel lives.
    c.file.submit(c.channel, &[at(own)], &[push(0, 0, 0)]).unwrap();
}

#[test]
fn channels_and_objects() {
    let c = Client::new(Chip::Gf100);
    assert_eq!(c.file.getparam(11).unwrap(), 0xc0);
    assert_eq!(c.file.getparam(15).unwrap(), 1);
    assert_eq!(c.file.getparam(99).unwrap_err().kind, ErrorKind::Invalid);
    assert!(c.file.getparam(14).unwrap() < c.file.getparam(14).unwrap());
    c.file.object_alloc(c.channel, 0x1f906e, class(Class::Software, Chip::Gf100)).unwrap();
    assert_eq!(
        c.file.object_alloc(c.channel, 0x1f906e, class(Class::Software, Chip::Gf100)).unwrap_err().kind,
        ErrorKind::Invalid
    );
    assert_eq!(
        c.file.object_alloc(c.channel, 1, class(Class::ThreeD, Chip::Gk104)).unwrap_err().kind,
        ErrorKind::Invalid
    );
    assert_eq!(
        c.file.object_alloc(9, 1, class(Class::ThreeD, Chip::Gf100)).unwrap_err().kind,
        ErrorKind::NotFound
    );
    // The software class is bound by its handle.
    c.run(common::Commands::default().inc(7, 0, &[0x1f906e])).unwrap();
    let e = c.run(common::Commands::default().inc(7, 0, &[0x2f906e])).unwrap_err();
    assert!(e.message.contains("0x2f906e is not a class of this chip, nor an object"), "{e}");
    c.file.channel_free(c.channel).unwrap();
    assert_eq!(c.file.channel_free(c.channel).unwrap_err().kind, ErrorKind::NotFound);
}
