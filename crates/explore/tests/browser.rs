//! The page in headless Chromium, by its DevTools protocol: what is clicked and typed shows what it should, and
//! nothing is said on the console. Without Chromium (`chromium`, `google-chrome`, or what `CHROMIUM` names) it is skipped, aloud.
//! `NVIR_SCREENSHOTS=FOLDER` keeps pictures.

use nvir::Chip;
use nvir_explore::{Page, Server, Subject};
use nvir_page::browser::{Tab, chromium};
use serde_json::json;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// A folder for a test.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore-browser").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    dir
}

/// A page about a file of the repository.
fn about(file: impl AsRef<Path>) -> Page {
    Page { subject: Subject::new(root().join(file)), against: None, version: "1".into() }
}

/// Makes a page and opens it.
fn page(name: &str, of: &Page) -> Option<Tab> {
    let program = chromium()?;
    let dir = folder(name);
    let file = dir.join("page.html");
    std::fs::write(&file, of.html().expect("a page")).expect("written");
    Some(Tab::open(&program, &dir, &format!("file://{}", file.display())))
}

#[test]
fn lines_light_up_what_they_became() {
    let Some(mut t) = page("lines", &about("nir-fixtures/black_scholes.json")) else { return };
    t.picture("first");
    assert_eq!(t.number("document.querySelectorAll('.column').length"), 3);
    // A line of the source with machine code, clicked.
    let row = t.number(
        "(() => { const s = nvirPage.sourceList.rows; const used = new Set(sides[0].code.place.map((p) => placeKey[p]));
           for (let i = 20; i < s.length; i++) if (used.has(s.key(i))) return i; return 0; })()",
    );
    t.eval(&format!("nvirPage.sourceList.reveal({row})"));
    t.wait_for(&format!("document.querySelector('.source [data-row=\"{row}\"]') !== null"));
    t.click(&format!(".source [data-row=\"{row}\"]"));
    for column in ["source", "ir", "sass"] {
        assert!(t.number(&format!("document.querySelectorAll('.{column} .row.lit').length")) > 0, "{column}");
    }
    let said = t.eval("document.getElementById('detail').textContent");
    assert!(said.as_str().is_some_and(|s| s.contains("machine instruction")), "{said}");
    t.picture("clicked");
    // And back: an instruction under the pointer lights its line, which lies in sight.
    t.eval("nvirPage.select(nvirPage.codeLists[0], 12)");
    t.point(".sass .row.cursor", false);
    assert_eq!(t.eval("nvirPage.lit.list === nvirPage.codeLists[0]"), json!(true));
    assert!(t.number("document.querySelectorAll('.source .row.lit').length") > 0);
    // Executed by warps.
    assert!(t.number("document.querySelectorAll('.sass .count').length") > 0);
    t.key("?");
    assert_eq!(t.eval("document.getElementById('help').open"), json!(true));
    t.picture("help");
    t.key("?");
    t.without_errors();
}

#[test]
fn a_warp_is_stepped_through() {
    let Some(mut t) = page("warp", &about("nir-fixtures/bfs_step.json")) else { return };
    t.key("s");
    let label = "document.querySelector('#warp output').textContent";
    let count = t.number("sides[0].data.warp.found.steps.length");
    assert_eq!(t.eval(label), json!(format!("1 of {count}")));
    t.key(".");
    t.key(".");
    assert_eq!(t.eval(label), json!(format!("3 of {count}")));
    // The machine code goes along.
    let same = "sides[0].code.pc[nvirPage.codeLists[0].rows.order[nvirPage.codeLists[0].cursor]] === nvirPage.stepper.found.steps[2][0]";
    assert_eq!(t.eval(same), json!(true));
    t.key(",");
    assert_eq!(t.eval(label), json!(format!("2 of {count}")));
    // A load, of another thread.
    t.eval(
        "(() => { const s = nvirPage.stepper; s.go(s.found.steps.findIndex((x) => x[5] && x[5][0] === 'global'));
           const lane = document.querySelector('#warp input[type=number]'); lane.value = 7; lane.oninput(); })()",
    );
    let said = t.eval("document.querySelector('#warp .state').textContent");
    assert!(said.as_str().is_some_and(|s| s.contains("of global memory at 0x")), "{said}");
    t.picture("warp");
    t.key("Escape");
    assert_eq!(t.eval("document.getElementById('warp').hidden"), json!(true));
    t.without_errors();
}

