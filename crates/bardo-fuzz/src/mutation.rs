//! Mutations that keep the shape: JSON stays JSON and event streams stay event streams, so that
//! changed inputs get past the first byte of a decoder.

use serde_json::{Map, Value};

use crate::seeds::TOKENS;
use crate::{Knobs, input::KNOBS};

/// A small repeatable source of choices.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that always fall the same way for the same seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn roll(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % end.max(1) as u64).unwrap_or(0)
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// One changed input, of the same shape where the payload has one.
#[must_use]
pub fn mutate(data: &[u8], dice: &mut Dice) -> Vec<u8> {
    let Some((mut knobs, payload)) = Knobs::part(data) else {
        return vec![0; KNOBS];
    };
    if dice.below(4) == 0 {
        let place = dice.below(KNOBS);
        knobs.0[place] = u8::try_from(dice.below(256)).unwrap_or(0);
    }
    let mut payload = payload.to_vec();
    for _ in 0..1 + dice.below(3) {
        payload = mutate_payload(&payload, dice);
    }
    knobs.with(&payload)
}

fn mutate_payload(payload: &[u8], dice: &mut Dice) -> Vec<u8> {
    if dice.below(16) == 0 {
        return mutate_bytes(payload, dice);
    }
    if let Ok(mut value) = serde_json::from_slice(payload) {
        mutate_json(&mut value, dice);
        return value.to_string().into_bytes();
    }
    match std::str::from_utf8(payload) {
        Ok(text) if text.contains("data:") => mutate_stream(text, dice).into_bytes(),
        Ok(text) => mutate_words(text, dice).into_bytes(),
        Err(_) => mutate_bytes(payload, dice),
    }
}

fn mutate_bytes(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = dice.below(bytes.len() + 1);
    match dice.below(4) {
        0 => bytes.truncate(at),
        1 => bytes.insert(
            at,
            *dice.pick(b"\0\n\r\t \"\\{}[],:<>/\x80\xc3\xed\xf0\xff"),
        ),
        2 if at < bytes.len() => {
            bytes.remove(at);
        }
        _ if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        _ => {}
    }
    bytes
}

fn mutate_words(text: &str, dice: &mut Dice) -> String {
    let (from, to) = (boundary(text, dice), boundary(text, dice));
    let (from, to) = (from.min(to), from.max(to));
    match dice.below(4) {
        0 => format!("{}{}", &text[..from], &text[to..]),
        1 => format!("{}{}{}", &text[..to], &text[from..to], &text[to..]),
        2 => format!("{}{}{}", &text[..from], dice.pick(TOKENS), &text[from..]),
        _ => {
            let space = dice.pick(&["\n", "\n\n", " ", "```\n", "\r\n", "\u{a0}", "😀"]);
            format!("{}{space}{}", &text[..from], &text[from..])
        }
    }
}

