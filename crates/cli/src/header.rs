//! `nvir header`: what the 20 words in front of a graphics shader declare.

use crate::common;
use nvir::image::raw;
use nvir::isa::header::{Header, Interpolation, Topology};
use nvir::stage::Stage;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what a graphics shader's header declares
#[derive(clap::Args)]
#[command(after_help = "\
The input is hexadecimal text (20 words of 8 digits, or the same as 10 words of 16, low half first; code may follow) or
the same in binary.")]
pub(crate) struct Args {
    /// The header; `-` is standard input
    input: PathBuf,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// Version of what `--json` writes; `docs/json.md` has the fields.
const SCHEMA: u64 = 1;

pub(crate) fn run(args: Args) -> ExitCode {
    let fault = |e: &dyn std::fmt::Display| common::fault_in(&args.input, e);
    let data = match common::read_bytes(&args.input) {
        Ok(data) => data,
        Err(code) => return code,
    };
    let words = match raw::header_words(&data) {
        Ok(Some(words)) => words,
        Ok(None) => return fault(&"fewer than the 20 words of a header"),
        Err(e) => return fault(&e),
    };
    match Header::decode(&words) {
        Ok(header) if args.json => {
            let mut value = json(&header);
            value["schema"] = SCHEMA.into();
            let text = format!("{value}\n");
            common::write_output(None, text.as_bytes())
        }
        Ok(header) => common::write_output(None, header.describe().as_bytes()),
        Err(e) => fault(&e),
    }
}

/// A header's fields: those that every stage has, and those of its own.
pub(crate) fn json(header: &Header) -> serde_json::Value {
    let words: Vec<String> = header.encode().iter().map(|w| format!("{w:08x}")).collect();
    let mask = |mask: u8| {
        "xyzw".chars().enumerate().filter(|(c, _)| mask >> c & 1 != 0).map(|c| c.1).collect::<String>()
    };
    let inputs: serde_json::Map<String, serde_json::Value> = header
        .inputs()
        .into_iter()
        .map(|(name, kinds)| match header.stage() {
            Stage::Fragment => (name, kinds.map(Interpolation::name).into()),
            _ => {
                let read = (0..4).fold(0, |m, c| m | u8::from(kinds[c] != Interpolation::Unused) << c);
                (name, mask(read).into())
            }
        })
        .collect();
    let mut outputs: serde_json::Map<String, serde_json::Value> =
        header.outputs().into_iter().map(|(name, m)| (name, mask(m).into())).collect();
    let colors = (0..8).filter(|&n| header.color_mask(n) != 0);
    outputs.extend(colors.map(|n| (format!("COLOR[{n}]"), mask(header.color_mask(n)).into())));
    let mut out = serde_json::json!({
        "stage": header.stage().name(),
        "words": words,
        "local_bytes": header.local_bytes,
        "memory": header.memory,
        "global_stores": header.global_stores,
        "doubles": header.doubles,
        "inputs": inputs,
        "outputs": outputs,
    });
    let [first, last] = header.read_back.map(|word| 4 * u32::from(word));
    if first <= last && header.read_back != [0, 0] {
        out["read_back"] = serde_json::json!([first, last]);
    }
    match header.stage() {
        Stage::TessControl => {
            out["vertices_out"] = header.threads.into();
            out["patch_words"] = header.patch_words.into();
        }
        Stage::Geometry => {
            out["invocations"] = header.threads.into();
            out["topology"] = header.topology.map(Topology::name).into();
            out["max_vertices"] = header.max_vertices.into();
            out["streams"] = header.streams.into();
        }
        Stage::Fragment => {
            out["kills"] = header.kills.into();
            out["several_targets"] = header.several_targets.into();
            out["writes_sample_mask"] = header.writes_sample_mask().into();
            out["writes_depth"] = header.writes_depth().into();
        }
        _ => {}
    }
    out
}
