//! Makes a failing TGSI program small: instructions become `NOP`, as many at a time as still fail.

/// The smallest program found for which `fails` still holds. Programs that do not parse do not fail, so structure
/// stays whole; what belongs together (an IF and its ENDIF) is taken out together.
pub(super) fn reduce(text: &str, fails: impl Fn(&str) -> bool) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let attempt = |lines: &mut Vec<String>, which: &[usize]| {
        let saved: Vec<(usize, String)> = which.iter().map(|&n| (n, lines[n].clone())).collect();
        for &n in which {
            let number = lines[n].find(':').map_or("", |at| &lines[n][..=at]).to_owned();
            lines[n] = format!("{number} NOP");
        }
        if !fails(&lines.join("\n")) {
            for (n, line) in saved {
                lines[n] = line;
            }
        }
    };
    for _ in 0..3 {
        let before = lines.clone();
        for pair in pairs(&lines) {
            attempt(&mut lines, &pair);
        }
        let mut size = 32;
        while size > 0 {
            let work: Vec<usize> = (0..lines.len()).filter(|&n| is_instruction(&lines, n)).collect();
            for chunk in work.chunks(size) {
                attempt(&mut lines, chunk);
            }
            size /= 2;
        }
        if lines == before {
            break;
        }
    }
    // Labels count instructions, so that lines can only go where there are none.
    lines.retain(|l| !l.ends_with(" NOP") || text.contains(" CAL"));
    lines.join("\n")
}

fn opcode(line: &str) -> &str {
    let rest = line.find(':').map_or("", |at| line[at + 1..].trim_start());
    rest.split_whitespace().next().unwrap_or("")
}

/// What may go: not what stands before the first `NOP`, which gives every register its first value, and not what keeps
/// loops short and accesses in their place: counters, addresses, indices.
fn is_instruction(lines: &[String], n: usize) -> bool {
    let start = lines.iter().position(|l| opcode(l) == "NOP").unwrap_or(0);
    let kept = |r: &str| lines[n].split(',').next().is_some_and(|d| d.contains(r));
    n > start
        && !matches!(opcode(&lines[n]), "" | "NOP" | "END" | "BARRIER")
        && ![
            "TEMP[13]", "TEMP[15]", "TEMP[16]", "TEMP[17]", "TEMP[18]", "TEMP[19]", "TEMP[20]", "TEMP[21]",
            " ADDR[",
        ]
        .into_iter()
        .any(kept)
}

/// The lines that open, divide and close each construct, without what is inside.
fn pairs(lines: &[String]) -> Vec<Vec<usize>> {
    let mut open: Vec<Vec<usize>> = Vec::new();
    let mut found = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        match opcode(line) {
            "UIF" | "IF" | "BGNLOOP" | "SWITCH" | "BGNSUB" => open.push(vec![n]),
            "ELSE" | "CASE" | "DEFAULT" => open.last_mut().into_iter().for_each(|o| o.push(n)),
            "ENDIF" | "ENDLOOP" | "ENDSWITCH" | "ENDSUB" => {
                if let Some(mut o) = open.pop() {
                    o.push(n);
                    found.push(o);
                }
            }
            _ => {}
        }
    }
    found
}
