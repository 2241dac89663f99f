//! The page in headless Chromium, by its DevTools protocol: what is clicked and typed shows what it should, and
//! nothing is said on the console. Without Chromium (`chromium`, `google-chrome`, or what `CHROMIUM` names) it is skipped, aloud.
//! `NVIR_SCREENSHOTS=FOLDER` keeps pictures.

use nvir::Chip;
use nvir_explore::{Page, Server, Subject};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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

/// The browser, if there is one.
fn chromium() -> Option<String> {
    let named = std::env::var("CHROMIUM").ok();
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"].map(String::from);
    let works =
        |name: &String| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    let found = named.into_iter().chain(names).find(works);
    if found.is_none() {
        eprintln!("SKIPPED: there is no Chromium, in which the page is tested; CHROMIUM may name one");
    }
    found
}

/// A page in a browser of its own.
struct Tab {
    browser: Child,
    socket: TcpStream,
    number: u64,
    /// What went wrong on the page.
    errors: Vec<String>,
}

impl Drop for Tab {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

impl Tab {
    /// Opens a page of 1500 by 900 points.
    fn open(program: &str, dir: &Path, url: &str) -> Tab {
        let profile = dir.join("profile");
        let browser = Command::new(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-dev-shm-usage",
            ])
            .args(["--remote-debugging-port=0", "--window-size=1500,900", "--force-device-scale-factor=1"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Chromium starts");
        let until = Instant::now() + Duration::from_secs(60);
        let port = loop {
            let said = std::fs::read_to_string(profile.join("DevToolsActivePort")).unwrap_or_default();
            if let Some(port) = said.lines().next().and_then(|l| l.parse::<u16>().ok()) {
                break port;
            }
            assert!(Instant::now() < until, "Chromium opened no port");
            std::thread::sleep(Duration::from_millis(50));
        };
        let path = page_path(port, until);
        let socket = upgraded(port, &path);
        let mut tab = Tab { browser, socket, number: 0, errors: Vec::new() };
        for domain in ["Runtime.enable", "Log.enable", "Page.enable"] {
            tab.call(domain, json!({}));
        }
        tab.call("Page.navigate", json!({ "url": url }));
        tab.wait_for("typeof nvirPage === 'object'");
        tab
    }

    fn send(&mut self, text: &str) {
        let data = text.as_bytes();
        let mut frame = vec![0x81];
        match data.len() {
            n @ 0..126 => frame.push(0x80 | n as u8),
            n @ 126..65536 => {
                frame.push(0x80 | 126);
                frame.extend((n as u16).to_be_bytes());
            }
            n => {
                frame.push(0x80 | 127);
                frame.extend((n as u64).to_be_bytes());
            }
        }
        // A mask of zeros changes nothing.
        frame.extend([0; 4]);
        frame.extend(data);
        self.socket.write_all(&frame).expect("the browser listens");
    }

    /// The next message.
    fn receive(&mut self) -> Value {
        let mut whole = Vec::new();
        loop {
            let mut head = [0; 2];
            self.socket.read_exact(&mut head).expect("the browser answers");
            let length = match head[1] & 127 {
                126 => {
                    let mut n = [0; 2];
                    self.socket.read_exact(&mut n).expect("a length");
                    u64::from(u16::from_be_bytes(n))
                }
                127 => {
                    let mut n = [0; 8];
                    self.socket.read_exact(&mut n).expect("a length");
                    u64::from_be_bytes(n)
                }
                n => u64::from(n),
            };
            let mut data = vec![0; length as usize];
            self.socket.read_exact(&mut data).expect("a frame");
            if head[0] & 15 > 2 {
                continue;
            }
            whole.extend(data);
            if head[0] & 0x80 != 0 {
                return serde_json::from_slice(&whole).expect("JSON");
            }
        }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let number = self.number;
        self.send(&json!({"id": number, "method": method, "params": params}).to_string());
        loop {
            let m = self.receive();
            if m["id"] == json!(number) {
                assert!(m["error"].is_null(), "{method}: {}", m["error"]);
                return m["result"].clone();
            }
            match m["method"].as_str() {
                Some("Runtime.exceptionThrown") => self.errors.push(m["params"].to_string()),
                Some("Runtime.consoleAPICalled") => self.errors.push(m["params"]["args"].to_string()),
                Some("Log.entryAdded") => self.errors.push(m["params"]["entry"].to_string()),
                _ => {}
            }
        }
    }

    /// The value of an expression.
    fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let r = self.call("Runtime.evaluate", params);
        assert!(r["exceptionDetails"].is_null(), "{expression}: {}", r["exceptionDetails"]);
        r["result"]["value"].clone()
    }

