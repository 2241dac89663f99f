//! Faults as JSON, for scripts.

use nvir_emu::{Note, Place};
use nvir_hw::method;
use nvir_vgpu::ChannelFault;
use nvir_vgpu::output::{self, FAULTS_HEADER, Found, Kind};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// What a document ends with: it is whole after each fault.
const END: &str = "\n]}\n";

/// Adds a fault to a document, which is made if it is not there; other processes add to it, too.
pub(crate) fn add(path: &Path, card: u32, fault: &ChannelFault) -> io::Result<()> {
    if output::found(path, Kind::Faults)? == Found::Stream {
        return Err(io::Error::other("not a regular file, which a document that grows needs"));
    }
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    file.lock()?;
    let bytes = file.metadata()?.len();
    let mut text = entries(card, fault).iter().map(Value::to_string).collect::<Vec<_>>().join(",\n");
    let empty = (FAULTS_HEADER.len() + END.len()) as u64;
    if bytes == 0 {
        text = format!("{FAULTS_HEADER}\n{text}");
    } else {
        let at = bytes.saturating_sub(END.len() as u64);
        file.seek(SeekFrom::Start(at))?;
        let mut end = String::new();
        file.read_to_string(&mut end)?;
        if end != END || bytes < empty {
            return Err(io::Error::other("it does not end as a list of faults does"));
        }
        file.seek(SeekFrom::Start(at))?;
        text = format!("{}\n{text}", if bytes == empty { "" } else { "," });
    }
    file.write_all(format!("{text}{END}").as_bytes())
}

/// An object for each kind at each instruction of a kernel, or one for a command.
fn entries(card: u32, fault: &ChannelFault) -> Vec<Value> {
    let at = &fault.place;
    let command = json!({
        "card": card, "submission": at.submission, "command": at.address, "method": method::name(at.class, at.method),
        "kind": "command", "kernel": null, "block": null, "thread": null, "pc": null, "instruction": null, "line": null,
        "address": null, "detail": null, "other": null, "times": 1, "message": fault.text,
    });
    if fault.found.is_empty() {
        return vec![command];
    }
    fault.found.iter().map(|note| merged(command.clone(), kernel(note))).collect()
}

fn kernel(note: &Note) -> Value {
    let f = &note.what;
    let mut all = place(&f.place);
    all["kind"] = f.kind.name().into();
    all["kernel"] = f.kernel.clone().into();
    all["address"] = address(&f.detail).into();
    all["detail"] = f.detail.clone().into();
    all["other"] = f.other.as_ref().map(place).into();
    all["times"] = note.times.into();
    all
}

fn place(p: &Place) -> Value {
    json!({ "block": p.block, "thread": p.thread, "pc": p.pc, "instruction": p.instruction, "line": p.line })
}

fn merged(mut to: Value, from: Value) -> Value {
    if let (Value::Object(to), Value::Object(from)) = (&mut to, from) {
        to.extend(from);
    }
    to
}

/// The address that a kernel wanted, which the emulator's texts name first: `4 bytes at 0x1000, ...`.
fn address(detail: &str) -> Option<u64> {
    let (_, rest) = detail.split_once(" at 0x")?;
    let digits = rest.find(|c: char| !c.is_ascii_hexdigit()).map_or(rest, |end| &rest[..end]);
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> ChannelFault {
        ChannelFault { text: text.to_string(), place: Default::default(), found: Vec::new() }
    }

    #[test]
    fn a_document_is_whole_after_each_fault_and_others_stay() {
        let path = std::env::temp_dir().join(format!("nvir-faults-{}.json", std::process::id()));
        for (start, before) in
            [(None, 0), (Some(String::new()), 0), (Some(format!("{FAULTS_HEADER}{END}")), 0)]
        {
            let _ = std::fs::remove_file(&path);
            if let Some(start) = start {
                std::fs::write(&path, start).unwrap();
            }
            for n in before + 1..=3 {
                add(&path, 0, &fault("a \"fault\"\nin two lines")).unwrap();
                let all: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
                assert_eq!((&all["schema"], all["faults"].as_array().map(Vec::len)), (&1.into(), Some(n)));
                assert_eq!(all["faults"][n - 1]["message"], "a \"fault\"\nin two lines");
            }
        }
        for other in ["{\"schema\": 1}", "something else", "{\"schema\": 1, \"faults\": [\n{}"] {
            std::fs::write(&path, other).unwrap();
            assert!(add(&path, 0, &fault("x")).is_err(), "{other}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
        }
        std::fs::remove_file(&path).unwrap();
        assert!(add(Path::new("/dev/null"), 0, &fault("x")).is_err());
    }

    #[test]
    fn addresses_are_found() {
        assert_eq!(address("4 bytes at 0x1f00, outside every buffer"), Some(0x1f00));
        assert_eq!(address("8 bytes at 0xffffffffffffffff"), Some(u64::MAX));
        for none in ["", "no code at 5", "2 bytes at 0x", "4 bytes at 0x1ffffffffffffffff"] {
            assert_eq!(address(none), None, "{none}");
        }
    }
}
