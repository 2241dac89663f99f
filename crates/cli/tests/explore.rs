//! `nvir explore` without a browser: what is in the page, what is refused, and the server.

use serde_json::{Value, json};
use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

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

/// The data of a page about a file of the repository.
fn shown(args: &[&str]) -> Value {
    let out = explore(&root(), &[args, &["-o", "-"]].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    data(&String::from_utf8(out.stdout).expect("text"))
}

fn numbers(v: &Value) -> Vec<i64> {
    v.as_array().expect("a list").iter().map(|n| n.as_i64().expect("a number")).collect()
}

/// Source lines from 1 by place.
fn lines(d: &Value) -> Vec<i64> {
    numbers(&d["places"]).chunks(3).map(|p| p[1]).collect()
}

/// The IR of each step, as texts with source lines.
fn steps(d: &Value, side: &Value) -> Vec<Vec<(String, i64)>> {
    let (ir, lines) = (numbers(&side["ir"]), lines(d));
    let mut all: Vec<Vec<i64>> = Vec::new();
    for step in side["steps"].as_array().expect("steps") {
        let mut ops = numbers(&step["ops"]).into_iter();
        let mut before = all.last().cloned().unwrap_or_default().into_iter();
        let mut now = Vec::new();
        while let Some(keep) = ops.next() {
            let (drop, add) = (ops.next().expect("a count"), ops.next().expect("a count"));
            now.extend(before.by_ref().take(keep as usize));
            before.by_ref().take(drop as usize).for_each(drop_it);
            now.extend(ops.by_ref().take(add as usize));
        }
        assert_eq!(before.count(), 0, "every line of the step before is spoken of");
        all.push(now);
    }
    let shown = |n: i64| {
        let (text, place) = (ir[2 * n as usize], ir[2 * n as usize + 1]);
        (d["texts"][text as usize].as_str().expect("text").to_string(), lines[place as usize])
    };
    all.into_iter().map(|step| step.into_iter().map(shown).collect()).collect()
}

fn drop_it(_: i64) {}

#[test]
fn every_instruction_has_a_line_or_a_cause() {
    let (mut all, mut known) = (0, 0);
    for file in
        ["nir-fixtures/black_scholes.nir", "nir-fixtures/aes_sbox_lds.nir", "nir-fixtures/bfs_step.nir"]
    {
        for level in ["-O0", "-O3"] {
            let d = shown(&[file, level]);
            let (side, lines) = (&d["sides"][0], lines(&d));
            let source = d["sources"][0]["lines"].as_array().expect("lines").len() as i64;
            let sass = &side["sass"];
            for (place, made) in numbers(&sass["place"]).iter().zip(numbers(&sass["made"])) {
                let line = lines[*place as usize];
                assert!(line <= source);
                all += 1;
                known += i64::from(line > 0 || made > 0);
            }
            assert_eq!(numbers(&sass["pc"]).len(), numbers(&sass["text"]).len());
        }
    }
    assert!(all > 500 && known * 100 >= all * 98, "{known} of {all}");
}

#[test]
fn the_steps_are_those_that_print_after_shows() {
    let d = shown(&["nir-fixtures/black_scholes.nir"]);
    let steps = steps(&d, &d["sides"][0]);
    let names: Vec<&str> =
        d["sides"][0]["steps"].as_array().expect("steps").iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names[0], "front-end");
    assert!(names.contains(&"lower") && names.contains(&"dce"), "{names:?}");
    assert!(steps.windows(2).all(|w| w[0] != w[1]), "each changed something");
    let ir = Command::new(env!("CARGO_BIN_EXE_nvir"))
        .args(["compile", "nir-fixtures/black_scholes.nir", "--emit", "ir"])
        .current_dir(root())
        .output()
        .expect("nvir runs");
    let last: Vec<&str> = steps.last().expect("steps").iter().map(|l| l.0.as_str()).collect();
    assert_eq!(last, String::from_utf8_lossy(&ir.stdout).lines().collect::<Vec<_>>());
    // Instructions know their lines in each step.
    for (step, name) in steps.iter().zip(names) {
        let code: Vec<_> = step.iter().filter(|l| l.0.starts_with("    ")).collect();
        let with = code.iter().filter(|l| l.1 > 0).count();
        assert!(with * 100 >= code.len() * 95, "{name}: {with} of {}", code.len());
    }
}

