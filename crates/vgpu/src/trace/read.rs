//! Reads recordings.

use std::io::BufRead;

/// Bytes of one record's contents, at most.
const MAX_BYTES: u64 = 1 << 28;

/// A line of a recording; the module's description has what stands in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// GEM_NEW.
    Buffer {
        /// The client's handle.
        handle: u32,
        /// GPU address.
        address: u64,
        /// Its size.
        bytes: u64,
        /// Bits of [`crate::domain`].
        domain: u32,
        /// Blocks, where it is a tiled image.
        tile_mode: u32,
        /// Bits 15:8 the memory kind.
        tile_flags: u32,
        /// Of the address.
        align: u32,
    },
    /// The buffer's end.
    Free {
        /// The client's handle.
        handle: u32,
        /// GPU address.
        address: u64,
    },
    /// GROBJ_ALLOC.
    Object {
        /// What the client calls it.
        handle: u32,
        /// Its class.
        class: u32,
    },
    /// What the processor wrote.
    Cpu {
        /// Of the first word.
        address: u64,
        /// What is there now.
        words: Vec<u32>,
    },
    /// The beginning of a submission.
    Submit {
        /// Its number.
        index: u64,
        /// Its buffers: address, and read, write and valid domains.
        buffers: Vec<(u64, [u32; 3])>,
    },
    /// A range of its commands.
    Push {
        /// Of the first word.
        address: u64,
        /// Whether prefetch was forbidden.
        no_prefetch: bool,
        /// What was there before the submission.
        words: Vec<u32>,
    },
    /// What it changed.
    Gpu {
        /// Of the first word.
        address: u64,
        /// What was there after the submission.
        words: Vec<u32>,
    },
}

/// A recording that cannot be read, or replayed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// What stands in it.
    #[error("line {line}: {message}")]
    Line {
        /// From 1 on.
        line: u64,
        /// What is wrong.
        message: String,
    },
}

/// Reads a recording line by line.
pub struct Reader<R> {
    from: R,
    chipset: u32,
    line: u64,
    bytes: u64,
    text: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    /// Reads the first two lines.
    pub fn new(from: R) -> Result<Reader<R>, TraceError> {
        let mut reader = Reader { from, chipset: 0, line: 0, bytes: 0, text: Vec::new() };
        match reader.next_line()? {
            Some("trace 1") => {}
            Some(other) if other.starts_with("trace ") => {
                return Err(reader.error("unknown version of recordings; only version 1 is supported"));
            }
            None => return Err(reader.error("not a recording: the file is empty")),
            _ => return Err(reader.error("not a recording: the first line is not `trace 1`")),
        }
        let chip = reader
            .next_line()?
            .and_then(|l| l.strip_prefix("chip "))
            .and_then(|c| u32::from_str_radix(c, 16).ok());
        reader.chipset = chip.ok_or_else(|| reader.error("expected `chip` and a hexadecimal number"))?;
        Ok(reader)
    }

    /// The number of the chip, `0xf0`.
    pub fn chipset(&self) -> u32 {
        self.chipset
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The line that was read last, from 1 on.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// An error at the line that was read last.
    pub fn error(&self, message: impl Into<String>) -> TraceError {
        TraceError::Line { line: self.line, message: message.into() }
    }

    fn next_line(&mut self) -> Result<Option<&str>, TraceError> {
        self.text.clear();
        let read = self.from.read_until(b'\n', &mut self.text)?;
        if read == 0 {
            return Ok(None);
        }
        self.bytes += read as u64;
        self.line += 1;
        let line = self.line;
        // Lines are written whole, so that the last one may have lost its end without looking wrong.
        if self.text.last() != Some(&b'\n') && (line > 1 || b"trace 1\n".starts_with(&self.text)) {
            let message =
                format!("truncated: the recording ends within this line, after {} bytes", self.bytes);
            return Err(TraceError::Line { line, message });
        }
        match str::from_utf8(&self.text) {
            Ok(text) => Ok(Some(text.trim_ascii_end())),
            Err(_) => Err(TraceError::Line { line, message: "not valid UTF-8".into() }),
        }
    }

    /// The next record; `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        loop {
            let parsed = match self.next_line()? {
                None => return Ok(None),
                Some("") => continue,
                Some(line) => parse(line),
            };
            return parsed.map(Some).map_err(|message| self.error(message));
        }
    }
}

/// The fields of a line.
struct Fields<'a>(std::str::Split<'a, char>);

