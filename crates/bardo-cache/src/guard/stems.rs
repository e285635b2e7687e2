//! The base forms of words: in American spelling, singular and present.

use super::tables::Tables;

// Keys that are no words: a key is a base form, which has no final "e". The code compares them by the
// name of their word.
pub(super) const DATE: &str = "dat";
pub(super) const DEADLINE: &str = "deadlin";
pub(super) const DISTANCE: &str = "distanc";
pub(super) const INFLUENCE: &str = "influenc";
pub(super) const MINUTE: &str = "minut";
pub(super) const SIZE: &str = "siz";
pub(super) const SUBSTITUTE: &str = "substitut";
pub(super) const TAKE: &str = "tak";
pub(super) const TIME: &str = "tim";
pub(super) const VALUE: &str = "valu";
pub(super) const VOLUME: &str = "volum";

impl Tables {
    /// The base form of a word: singular, present, without an ending of inflection.
    pub(super) fn base(&self, word: &str) -> String {
        let word = &*self.american(word);
        if let Some(base) = self.forms.get(word) {
            return self.bare(base);
        }
        if self.fixed.contains(word) || word.len() < 4 || !word.is_ascii() {
            return word.to_owned();
        }
        self.regular(word)
    }

    /// A word in American spelling.
    fn american(&self, word: &str) -> String {
        let first = word.bytes().next().unwrap_or_default();
        for (british, american) in self.spellings.get(&first).into_iter().flatten() {
            if let Some(rest) = word.strip_prefix(british) {
                return format!("{american}{rest}");
            }
        }
        let endings = [
            ("isation", "ization"),
            ("isations", "izations"),
            ("ise", "ize"),
            ("ises", "izes"),
            ("ised", "ized"),
            ("ising", "izing"),
            ("yse", "yze"),
            ("ysed", "yzed"),
            ("ysing", "yzing"),
        ];
        for (british, american) in endings {
            if let Some(stem) = word.strip_suffix(british).filter(|stem| stem.len() >= 4) {
                return format!("{stem}{american}");
            }
        }
        word.to_owned()
    }

    /// Regular endings: plural, third person, past and progressive. Both "make" and "making" lose
    /// their "e", so that no list of verbs is needed. Words of `silent` and `whole` would become
    /// another word without it and keep it: "note", "plane".
    fn regular(&self, word: &str) -> String {
        let long = |stem: &str| stem.len() >= 3 && stem.contains(['a', 'e', 'i', 'o', 'u', 'y']);
        if let Some(stem) = word.strip_suffix("ies").or(word.strip_suffix("ied"))
            && stem.len() >= 2
        {
            return format!("{stem}y");
        }
        let past = |stem: &&str| !stem.ends_with('e');
        let inflected = word
            .strip_suffix("ing")
            .or(word.strip_suffix("ed").filter(past));
        if let Some(stem) = inflected.filter(|stem| long(stem)) {
            return match self.silent.get(format!("{stem}e").as_str()) {
                Some(whole) => (*whole).to_owned(),
                None => self.bare(stem),
            };
        }
        let hissing = |stem: &&str| {
            let ends = ["s", "x", "z", "ch", "sh", "o"];
            stem.len() >= 2 && ends.iter().any(|end| stem.ends_with(end))
        };
        let singular = word.strip_suffix('s');
        if let Some(whole) = singular.filter(|stem| self.is_whole(stem)) {
            return whole.to_owned();
        }
        if let Some(stem) = word.strip_suffix("es").filter(hissing) {
            return self.bare(stem);
        }
        match singular.filter(|stem| !stem.ends_with(['s', 'u', 'i'])) {
            Some(stem) => self.bare(stem),
            None => self.bare(word),
        }
    }

    fn is_whole(&self, word: &str) -> bool {
        self.silent.contains(word) || self.whole.contains(word)
    }

    /// A stem without its final "e" or its doubled consonant.
    fn bare(&self, stem: &str) -> String {
        let bytes = stem.as_bytes();
        let doubled = match bytes {
            [.., one, two] => one == two && !matches!(one, b's' | b'e' | b'i' | b'o'),
            _ => false,
        };
        if bytes.len() > 3 && !self.is_whole(stem) && (bytes.ends_with(b"e") || doubled) {
            return stem[..stem.len() - 1].to_owned();
        }
        stem.to_owned()
    }
}

#[cfg(test)]
mod tests;
