//! Pages in headless Chromium, by its DevTools protocol, for tests: what is clicked and typed shows what it should, and nothing is
//! said on the console. Without Chromium (`chromium`, `google-chrome`, or what `CHROMIUM` names) they are skipped, aloud.
//! `NVIR_SCREENSHOTS=FOLDER` keeps pictures.
//!
//! All of it panics where something is not as it should be.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The browser, if there is one.
pub fn chromium() -> Option<String> {
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
pub struct Tab {
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
    /// Opens a page of 1500 by 900 points in a browser whose files go to a folder.
    pub fn open(program: &str, dir: &Path, url: &str) -> Tab {
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

    /// What a method of the protocol answers.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
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
    pub fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let r = self.call("Runtime.evaluate", params);
        assert!(r["exceptionDetails"].is_null(), "{expression}: {}", r["exceptionDetails"]);
        r["result"]["value"].clone()
    }

    /// The value of an expression, a whole number.
    pub fn number(&mut self, expression: &str) -> u64 {
        let v = self.eval(expression);
        v.as_u64().unwrap_or_else(|| panic!("{expression} is {v}"))
    }

    /// Waits until a condition holds.
    pub fn wait_for(&mut self, condition: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.eval(condition) != json!(true) {
            assert!(Instant::now() < until, "never: {condition}; {:?}", self.errors);
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Moves to the middle of what a selector finds, and clicks if so asked.
    pub fn point(&mut self, selector: &str, clicks: bool) {
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

    /// Clicks the middle of what a selector finds.
    pub fn click(&mut self, selector: &str) {
        self.point(selector, true);
    }

    /// Presses a key, by the name that it has in events.
    pub fn key(&mut self, key: &str) {
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

    /// Presses keys of a character each.
    pub fn keys(&mut self, text: &str) {
        text.chars().for_each(|c| self.key(&c.to_string()));
    }

    /// Keeps a picture, if that is asked for.
    pub fn picture(&mut self, name: &str) {
        let Some(dir) = std::env::var_os("NVIR_SCREENSHOTS").map(PathBuf::from) else { return };
        let r = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let data = decoded(r["data"].as_str().expect("a picture"));
        std::fs::create_dir_all(&dir).expect("a folder");
        std::fs::write(dir.join(name).with_extension("png"), data).expect("written");
    }

    /// Nothing was thrown, and nothing said on the console.
    pub fn without_errors(&mut self) {
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
    // Chromium keeps the connection open, whatever was asked for: the end is where the head says.
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while let Ok(n @ 1..) = s.read(&mut part) {
        answer.extend(&part[..n]);
        if is_whole(&String::from_utf8_lossy(&answer)) {
            break;
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Whether an answer has as many bytes behind its head as that says.
fn is_whole(answer: &str) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().filter_map(|l| l.split_once(':')).find(|l| l.0.eq_ignore_ascii_case("content-length"));
    length.and_then(|l| l.1.trim().parse().ok()).is_some_and(|n| body.len() >= n)
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
