//! What tests of the IR share.

/// Values may be written by any name after `%`: numbers instead of those.
pub(crate) fn numbered(text: &str) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut out = String::new();
    for (k, part) in text.split('%').enumerate() {
        if k == 0 {
            out += part;
            continue;
        }
        let end = part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len());
        let name = &part[..end];
        let n = names.iter().position(|x| x == name).unwrap_or_else(|| {
            names.push(name.to_string());
            names.len() - 1
        });
        let class = if name.starts_with('p') { 'p' } else { 'r' };
        out += &format!("%{class}{n}{}", &part[end..]);
    }
    out
}