    fn number(&mut self, expression: &str) -> u64 {
        let v = self.eval(expression);
        v.as_u64().unwrap_or_else(|| panic!("{expression} is {v}"))
    }

    fn wait_for(&mut self, condition: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.eval(condition) != json!(true) {
            assert!(Instant::now() < until, "never: {condition}; {:?}", self.errors);
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Moves to the middle of what a selector finds, and clicks if so asked.
    fn point(&mut self, selector: &str, clicks: bool) {
        let quoted = json!(selector);
        let at = self.eval(&format!(
            "(() => {{ const r = document.querySelector({quoted}).getBoundingClientRect();
               return [r.x + Math.min(60, r.width / 2), r.y + r.height / 2]; }})()"
        ));
        let mut mouse = |kind: &str| {
            let params = json!({"type": kind, "x": at[0], "y": at[1], "button": if kind == "mouseMoved" { "none" } else { "left" }, "clickCount": 1});
            self.call("Input.dispatchMouseEvent", params);
        };
        mouse("mouseMoved");
        if clicks {
            mouse("mousePressed");
            mouse("mouseReleased");
        }
    }

    fn click(&mut self, selector: &str) {
        self.point(selector, true);
    }

    /// Presses a key, by the name that it has in events.
    fn key(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let text = if key.chars().count() == 1 {
            key
        } else if key == "Enter" {
            "\r"
        } else {
            ""
        };
        let mut params = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code});
        if !text.is_empty() {
            params["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", params);
        self.call(
            "Input.dispatchKeyEvent",
            json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}),
        );
    }

    fn keys(&mut self, text: &str) {
        text.chars().for_each(|c| self.key(&c.to_string()));
    }

    /// Keeps a picture, if that is asked for.
    fn picture(&mut self, name: &str) {
        let Some(dir) = std::env::var_os("NVIR_SCREENSHOTS").map(PathBuf::from) else { return };
        let r = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let data = decoded(r["data"].as_str().expect("a picture"));
        std::fs::create_dir_all(&dir).expect("a folder");
        std::fs::write(dir.join(name).with_extension("png"), data).expect("written");
    }

    fn without_errors(&mut self) {
        self.eval("0");
        assert!(self.errors.is_empty(), "{:#?}", self.errors);
    }
}

fn decoded(base64: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut out) = (0u32, 0, Vec::new());
    for value in base64.bytes().filter_map(|b| DIGITS.iter().position(|&d| d == b)) {
        (bits, count) = (bits << 6 | value as u32, count + 6);
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}

/// The address of the first page's socket.
fn page_path(port: u16, until: Instant) -> String {
    loop {
        let answer = get(port, &format!("127.0.0.1:{port}"), "/json/list");
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, b)| b);
        let pages: Value = serde_json::from_str(body).unwrap_or(Value::Null);
        let page = pages.as_array().and_then(|all| all.iter().find(|p| p["type"] == "page").cloned());
        if let Some(url) = page.and_then(|p| p["webSocketDebuggerUrl"].as_str().map(String::from)) {
            return url[url.find("/devtools").expect("a path")..].to_string();
        }
        assert!(Instant::now() < until, "Chromium opened no page: {answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn get(port: u16, host: &str, path: &str) -> String {
    let Ok(mut s) = TcpStream::connect(("127.0.0.1", port)) else { return String::new() };
    let _ = s.set_read_timeout(Some(Duration::from_secs(10)));
    let _ = write!(s, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let mut answer = Vec::new();
    let _ = s.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn upgraded(port: u16, path: &str) -> TcpStream {
    let mut s = TcpStream::connect(("127.0.0.1", port)).expect("the browser's port");
    s.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    write!(
        s,
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    .expect("the browser listens");
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        s.read_exact(&mut byte).expect("an answer");
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    s
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
