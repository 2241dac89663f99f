//! The page around its data, whose parts are in `body.html`, `page.css` and `*.js`.

use nvir_page::{Parts, STEPS, html};
use serde_json::Value;

const SCRIPTS: [&str; 5] = [
    STEPS,
    include_str!("data.js"),
    include_str!("view.js"),
    include_str!("panels.js"),
    include_str!("page.js"),
];

/// The whole page.
pub(crate) fn whole(data: &Value, nonce: Option<&str>) -> String {
    let title = data["title"].as_str().unwrap_or_default();
    let (style, body) = (include_str!("page.css"), include_str!("body.html"));
    html(&Parts { title, style, body, data, scripts: &SCRIPTS }, nonce)
}
