//! The page by HTTP, for this machine alone.
//!
//! Addresses begin with a token that only who started the server knows: `/TOKEN/` is the page, and what else there is the site
//! says. Everything else is refused, and so is a request that names another host: a page of somebody else that finds the port by
//! chance learns nothing.
//!
//! A thread a request, and no more than [`MOST`] of them; a request that takes longer than [`PATIENCE`] or is longer than
//! [`LONGEST`] bytes is dropped.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Requests at once.
const MOST: usize = 32;
/// How long a request may take to arrive, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a request's head.
const LONGEST: usize = 8 << 10;

/// What is served.
pub trait Site: Send + Sync {
    /// The page as it is now.
    fn page(&self) -> Served;
    /// What is at another path behind the token, with the text behind its `?`; `None`: nothing. An error is answered with its text.
    fn answer(&self, path: &str, query: &str) -> Option<Result<String, String>>;
}

/// A page for a server.
#[derive(Clone)]
pub struct Served {
    /// All of it.
    pub html: Arc<str>,
    /// Marks its own script.
    pub nonce: Arc<str>,
}

impl Served {
    /// The page that `html` makes with a new nonce.
    pub fn new(html: impl FnOnce(&str) -> String) -> Served {
        let nonce = token();
        Served { html: html(&nonce).into(), nonce: nonce.into() }
    }

    /// What the page may load and run: its own style and script, and this server's answers.
    fn policy(&self) -> String {
        format!(
            "default-src 'none'; script-src 'nonce-{}'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            self.nonce
        )
    }
}

/// A page that is served.
pub struct Server(Arc<Shared>);

struct Shared {
    port: u16,
    token: String,
    site: Arc<dyn Site>,
    busy: AtomicUsize,
}

/// 128 random bits in hexadecimal.
fn token() -> String {
    let mut bytes = [0u8; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut bytes));
    if read.is_err() {
        // Keys that the operating system gives for tables which strangers fill.
        for half in bytes.chunks_mut(8) {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u128(Instant::now().elapsed().as_nanos());
            half.copy_from_slice(&hasher.finish().to_le_bytes());
        }
    }
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

impl Server {
    /// Begins to serve a site to this machine's browsers on a port; 0 is one that is free. It ends
    /// with the process.
    ///
    /// # Errors
    /// The port cannot be had.
    pub fn start(site: Arc<dyn Site>, port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared { port, token: token(), site, busy: AtomicUsize::new(0) });
        let answering = shared.clone();
        std::thread::spawn(move || answering.listen(&listener));
        Ok(Server(shared))
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.0.port, self.0.token)
    }
}

/// One of the [`MOST`] requests at once.
struct Slot(Arc<Shared>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Answer {
    /// The end of the status line.
    status: &'static str,
    kind: &'static str,
    /// `Content-Security-Policy`
    policy: String,
    body: String,
}

/// An answer that no browser loads anything for.
fn text(status: &'static str, body: String) -> Answer {
    Answer { status, kind: "text/plain; charset=utf-8", policy: "default-src 'none'".into(), body }
}

fn plain(status: &'static str) -> Answer {
    text(status, format!("{status}\n"))
}

impl Shared {
    fn listen(self: &Arc<Shared>, listener: &TcpListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // Too many open files, say: it passes.
                std::thread::sleep(Duration::from_millis(20));
                continue;
            };
            if self.busy.fetch_add(1, Ordering::SeqCst) >= MOST {
                self.busy.fetch_sub(1, Ordering::SeqCst);
                let _ = stream.set_write_timeout(Some(Duration::from_millis(50)));
                let _ = send(&stream, &plain("503 Service Unavailable"), false);
                continue;
            }
            let server = self.clone();
            // Dropped at the end of the thread, however that comes, and also where none could be made.
            let slot = Slot(server);
            let _ = std::thread::Builder::new().spawn(move || {
                let _ = slot.0.answer(&stream);
            });
        }
    }

    fn answer(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(PATIENCE))?;
        match head(stream)? {
            Ok(head) => send(stream, &self.reply(&head), head.starts_with("HEAD ")),
            Err(status) => send(stream, &plain(status), false),
        }
    }

    /// What a request gets.
    fn reply(&self, head: &str) -> Answer {
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(path), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return plain("400 Bad Request");
        };
        if !version.starts_with("HTTP/1.") || !path.starts_with('/') {
            return plain("400 Bad Request");
        }
        let hosts =
            lines.filter_map(|l| l.split_once(':')).filter(|(name, _)| name.eq_ignore_ascii_case("host"));
        let ours =
            |host: &str| ["127.0.0.1", "localhost"].iter().any(|n| host == format!("{n}:{}", self.port));
        let known =
            hosts.map(|(_, host)| ours(host.trim())).fold(None, |all, one| Some(all.unwrap_or(true) && one));
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut parts = path[1..].splitn(2, '/');
        if !same(parts.next().unwrap_or_default(), &self.token) || known == Some(false) {
            return plain("403 Forbidden");
        }
        if method != "GET" && method != "HEAD" {
            return plain("405 Method Not Allowed");
        }
        match parts.next() {
            Some("") => {
                let page = self.site.page();
                let (kind, policy) = ("text/html; charset=utf-8", page.policy());
                Answer { status: "200 OK", kind, policy, body: page.html.to_string() }
            }
            Some(path) => match self.site.answer(path, query) {
                Some(Ok(body)) => text("200 OK", body),
                Some(Err(why)) => text("422 Unprocessable Content", why),
                None => plain("404 Not Found"),
            },
            None => plain("404 Not Found"),
        }
    }
}

