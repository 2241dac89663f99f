//! The page around its data, as a file or served.

use crate::{Page, data};
use nvir_page::{Parts, STEPS, Served, Site, html};
use serde_json::Value;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

const SCRIPTS: [&str; 5] = [
    STEPS,
    include_str!("model.js"),
    include_str!("list.js"),
    include_str!("graph.js"),
    include_str!("page.js"),
];

/// The whole page.
pub(crate) fn whole(data: &Value, nonce: Option<&str>) -> String {
    let title = data["title"].as_str().unwrap_or_default();
    let (style, body) = (include_str!("page.css"), include_str!("body.html"));
    html(&Parts { title, style, body, data, scripts: &SCRIPTS }, nonce)
}

/// A page that is served: `version` is a number that grows with each new page, which the page asks for.
pub struct Server {
    server: nvir_page::Server,
    current: Arc<Current>,
}

struct Current(Mutex<(u64, Served)>);

impl Current {
    fn get(&self) -> (u64, Served) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Site for Current {
    fn page(&self) -> Served {
        self.get().1
    }

    fn answer(&self, path: &str, _: &str) -> Option<Result<String, String>> {
        (path == "version").then(|| Ok(self.get().0.to_string()))
    }
}

/// The page, or what is wrong with its input as a page.
fn served(page: &Page, version: u64) -> Served {
    let value = match page.sides() {
        Ok(sides) => data::json(&sides, &page.version, Some(version)),
        Err(e) => data::nothing(&page.subject.path, &e.text(), &page.version, version),
    };
    Served::new(|nonce| whole(&value, Some(nonce)))
}

impl Server {
    /// Begins to serve a page to this machine's browsers on a port; 0 is one that is free. It ends
    /// with the process.
    ///
    /// # Errors
    /// The port cannot be had.
    pub fn start(page: &Page, port: u16) -> io::Result<Server> {
        let current = Arc::new(Current(Mutex::new((1, served(page, 1)))));
        Ok(Server { server: nvir_page::Server::start(current.clone(), port)?, current })
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Makes the page again; browsers that show it load the new one.
    pub fn update(&self, page: &Page) {
        let version = self.current.get().0 + 1;
        let next = served(page, version);
        *self.current.0.lock().unwrap_or_else(PoisonError::into_inner) = (version, next);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_needs_nothing_else() {
        let html = super::whole(&serde_json::json!({"title": "k"}), Some("0a1b"));
        // Places in the page itself.
        let html = html
            .replace("url(#", "")
            .replace("http://www.w3.org/2000/svg", "")
            .replace("href=\"data:,\"", "");
        for part in ["http://", "https://", "src=", "href=", "@import", "url("] {
            assert!(!html.contains(part), "{part}");
        }
    }
}