impl<'a> Fields<'a> {
    fn next(&mut self, what: &str) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| format!("{what} is missing"))
    }

    fn hex(&mut self, what: &str) -> Result<u64, String> {
        let text = self.next(what)?;
        u64::from_str_radix(text, 16).map_err(|_| format!("{what} `{text}` is not a hexadecimal number"))
    }

    fn hex32(&mut self, what: &str) -> Result<u32, String> {
        u32::try_from(self.hex(what)?).map_err(|_| format!("{what} has more than 32 bits"))
    }

    fn decimal(&mut self, what: &str) -> Result<u64, String> {
        let text = self.next(what)?;
        text.parse().map_err(|_| format!("{what} `{text}` is not a decimal number"))
    }

    /// A word that has to stand here.
    fn word(&mut self, word: &str) -> Result<(), String> {
        match self.next(word)? {
            w if w == word => Ok(()),
            other => Err(format!("expected `{word}`, found `{other}`")),
        }
    }

    fn end(&mut self) -> Result<(), String> {
        self.0.next().map_or(Ok(()), |more| Err(format!("unexpected `{more}` at the end")))
    }

    /// Bytes, a multiple of 4.
    fn size(&mut self) -> Result<u64, String> {
        match self.hex("size")? {
            n if n > MAX_BYTES => Err(format!("a record of {n:#x} bytes")),
            n if n % 4 != 0 => Err(format!("size {n:#x} is not a multiple of 4")),
            n => Ok(n),
        }
    }

    /// All that is left: words, with repeats.
    fn words(&mut self, bytes: u64) -> Result<Vec<u32>, String> {
        let count = (bytes / 4) as usize;
        let mut words: Vec<u32> = Vec::new();
        for text in self.0.by_ref() {
            if let Some(repeats) = text.strip_prefix('*') {
                let repeats: usize =
                    repeats.parse().map_err(|_| format!("`{text}` is not a repeat count"))?;
                let last = *words.last().ok_or("a repeat count without a word before it")?;
                if repeats == 0 || repeats > count || words.len() + repeats - 1 > count {
                    return Err(format!("`{text}` repeats to more than {bytes:#x} bytes, or to none"));
                }
                words.resize(words.len() + repeats - 1, last);
            } else {
                words.push(
                    u32::from_str_radix(text, 16)
                        .map_err(|_| format!("`{text}` is not a hexadecimal word"))?,
                );
            }
        }
        if words.len() != count {
            return Err(format!("{} words for {bytes:#x} bytes", words.len()));
        }
        Ok(words)
    }
}

fn parse(line: &str) -> Result<Record, String> {
    let mut f = Fields(line.split(' '));
    let record = match f.next("a record")? {
        "bo" => {
            let handle = handle(&mut f)?;
            f.word("va")?;
            let address = f.hex("address")?;
            f.word("size")?;
            let bytes = f.hex("size")?;
            let mut named = |name| {
                f.word(name)?;
                f.hex32(name)
            };
            let [domain, tile_mode, tile_flags, align] =
                [named("domain")?, named("tile_mode")?, named("tile_flags")?, named("align")?];
            Record::Buffer { handle, address, bytes, domain, tile_mode, tile_flags, align }
        }
        "free" => {
            let handle = handle(&mut f)?;
            f.word("va")?;
            Record::Free { handle, address: f.hex("address")? }
        }
        "object" => {
            let handle = f.hex32("handle")?;
            f.word("class")?;
            Record::Object { handle, class: f.hex32("class")? }
        }
        "cpu" => {
            let (address, bytes) = (f.hex("address")?, f.size()?);
            Record::Cpu { address, words: f.words(bytes)? }
        }
        "gpu" => {
            let (address, bytes) = (f.hex("address")?, f.size()?);
            Record::Gpu { address, words: f.words(bytes)? }
        }
        "push" => {
            let (address, bytes) = (f.hex("address")?, f.size()?);
            let no_prefetch = f.hex("the prefetch flag")? != 0;
            Record::Push { address, no_prefetch, words: f.words(bytes)? }
        }
        "submit" => {
            let index = f.decimal("number")?;
            let mut buffers = Vec::new();
            for text in f.0.by_ref() {
                let mut parts = Fields(text.split(':'));
                let address = parts.hex("address")?;
                let domains = [parts.hex32("domain")?, parts.hex32("domain")?, parts.hex32("domain")?];
                parts.end()?;
                buffers.push((address, domains));
            }
            Record::Submit { index, buffers }
        }
        other => return Err(format!("unknown record `{other}`")),
    };
    f.end()?;
    Ok(record)
}

fn handle(f: &mut Fields<'_>) -> Result<u32, String> {
    u32::try_from(f.decimal("handle")?).map_err(|_| "handle has more than 32 bits".into())
}