fn boundary(text: &str, dice: &mut Dice) -> usize {
    let mut at = dice.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

fn mutate_stream(text: &str, dice: &mut Dice) -> String {
    let mut events: Vec<String> = text.split_inclusive("\n\n").map(str::to_owned).collect();
    let place = dice.below(events.len());
    match dice.below(12) {
        0 => {
            events.remove(place);
        }
        1 => events.insert(place, events[place].clone()),
        2 => {
            let other = dice.below(events.len());
            events.swap(place, other);
        }
        3 => events.truncate(place),
        _ => {
            let data = events[place].find("data:").map(|at| at + "data:".len());
            if let Some(at) = data
                && let Ok(mut value) = serde_json::from_str(&events[place][at..])
            {
                mutate_json(&mut value, dice);
                let name = renamed(&events[place][..at], &value);
                events[place] = format!("{name} {value}\n\n");
            }
        }
    }
    events.concat()
}

/// The lines before an event's data, with the name that its `type` asks for.
fn renamed(before: &str, value: &Value) -> String {
    match value.get("type").and_then(Value::as_str) {
        Some(kind) if before.starts_with("event:") && !kind.contains(['\n', '\r']) => {
            format!("event: {kind}\ndata:")
        }
        _ => before.to_owned(),
    }
}

fn mutate_json(root: &mut Value, dice: &mut Dice) {
    let count = count(root);
    let other = node(root, &mut dice.below(count)).map(|node| node.clone());
    let place = dice.below(count);
    let Some(node) = node(root, &mut { place }) else {
        return;
    };
    match dice.below(10) {
        0..3 => *node = scalar(dice),
        3 => *node = other.unwrap_or_default(),
        4 => *node = Value::Array(vec![node.take()]),
        5 => {
            let key = (*dice.pick(TOKENS)).to_owned();
            *node = Value::Object(Map::from_iter([(key, node.take())]));
        }
        _ => mutate_within(node, other.unwrap_or_default(), dice),
    }
}

fn mutate_within(node: &mut Value, other: Value, dice: &mut Dice) {
    match node {
        Value::Object(members) => {
            let place = dice.below(members.len());
            let key = members.keys().nth(place).cloned();
            match (dice.below(4), key) {
                (0, Some(key)) => {
                    members.shift_remove(&key);
                }
                (1, Some(key)) => {
                    let value = members.shift_remove(&key).unwrap_or_default();
                    members.insert((*dice.pick(TOKENS)).to_owned(), value);
                }
                (2, Some(key)) => {
                    members.insert(key, other);
                }
                _ => {
                    members.insert((*dice.pick(TOKENS)).to_owned(), other);
                }
            }
        }
        Value::Array(items) => {
            let place = dice.below(items.len() + 1);
            match dice.below(4) {
                0 if place < items.len() => {
                    items.remove(place);
                }
                1 if place < items.len() => {
                    let again = items[place].clone();
                    items.insert(place, again);
                }
                2 => items.reverse(),
                _ => items.insert(place, other),
            }
        }
        Value::String(text) => *text = mutate_words(text, dice),
        node => *node = scalar(dice),
    }
}

fn scalar(dice: &mut Dice) -> Value {
    const NUMBERS: [&str; 12] = [
        "0",
        "1",
        "-1",
        "2",
        "127",
        "128",
        "255",
        "4294967295",
        "4294967296",
        "18446744073709551615",
        "1.5",
        "1e300",
    ];
    match dice.below(6) {
        0 => Value::Null,
        1 => Value::Bool(dice.below(2) == 0),
        2 => serde_json::from_str(dice.pick::<&str>(&NUMBERS)).unwrap_or_default(),
        3 => Value::String(String::new()),
        4 => dice
            .pick(&[Value::Array(Vec::new()), Value::Object(Map::new())])
            .clone(),
        _ => Value::String((*dice.pick(TOKENS)).to_owned()),
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// The node that comes at `place` when all are visited in order.
fn node<'a>(value: &'a mut Value, place: &mut usize) -> Option<&'a mut Value> {
    if *place == 0 {
        return Some(value);
    }
    *place -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| node(item, place)),
        Value::Object(members) => members.values_mut().find_map(|value| node(value, place)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_mostly_stays_json_and_mostly_changes() {
        let mut dice = Dice::new(1);
        let input = Knobs([0; KNOBS]).with(br#"{"a":[1,{"b":"text"}],"c":null}"#);
        let (mut json, mut changed) = (0, 0);
        for _ in 0..400 {
            let mutated = mutate(&input, &mut dice);
            let (_, payload) = Knobs::part(&mutated).unwrap();
            json += usize::from(serde_json::from_slice::<Value>(payload).is_ok());
            changed += usize::from(mutated != input);
        }
        assert!(json > 300, "{json}");
        assert!(changed > 350, "{changed}");
    }

    #[test]
    fn every_node_is_reached_once() {
        let mut value = serde_json::json!({"a": [1, 2], "b": {"c": 3}});
        assert_eq!(count(&value), 6);
        let found: Vec<_> = (0..6)
            .map(|place| node(&mut value, &mut { place }).unwrap().to_string())
            .collect();
        assert_eq!(found[1..], ["[1,2]", "1", "2", "{\"c\":3}", "3"]);
        assert!(node(&mut value, &mut 6).is_none());
    }
}
