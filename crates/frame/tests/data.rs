//! Numbers of the page: they agree with each other, and with what the recordings' own pictures show.

mod common;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::{frame, scene, scenes};
use flate2::read::ZlibDecoder;
use nvir_frame::Frame;
use nvir_vgpu::frames::Pixels;
use nvir_vgpu::replay::{Options, replay};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};

fn data(f: &Frame) -> Value {
    f.data(&mut |_| {}).expect("a page")
}

fn count(command: &Value, name: &str) -> u64 {
    let counts = command["counts"].as_array().expect("counts");
    counts.iter().find(|c| c[0] == name).map_or(0, |c| c[1].as_u64().expect("a number"))
}

fn all(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn decoded(base64: &Value) -> Vec<u8> {
    STANDARD.decode(base64.as_str().expect("text")).expect("base 64")
}

/// Red, green, blue of a PNG.
fn rgb(bytes: &[u8]) -> Vec<[u8; 3]> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("small")];
    reader.next_frame(&mut pixels).expect("pixels");
    assert_eq!(reader.info().color_type, png::ColorType::Rgba);
    pixels.chunks_exact(4).map(|p| [p[0], p[1], p[2]]).collect()
}

#[test]
fn profiles_count_what_programs_executed() {
    for path in scenes() {
        let plain = data(&frame(&path));
        let mut profiled = data(&Frame { profile: true, ..frame(&path) });
        let what = path.display();
        let mut ran = 0;
        for command in profiled["commands"].as_array_mut().expect("commands") {
            for program in command["programs"].as_array_mut().expect("programs") {
                let rows = program["profile"].take();
                let sum =
                    |column: usize| all(&rows).iter().map(|r| r[column].as_u64().expect("a number")).sum();
                let [issues, threads, cycles]: [u64; 3] = [1, 2, 3].map(sum);
                assert_eq!(program["instructions"], threads, "{what}");
                assert!(issues <= threads && threads <= 32 * issues && issues <= cycles, "{what}");
                ran += 1;
            }
        }
        // Nothing else of the page is another.
        assert_eq!(plain, profiled, "{what}");
        assert!(ran > 0 || all(&plain["programs"]).is_empty(), "{what}");
    }
}

