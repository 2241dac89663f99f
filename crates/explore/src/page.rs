//! The page around its data: one file with style and script in it.

use serde_json::Value;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 4] =
    [include_str!("model.js"), include_str!("list.js"), include_str!("graph.js"), include_str!("page.js")];

/// The whole page. With a nonce, its script is marked with it, for a server whose policy lets no other script run.
pub(crate) fn html(data: &Value, nonce: Option<&str>) -> String {
    let title = data["title"].as_str().unwrap_or_default();
    let scripts = SCRIPTS.concat();
    let parts = [
        ("{{title}}", escaped(title)),
        ("{{style}}", STYLE.to_string()),
        ("{{data}}", in_script(&data.to_string())),
        ("{{nonce}}", nonce.map_or(String::new(), |n| format!(" nonce=\"{n}\""))),
        ("{{script}}", scripts),
    ];
    // Each part once and in order, so that nothing in a part is taken for a mark.
    let mut out = String::new();
    let mut rest = PAGE;
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
    #[test]
    fn no_text_leaves_its_place() {
        let title = "</title><script>alert(1)</script>{{data}}";
        let data = serde_json::json!({"title": title, "sources": [{"lines": ["</script><!--<script>", "\u{2028}"]}]});
        let html = super::html(&data, None);
        assert_eq!(html.matches("</script>").count(), 2, "its own two");
        assert!(!html.contains("alert(1)</script>"));
        assert!(!html.contains('\u{2028}'));
        let start = html.find("id=\"data\">").expect("the element") + "id=\"data\">".len();
        let end = start + html[start..].find("</script>").expect("its end");
        let back: serde_json::Value = serde_json::from_str(&html[start..end]).expect("JSON");
        assert_eq!(back, data);
    }

    #[test]
    fn it_needs_nothing_else() {
        let html = super::html(&serde_json::json!({"title": "k"}), Some("0a1b"));
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