#[test]
fn the_graph_and_live_ranges_are_drawn() {
    let Some(mut t) = page("graph", &about("nir-fixtures/bfs_step.json")) else { return };
    t.click("#toggle-graph");
    let blocks = t.number("sides[0].code.starts.length");
    assert_eq!(t.number("document.querySelectorAll('#graph g.node').length"), blocks);
    assert_eq!(t.number("document.querySelectorAll('#graph text.runs').length"), blocks);
    let edges = t.number("sides[0].code.edges.length");
    assert!(blocks > 3 && edges > 3);
    assert_eq!(t.number("document.querySelectorAll('#graph path.edge').length"), edges);
    // No block lies on another.
    let apart = "(() => { const all = [...document.querySelectorAll('#graph g.node')].map((g) => g.getBoundingClientRect());
        const beside = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
        return all.every((a, i) => all.every((b, k) => i === k || beside(a, b))); })()";
    assert_eq!(t.eval(apart), json!(true));
    t.key("r");
    t.picture("graph");
    assert_eq!(t.eval("nvirPage.codeLists[0].strip.hidden"), json!(false));
    let drawn = "(() => { const c = nvirPage.codeLists[0].strip; const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        return d.some((x) => x !== 0); })()";
    assert_eq!(t.eval(drawn), json!(true));
    // A click on a block goes to its code.
    t.click("#graph g.node:nth-of-type(3)");
    let block =
        t.number("sides[0].code.block[nvirPage.codeLists[0].rows.order[nvirPage.codeLists[0].cursor]]");
    assert_eq!(block, 2);
    assert_eq!(t.number("document.querySelectorAll('#graph g.node.cursor').length"), 1);
    let light = t.eval("getComputedStyle(document.body).backgroundColor");
    t.click("#toggle-dark");
    assert_ne!(t.eval("getComputedStyle(document.body).backgroundColor"), light);
    t.picture("dark");
    t.key("Escape");
    assert_eq!(t.eval("document.getElementById('graph').hidden"), json!(true));
    t.without_errors();
}

#[test]
fn keys_move_search_and_go_through_the_passes() {
    let mut of = about("nir-fixtures/black_scholes.json");
    of.subject.chip = Some(Chip::Gk104);
    let Some(mut t) = page("keys", &of) else { return };
    t.keys("jjj");
    assert_eq!(t.number("nvirPage.sourceList.cursor"), 2);
    t.key("k");
    assert_eq!(t.number("nvirPage.sourceList.cursor"), 1);
    t.key("l");
    assert_eq!(t.eval("nvirPage.active.name"), json!("ir"));
    let last = t.number("nvirPage.step");
    assert_eq!(last + 1, t.number("sides[0].steps.length"));
    t.key("ArrowLeft");
    t.key("[");
    assert_eq!(t.number("nvirPage.step"), last - 2);
    // A step shows what it added and dropped.
    let step = t.number("sides[0].steps.findIndex((s, n) => n > 0 && s.added && s.removed)");
    t.eval(&format!("nvirPage.showStep({step})"));
    t.key("g");
    t.key("x");
    assert!(t.number("document.querySelectorAll('.ir .row.added, .ir .row.removed').length") > 0);
    t.picture("passes");
    // Search from the keyboard.
    t.key("/");
    t.keys("exit");
    t.key("Enter");
    assert_eq!(t.eval("document.activeElement.id !== 'search'"), json!(true));
    let found = t.eval("nvirPage.active.rows.text(nvirPage.active.cursor).toLowerCase().includes('exit')");
    assert_eq!(found, json!(true));
    assert!(t.number("document.querySelectorAll('mark').length") > 0);
    let first = t.number("nvirPage.active.cursor");
    t.key("l");
    t.key("n");
    let found = t.eval("nvirPage.active.rows.text(nvirPage.active.cursor).toLowerCase().includes('exit')");
    assert_eq!(found, json!(true));
    t.key("N");
    assert!(t.number("nvirPage.active.matches.length") > 0, "{first}");
    t.picture("search");
    t.key("Escape");
    assert_eq!(t.number("document.querySelectorAll('mark').length"), 0);
    t.key("2");
    assert_eq!(t.eval("nvirPage.irList.box.hidden"), json!(true));
    t.without_errors();
}

