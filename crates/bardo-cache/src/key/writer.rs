//! Feeds the hash in large blocks, for its wide instructions need them.
//!
//! BLAKE3 was measured beside SHA-256 (`cargo run --release -p bardo-cache --example cache_cost`). On
//! a CPU with SHA instructions SHA-256 takes 0.6 of its time for 1 kB and 3.3 times its time for
//! 118 kB; on one without, 2.9 and 15 times. At worst it costs half a microsecond more, and it is
//! never slow. In pieces of 200 bytes it would take 6 times as long as in blocks.

use std::sync::LazyLock;

use bardo_types::json::RawJson;
use blake3::hazmat::hash_derive_key_context;

/// Decimal digits that each make another float (IEEE 754, binary64).
const FLOAT_DIGITS: usize = 15;
/// Separates keys from all other uses of the hash.
static CONTEXT: LazyLock<[u8; 32]> = LazyLock::new(|| hash_derive_key_context("bardo-cache key 4"));
/// A whole subtree of the hash, so that it never waits for the rest of one.
const BLOCK: usize = 32 * 1024;

/// Writes fields with their lengths.
pub(super) struct KeyWriter<'a> {
    /// What was hashed so far, once a block is full: few requests are that long, and a hasher takes
    /// 2 kB.
    hasher: Option<Box<blake3::Hasher>>,
    block: Vec<u8>,
    pub(super) ephemeral: &'a [String],
}

impl<'a> KeyWriter<'a> {
    pub(super) fn new(ephemeral: &'a [String]) -> Self {
        Self {
            hasher: None,
            block: Vec::with_capacity(1024),
            ephemeral,
        }
    }

    pub(super) fn finish(self) -> [u8; 32] {
        let digest = match self.hasher {
            None => blake3::keyed_hash(&CONTEXT, &self.block),
            Some(mut hasher) => hasher.update(&self.block).finalize(),
        };
        *digest.as_bytes()
    }

    fn raw(&mut self, bytes: &[u8]) {
        if self.block.len() + bytes.len() < BLOCK {
            self.block.extend_from_slice(bytes);
        } else {
            self.raw_over_blocks(bytes);
        }
    }

    #[cold]
    fn raw_over_blocks(&mut self, mut bytes: &[u8]) {
        while self.block.len() + bytes.len() >= BLOCK {
            let (now, later) = bytes.split_at(BLOCK - self.block.len());
            self.block.extend_from_slice(now);
            let empty = || Box::new(blake3::Hasher::new_keyed(&CONTEXT));
            self.hasher.get_or_insert_with(empty).update(&self.block);
            self.block.clear();
            bytes = later;
        }
        self.block.extend_from_slice(bytes);
    }

    /// A few bytes of a known size, which need no call to be copied.
    fn fixed<const SIZE: usize>(&mut self, bytes: [u8; SIZE]) {
        if self.block.len() + SIZE < BLOCK {
            self.block.extend_from_slice(&bytes);
        } else {
            self.raw_over_blocks(&bytes);
        }
    }

    /// The number of a choice, or a fixed-size number below 256. Not inlined: a request has sixty.
    #[inline(never)]
    pub(super) fn choice(&mut self, number: u8) {
        self.fixed([number]);
    }

    pub(super) fn flag(&mut self, set: bool) {
        self.choice(u8::from(set));
    }