#[test]
fn machine_code_is_that_of_compile() {
    let d = shown(&["nir-fixtures/bfs_step.nir", "-t", "gk104", "-O2"]);
    let hex = Command::new(env!("CARGO_BIN_EXE_nvir"))
        .args(["compile", "nir-fixtures/bfs_step.nir", "-t", "gk104", "-O2", "--emit", "hex"])
        .current_dir(root())
        .output()
        .expect("nvir runs");
    let hex = String::from_utf8(hex.stdout).expect("text");
    let words: Vec<&str> = hex.lines().collect();
    let sass = &d["sides"][0]["sass"];
    let shown = sass["word"].as_array().expect("words");
    assert!(shown.len() > 10);
    for (pc, word) in numbers(&sass["pc"]).iter().zip(shown) {
        assert_eq!(words[*pc as usize / 8], word.as_str().expect("text"));
    }
    // Each block begins where the one before ends; edges lead to blocks.
    let starts = numbers(&sass["starts"]);
    assert_eq!(starts[0], 0);
    assert!(starts.windows(2).all(|w| w[0] < w[1]));
    let edges = sass["edges"].as_array().expect("edges");
    assert!(
        edges.iter().all(|e| (e[1].as_u64().expect("a block") as usize) < starts.len()) && edges.len() > 2
    );
    assert!(numbers(&sass["issue"]["count"]).iter().all(|&c| (0..=32).contains(&c)));
}

