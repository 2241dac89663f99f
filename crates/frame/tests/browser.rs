//! The page in headless Chromium: what is clicked shows what it should, and nothing is said on the console.

mod common;

use common::{frame, scene};
use nvir_frame::{Frame, Server};
use nvir_page::browser::{Tab, chromium};
use serde_json::json;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("frame-browser").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    dir
}

/// The page of a scene as a file.
fn page(name: &str, of: &str) -> Option<Tab> {
    let program = chromium()?;
    let dir = folder(name);
    let file = dir.join("page.html");
    let data = frame(scene(of)).data(&mut |_| {}).expect("a page");
    std::fs::write(&file, Frame::page(&data)).expect("written");
    Some(Tab::open(&program, &dir, &format!("file://{}", file.display())))
}

/// The colour of a pixel of the canvas, in memory's order of rows.
const PIXEL: &str = "(x, y) => { const v = nvirPage.view, i = 4 * (y * v.pixels.width + x); return [...v.pixels.data.slice(i, i + 3)]; }";

#[test]
fn pictures_follow_the_commands() {
    let Some(mut t) = page("pictures", "blending.f0.trace") else { return };
    t.wait_for("document.body.dataset.drawn === '1 0/0/color after'");
    t.picture("frame-blending");
    let cleared = json!([32, 32, 64]);
    assert_ne!(t.eval(&format!("({PIXEL})(2, 3)")), cleared);
    assert_eq!(t.eval(&format!("({PIXEL})(40, 20)")), cleared);
    t.key("b");
    t.wait_for("document.body.dataset.drawn === '1 0/0/color before'");
    assert_eq!(t.eval(&format!("({PIXEL})(2, 3)")), cleared);
    t.key("c");
    t.wait_for("document.body.dataset.drawn === '1 0/0/color change'");
    assert_eq!(t.number("nvirPage.view.changed"), 48);
    t.keys("ajw");
    t.wait_for("document.body.dataset.drawn === '2 0/0/color after'");
    assert_eq!(t.number("nvirPage.index"), 2);
    t.keys("G");
    t.keys("g");
    assert_eq!(t.number("nvirPage.index"), 0);
    // Who does not wait for a picture gets the next one all the same.
    t.eval("nvirPage.view.kept.clear(); nvirPage.select(1); nvirPage.select(14)");
    t.wait_for("document.body.dataset.drawn === '14 0/0/color after'");
    let after = t.eval("[...nvirPage.view.pixels.data]");
    t.eval("nvirPage.view.kept.clear(); document.body.dataset.drawn = ''; nvirPage.view.draw()");
    t.wait_for("document.body.dataset.drawn === '14 0/0/color after'");
    assert_eq!(t.eval("[...nvirPage.view.pixels.data]"), after);
    t.eval("document.getElementById('search').value = 'clear'; nvirPage.filter()");
    t.keys("j");
    assert_eq!(t.eval("nvirPage.command.kind"), json!("clear"));
    t.without_errors();
}

#[test]
fn a_pixel_has_a_history() {
    let Some(mut t) = page("history", "blending.f0.trace") else { return };
    t.eval("nvirPage.pick(2, 3)");
    t.wait_for("document.body.dataset.picked === '2,3'");
    t.picture("frame-history");
    assert!(t.number("nvirPage.history.length") > 0);
    assert_eq!(t.number("nvirPage.history[0].command"), 1);
    assert_eq!(t.eval("nvirPage.history[0].outcome"), json!("written"));
    // What is there after it is what the picture shows.
    let shown =
        t.eval("nvirPage.history[0].texels[0][1].slice(0, 3).map((b) => Math.round(255 * asFloat(b)))");
    t.wait_for("document.body.dataset.drawn === '1 0/0/color after'");
    assert_eq!(shown, t.eval(&format!("({PIXEL})(2, 3)")));
    t.without_errors();
}

