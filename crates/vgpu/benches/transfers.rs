//! How fast the engines move bytes: `cargo bench -p nvir-vgpu`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{COMPUTE, COPY, Client, Commands, MEMORY, THREE_D, TWO_D};
use nvir::Chip;
use nvir_hw::method::{bindings, copy, macros, three_d, two_d, upload};
use std::time::{Duration, Instant};

/// Bytes of a row, rows.
const ROW: u32 = 4096;
const ROWS: u32 = 4096;
const BYTES: u64 = ROW as u64 * ROWS as u64;

/// The shortest time of a submission.
fn time(c: &Client, push: &Commands) -> Duration {
    let started = Instant::now();
    let mut best = Duration::MAX;
    for runs in 0.. {
        if runs >= 3 && started.elapsed() > Duration::from_millis(500) {
            break;
        }
        let before = Instant::now();
        c.run(push).expect("no fault");
        best = best.min(before.elapsed());
    }
    best
}

/// Prints how fast bytes are moved.
fn bytes(name: &str, c: &Client, push: &Commands, bytes: u64) {
    println!("{name:24} {:8.2} GB/s", bytes as f64 / time(c, push).as_nanos() as f64);
}

/// Prints what one of so many things takes.
fn each(name: &str, c: &Client, push: &Commands, count: u32) {
    println!("{name:24} {:8.1} ns", time(c, push).as_nanos() as f64 / f64::from(count));
}

fn main() {
    copies("rows to rows", 0x386);
    copies("rows to blocks", 0x286);
    copies("blocks to rows", 0x306);
    copies("blocks to blocks", 0x206);
    uploads();
    clears("clear", 0x3c);
    clears("clear of one channel", 0x4);
    // By texel.
    blits("floats to bytes", 0xc0, 0xd5, 0);
    blits("sRGB to sRGB", 0xd6, 0xd0, 0);
    blits("sRGB to sRGB, filtered", 0xd6, 0xd0, 0x10);
    macro_steps();
    methods();
}

/// The copy engine with sides that are linear or not.
fn copies(name: &str, how: u32) {
    let c = Client::new(Chip::Gk110);
    let (a, b) = (c.buffer(BYTES), c.buffer(BYTES));
    let mut push = Commands::default();
    push.address(COPY, copy::SRC_ADDRESS_HIGH, a.offset).address(COPY, copy::DST_ADDRESS_HIGH, b.offset).inc(
        COPY,
        copy::SRC_PITCH,
        &[ROW, ROW, ROW, ROWS],
    );
    push.inc(COPY, copy::DST_BLOCK_DIMENSIONS, &[0x40, ROW, ROWS, 1, 0, 0]).inc(
        COPY,
        copy::SRC_BLOCK_DIMENSIONS,
        &[0x40, ROW, ROWS, 1, 0, 0],
    );
    push.inc(COPY, copy::EXEC, &[how]);
    bytes(name, &c, &push, BYTES);
}

/// Data in the stream, in packets as Mesa makes them.
fn uploads() {
    const WORDS: u32 = 1500;
    let c = Client::new(Chip::Gk110);
    let b = c.buffer(1 << 20);
    let mut push = Commands::default();
    let data = vec![1; WORDS as usize];
    for i in 0..80 {
        push.address(MEMORY, upload::UPLOAD_DST_ADDRESS_HIGH, b.offset + 4096 * i).inc(
            MEMORY,
            upload::UPLOAD_LINE_LENGTH_IN,
            &[4 * WORDS, 1],
        );
        push.inc(MEMORY, upload::UPLOAD_EXEC, &[0x1001]).same(MEMORY, upload::UPLOAD_DATA, &data);
    }
    bytes("uploads", &c, &push, 80 * 4 * u64::from(WORDS));
}

/// Target 0, of 1024 by 4096 texels of 4 bytes.
fn target(push: &mut Commands, address: u64, format: u32) {
    push.address(THREE_D, three_d::RT_ADDRESS_HIGH.at(0), address).inc(
        THREE_D,
        three_d::RT_HORIZ.at(0),
        &[1024, 4096, format, 0x40, 1, 0, 0],
    );
    push.inc(THREE_D, three_d::CLEAR_COLOR.at(0), &[0, 0, 0, 0]).inc(
        THREE_D,
        three_d::SCREEN_SCISSOR_HORIZ,
        &[1024 << 16, 4096 << 16],
    );
}

fn clears(name: &str, what: u32) {
    let c = Client::new(Chip::Gk110);
    let a = c.buffer(BYTES);
    let mut push = Commands::default();
    target(&mut push, a.offset, 0xd5);
    push.inc(THREE_D, three_d::CLEAR_BUFFERS, &[what]);
    bytes(name, &c, &push, BYTES);
}

/// Blits of 256 by 256 texels between two formats.
fn blits(name: &str, from: u32, to: u32, control: u32) {
    let c = Client::new(Chip::Gk110);
    let (a, b) = (c.buffer(1 << 20), c.buffer(1 << 20));
    let mut push = Commands::default();
    push.inc(TWO_D, two_d::DST_FORMAT, &[to, 0, 0x40, 1, 0, 0, 256, 256]).address(
        TWO_D,
        two_d::DST_ADDRESS_HIGH,
        b.offset,
    );
    push.inc(TWO_D, two_d::SRC_FORMAT, &[from, 0, 0x40, 1, 0, 0, 256, 256]).address(
        TWO_D,
        two_d::SRC_ADDRESS_HIGH,
        a.offset,
    );
    push.inc(TWO_D, two_d::OPERATION, &[3]).inc(TWO_D, two_d::BLIT_CONTROL, &[control]);
    push.inc(TWO_D, two_d::BLIT_DST_X, &[0, 0, 256, 256, 0x8000_0000, 0, 0x8000_0000, 0, 0, 0, 0, 0]);
    each(name, &c, &push, 65536);
}

/// A macro that counts down from a number.
fn macro_steps() {
    const STEPS: u32 = 1 << 20;
    let c = Client::new(Chip::Gk110);
    let imm = |op: u32, how: u32, dst: u32, a: u32, value: i32| {
        op | how << 4 | dst << 8 | a << 11 | (value as u32) << 14
    };
    let mut push = Commands::default();
    push.once(THREE_D, macros::MACRO_UPLOAD_POS, &[0, imm(1, 1, 1, 1, -1), imm(7, 3, 0, 1, -1), 0x91, 0x11]);
    push.inc(THREE_D, macros::MACRO_ID, &[0, 0]).inc(THREE_D, macros::MACRO.at(0), &[STEPS / 2]);
    each("step of a macro", &c, &push, STEPS);
}

/// Words that have no effect.
fn methods() {
    let c = Client::new(Chip::Gk110);
    let mut push = Commands::default();
    for _ in 0..100 {
        push.inc(COMPUTE, bindings::IMAGE_ADDRESS_HIGH.at(0), &[0; 256]);
    }
    each("method", &c, &push, 25600);
}
