//! Data in the command stream: methods 180 to 1b4 of P2MF, and of Kepler's compute and 3D classes.

use crate::device::{Device, EngineResult};
use crate::engine::query::Release;
use crate::engine::registers::Registers;
use crate::image::transfer::{self, Blocks, ImageOperand};
use nvir_hw::method::upload::*;
use nvir_hw::word::{RELEASE, UploadExec};

/// Bytes of a transfer, at most: they are kept until all have come.
const MAX_BYTES: u64 = 1 << 26;

/// Rows that are on their way: the rest of the last word is dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inline {
    target: Option<Target>,
    data: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Target {
    side: ImageOperand,
    line: u64,
    lines: u64,
    bytes: u64,
    release: Option<Release>,
}

impl Inline {
    /// A method of data in the stream; whether it is one.
    pub(super) fn method(
        &mut self,
        device: &mut Device,
        regs: &Registers,
        method: u32,
        value: u32,
    ) -> EngineResult<bool> {
        match method {
            UPLOAD_EXEC => exec(device, regs, self)?,
            UPLOAD_DATA => self.data(device, &[value])?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Words of one method, if that is the one for data.
    pub(super) fn bulk(&mut self, device: &mut Device, method: u32, words: &[u32]) -> EngineResult<bool> {
        if method != UPLOAD_DATA {
            return Ok(false);
        }
        self.data(device, words)?;
        Ok(true)
    }

    /// Expects lines of so many bytes, and how many lines.
    pub(super) fn begin(
        &mut self,
        device: &mut Device,
        side: ImageOperand,
        (line, lines): (u32, u32),
        release: Option<Release>,
    ) -> EngineResult {
        if let Some(target) = self.target {
            return Err(format!(
                "{} bytes of the last transfer are missing",
                target.bytes - self.data.len() as u64
            ));
        }
        let (line, lines) = (u64::from(line), u64::from(lines));
        let bytes = line * lines;
        if bytes > MAX_BYTES {
            return Err(format!("{bytes} bytes in the command stream"));
        }
        if bytes == 0 {
            return release.map_or(Ok(()), |release| release.write(device));
        }
        self.target = Some(Target { side, line, lines, bytes, release });
        Ok(())
    }

    /// Takes words until all have come, and writes them.
    pub(super) fn data(&mut self, device: &mut Device, words: &[u32]) -> EngineResult {
        let Some(target) = self.target else { return Err("data that no transfer wants".into()) };
        let whole = self.data.is_empty() && words.len() as u64 * 4 >= target.bytes;
        // All at once, row by row without gaps, is the common case.
        if let (true, ImageOperand::Pitch { address, pitch }) = (whole, target.side)
            && (target.lines == 1 || pitch == target.line)
            && target.bytes % 4 == 0
        {
            self.target = None;
            let (words, rest) = words.split_at((target.bytes / 4) as usize);
            device.log_write(address, target.bytes);
            device.moved += target.bytes;
            device.memory.write_words(address, words).map_err(|e| e.to_string())?;
            return self.end(device, target, rest);
        }
        let missing = target.bytes - self.data.len() as u64;
        let (now, rest) = words.split_at(missing.div_ceil(4).min(words.len() as u64) as usize);
        self.data.extend(now.iter().flat_map(|word| word.to_le_bytes()));
        if (self.data.len() as u64) < target.bytes {
            return Ok(());
        }
        self.target = None;
        let mut data = std::mem::take(&mut self.data);
        data.truncate(target.bytes as usize);
        transfer::write(device, &target.side, target.line, target.lines, &data)?;
        self.end(device, target, rest)
    }

    /// All data have come; there may be words behind them, which nobody wants.
    fn end(&mut self, device: &mut Device, target: Target, rest: &[u32]) -> EngineResult {
        if let Some(release) = target.release {
            release.write(device)?;
        }
        if rest.is_empty() { Ok(()) } else { self.data(device, rest) }
    }
}

/// UPLOAD_EXEC.
fn exec(device: &mut Device, r: &Registers, inline: &mut Inline) -> EngineResult {
    let address = r.address(UPLOAD_DST_ADDRESS_HIGH);
    let (line, lines) = (r.get(UPLOAD_LINE_LENGTH_IN), r.get(UPLOAD_LINE_COUNT));
    let how = UploadExec::from_bits(r.get(UPLOAD_EXEC));
    if how.reduction() {
        return Err("reductions are not implemented".into());
    }
    let release =
        (how.completion() == RELEASE).then(|| Release::of(r, UPLOAD_QUERY_ADDRESS_HIGH, !how.short()));
    let side = if how.linear() {
        ImageOperand::Pitch { address, pitch: r.get(UPLOAD_DST_PITCH).into() }
    } else {
        ImageOperand::blocks(Blocks {
            address,
            tile_mode: r.get(UPLOAD_DST_TILE_MODE),
            row_bytes: r.get(UPLOAD_DST_WIDTH).into(),
            rows: r.get(UPLOAD_DST_HEIGHT),
            slices: r.get(UPLOAD_DST_DEPTH),
            z: r.get(UPLOAD_DST_Z),
            x: r.get(UPLOAD_DST_X).into(),
            y: r.get(UPLOAD_DST_Y).into(),
        })?
    };
    inline.begin(device, side, (line, lines), release)
}