#[test]
fn liveness_is_that_of_the_code() {
    let dir = folder("alive");
    let text = ".chip gk110\n.kernel k\n.registers 8\n        MOV R0, c[0x0][0x140];\n        MOV R1, c[0x0][0x144];\n        \
                MOV R2, c[0x0][0x148];\n        IADD R3, R0, R1;\n        IADD R3, R3, R2;\n        ST [R0], R3;\n        EXIT;\n";
    std::fs::write(dir.join("k.sass"), text).expect("written");
    let out = explore(&dir, &["k.sass", "-o", "-"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let d = data(&String::from_utf8(out.stdout).expect("text"));
    let sass = &d["sides"][0]["sass"];
    assert_eq!(numbers(&sass["alive"]), [1, 2, 3, 3, 3, 2, 0]);
    // Registers from 8; first and last row.
    assert_eq!(numbers(&sass["ranges"]), [8, 0, 5, 9, 1, 3, 10, 2, 4, 11, 3, 5]);
    assert_eq!(d["sides"][0]["source"], Value::Null);
}

#[test]
fn a_fixture_has_counts() {
    let d = shown(&["nir-fixtures/bfs_step.json", "-t", "gk110"]);
    let side = &d["sides"][0];
    assert_eq!(side["counts"]["outcome"], "passed");
    let counts = &side["sass"]["counts"];
    let issues = numbers(&counts["issues"]);
    assert!(issues[0] > 0, "the first instruction is executed");
    let threads = numbers(&counts["threads"]);
    assert!(issues.iter().zip(&threads).all(|(i, t)| *t <= 32 * i));
    let facts = side["facts"].as_array().expect("facts");
    let executed = facts.iter().find(|f| f[0] == "executed").expect("the sum");
    assert_eq!(executed[1], json!(issues.iter().sum::<i64>().to_string()));
}

#[test]
fn two_sides_are_aligned() {
    let d = shown(&["nir-fixtures/bfs_step.nir", "--against", "gk104,-O1"]);
    assert_eq!(d["sides"][0]["title"], "gk110 -O3");
    assert_eq!(d["sides"][1]["title"], "gk104 -O1");
    let pairs = numbers(&d["pairs"]);
    for side in 0..2 {
        let rows: Vec<i64> = pairs.iter().skip(side).step_by(2).copied().filter(|&n| n >= 0).collect();
        let all = numbers(&d["sides"][side]["sass"]["pc"]).len() as i64;
        assert_eq!(rows, (0..all).collect::<Vec<_>>(), "each row once, in order");
    }
    assert_eq!(d["sources"].as_array().expect("sources").len(), 1, "both have one source");
}

#[test]
fn another_compilers_code_stands_beside() {
    let dir = folder("cubin");
    let made = Command::new(env!("CARGO_BIN_EXE_nvir"))
        .args(["compile", "nir-fixtures/bfs_step.nir", "-O1", "--emit", "cubin", "-o"])
        .arg(dir.join("other.cubin"))
        .current_dir(root())
        .output()
        .expect("nvir runs");
    assert!(made.status.success());
    let other = dir.join("other.cubin");
    let d = shown(&["nir-fixtures/bfs_step.nir", "--against", &other.to_string_lossy()]);
    assert_eq!(d["sides"][1]["title"], "gk110 other.cubin");
    assert!(numbers(&d["sides"][1]["sass"]["pc"]).len() > 10);
    assert!(d["sides"][1]["steps"].as_array().expect("steps").is_empty());
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
        (&["bad.tgsi", "--against", "-O7"], 2, "level 7 is out of range (0 to 3)"),
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

    /// What comes back for some bytes.
    fn ask(&self, request: &[u8]) -> String {
        let mut s = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        s.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let _ = s.write_all(request);
        let _ = s.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = s.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str) -> String {
        self.ask(format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port).as_bytes())
    }
}

#[test]
fn the_server_serves_who_knows_its_token() {
    let dir = folder("serve");
    std::fs::write(dir.join("k.tgsi"), "COMP\n  0: END\n").expect("written");
    let s = Server::start(&dir, "k.tgsi");
    let own = s.get(&format!("/{}/", s.token));
    assert!(own.starts_with("HTTP/1.1 200 OK\r\n"), "{own}");
    assert_eq!(data(&own)["live"], 1);
    // Only the page's own script runs, and nobody frames it.
    let policy = own.lines().find_map(|l| l.strip_prefix("Content-Security-Policy: ")).expect("a policy");
    let nonce =
        policy.split_once("script-src 'nonce-").and_then(|(_, r)| r.split_once('\'')).expect("a nonce").0;
    assert!(
        nonce.len() == 32
            && policy.contains("default-src 'none'")
            && policy.contains("frame-ancestors 'none'")
    );
    assert_eq!(own.matches("<script").count(), 2, "the data and the script");
    assert!(own.contains(&format!("<script nonce=\"{nonce}\">")), "the script is marked");
    assert!(s.get(&format!("/{}/version", s.token)).ends_with("\r\n\r\n1"));
    for path in ["/", "/version", "/00000000000000000000000000000000/", &format!("/{}x/", s.token)] {
        let refused = s.get(path);
        assert!(refused.starts_with("HTTP/1.1 403 ") && !refused.contains("COMP"), "{path}: {refused}");
    }
    // Requests that are none, all at once; a slow one keeps nobody waiting.
    let _slow = TcpStream::connect(("127.0.0.1", s.port)).expect("it listens");
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
    let header = format!("GET / HTTP/1.1\r\nX: {}", "b".repeat(20_000));
    for bad in [
        &b""[..],
        b"\r\n\r\n",
        b"\0\xff\xfe\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1",
        b"GET /../../etc/passwd HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        long.as_bytes(),
        header.as_bytes(),
    ] {
        let answer = s.ask(bad);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{bad:?}: {answer}");
    }
    let posted = s.ask(format!("POST /{}/ HTTP/1.1\r\n\r\n", s.token).as_bytes());
    assert!(posted.starts_with("HTTP/1.1 405 "), "{posted}");
    let many: Vec<TcpStream> =
        (0..100).filter_map(|_| TcpStream::connect(("127.0.0.1", s.port)).ok()).collect();
    drop(many);
    let until = Instant::now() + Duration::from_secs(20);
    while !s.get(&format!("/{}/version", s.token)).ends_with("\r\n\r\n1") {
        assert!(Instant::now() < until, "it serves again");
    }
}

#[test]
fn the_server_sees_that_a_file_changed() {
    let dir = folder("watch");
    std::fs::write(dir.join("k.tgsi"), "COMP\n  0: END\n").expect("written");
    let s = Server::start(&dir, "k.tgsi");
    let page = format!("/{}/", s.token);
    let wait = |what: &dyn Fn(&Value) -> bool| {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let d = data(&s.get(&page));
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
