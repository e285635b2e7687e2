//! Hints in `X-Bardo-*` headers.

use bardo_wire::codec::BadRequest;

use super::given::Given;
use super::mistakes::{cut, not_utf8, twice};
use super::{Hints, KNOWN, Refused, must_be_understood};

impl Hints {
    /// Takes all `X-Bardo-*` headers of a request, by their names without the prefix. What cannot be
    /// read is ignored with a warning, unless it must be understood: then [`Self::check`] refuses
    /// it.
    pub fn headers<'a>(&mut self, given: impl IntoIterator<Item = (&'a str, &'a [u8])>) {
        let given: Vec<(String, &[u8])> = given
            .into_iter()
            .map(|(name, value)| (hint_of(name), value))
            .collect();
        for (index, (name, value)) in given.iter().enumerate() {
            let is_same = |(other, _): &(String, &[u8])| other == name;
            let is_known = KNOWN.contains(&name.as_str());
            if is_known && given[..index].iter().any(is_same) {
                continue;
            }
            let again = is_known && given[index + 1..].iter().any(is_same);
            match (again, std::str::from_utf8(value)) {
                (true, _) => self.not_taken(name, twice(name)),
                (false, Ok(value)) => self.take_header(name, value),
                (false, Err(_)) => self.not_taken(name, not_utf8(name)),
            }
        }
    }

    /// Takes one header, as [`Self::headers`] does.
    pub fn header(&mut self, name: &str, value: &str) {
        self.headers([(name, value.as_bytes())]);
    }

    /// Takes the values of the header `x-prompt-cache-key`, of which there may be one.
    pub fn prompt_cache_key<'a>(&mut self, given: impl IntoIterator<Item = &'a [u8]>) {
        let mut given = given.into_iter();
        let Some(key) = given.next() else { return };
        let ignored = match (given.next(), std::str::from_utf8(key)) {
            (Some(_), _) => "it is there twice",
            (None, Err(_)) => "it is not UTF-8",
            (None, Ok(key)) => {
                self.cache_key = Some(key.into());
                return;
            }
        };
        self.warn(format!("x-prompt-cache-key was ignored: {ignored}"));
    }

    fn take_header(&mut self, name: &str, value: &str) {
        if let Err(error) = self.take(name, &Given::Text(value)) {
            self.not_taken(name, error);
        }
    }

    fn not_taken(&mut self, name: &str, mut error: BadRequest) {
        let header = header_of(name);
        match must_be_understood(name) {
            Some(hint) => {
                error.param = header;
                self.refused.push(Refused { hint, error });
            }
            None => self.warn(format!("{header}: {}", error.message)),
        }
    }
}

/// The hint that a header names.
fn hint_of(header: &str) -> String {
    let name = header.replace('-', "_");
    match name.strip_prefix("intent_") {
        Some(name) => name.to_owned(),
        None => name,
    }
}

/// The header of a hint.
fn header_of(name: &str) -> String {
    format!("x-bardo-{}", cut(&name.replace('_', "-")))
}
