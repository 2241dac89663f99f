//! The page around its data: one file with style and script in it.

use serde_json::Value;

const SHELL: &str = include_str!("shell.html");
const STYLE: &str = include_str!("base.css");

/// What a page is made of.
pub struct Parts<'a> {
    /// Of the window.
    pub title: &'a str,
    /// Style beyond what all pages share.
    pub style: &'a str,
    /// The elements.
    pub body: &'a str,
    /// What the element with the id `data` holds.
    pub data: &'a Value,
    /// In order.
    pub scripts: &'a [&'a str],
}

/// The whole page. With a nonce, its script is marked with it, for a server whose policy lets no other script run.
pub fn html(parts: &Parts<'_>, nonce: Option<&str>) -> String {
    let parts = [
        ("{{title}}", escaped(parts.title)),
        ("{{style}}", format!("{STYLE}{}", parts.style)),
        ("{{body}}", parts.body.to_string()),
        ("{{data}}", in_script(&parts.data.to_string())),
        ("{{nonce}}", nonce.map_or(String::new(), |n| format!(" nonce=\"{n}\""))),
        ("{{script}}", parts.scripts.concat()),
    ];
    // Each part once and in order, so that nothing in a part is taken for a mark.
    let mut out = String::new();
    let mut rest = SHELL;
    for (mark, text) in parts {
        if let Some((before, after)) = rest.split_once(mark) {
            out += before;
            out += &text;
            rest = after;
        }
    }
    out + rest
}

/// JSON as it may stand in a script element: nothing in it ends the element or begins a comment.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Text as it may stand in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_place() {
        let title = "</title><script>alert(1)</script>{{data}}";
        let data = serde_json::json!({"lines": ["</script><!--<script>", "\u{2028}"]});
        let html = html(&Parts { title, style: "", body: "", data: &data, scripts: &[] }, None);
        assert_eq!(html.matches("</script>").count(), 2, "its own two");
        assert!(!html.contains("alert(1)</script>"));
        assert!(!html.contains('\u{2028}'));
        let start = html.find("id=\"data\">").expect("the element") + "id=\"data\">".len();
        let end = start + html[start..].find("</script>").expect("its end");
        let back: Value = serde_json::from_str(&html[start..end]).expect("JSON");
        assert_eq!(back, data);
    }
}