#[test]
fn tabs_have_what_they_say() {
    let Some(mut t) = page("tabs", "geometry.c0.trace") else { return };
    for (tab, what) in [
        ("vertices", "vert stage"),
        ("vertices", "geom stage"),
        ("programs", "EXIT"),
        ("registers", "VERTEX"),
        ("state", "attribute 0"),
    ] {
        t.eval("nvirPage.select(2)");
        t.click(&format!("#tab-{tab}"));
        let text = t.eval("document.getElementById('panel-body').textContent");
        assert!(text.as_str().expect("text").contains(what), "{tab}: {text}");
    }
    t.keys("2w");
    t.picture("frame-vertices");
    t.keys("d?");
    t.without_errors();
}

#[test]
fn textures_are_pictures() {
    let Some(mut t) = page("textures", "targets.c0.trace") else { return };
    let draw = "data.commands.findIndex((c) => c.programs.some((p) => p.reads.textures.some((x) => data.textures[x[1]].levels > 1)))";
    t.eval(&format!("nvirPage.select({draw}); data.commands[nvirPage.index].number"));
    t.keys("3");
    t.wait_for("document.querySelector('.texture img').naturalWidth === 20");
    let texture = "data.textures[nvirPage.command.programs[1].reads.textures[0][1]]";
    assert_eq!(t.eval(&format!("{texture}.pictures.length")), json!(5));
    t.eval("{ const s = document.querySelector('.texture select'); s.value = '2'; s.onchange(); }");
    t.wait_for("document.querySelector('.texture img').naturalWidth === 5");
    let text = t.eval("document.getElementById('panel-body').textContent");
    for what in ["5 levels", "sampler", "Nearest", "c[15]"] {
        assert!(text.as_str().expect("text").contains(what), "{what}: {text}");
    }
    t.picture("frame-resources");
    t.without_errors();
}

#[test]
fn what_is_served_finds_pixels_and_steps() {
    let Some(program) = chromium() else { return };
    let dir = folder("served");
    let frame = frame(scene("blending.f0.trace"));
    let data = frame.data(&mut |_| {}).expect("a page");
    let server = Server::start(&frame, data, 0).expect("a port");
    let mut t = Tab::open(&program, &dir, &server.url());
    t.eval("nvirPage.pick(2, 3)");
    t.wait_for("document.body.dataset.picked === '2,3'");
    assert!(t.number("nvirPage.history.length") > 0);
    t.click(".fragment button:nth-of-type(2)");
    t.wait_for("Number(document.body.dataset.steps) > 3");
    t.keys(".....,");
    assert_eq!(t.number("nvirPage.stepper.at"), 4);
    t.picture("frame-steps");
    t.click("#tab-vertices");
    t.click("tr.click");
    t.wait_for("nvirPage.stepper && nvirPage.stepper.title === 'vertex 0'");
    assert!(t.number("nvirPage.stepper.found.steps.length") > 3);
    t.without_errors();
    // A wrong question has an answer that says so.
    let answer = t.eval("fetch('pixel?x=a&y=1').then((r) => r.text().then((t) => r.status + ' ' + t))");
    assert_eq!(answer, json!("422 `x`: \"a\" is not a number"));
}

#[test]
fn a_profile_stands_beside_the_code() {
    let Some(program) = chromium() else { return };
    let dir = folder("profile");
    let data =
        Frame { profile: true, ..frame(scene("blending.f0.trace")) }.data(&mut |_| {}).expect("a page");
    let commands = data["commands"].as_array().expect("commands");
    let at = commands.iter().position(|c| c["programs"] != json!([])).expect("a draw");
    let rows = commands[at]["programs"][0]["profile"].as_array().expect("rows");
    let cycles: u64 = rows.iter().map(|r| r[3].as_u64().expect("a number")).sum();
    std::fs::write(dir.join("page.html"), Frame::page(&data)).expect("written");
    let address = format!("file://{}/page.html#command={at}&tab=programs", dir.display());
    let mut t = Tab::open(&program, &dir, &address);
    t.wait_for("document.querySelectorAll('#panel td.code').length > 0");
    t.picture("frame-profile");
    let shown = "[...document.querySelectorAll('#panel table')[0].rows].slice(1).map(r => Number(r.cells[0].textContent.replaceAll(',', '')))";
    assert_eq!(t.number(&format!("{shown}.reduce((a, b) => a + b)")) as u64, cycles);
}
