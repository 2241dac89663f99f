//! `nvir explore`: the files that it writes, what it refuses, and that it sees files change. The page itself is tested where it
//! is made, in `crates/explore`.

use serde_json::Value;
use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    dir
}

fn explore(dir: &Path, args: &[&str]) -> Output {
    let mut c = Command::new(env!("CARGO_BIN_EXE_nvir"));
    c.arg("explore").args(args).current_dir(dir).env_remove("RUST_LOG").output().expect("nvir runs")
}

/// The data in a page.
fn data(html: &str) -> Value {
    let start = html.find("id=\"data\">").expect("the element") + "id=\"data\">".len();
    let end = start + html[start..].find("</script>").expect("its end");
    serde_json::from_str(&html[start..end]).expect("JSON")
}

#[test]
fn what_a_source_says_stays_text() {
    let dir = folder("escape");
    let evil = "</script><script>alert(1)</script><!--";
    let text = format!("COMP\n// {evil}\n  0: END\n");
    std::fs::write(dir.join("k.tgsi"), &text).expect("written");
    let out = explore(&dir, &["k.tgsi"]);
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert_eq!(said.trim(), "wrote k.html");
    let html = std::fs::read_to_string(dir.join("k.html")).expect("the page");
    assert!(!html.contains(evil) && html.matches("<script").count() == 2);
    assert_eq!(data(&html)["sources"][0]["lines"][1], format!("// {evil}"));
}

#[test]
fn what_is_wrong_is_said() {
    let dir = folder("wrong");
    std::fs::write(dir.join("bad.tgsi"), "COMP\n  0: MOVE TEMP[0], TEMP[0]\n").expect("written");
    std::fs::write(dir.join("k.cubin"), "no").expect("written");
    std::fs::write(dir.join("k.txt"), "no code").expect("written");
    std::fs::write(dir.join("bad.toml"), "source = 1").expect("written");
    for (args, code, said) in [
        (&["missing.tgsi"][..], 1, "missing.tgsi: "),
        (&["missing.tgsi", "--serve"], 1, "missing.tgsi: file not found"),
        (&["bad.tgsi"], 1, "bad.tgsi:2:6"),
        (&["bad.toml"], 1, "bad.toml"),
        (&["k.txt"], 1, "k.txt: unknown file type: neither"),
        (&["bad.tgsi", "--against", "-O7"], 2, "`7` is not a level: 0, 1, 2, 3 or s"),
        (&["bad.tgsi", "--against", "-O3"], 2, "same compile"),
        (&["bad.tgsi", "--port", "80"], 2, "--serve"),
        (&["bad.tgsi", "--serve", "-o", "x.html"], 2, "cannot be used"),
        (&[], 2, "INPUT"),
    ] {
        let out = explore(&dir, args);
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(said), "{args:?}: {text}");
    }
    assert!(!dir.join("bad.html").exists());
}

/// A server and where it is.
struct Server {
    child: Child,
    port: u16,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(dir: &Path, file: &str) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_nvir"))
            .args(["explore", "--serve", file])
            .current_dir(dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("nvir runs");
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().expect("piped"));
        out.read_line(&mut line).expect("an address");
        let rest = line.trim().strip_prefix("http://127.0.0.1:").expect("loopback").to_string();
        let (port, token) = rest.split_once('/').expect("a path");
        let token = token.trim_end_matches('/').to_string();
        assert!(token.len() == 32 && token.bytes().all(|b| b.is_ascii_hexdigit()), "{line}");
        Server { child, port: port.parse().expect("a port"), token }
    }

    fn get(&self) -> String {
        let mut s = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        s.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let head = format!("GET /{}/ HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.token, self.port);
        s.write_all(head.as_bytes()).expect("it listens");
        let mut answer = String::new();
        s.read_to_string(&mut answer).expect("it answers");
        answer
    }
}

#[test]
fn the_server_sees_that_a_file_changed() {
    let dir = folder("watch");
    std::fs::write(dir.join("k.tgsi"), "COMP\n  0: END\n").expect("written");
    let s = Server::start(&dir, "k.tgsi");
    let wait = |what: &dyn Fn(&Value) -> bool| {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let d = data(&s.get());
            if what(&d) {
                return d;
            }
            assert!(Instant::now() < until, "{d}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    std::fs::write(dir.join("k.tgsi"), "COMP\n  0: MOVE TEMP[0], TEMP[0]\n").expect("written");
    let broken = wait(&|d| !d["sides"][0]["error"].is_null());
    assert!(broken["sides"][0]["error"].as_str().is_some_and(|e| e.contains("k.tgsi:2:6")));
    std::fs::remove_file(dir.join("k.tgsi")).expect("removed");
    let gone = wait(&|d| !d["error"].is_null());
    assert!(gone["error"].as_str().is_some_and(|e| e.contains("k.tgsi")), "{gone}");
    std::fs::write(dir.join("k.tgsi"), "COMP\n// once more\n  0: END\n").expect("written");
    let again =
        wait(&|d| d["sides"][0]["sources"].is_null() && d["sources"][0]["lines"][1] == "// once more");
    assert!(again["live"].as_u64().is_some_and(|v| v >= 4));
}
