//! What the log says of a draw's state: what is on, by the values that its registers mean.

use super::raster::{Cull, PolygonMode, SampleAt};
use super::regs::{Target, View};
use nvir_hw::format::color::{Alpha, Color};
use nvir_hw::format::zeta::Zeta;
use std::fmt::Write;

/// State of a draw, in lines.
pub(super) fn state(view: View<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for (n, target) in view.targets() {
        let Some(color) = Color::from_code(target.format) else { continue };
        let mut line = format!("color {n}: {}", place(&target, &color_name(color), color.format.bytes()));
        match view.color(n, color) {
            Err(why) => line += &format!(", {why}"),
            Ok(state) => {
                if let Some(b) = state.blend {
                    let _ = write!(line, ", blend {} alpha {}", b.color, b.alpha);
                }
                if let Some(logic) = state.logic {
                    let _ = write!(line, ", {logic:?}");
                }
                if state.mask != [true; 4] {
                    let names = "rgba".chars().zip(state.mask).filter(|c| c.1).map(|c| c.0);
                    let _ = write!(line, ", writes {}", names.collect::<String>());
                }
            }
        }
        lines.push(line);
    }
    lines.extend(depth(view));
    lines.extend(raster(view));
    lines
}

/// The depth buffer and its tests.
fn depth(view: View<'_>) -> Option<String> {
    let target = view.zeta();
    let format = Zeta::from_code(target.format).filter(|_| view.uses_zeta())?;
    let mut line =
        format!("depth: {}", place(&target, &format!("{format:?}").to_lowercase(), format.bytes() as u32));
    match view.depth_stencil() {
        Err(why) => line += &format!(", {why}"),
        Ok(state) => {
            if let Some(test) = state.depth {
                let _ = write!(line, ", test {:?}{}", test.func, if test.write { ", writes" } else { "" });
            }
            if let Some([near, far]) = state.bounds {
                let _ = write!(line, ", bounds {near}..{far}");
            }
            if let Some([front, back]) = state.stencil {
                let _ = write!(line, ", stencil {front:?}");
                if back != front {
                    let _ = write!(line, ", of back faces {back:?}");
                }
            }
        }
    }
    Some(line)
}

/// Viewport, scissors and what decides which pixels are covered.
fn raster(view: View<'_>) -> Option<String> {
    let state = view.raster(0, super::raster::Rect::ALL, None).ok()?;
    let [[x0, x1], [y0, y1]] = [state.rect.x, state.rect.y];
    let mut line = format!("raster: pixels ({x0}, {y0}) to ({x1}, {y1}), front {:?}", state.front_face);
    if state.cull != Cull::Nothing {
        let _ = write!(line, ", culls {:?}", state.cull);
    }
    if state.polygon != [PolygonMode::Fill; 2] {
        let _ = write!(line, ", polygons {:?}", state.polygon);
    }
    if state.offset.point || state.offset.line || state.offset.fill {
        let _ = write!(line, ", offset {} + {} units", state.offset.factor, state.offset.units);
    }
    if state.polygon_stipple.is_some() || state.line.stipple.is_some() {
        line += ", stippled";
    }
    if state.samples.at == SampleAt::Samples && state.samples.count > 1 {
        let _ = write!(line, ", {} samples, mask {:x?}", state.samples.count, state.samples.mask);
    }
    if let Some(windows) = state.windows {
        let _ = write!(line, ", windows {:?}", windows.mode);
    }
    if let Ok(Some(test)) = view.alpha_test() {
        let _ = write!(line, ", alpha {:?} {}", test.func, test.reference);
    }
    Some(line)
}

/// Size, layers and address of a target.
fn place(target: &Target, format: &str, bytes: u32) -> String {
    let words = &target.words;
    let width = if words.linear { words.width / bytes.max(1) } else { words.width };
    let layers = match (words.layers, target.base_layer) {
        (0 | 1, 0) => String::new(),
        (count, first) => format!(", layers {first} to {}", first + count.max(1) - 1),
    };
    format!("{format} {width}x{} at {:#x}{layers}", words.height, words.address)
}

/// A format by its channels from the lowest bit on.
fn color_name(color: Color) -> String {
    let layout = color.format;
    let order = if layout.bgra { "bgra" } else { "rgba" };
    let last = match color.alpha {
        Alpha::Plain => 'a',
        Alpha::Ignored => 'x',
        Alpha::Only => return format!("a{}", layout.bits[0]),
    };
    let channels =
        order.chars().map(|c| if c == 'a' { last } else { c }).zip(layout.bits).filter(|c| c.1 != 0);
    let bits = layout.bits[0];
    let name: String = if layout.bits.iter().all(|&b| b == bits || b == 0) {
        channels.map(|c| c.0).collect::<String>() + &bits.to_string()
    } else {
        channels.map(|(c, bits)| format!("{c}{bits}")).collect()
    };
    let kind = if color.srgb { "srgb".into() } else { format!("{:?}", layout.kind).to_lowercase() };
    format!("{name}_{kind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_names() {
        let name = |code| color_name(Color::from_code(code).unwrap());
        assert_eq!([0xd5, 0xd0, 0xe8, 0xf7].map(name), ["rgba8_unorm", "bgra8_srgb", "b5g6r5_unorm", "a8"]);
        assert_eq!([0xc3, 0xe6, 0xdf].map(name), ["rgbx32_float", "bgrx8_unorm", "b10g10r10a2_unorm"]);
    }
}
