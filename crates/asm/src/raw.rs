//! Machine code without a container: words in hexadecimal text or in binary, a graphics shader's
//! header in front of them.
//!
//! Text has words between white space, and comments after `//`. Code has 64-bit words of up to 16
//! digits. A header is 20 words of 8 digits each, or the same as 10 words of 64 bits, low half
//! first, as it lies in memory. It is taken for one if [`Header::decode`] takes it: that wants some
//! 50 bits of the first two words of code to be as no instruction has them.

use nvir_base::input;
use nvir_isa::header::{Header, WORDS};

/// What was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Raw {
    /// The header, if the first words are one.
    pub header: Option<Header>,
    /// The code.
    pub code: Vec<u64>,
}

/// Why something is no words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadRaw {
    /// Of text: the line (from 1) that has something else than words.
    #[error("line {0}: expected a word of up to 16 hexadecimal digits")]
    Line(usize),
    /// Of binary: its size.
    #[error("{0} bytes, not a multiple of 8; expected a cubin, hexadecimal text or raw words of 8 bytes")]
    Size(usize),
}

/// Words as they were written: each with its number of digits.
struct Words(Vec<(u64, usize)>);

impl Words {
    fn read(data: &[u8]) -> Result<Words, BadRaw> {
        if let Some(text) = text(data) {
            let mut words = Vec::new();
            for (n, line) in text.lines().enumerate() {
                let line = line.split_once("//").map_or(line, |(before, _)| before);
                for digits in line.split_whitespace() {
                    let word = word(digits).ok_or(BadRaw::Line(n + 1))?;
                    words.push((word, digits.strip_prefix("0x").unwrap_or(digits).len()));
                }
            }
            return Ok(Words(words));
        }
        Words::binary(data)
    }

    fn binary(data: &[u8]) -> Result<Words, BadRaw> {
        if !data.len().is_multiple_of(8) {
            return Err(BadRaw::Size(data.len()));
        }
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b));
        Ok(Words(data.chunks(8).map(|b| (word(b), 16)).collect()))
    }

    /// Code, and the header in front of it.
    fn with_header(self) -> Raw {
        let header = self.first().and_then(|(first, count)| Some((Header::decode(&first).ok()?, count)));
        let skip = header.as_ref().map_or(0, |h| h.1);
        let code = self.0[skip..].iter().map(|w| w.0).collect();
        Raw { header: header.map(|h| h.0), code }
    }

    /// The first 20 words of 32 bits, and how many words they were written as.
    fn first(&self) -> Option<([u32; WORDS], usize)> {
        let short = self.0.get(..WORDS).filter(|w| w.iter().all(|&(_, digits)| digits == 8));
        let (list, count): (Vec<u32>, usize) = match short {
            Some(words) => (words.iter().map(|w| w.0 as u32).collect(), WORDS),
            None => {
                let words = self.0.get(..WORDS / 2)?.iter();
                (words.flat_map(|w| [w.0 as u32, (w.0 >> 32) as u32]).collect(), WORDS / 2)
            }
        };
        Some((list.try_into().ok()?, count))
    }
}

/// Bytes as text without control characters, if they are that.
fn text(data: &[u8]) -> Option<&str> {
    input::text(data).ok().filter(|t| t.chars().all(|c| !c.is_control() || c.is_whitespace()))
}

/// Whether bytes are taken for text.
pub(crate) fn is_text(data: &[u8]) -> bool {
    text(data).is_some()
}

/// Reads code, with the header that may be in front of it.
///
/// # Errors
/// What is no words.
pub fn read(data: &[u8]) -> Result<Raw, BadRaw> {
    Words::read(data).map(Words::with_header)
}

/// The same of little-endian words of 8 bytes, also where these happen to be text.
///
/// # Errors
/// The size is not a multiple of 8.
pub fn binary(data: &[u8]) -> Result<Raw, BadRaw> {
    Words::binary(data).map(Words::with_header)
}

/// The first 20 words, which are said to be a header. Fewer give none.
///
/// # Errors
/// What is no words.
pub fn header_words(data: &[u8]) -> Result<Option<[u32; WORDS]>, BadRaw> {
    Ok(Words::read(data)?.first().map(|f| f.0))
}

/// A word of up to 16 hexadecimal digits, with or without `0x`.
pub fn word(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let only_digits = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_hexdigit());
    only_digits.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_base::stage::Stage;

    #[test]
    fn a_header_is_found_in_each_form_and_code_is_not_taken_for_one() {
        let header = Header::new(Stage::TessEval);
        let words = header.encode();
        let short: String = words.iter().map(|w| format!("{w:08x} ")).collect();
        let pairs: Vec<u64> = words.chunks(2).map(|w| u64::from(w[1]) << 32 | u64::from(w[0])).collect();
        let long: String = pairs.iter().map(|w| format!("0x{w:016x}\n")).collect();
        let code = [0x18000000001c003c, 0x80000000_00001de7];
        let text: String = code.iter().map(|w| format!("{w:x} // code\n")).collect();
        let want = Raw { header: Some(header), code: code.to_vec() };
        assert_eq!(read(format!("// a shader\n{short}\n{text}").as_bytes()).as_ref(), Ok(&want));
        assert_eq!(read(format!("{long}{text}").as_bytes()).as_ref(), Ok(&want));
        let bytes: Vec<u8> = pairs.iter().chain(&code).flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(read(&bytes), Ok(want));
        assert_eq!(super::binary(&bytes).map(|r| (r.header.is_some(), r.code.len())), Ok((true, 2)));
        assert_eq!(super::binary(b"12345678").map(|r| r.code), Ok(vec![0x3837_3635_3433_3231]));
        let plain = text.repeat(20);
        assert_eq!(read(plain.as_bytes()).map(|r| (r.header, r.code.len())), Ok((None, 40)));
        assert_eq!(header_words(text.as_bytes()), Ok(None));
    }

    #[test]
    fn what_is_no_words_is_refused_with_its_place() {
        assert_eq!(read(b"1 2\n3 x"), Err(BadRaw::Line(2)));
        assert_eq!(read(b"11111111222222223"), Err(BadRaw::Line(1)));
        assert_eq!(read(&[1, 0, 0, 0, 0, 0, 0, 0, 0]), Err(BadRaw::Size(9)));
    }
}