    /// A number in seven bits a byte, the last of which is below 128: most are lengths of one byte.
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.fixed([number as u8 | 0x80]);
            number >>= 7;
        }
        self.fixed([number as u8]);
    }

    /// The exact bits of a number.
    pub(super) fn float(&mut self, number: f64) {
        self.fixed(number.to_bits().to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.raw(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(super) fn json(&mut self, json: &RawJson) {
        self.text(json.as_str());
    }

    /// A number by its value: `0`, `0.0` and `0e0` are one. What is no number, or has more digits than
    /// the value of a float keeps apart, is written as it stands.
    pub(super) fn json_number(&mut self, json: &RawJson) {
        let text = Some(json.as_str()).filter(|text| text.len() <= FLOAT_DIGITS);
        let value = text.and_then(|text| text.parse::<f64>().ok());
        match value.filter(|value| value.is_finite()) {
            Some(value) => {
                self.choice(0);
                // Minus zero is zero.
                self.float(value + 0.0);
            }
            None => {
                self.choice(1);
                self.json(json);
            }
        }
    }

    /// Absent and present are told apart from any value.
    pub(super) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(super) fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.number(items.len() as u64);
        for item in items {
            write(self, item);
        }
    }

    pub(super) fn option_text(&mut self, text: Option<&str>) {
        self.option(text, Self::text);
    }

    pub(super) fn option_json(&mut self, json: Option<&RawJson>) {
        self.option(json, Self::json);
    }

    /// Members as they were written: name and value, in order.
    pub(super) fn members(&mut self, members: &[(String, RawJson)]) {
        self.list(members.iter(), |writer, (name, value)| {
            writer.text(name);
            writer.json(value);
        });
    }

    /// A text that is left out where the caller declared the whole of it ephemeral.
    pub(super) fn declarable(&mut self, text: &str) {
        match self.ephemeral.iter().position(|declared| declared == text) {
            Some(place) => self.placeholder(place),
            None => {
                self.choice(0);
                self.text(text);
            }
        }
    }

    fn placeholder(&mut self, place: usize) {
        self.choice(1);
        self.number(place as u64);
    }

    /// A system text in pieces: each declared text becomes its number in the caller's list.
    pub(super) fn system_text(&mut self, text: &str) {
        let declared = self.ephemeral;
        let find = |from: usize, place: usize| text[from..].find(declared[place].as_str());
        let mut done = 0;
        for_each_occurrence(declared, find, |at, place| {
            self.choice(0);
            self.text(&text[done..at]);
            self.placeholder(place);
            done = at + declared[place].len();
        });
        self.choice(0);
        self.text(&text[done..]);
        self.choice(2);
    }
}

/// A system text without the declared texts.
pub(crate) fn without_declared(text: &str, declared: &[String]) -> String {
    let find = |from: usize, place: usize| text[from..].find(declared[place].as_str());
    let mut rest = String::with_capacity(text.len());
    let mut done = 0;
    for_each_occurrence(declared, find, |at, place| {
        rest.push_str(&text[done..at]);
        done = at + declared[place].len();
    });
    rest.push_str(&text[done..]);
    rest
}

/// Calls `each` with the place of each declared text in a text, and its number. `find` looks for the
/// text of a number from a place on, and says how far on it is.
///
/// Each declared text is looked for once over the whole text, however often others occur.
fn for_each_occurrence(
    declared: &[String],
    mut find: impl FnMut(usize, usize) -> Option<usize>,
    mut each: impl FnMut(usize, usize),
) {
    let mut find = |from: usize, place: usize| {
        let is_something = !declared[place].is_empty();
        is_something
            .then(|| find(from, place))
            .flatten()
            .map(|after| from + after)
    };
    let mut next: Vec<Option<usize>> = (0..declared.len()).map(|place| find(0, place)).collect();
    while let Some((at, place)) = earliest(&next, declared) {
        each(at, place);
        let done = at + declared[place].len();
        for (place, next) in next.iter_mut().enumerate() {
            if next.is_some_and(|at| at < done) {
                *next = find(done, place);
            }
        }
    }
}

/// The declared text that begins first; the longest of those that begin there.
fn earliest(next: &[Option<usize>], declared: &[String]) -> Option<(usize, usize)> {
    next.iter()
        .zip(0..)
        .filter_map(|(at, place)| Some(((*at)?, place)))
        .min_by_key(|(at, place): &(usize, usize)| {
            (*at, usize::MAX - declared[*place].len(), *place)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_thousand_occurrences_are_found_in_one_pass_for_each_declared_text() {
        let text = "tick ".repeat(40_000);
        let declared = ["tick", "tock", "absent", "ick t"].map(str::to_owned);
        let mut read = [0; 4];
        let find = |from: usize, place: usize| {
            let rest = &text[from..];
            let found = rest.find(declared[place].as_str());
            read[place] += found.map_or(rest.len(), |after| after + declared[place].len());
            found
        };
        let mut found = 0;
        for_each_occurrence(&declared, find, |_, place| {
            assert_eq!(declared[place], "tick");
            found += 1;
        });
        assert_eq!(found, 40_000);
        assert_eq!(
            read[1..3],
            [text.len(); 2],
            "what is nowhere is looked for once"
        );
        // What overlaps an occurrence is looked for again behind it.
        assert!(read.iter().all(|read| *read <= 2 * text.len()), "{read:?}");
    }
}