/// Whether two texts are the same, in a time that does not tell where they differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |d, (x, y)| d | (x ^ y)) == 0
}

/// The head of a request up to its empty line, or the status that refuses it.
fn head(mut stream: &TcpStream) -> io::Result<Result<String, &'static str>> {
    let until = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut piece = [0u8; 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Err("408 Request Timeout"));
        }
        stream.set_read_timeout(Some(left))?;
        let n = match stream.read(&mut piece) {
            Ok(n) => n,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Ok(Err("408 Request Timeout"));
            }
            Err(e) => return Err(e),
        };
        head.extend_from_slice(&piece[..n]);
        let end = head.windows(4).position(|w| w == b"\r\n\r\n");
        if let Some(end) = end {
            head.truncate(end);
            return Ok(String::from_utf8(head).map_err(|_| "400 Bad Request"));
        }
        if n == 0 {
            return Ok(Err("400 Bad Request"));
        }
        if head.len() > LONGEST {
            return Ok(Err("431 Request Header Fields Too Large"));
        }
    }
}

fn send(mut stream: &TcpStream, answer: &Answer, only_head: bool) -> io::Result<()> {
    let Answer { status, kind, policy, body } = answer;
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    if !only_head {
        stream.write_all(body.as_bytes())?;
    }
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> String {
        struct One;
        impl Site for One {
            fn page(&self) -> Served {
                Served::new(|_| "the page".into())
            }

            fn answer(&self, path: &str, query: &str) -> Option<Result<String, String>> {
                (path == "version").then(|| if query == "bad" { Err("why".into()) } else { Ok("7".into()) })
            }
        }
        let s = Shared { port: 80, token: "0a1b".into(), site: Arc::new(One), busy: AtomicUsize::new(0) };
        s.reply(head).status[..3].to_string()
    }

    #[test]
    fn only_who_knows_the_token_is_served() {
        for (head, want) in [
            ("GET /0a1b/ HTTP/1.1", "200"),
            ("GET /0a1b/?x HTTP/1.1\r\nHost: localhost:80", "200"),
            ("GET /0a1b/version HTTP/1.0\r\nhost: 127.0.0.1:80", "200"),
            ("GET /0a1b/version?bad HTTP/1.0", "422"),
            ("HEAD /0a1b/ HTTP/1.1", "200"),
            ("GET / HTTP/1.1", "403"),
            ("GET /0a1c/ HTTP/1.1", "403"),
            ("GET /0a1/ HTTP/1.1", "403"),
            ("POST / HTTP/1.1", "403"),
            ("GET /0a1b/ HTTP/1.1\r\nHost: example.org", "403"),
            ("GET /0a1b/ HTTP/1.1\r\nHost: localhost:80\r\nHost: example.org", "403"),
            ("POST /0a1b/ HTTP/1.1", "405"),
            ("GET /0a1b HTTP/1.1", "404"),
            ("GET /0a1b/../etc/passwd HTTP/1.1", "404"),
            ("GET 0a1b/ HTTP/1.1", "400"),
            ("GET /0a1b/", "400"),
            ("GET  /0a1b/ HTTP/1.1", "400"),
            ("GET /0a1b/ SPDY/3", "400"),
            ("", "400"),
        ] {
            assert_eq!(status(head), want, "{head:?}");
        }
    }

    #[test]
    fn tokens_differ() {
        let (a, b) = (token(), token());
        assert!(a.len() == 32 && a != b);
    }
}
