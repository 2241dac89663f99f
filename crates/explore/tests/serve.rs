//! The server: whom it answers, and with what.

use nvir_explore::{Page, Server, Subject};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("serve").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    dir
}

/// The data in a page.
fn data(html: &str) -> Value {
    let start = html.find("id=\"data\">").expect("the element") + "id=\"data\">".len();
    let end = start + html[start..].find("</script>").expect("its end");
    serde_json::from_str(&html[start..end]).expect("JSON")
}

/// A server and where it is.
struct Served {
    page: Page,
    server: Server,
    port: u16,
    token: String,
}

impl Served {
    fn start(file: &Path) -> Served {
        let page = Page { subject: Subject::new(file), against: None, version: "1".into() };
        let server = Server::start(&page, 0).expect("a port");
        let url = server.url();
        let rest = url.strip_prefix("http://127.0.0.1:").expect("loopback");
        let (port, token) = rest.split_once('/').expect("a path");
        let token = token.trim_end_matches('/').to_string();
        assert!(token.len() == 32 && token.bytes().all(|b| b.is_ascii_hexdigit()), "{url}");
        Served { page, port: port.parse().expect("a port"), token, server }
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
    let s = Served::start(&dir.join("k.tgsi"));
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
fn a_page_that_is_made_again_shows_what_is_wrong() {
    let file = folder("again").join("k.tgsi");
    std::fs::write(&file, "COMP\n  0: END\n").expect("written");
    let s = Served::start(&file);
    let again = || {
        s.server.update(&s.page);
        data(&s.get(&format!("/{}/", s.token)))
    };
    std::fs::write(&file, "COMP\n  0: MOVE TEMP[0], TEMP[0]\n").expect("written");
    let broken = again();
    assert!(broken["sides"][0]["error"].as_str().is_some_and(|e| e.contains("k.tgsi:2:6")), "{broken}");
    std::fs::remove_file(&file).expect("removed");
    let gone = again();
    assert!(gone["error"].as_str().is_some_and(|e| e.contains("k.tgsi")), "{gone}");
    std::fs::write(&file, "COMP\n// once more\n  0: END\n").expect("written");
    let back = again();
    assert_eq!((&back["sources"][0]["lines"][1], &back["live"]), (&"// once more".into(), &4.into()));
}
