//! What is done to a recording.

use super::seeds::{Action, Range, Seed};
use super::{setups, values};
use nvir::Chip;
use nvir::random::Random;
use nvir_hw::Class;
use nvir_hw::method::three_d;
use nvir_hw::push::{Header, kind};
use nvir_vgpu::GemNew;

pub(super) struct Made {
    pub actions: Vec<Action>,
    /// What was done, for people.
    pub done: Vec<String>,
}

pub(super) fn make(seed: &Seed, other: &Seed, r: &mut Random) -> Made {
    let mut made = Made { actions: seed.actions.clone(), done: Vec::new() };
    for _ in 0..1 + r.below(4) {
        let text = match r.below(16) {
            0..8 => commands(&mut made.actions, seed, other, r),
            8..11 => scribble(&mut made.actions, seed, r),
            11 => buffers(&mut made.actions, seed, r),
            12 => ranges(&mut made.actions, r),
            13 => order(&mut made.actions, r),
            14 => call(&mut made.actions, seed, r),
            _ => object(&mut made.actions, r),
        };
        made.done.extend(text);
    }
    made
}

/// A recording that draws, with other state of draws before all else.
pub(super) fn drawing(seed: &Seed, other: &Seed, r: &mut Random) -> Made {
    let mut made = Made { actions: seed.actions.clone(), done: Vec::new() };
    for _ in 0..1 + r.below(6) {
        let text = match r.below(8) {
            0 => commands(&mut made.actions, seed, other, r),
            1 => scribble(&mut made.actions, seed, r),
            _ => state(&mut made.actions, seed, r),
        };
        made.done.extend(text);
    }
    made
}

/// Where sequences of vertices begin.
fn draws(words: &[u32]) -> Vec<usize> {
    let is_draw = |&at: &usize| {
        let header = Header::from_bits(words[at]);
        (header.subchannel(), header.method()) == (Class::ThreeD.subchannel(), three_d::VERTEX_BEGIN_GL)
    };
    packets(words).into_iter().filter(is_draw).collect()
}

/// A method of the 3D class before a draw, or anywhere where draws are.
fn state(actions: &mut [Action], seed: &Seed, r: &mut Random) -> Option<String> {
    let has_draws = |range: &Range| !draws(&range.words).is_empty();
    let at =
        pick(actions, r, |a| matches!(a, Action::Submit { pushes, .. } if pushes.iter().any(has_draws)))?;
    let Action::Submit { pushes, .. } = &mut actions[at] else { return None };
    let with: Vec<usize> = (0..pushes.len()).filter(|&i| has_draws(&pushes[i])).collect();
    let range = &mut pushes[*r.of_list(&with)];
    let places = if r.one_in(4) { packets(&range.words) } else { draws(&range.words) };
    let place = *r.of_list(&places);
    let mut text = format!("action {at}, before word {place} of {:#x}:", range.address);
    for _ in 0..1 + r.below(3) {
        let method = setups::drawing_method(r, seed.chip);
        let value = values::state(r, &seed.buffers);
        let header = Header::packet(kind::INCREASING, Class::ThreeD.subchannel(), method, 1);
        range.words.splice(place..place, [header.into(), value]);
        text += &format!(" {method:#x} = {value:#x}");
    }
    Some(text)
}

/// Where an action of a kind is, one of them.
fn pick(actions: &[Action], r: &mut Random, kind: impl Fn(&Action) -> bool) -> Option<usize> {
    let places: Vec<usize> = (0..actions.len()).filter(|&i| kind(&actions[i])).collect();
    (!places.is_empty()).then(|| *r.of_list(&places))
}

fn is_submit(a: &Action) -> bool {
    matches!(a, Action::Submit { .. })
}

/// One range of commands.
fn pick_range<'a>(actions: &'a mut [Action], r: &mut Random) -> Option<(usize, &'a mut Range)> {
    let at = pick(actions, r, is_submit)?;
    let Action::Submit { pushes, .. } = &mut actions[at] else { return None };
    let range = r.below(pushes.len());
    Some((at, pushes.get_mut(range)?))
}

/// Where packets begin.
fn packets(words: &[u32]) -> Vec<usize> {
    let mut at = 0;
    let mut places = Vec::new();
    while at < words.len() {
        places.push(at);
        let header = Header::from_bits(words[at]);
        let has_data = matches!(header.kind(), kind::INCREASING | kind::SAME | kind::INCREASING_ONCE);
        at += 1 + if has_data { header.count() as usize } else { 0 };
    }
    places
}

