//! The page by HTTP: what is asked for rarely is found when somebody asks.
//!
//! `pixel?x=1&y=2` is the history of a pixel, `steps?command=3&stage=frag&launch=0&warp=0&lane=5&x=1&y=2` are the steps of one
//! of its threads; without `x` and `y` those of a vertex or of a thread that was counted without a pixel in view.

use crate::{Frame, page, pixel, steps};
use nvir_base::stage::Stage;
use nvir_page::{Served, Site};
use nvir_vgpu::watch::{Thread, Wanted};
use serde_json::Value;
use std::io;
use std::sync::Arc;

/// A page that is served.
pub struct Server(nvir_page::Server);

struct Shown {
    frame: Frame,
    page: Served,
}

impl Server {
    /// Begins to serve a frame's page to this machine's browsers on a port; 0 is one that is free. It ends with the process.
    ///
    /// # Errors
    /// The port cannot be had.
    pub fn start(frame: &Frame, mut data: Value, port: u16) -> io::Result<Server> {
        data["live"] = Value::Bool(true);
        let page = Served::new(|nonce| page::whole(&data, Some(nonce)));
        let shown = Shown { frame: frame.clone(), page };
        Ok(Server(nvir_page::Server::start(Arc::new(shown), port)?))
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        self.0.url()
    }
}

impl Site for Shown {
    fn page(&self) -> Served {
        self.page.clone()
    }

    fn answer(&self, path: &str, query: &str) -> Option<Result<String, String>> {
        match path {
            "pixel" => Some(self.pixel(query).map(|v| v.to_string())),
            "steps" => Some(self.steps(query).map(|v| v.to_string())),
            _ => None,
        }
    }
}

/// The number that a query gives.
fn number<T: std::str::FromStr>(query: &str, name: &str) -> Result<T, String> {
    let text = value(query, name).ok_or_else(|| format!("`{name}` is missing"))?;
    text.parse().map_err(|_| format!("`{name}`: {text:?} is not a number"))
}

fn value<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    query.split('&').filter_map(|part| part.split_once('=')).find(|(n, _)| *n == name).map(|(_, v)| v)
}

impl Shown {
    fn pixel(&self, query: &str) -> Result<Value, String> {
        pixel::history(&self.frame, [number(query, "x")?, number(query, "y")?])
    }

    fn steps(&self, query: &str) -> Result<Value, String> {
        let name = value(query, "stage").unwrap_or("frag");
        let stage = Stage::ALL.into_iter().find(|s| s.name() == name && s.is_graphics());
        let stage = stage.ok_or_else(|| format!("`stage`: {name:?} is not a stage of draws"))?;
        let wanted = match (value(query, "x"), value(query, "y")) {
            (Some(_), Some(_)) => Wanted::Pixels(vec![[number(query, "x")?, number(query, "y")?]]),
            _ => Wanted::Nothing,
        };
        let thread = Thread {
            launch: number(query, "launch")?,
            warp: number(query, "warp")?,
            lane: number(query, "lane")
                .and_then(|n| if n < 32 { Ok(n) } else { Err("`lane` is 0 to 31".into()) })?,
        };
        steps::of(&self.frame, steps::Which { command: number(query, "command")?, stage, thread, wanted })
    }
}
