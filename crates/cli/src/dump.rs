//! `nvir run --dump`: what a test left in a buffer or image, as text or JSON.

use crate::out::{self, outln};
use crate::report;
use nvir::diag::visible;
use nvir_fixture::env::Env;
use nvir_fixture::format::Test;
use nvir_fixture::values::Elem;
use serde_json::{Value, json};

/// What `--dump` asks for.
#[derive(Clone)]
pub(crate) struct Dump {
    /// The name of a buffer or image.
    pub name: String,
    shown: Option<Shown>,
}

/// How elements are shown.
#[derive(Clone, Copy)]
enum Shown {
    Typed(Elem),
    /// Bits, in so many bytes.
    Bits(usize),
}

impl Shown {
    fn size(self) -> usize {
        match self {
            Shown::Typed(elem) => elem.size(),
            Shown::Bits(bytes) => bytes,
        }
    }

    fn name(self) -> String {
        match self {
            Shown::Typed(elem) => elem.name().to_string(),
            Shown::Bits(bytes) => format!("x{}", 8 * bytes),
        }
    }

    /// An element as a fixture writes it; bits, and what is left of an element at the end, in hexadecimal.
    fn literal(self, bytes: &[u8]) -> String {
        let bits = bytes.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
        match self {
            Shown::Typed(elem) if bytes.len() == elem.size() => elem.literal(bits),
            _ => format!("\"{bits:0width$x}\"", width = 2 * bytes.len()),
        }
    }
}

impl Dump {
    /// `out`, `out:f32` or `out:x16`.
    pub(crate) fn new(text: &str) -> Dump {
        let shown = |name: &str| {
            let bits = || {
                Some(Shown::Bits(
                    name.strip_prefix('x')?.parse::<usize>().ok().filter(|n| [8, 16, 32, 64].contains(n))?
                        / 8,
                ))
            };
            Elem::from_name(name).map(Shown::Typed).or_else(bits)
        };
        match text.rsplit_once(':').and_then(|(name, ty)| Some((name, shown(ty)?))) {
            Some((name, shown)) => Dump { name: name.to_string(), shown: Some(shown) },
            None => Dump { name: text.to_string(), shown: None },
        }
    }

    /// A whole buffer or image in its own type.
    pub(crate) fn of(name: &str) -> Dump {
        Dump { name: name.to_string(), shown: None }
    }

    /// Whether a test has what is to be shown.
    pub(crate) fn fits(&self, test: &Test) -> bool {
        test.buffers.contains_key(&self.name) || test.images.contains_key(&self.name)
    }

    /// Texels have no single type: their bits are shown, a texel an element where that is possible.
    fn shown(&self, test: &Test, env: &Env) -> Shown {
        let texel = || env.images.get(&self.name).map(|i| i.desc.format.bytes() as usize);
        let own = || test.buffers.get(&self.name).map(|b| Shown::Typed(b.ty));
        let bytes = texel().filter(|n| [1, 2, 8].contains(n)).unwrap_or(4);
        self.shown.or_else(own).unwrap_or(Shown::Bits(bytes))
    }

    /// As text on standard output.
    pub(crate) fn print(&self, test: &Test, env: &Env) {
        let name = &self.name;
        let shown = self.shown(test, env);
        outln!("{} after {}:", visible(name), visible(&test.name));
        let print = |start: usize, bytes: &[u8]| {
            let mut text = String::new();
            for (i, row) in bytes.chunks(32).enumerate() {
                let values: Vec<String> = row
                    .chunks(shown.size())
                    .map(|e| shown.literal(e).trim_matches('"').to_string())
                    .collect();
                text += &format!("  {:06x}: {}\n", start + i * 32, values.join(" "));
            }
            out::stdout(text.as_bytes());
        };
        if let Err(e) = pieces(name, env, print) {
            report::error(report::Class::System, None, format!("{name}: {e}"));
        }
    }

    /// As JSON.
    pub(crate) fn json(&self, test: &Test, env: &Env) -> Value {
        let shown = self.shown(test, env);
        let mut values: Vec<Value> = Vec::new();
        let read = pieces(&self.name, env, |_, bytes| {
            let literals = bytes.chunks(shown.size()).map(|e| shown.literal(e));
            values.extend(literals.map(|l| serde_json::from_str(&l).unwrap_or(Value::String(l))));
        });
        json!({ "name": self.name, "type": shown.name(), "values": values, "error": read.err() })
    }
}

/// Reads a buffer or image, and gives it in pieces: text of it is several times as large.
fn pieces(name: &str, env: &Env, mut to: impl FnMut(usize, &[u8])) -> Result<(), String> {
    const PIECE: u64 = 1 << 16;
    if let Ok(b) = env.buffer(name) {
        for start in (0..b.size).step_by(PIECE as usize) {
            to(start as usize, &env.backend.read(b.address + start, PIECE.min(b.size - start))?);
        }
        return Ok(());
    }
    let texels = env.backend.download(env.image(name)?)?;
    for (n, piece) in texels.chunks(PIECE as usize).enumerate() {
        to(n * PIECE as usize, piece);
    }
    Ok(())
}

/// The names of the buffers and images that are not as they were before the launch.
pub(crate) fn changed(before: &Env, after: &Env) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for (name, b) in &after.buffers {
        let (old, new) = (before.read(&before.buffer(name)?)?, after.read(b)?);
        if old != new {
            names.push(name.clone());
        }
    }
    for (name, i) in &after.images {
        let (old, new) = (before.backend.download(before.image(name)?)?, after.backend.download(i)?);
        if old != new {
            names.push(name.clone());
        }
    }
    Ok(names)
}