#[test]
fn two_compiles_stand_beside_each_other() {
    let against = Some("-O1".parse().expect("a level"));
    let Some(mut t) = page("two", &Page { against, ..about("nir-fixtures/black_scholes.nir") }) else {
        return;
    };
    assert_eq!(t.number("document.querySelectorAll('.column.sass').length"), 2);
    assert!(t.number("document.querySelectorAll('.sass .changed, .sass .added, .sass .removed').length") > 0);
    // They scroll together.
    t.eval("nvirPage.codeLists[0].body.scrollTop = 400");
    t.wait_for("nvirPage.codeLists[1].body.scrollTop === 400");
    t.picture("two");
    t.without_errors();
}

/// A kernel of so many instructions that cannot be merged: each stores what the one before computed.
fn long_kernel(lines: usize) -> String {
    let mut text = String::from(
        "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 32\nPROPERTY CS_FIXED_BLOCK_HEIGHT 1\nPROPERTY CS_FIXED_BLOCK_DEPTH 1\n\
         DCL SV[0], THREAD_ID\nDCL BUFFER[0]\nDCL TEMP[0..1]\nIMM[0] UINT32 {2, 12345, 77, 4}\n\
         \x20 0: SHL TEMP[0].x, SV[0].xxxx, IMM[0].xxxx\n  1: MOV TEMP[1].x, SV[0].xxxx\n",
    );
    for n in (2..lines).step_by(2) {
        text += &format!("  {n}: UMAD TEMP[1].x, TEMP[1].xxxx, IMM[0].yyyy, TEMP[0].xxxx\n");
        text += &format!("  {}: XOR TEMP[1].x, TEMP[1].xxxx, IMM[0].zzzz\n", n + 1);
    }
    text += &format!("  {}: STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[1].xxxx\n  {}: END\n", lines, lines + 1);
    text
}

#[test]
fn ten_thousand_instructions_do_not_stutter() {
    if chromium().is_none() {
        return;
    }
    let file = folder("long-source").join("long.tgsi");
    std::fs::write(&file, long_kernel(10_000)).expect("written");
    let Some(mut t) = page("long", &about(&file)) else { return };
    assert!(t.number("sides[0].code.pc.length") >= 10_000);
    assert!(t.number("document.querySelectorAll('.row').length") < 600, "only what is in sight");
    // A hundred times another part of all columns, with the details of a line.
    let each = t.eval(
        "(async () => { const times = [];
           for (let k = 0; k < 100; k++) {
             const start = performance.now();
             nvirPage.select(nvirPage.codeLists[0], (k * 97) % sides[0].code.pc.length);
             await new Promise((r) => requestAnimationFrame(r));
             times.push(performance.now() - start);
           }
           times.sort((a, b) => a - b);
           return times[50]; })()",
    );
    println!("a selection in 10,000 instructions takes {each} ms");
    assert!(each.as_f64().is_some_and(|ms| ms < 100.0), "{each}");
    t.picture("long");
    t.without_errors();
}

#[test]
fn a_served_page_is_made_again() {
    let Some(program) = chromium() else { return };
    let dir = folder("served");
    let file = dir.join("k.tgsi");
    std::fs::write(&file, long_kernel(10)).expect("written");
    let of = about(&file);
    let server = Server::start(&of, 0).expect("a port");
    let write = |text: &str| {
        std::fs::write(&file, text).expect("written");
        server.update(&of);
    };
    let mut t = Tab::open(&program, &dir, &server.url());
    let before = t.number("nvirPage.sourceList.rows.length");
    write(&long_kernel(40));
    t.wait_for(&format!("typeof nvirPage === 'object' && nvirPage.sourceList.rows.length === {before} + 30"));
    // What is wrong with it stands on the page.
    write("COMP\n  0: MOVE TEMP[0], TEMP[0]\n");
    t.wait_for("document.querySelector('.error') !== null");
    let said = t.eval("document.querySelector('.error').textContent");
    assert!(said.as_str().is_some_and(|s| s.contains("k.tgsi:2:6")), "{said}");
    t.picture("error");
    write(&long_kernel(12));
    t.wait_for("document.querySelector('.error') === null && typeof nvirPage === 'object'");
    t.without_errors();
}
