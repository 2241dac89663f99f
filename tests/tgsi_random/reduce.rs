//! Makes a failing TGSI program small: instructions become `NOP`, as many at a time as still fail.

/// The smallest program found for which `fails` still holds. Programs that do not parse do not fail, so structure
/// stays whole; what belongs together (an IF and its ENDIF) is taken out together.
pub fn reduce(text: &str, fails: impl Fn(&str) -> bool) -> String {
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
            let work: Vec<usize> = (0..lines.len()).filter(|&n| is_instruction(&lines[n])).collect();
            for chunk in work.chunks(size) {
                attempt(&mut lines, chunk);
            }
            size /= 2;
        }
        if lines == before {
            break;
        }
    }
    lines.retain(|l| !l.ends_with(" NOP") || !text.contains("CAL"));
    lines.join("\n")
}

fn opcode(line: &str) -> &str {
    let rest = line.find(':').map_or("", |at| line[at + 1..].trim_start());
    rest.split_whitespace().next().unwrap_or("")
}

/// What may go: not what gives a register its first value, of inputs in front or of counters and addresses on the way,
/// since a program that reads nothing written may do anything.
fn is_instruction(line: &str) -> bool {
    let number = line.trim_start().split(':').next().and_then(|n| n.parse::<u32>().ok());
    let first = line.contains(" TEMP[1") && !line.contains(", TEMP[1") || line.contains(" ADDR[");
    !matches!(opcode(line), "" | "NOP" | "END") && !first && number.is_some_and(|n| n > 18)
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
