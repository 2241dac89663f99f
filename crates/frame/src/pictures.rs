//! Targets over time: for each command the rectangle that it changes, as a picture.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nvir_vgpu::Memory;
use nvir_vgpu::frames::{Picture, Pixels};
use nvir_vgpu::watch::{Done, Layer, Target};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Targets that are followed, at most: of more, those that came first.
const MAX_TARGETS: usize = 64;

/// A target with what it held last.
struct Followed {
    target: Target,
    /// By number.
    layers: BTreeMap<u32, Layer>,
    /// What there is to see of it.
    planes: Vec<String>,
    /// The command after which it was looked at last.
    seen: Option<u64>,
}

/// All targets of a recording.
#[derive(Default)]
pub(crate) struct Pictures {
    all: Vec<Followed>,
    /// Each sample has pictures of its own.
    pub with_samples: bool,
}

/// When a patch comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Before the command: something else has changed the target.
    Before,
    After,
}

impl Pictures {
    /// The number of a target.
    pub(crate) fn number(&mut self, target: &Target) -> Option<usize> {
        let known = self.all.iter().position(|f| f.target == *target);
        if known.is_none() && self.all.len() < MAX_TARGETS {
            self.all.push(Followed {
                target: *target,
                layers: BTreeMap::new(),
                planes: Vec::new(),
                seen: None,
            });
            return Some(self.all.len() - 1);
        }
        // What is the top row is known by who draws.
        let known = known?;
        self.all[known].target = *target;
        Some(known)
    }

    /// A command has ended that changed none but these targets: the others are still known.
    pub(crate) fn passed(&mut self, command: u64, written: &[usize]) {
        let others = self.all.iter_mut().enumerate().filter(|(n, _)| !written.contains(n));
        let known = |f: &Followed| f.seen.is_some_and(|seen| seen + 1 == command);
        others.filter(|(_, f)| known(f)).for_each(|(_, f)| f.seen = Some(command));
    }

    /// The targets that a command may have changed.
    pub(crate) fn changed_by<'a>(&'a self, done: &'a Done) -> impl Iterator<Item = usize> + 'a {
        (0..self.all.len()).filter(|&n| done.may_change(&self.all[n].target))
    }

    /// What of a target, or of a rectangle of it, is not as it was when it was looked at last, at a command. `clean`: only commands have
    /// executed since then.
    pub(crate) fn patches(
        &mut self,
        (index, within): (usize, Option<[u32; 4]>),
        memory: &Memory,
        (command, when, clean): (u64, When, bool),
    ) -> Vec<Value> {
        let followed = &mut self.all[index];
        // Nobody has touched it since the command before.
        if when == When::Before && clean && command > 0 && followed.seen == Some(command - 1) {
            return Vec::new();
        }
        let mut patches = Vec::new();
        let target = followed.target;
        for number in target.layer_numbers() {
            let rect = match followed.layers.get_mut(&number) {
                Some(layer) => target.read_again(layer, memory, within),
                None => target.layer(number, memory).map(|layer| {
                    let [width, height] = layer.size;
                    followed.layers.insert(number, layer);
                    [0, 0, width, height]
                }),
            };
            let (Some(rect), Some(layer)) = (rect, followed.layers.get(&number)) else { continue };
            let mut pictures: Vec<(String, Picture)> =
                layer.pictures(rect).into_iter().map(|p| (String::new(), p)).collect();
            let samples = if self.with_samples && target.samples() > 1 { target.samples() } else { 0 };
            for sample in 0..samples {
                let of = layer.sample_pictures(rect, sample).into_iter();
                pictures.extend(of.map(|p| (format!(" of sample {sample}"), p)));
            }
            for (of, picture) in pictures {
                followed.planes(&of, picture, |plane, picture| {
                    patches.push(json!({
                        "target": index,
                        "layer": number,
                        "plane": plane,
                        "before": when == When::Before,
                        "at": [rect[0], rect[1]],
                        "size": [picture.width, picture.height],
                        "png": png(&picture),
                    }));
                });
            }
        }
        if when == When::After {
            followed.seen = Some(command);
        }
        patches
    }

    /// What targets there are. `top_first`: the first row is the top one, whatever the viewport says.
    pub(crate) fn json(&self, top_first: bool) -> Value {
        let each = self.all.iter().map(|f| {
            json!({
                "format": f.target.format(),
                "address": format!("{:#x}", f.target.address()),
                "size": f.target.size(),
                "samples": f.target.samples(),
                "layers": f.layers.keys().collect::<Vec<_>>(),
                "upwards": f.target.is_upwards() && !top_first,
                "planes": f.planes,
            })
        });
        Value::Array(each.collect())
    }
}

impl Followed {
    /// A picture, maybe of a sample, by its planes, which are noted.
    fn planes(&mut self, of: &str, picture: Picture, mut each: impl FnMut(&str, Picture)) {
        let has_alpha = self.planes.contains(&format!("alpha{of}"));
        for (name, picture) in planes(picture, has_alpha) {
            let name = format!("{name}{of}");
            if !self.planes.contains(&name) {
                self.planes.push(name.clone());
            }
            each(&name, picture);
        }
    }
}

/// A picture by its planes: colour without alpha; alpha by itself where it is not 1, or where it was not.
pub(crate) fn planes(picture: Picture, had_alpha: bool) -> Vec<(&'static str, Picture)> {
    let Picture { width, height, pixels, name } = picture;
    let Pixels::Rgba8(all) = pixels else {
        let plane = if name == "stencil" { "stencil" } else { "depth" };
        return vec![(plane, Picture { name, width, height, pixels })];
    };
    let plane = |name: &'static str, pixels| (name, Picture { name: name.into(), width, height, pixels });
    let mut planes =
        vec![plane("color", Pixels::Rgba8(all.iter().map(|&[r, g, b, _]| [r, g, b, 255]).collect()))];
    if had_alpha || all.iter().any(|c| c[3] != 255) {
        planes.push(plane("alpha", Pixels::Gray8(all.iter().map(|c| c[3]).collect())));
    }
    planes
}

/// A picture in base 64.
pub(crate) fn png(picture: &Picture) -> String {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = picture.write(&mut bytes);
    base64(&bytes)
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Words in base 64, the lowest byte first.
pub(crate) fn words(words: impl Iterator<Item = u32>) -> String {
    base64(&words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
}