#[test]
fn fragments_are_as_many_as_are_counted() {
    for path in scenes() {
        let data = data(&frame(&path));
        let fragments = &data["fragments"];
        assert!(fragments.is_object(), "{}: {fragments}", path.display());
        let mut ran: BTreeMap<u64, u64> = BTreeMap::new();
        for c in all(&fragments["commands"]) {
            let bytes = decoded(&c["words"]);
            let mut words = Vec::new();
            ZlibDecoder::new(&bytes[..]).read_to_end(&mut words).expect("deflated");
            let rows = c["count"].as_u64().expect("a count") as usize;
            let word = |column: usize, row: usize| {
                let at = 4 * (column * rows + row);
                u32::from_le_bytes(words[at..at + 4].try_into().expect("a word"))
            };
            // Launch of the thread: none where the tests before the program left nothing.
            let with_thread = (0..rows).filter(|&r| word(5, r) != u32::MAX).count() as u64;
            *ran.entry(c["command"].as_u64().expect("a number")).or_default() += with_thread;
        }
        for c in all(&data["commands"]) {
            let number = c["number"].as_u64().expect("a number");
            let per_sample = all(&c["registers"]).iter().any(|r| r[0] == "SAMPLE_SHADING");
            let counted = count(c, "fragments");
            if !per_sample && !path.to_string_lossy().contains("samples") {
                assert_eq!(
                    ran.get(&number).copied().unwrap_or(0),
                    counted,
                    "{} command {number}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn patches_make_the_pictures_of_the_frames() {
    for name in ["blending.f0.trace", "draws.c0.trace", "polygons.e4.trace", "geometry.f0.trace"] {
        let path = scene(name);
        let data = data(&frame(&path));
        // The colour target that is there last, put together.
        let targets = all(&data["targets"]);
        let colors: Vec<usize> =
            (0..targets.len()).filter(|&n| all(&targets[n]["planes"]).contains(&"color".into())).collect();
        for n in colors {
            let [width, height] = [0, 1].map(|i| targets[n]["size"][i].as_u64().expect("a size") as usize);
            let mut picture = vec![[0; 3]; width * height];
            // Copies show also what went to the same memory as another target.
            let draws = all(&data["commands"]).iter().filter(|c| c["kind"] == "draw" || c["kind"] == "clear");
            for p in draws.flat_map(|c| all(&c["patches"])) {
                if p["target"] != n || p["plane"] != "color" || p["layer"] != 0 {
                    continue;
                }
                let [x, y, w] =
                    [&p["at"][0], &p["at"][1], &p["size"][0]].map(|v| v.as_u64().expect("a place") as usize);
                for (i, pixel) in rgb(&decoded(&p["png"])).into_iter().enumerate() {
                    picture[(y + i / w) * width + x + i % w] = pixel;
                }
            }
            let upwards = targets[n]["upwards"] == true;
            let rows = picture.chunks(width);
            let shown: Vec<[u8; 3]> =
                if upwards { rows.rev().flatten().copied().collect() } else { picture.clone() };
            assert!(last_pictures(&path, [width, height]).contains(&shown), "{name}, target {n}");
        }
    }
}

/// Colours of all pictures of such a size that frames of a recording have.
fn last_pictures(path: &Path, size: [usize; 2]) -> Vec<Vec<[u8; 3]>> {
    let found: Arc<Mutex<Vec<Vec<[u8; 3]>>>> = Arc::default();
    let to = found.clone();
    let on_frame = move |f: &nvir_vgpu::frames::Frame| {
        for p in &f.pictures {
            if let Pixels::Rgba8(all) = &p.pixels
                && [p.width as usize, p.height as usize] == size
            {
                to.lock().expect("one").push(all.iter().map(|c| [c[0], c[1], c[2]]).collect());
            }
        }
    };
    let options = Options { on_frame: Some(Box::new(on_frame)), ..Options::default() };
    let file = std::fs::File::open(path).expect("a recording");
    assert!(replay(BufReader::new(file), options, &mut |_| {}).expect("replayed").passed());
    std::mem::take(&mut *found.lock().expect("one"))
}

#[test]
fn what_programs_read_is_the_same_on_three_chips() {
    for (name, least) in [("blits", 9), ("programs", 4), ("targets", 5), ("blending", 1)] {
        let pages = ["c0", "e4", "f0"].map(|chip| data(&frame(scene(&format!("{name}.{chip}.trace")))));
        let textures = pages.each_ref().map(|page| {
            let mut textures = all(&page["textures"]).to_vec();
            textures.iter_mut().for_each(|t| t["address"] = Value::Null);
            textures
        });
        assert!(textures[0].len() >= least, "{name}: {}", textures[0].len());
        assert!(textures.iter().all(|t| *t == textures[0]), "{name}");
        for picture in textures[0].iter().flat_map(|t| all(&t["pictures"])) {
            let bytes = decoded(&picture["png"]);
            let info =
                png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().expect("a PNG").info().clone();
            assert_eq!(picture["size"], serde_json::json!([info.width, info.height]));
        }
        for page in &pages {
            let constants = all(&page["constants"]);
            let mut used = vec![false; all(&page["textures"]).len()];
            for reads in all(&page["commands"]).iter().flat_map(|c| all(&c["programs"])).map(|p| &p["reads"])
            {
                for texture in all(&reads["textures"]) {
                    used[texture[1].as_u64().expect("a number") as usize] = true;
                }
                // Fetches have no sampler.
                assert!(all(&reads["samplers"]).is_empty() || !all(&reads["textures"]).is_empty());
                for bank in all(&reads["banks"]) {
                    let words =
                        decoded(&constants[bank[3].as_u64().expect("a number") as usize]).len() as u64;
                    assert_eq!(words, bank[2].as_u64().expect("bytes").min(1024), "{bank}");
                }
            }
            assert!(used.iter().all(|u| *u), "{name}: each is read by a command");
        }
    }
}

#[test]
fn samples_have_pictures_whose_mean_is_the_targets() {
    for chip in ["c0", "e4", "f0"] {
        let mut f = frame(scene(&format!("samples.{chip}.trace")));
        f.samples = true;
        let page = data(&f);
        let targets = all(&page["targets"]);
        let (mut seen, mut apart) = (0, 0);
        for command in all(&page["commands"]) {
            let patches = all(&command["patches"]);
            for p in patches.iter().filter(|p| p["plane"] == "color") {
                let samples = targets[p["target"].as_u64().expect("a number") as usize]["samples"].as_u64();
                let samples = samples.expect("a number");
                if samples == 1 {
                    continue;
                }
                let same = |q: &Value, n: u64| {
                    q["plane"] == format!("color of sample {n}")
                        && ["target", "layer", "before", "at"].iter().all(|k| q[k] == p[k])
                };
                let of = |n| rgb(&decoded(&patches.iter().find(|q| same(q, n)).expect("a sample's")["png"]));
                let each: Vec<_> = (0..samples).map(of).collect();
                for (n, mean) in rgb(&decoded(&p["png"])).into_iter().enumerate() {
                    for (c, mean) in mean.into_iter().enumerate() {
                        let sum: u32 = each.iter().map(|s| u32::from(s[n][c])).sum();
                        let exact = f64::from(sum) / samples as f64;
                        assert!((exact - f64::from(mean)).abs() <= 1.0, "{chip}: {exact} {mean}");
                    }
                    apart += u32::from(each.iter().any(|s| s[n] != each[0][n]));
                }
                seen += 1;
            }
        }
        assert!(seen > 5 && apart > 10, "{chip}: {seen}, {apart}");
    }
}

#[test]
fn a_texture_that_changes_is_shown_as_it_was() {
    // Each draw reads what the one before it has drawn: the same memory, other pictures.
    let page = data(&frame(scene("blits.f0.trace")));
    let textures = all(&page["textures"]);
    let again = textures.iter().enumerate().any(|(n, t)| {
        textures[..n]
            .iter()
            .any(|o| o["address"] == t["address"] && o["size"] == t["size"] && o["pictures"] != t["pictures"])
    });
    assert!(again, "{:?}", textures.iter().map(|t| (&t["address"], &t["size"])).collect::<Vec<_>>());
}

#[test]
fn pages_are_the_same_each_time_and_by_any_engine() {
    for name in ["blending.f0.trace", "tessellation.e4.trace", "programs.c0.trace"] {
        let mut f = frame(scene(name));
        f.pixels = vec![[3, 3]];
        let first = Frame::page(&data(&f));
        assert!(first == Frame::page(&data(&f)), "{name}");
        f.engine = nvir_emu_jit::Choice::default().engine();
        assert!(first == Frame::page(&data(&f)), "{name}, compiled");
    }
}

#[test]
fn a_pixels_history_is_a_chain() {
    let mut f = frame(scene("blending.f0.trace"));
    f.pixels = vec![[2, 2]];
    let data = data(&f);
    let fragments = all(&data["pixels"][0]["fragments"]);
    assert!(!fragments.is_empty());
    for f in fragments {
        assert_eq!(f["outcome"], "written");
        let steps = &f["steps"];
        assert!(all(&steps["steps"]).len() > 3 && steps["cut"] == false, "{f}");
        let last = all(&steps["steps"]).last().expect("a step");
        let text = all(&steps["program"]).iter().find(|l| l[0] == last[0]).expect("its text");
        assert!(text[1].as_str().expect("text").contains("EXIT"), "{text}");
        // What the program left is in the first registers at its end.
        let mut registers: Vec<u64> =
            all(&steps["start"]["registers"]).iter().map(|v| v.as_u64().expect("bits")).collect();
        for step in all(&steps["steps"]) {
            for w in all(&step[2]) {
                registers[w[0].as_u64().expect("a register") as usize] = w[1].as_u64().expect("bits");
            }
        }
        let color: Vec<u64> = all(&f["colors"][0]).iter().map(|v| v.as_u64().expect("bits")).collect();
        assert_eq!(registers[..4], color[..]);
    }
}

#[test]
fn nothing_to_show_and_no_recording_are_errors() {
    let mut late = frame(scene("draws.f0.trace"));
    late.first = 1 << 40;
    assert_eq!(late.data(&mut |_| {}).unwrap_err(), "there is no command 1099511627776");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let broken = folder.join("broken.trace");
    std::fs::write(&broken, "trace 1\nnothing\n").expect("written");
    assert!(frame(&broken).data(&mut |_| {}).is_err());
    assert!(frame(folder.join("missing.trace")).data(&mut |_| {}).is_err());
}