fn commands(actions: &mut [Action], seed: &Seed, other: &Seed, r: &mut Random) -> Option<String> {
    let (at, range) = pick_range(actions, r)?;
    let words = &mut range.words;
    let place = *packets(words).get(r.below(packets(words).len()))?;
    let header = words[place];
    let count = Header::from_bits(header).count() as usize;
    let what = match r.below(8) {
        0 => {
            words[place] = match r.below(5) {
                0 => header ^ 1 << (16 + r.below(13)),
                1 => header & !0x1fff | r.below(0x2000) as u32,
                2 => header & !0xe000 | (r.below(8) << 13) as u32,
                3 => header & 0x1fff_ffff | (r.below(8) << 29) as u32,
                _ => values::word(r, &seed.buffers),
            };
            format!("header {header:#x} becomes {:#x}", words[place])
        }
        1 | 2 => {
            let mut new = Vec::new();
            for _ in 0..1 + r.below(3) {
                setups::packets(r, seed.chip, &seed.buffers, &mut new);
            }
            let text = format!("packets {new:x?}");
            words.splice(place..place, new);
            text
        }
        3 => {
            // A piece of another recording.
            let mut theirs: Vec<Action> = other.actions.iter().filter(|a| is_submit(a)).cloned().collect();
            let (_, from) = pick_range(&mut theirs, r)?;
            let first = *packets(&from.words).get(r.below(packets(&from.words).len()))?;
            let piece: Vec<u32> = from.words[first..].iter().copied().take(1 + r.below(200)).collect();
            let text = format!("{} words of {}", piece.len(), other.name);
            words.splice(place..place, piece);
            text
        }
        4 => {
            let end = (place + 1 + r.below(count + 4)).min(words.len());
            words.drain(place..end);
            format!("without {} words", end - place)
        }
        _ => {
            let mut text = String::new();
            for _ in 0..1 + r.below(3) {
                let i = place + 1 + r.below(count);
                let Some(word) = words.get_mut(i) else { continue };
                let new = values::changed(r, *word, &seed.buffers);
                text += &format!("word {i} {:#x} becomes {new:#x}; ", *word);
                *word = new;
            }
            text
        }
    };
    Some(format!("action {at}, packet at word {place} of {:#x}: {what}", range.address))
}

/// The processor writes somewhere before a submission: tables, descriptors, code, constants, commands.
fn scribble(actions: &mut Vec<Action>, seed: &Seed, r: &mut Random) -> Option<String> {
    let at = pick(actions, r, is_submit)?;
    let &(address, bytes) = r.of_list(&seed.buffers);
    let count = 1 + r.below(8);
    // Mostly where something is.
    let within = (bytes as usize >> r.below(8)).max(64);
    let offset = r.below(within / 4) as u64 * 4;
    let words: Vec<u32> = (0..count).map(|_| values::word(r, &seed.buffers)).collect();
    let text = format!("before action {at}, {words:x?} at {:#x}", address + offset);
    actions.insert(at, Action::Write { address: address + offset, words });
    Some(text)
}

fn buffers(actions: &mut Vec<Action>, seed: &Seed, r: &mut Random) -> Option<String> {
    let at = pick(actions, r, |a| matches!(a, Action::Create { .. }))?;
    if r.one_in(4) {
        actions.remove(at);
        return Some(format!("without action {at}"));
    }
    let Action::Create { request, address } = &mut actions[at] else { return None };
    match r.below(6) {
        0 => request.size = values::word(r, &seed.buffers).into(),
        1 => request.size = r.word(),
        2 => request.align = values::word(r, &seed.buffers),
        3 => request.domain = values::word(r, &seed.buffers),
        4 => *address = values::near(r, &seed.buffers),
        _ => request.size >>= r.below(12),
    }
    Some(format!("action {at} is {:x?}", actions[at]))
}

/// Buffers and ranges of a submission.
fn ranges(actions: &mut [Action], r: &mut Random) -> Option<String> {
    let at = pick(actions, r, is_submit)?;
    let Action::Submit { buffers, pushes } = &mut actions[at] else { return None };
    if buffers.is_empty() || pushes.is_empty() {
        return None;
    }
    let (buffer, push) = (r.below(buffers.len()), r.below(pushes.len()));
    match r.below(7) {
        0 => drop(buffers.remove(buffer)),
        1 => buffers.push(*buffers.get(buffer)?),
        2 => pushes.push(pushes.get(push)?.clone()),
        3 => drop(pushes.remove(push)),
        4 => pushes[push].skew.0 = r.below(64) as i64 - 32,
        5 => pushes[push].skew.1 = r.below(64) as i64 - 32,
        _ => pushes[push].skew = (r.word() as i64, r.word() as i64),
    }
    Some(format!("action {at}: other buffers or ranges"))
}

fn order(actions: &mut Vec<Action>, r: &mut Random) -> Option<String> {
    actions.first()?;
    let (a, b) = (r.below(actions.len()), r.below(actions.len()));
    match r.below(3) {
        0 => actions.swap(a, b),
        1 => drop(actions.remove(a)),
        _ => {
            let again = actions.get(a)?.clone();
            actions.insert(b, again);
        }
    }
    Some(format!("actions {a} and {b} exchanged, removed or repeated"))
}

fn call(actions: &mut Vec<Action>, seed: &Seed, r: &mut Random) -> Option<String> {
    let at = r.below(actions.len());
    let arguments = [0; 3].map(|_| match r.below(3) {
        0 => r.word(),
        1 => r.below(40) as u64,
        _ => values::word(r, &seed.buffers).into(),
    });
    let call = Action::Call { which: r.below(64), arguments };
    let text = format!("before action {at}, {call:x?}");
    actions.insert(at, call);
    if r.one_in(2) {
        let size = 1 << r.below(30);
        actions.insert(
            at,
            Action::Create { request: GemNew { size, domain: 2, ..GemNew::default() }, address: 0 },
        );
    }
    Some(text)
}

fn object(actions: &mut [Action], r: &mut Random) -> Option<String> {
    let at = pick(actions, r, |a| matches!(a, Action::Object { .. }))?;
    let Action::Object { handle, class } = &mut actions[at] else { return None };
    match r.below(3) {
        0 => *class ^= 1 << r.below(32),
        1 => {
            let (class_of, chip) = (*r.of_list(&Class::ALL), *r.of_list(&Chip::ALL));
            *class = class_of.number(chip).unwrap_or(0);
        }
        _ => *handle = handle.wrapping_add(r.below(2) as u32),
    }
    Some(format!("action {at} is {:x?}", actions[at]))
}

/// A recording's text with some fields and lines changed.
pub(super) fn text(seed: &str, other: &str, r: &mut Random) -> String {
    let mut lines: Vec<String> = seed.lines().map(str::to_string).collect();
    let theirs: Vec<&str> = other.lines().collect();
    // Half of them have one change only: most changes are refused when the recording is read.
    for _ in 0..1 + r.below(2) * r.below(4) {
        let (at, to) = (2 + r.below(lines.len() - 2), 2 + r.below(lines.len() - 2));
        match r.below(12) {
            0 => drop(lines.remove(at)),
            1 => lines.swap(at, to),
            2 => lines.insert(to, lines[at].clone()),
            3 => lines.insert(to, (*r.of_list(&theirs)).to_string()),
            _ => lines[at] = field(&lines[at], r),
        }
        // Something is left to change.
        if lines.len() < 4 {
            break;
        }
    }
    lines.join("\n") + "\n"
}

/// A line with one field changed: a field of its head, or a word.
fn field(line: &str, r: &mut Random) -> String {
    let mut fields: Vec<String> = line.split(' ').map(str::to_string).collect();
    let first = if r.one_in(3) { fields.len() } else { fields.len().min(5) };
    let at = r.below(first);
    match r.below(8) {
        0 => drop(fields.remove(at)),
        1 => fields.insert(at, fields[at].clone()),
        2 => {
            fields[at] = (*r.of_list(&["", "*0", "*1", "*99999999999", "-1", "g", "ffffffffffffffff", "0"]))
                .to_string()
        }
        _ => {
            // One digit.
            let mut text = fields[at].clone().into_bytes();
            if let Some(digit) = text.iter_mut().filter(|b| b.is_ascii_hexdigit()).nth(r.below(8)) {
                *digit = *r.of_list(b"0123456789abcdef");
            }
            fields[at] = String::from_utf8(text).expect("digits");
        }
    }
    fields.join(" ")
}
