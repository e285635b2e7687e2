//! The word lists of `data/guard`, parsed once. A line is `key: word, word, two words`; `#` starts
//! a comment.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

const SYNONYMS: &str = include_str!("../../data/guard/synonyms.txt");
const NAMES: &str = include_str!("../../data/guard/names.txt");
const PHRASES: &str = include_str!("../../data/guard/phrases.txt");
const FRAMES: &str = include_str!("../../data/guard/frames.txt");
const FORMS: &str = include_str!("../../data/guard/forms.txt");
const LISTS: &str = include_str!("../../data/guard/lists.txt");
const CLASSES: &str = include_str!("../../data/guard/classes.txt");
const SPELLINGS: &str = include_str!("../../data/guard/spellings.txt");
const CONTEXTS: &str = include_str!("../../data/guard/contexts.txt");

/// A rewriting of several words, or of one.
pub(super) struct Phrase {
    /// Applies at the start of a sentence only.
    pub(super) starts: bool,
    /// The words as they are written, where no other form of them is replaced: a single word, or a
    /// phrase with "=" before it. Empty for other phrases.
    pub(super) exact: Vec<&'static str>,
    /// The base forms of the words that are replaced.
    pub(super) from: Vec<String>,
    pub(super) to: Vec<&'static str>,
    /// The mark of the tense that the replaced words had.
    pub(super) tense: Option<&'static str>,
}

/// The lists, ready to be asked.
#[derive(Default)]
pub(super) struct Tables {
    /// Canonical word of a synonym, both as base forms.
    pub(super) synonyms: HashMap<String, &'static str>,
    /// Rewritings by their first word, longest first.
    pub(super) phrases: HashMap<String, Vec<Phrase>>,
    /// Base form of an irregular form.
    pub(super) forms: HashMap<&'static str, &'static str>,
    /// Irregular participles, for the passive voice.
    pub(super) participles: HashSet<&'static str>,
    /// Other irregular forms of the past, and the participles.
    pub(super) pasts: HashSet<&'static str>,
    /// Words without content, also beside a preposition.
    pub(super) determiners: HashSet<&'static str>,
    /// Function words that carry nothing by themselves.
    pub(super) stop: HashSet<&'static str>,
    /// Words that seldom change an answer; they may be absent from one text.
    pub(super) soft: HashSet<&'static str>,
    /// Words that may be absent from one of two open questions.
    pub(super) mild: HashSet<&'static str>,
    /// Adverbs that say the same on each side of the words beside them.
    pub(super) movable: HashSet<&'static str>,
    /// Nouns with an amount: "how high is the fee" is "what is the fee".
    pub(super) measures: HashSet<String>,
    /// Things of a program that "do" what they are for: "what does the flag do".
    pub(super) tools: HashSet<String>,
    /// Who acts: "customer cancellation" is no "cancellation of customers".
    pub(super) actors: HashSet<String>,
    /// Words beside which the order of two things counts: "the ratio of A and B".
    pub(super) ratios: HashSet<String>,
    /// Verbs of which "from X to Y" and "X to Y" say the same.
    pub(super) transforms: HashSet<String>,
    /// Nouns that hold something: "a cup of coffee" is no "coffee cup".
    pub(super) containers: HashSet<String>,
    /// Nouns that show something: "a picture of Paris" is not "a picture in Paris".
    pub(super) depictions: HashSet<String>,
    /// Papers and keys that are needed, and need nothing themselves.
    pub(super) papers: HashSet<String>,
    /// Nouns of a sum that is charged: "how much is the fee" is "what is the fee".
    pub(super) fees: HashSet<String>,
    /// Nouns of a duration: "how long is the timeout" is "what is the timeout".
    pub(super) durations: HashSet<String>,
    /// Determiners that name a certain thing.
    pub(super) definite: HashSet<&'static str>,
    /// Nouns that are one thing in the singular and in the plural.
    pub(super) uncounted: HashSet<&'static str>,
    /// Words that keep their form although they look inflected.
    pub(super) fixed: HashSet<&'static str>,
    /// Words that keep their final "e", which would be another word without it, and get it back
    /// behind "-ing" and "-ed": "tape", not "tap".
    pub(super) silent: HashSet<&'static str>,
    /// Words that are never shortened, while "-ing" and "-ed" belong to the shorter word: "suite".
    pub(super) whole: HashSet<&'static str>,
    /// Words that follow "to" as verbs.
    pub(super) verbs: HashSet<&'static str>,
    /// Base forms of `verbs`.
    verb_bases: HashSet<String>,
    /// Nouns that say what their verb does: "restart" in "perform a restart".
    pub(super) nominal: HashSet<&'static str>,
    /// Words that judge what a question is about: "is it safe to".
    pub(super) predicates: HashSet<String>,
    /// Function words of other languages.
    pub(super) foreign: HashSet<&'static str>,
    /// Synonyms beside certain words only: the word, those words, and the canonical word.
    contexts: HashMap<String, Vec<(Vec<String>, String)>>,
    /// American by British spellings, as starts of words, by their first byte.
    pub(super) spellings: HashMap<u8, Vec<(&'static str, &'static str)>>,
    /// Verbs whose particle can stand behind their object.
    pub(super) separable: HashSet<&'static str>,
    /// Unit of a number by its names.
    pub(super) units: HashMap<&'static str, &'static str>,
    /// Prepositions and the role of what follows them.
    pub(super) prepositions: HashMap<&'static str, &'static str>,
    /// Name of the class of a canonical word, for explanations and for words of time.
    pub(super) classes: HashMap<&'static str, &'static str>,
}

/// The tables of this build.
pub(super) static TABLES: LazyLock<Tables> = LazyLock::new(Tables::parse);

/// Lines of a list without comments, each split at `separator`.
fn lines(
    text: &'static str,
    separator: &str,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter_map(move |line| line.split_once(separator))
        .map(|(key, values)| (key.trim(), values.trim()))
}

fn entries(values: &'static str) -> impl Iterator<Item = &'static str> {
    values
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
}

/// Each British spelling with its American one.
fn spelled(
    (american, british): (&'static str, &'static str),
) -> impl Iterator<Item = (&'static str, &'static str)> {
    entries(british).map(move |british| (british, american))
}

impl Tables {
    fn parse() -> Self {
        let mut tables = Self::default();
        for (british, american) in lines(SPELLINGS, ":").flat_map(spelled) {
            if let Some(first) = british.bytes().next() {
                let spellings = tables.spellings.entry(first).or_default();
                spellings.push((british, american));
            }
        }
        for (base, forms) in lines(FORMS, ":") {
            tables.irregular(base, forms);
        }
        for (list, words) in lines(LISTS, ":") {
            tables.list(list, words);
        }
        for (class, words) in lines(CLASSES, ":") {
            for word in entries(words) {
                tables.classes.insert(word, class);
            }
        }
        for (from, to) in lines(PHRASES, "=>").chain(lines(FRAMES, "=>")) {
            for from in from.split('|') {
                tables.phrase(from, to);
            }
        }
        for (key, words) in lines(SYNONYMS, ":").chain(lines(NAMES, ":")) {
            tables.synonyms.insert(tables.base(key), key);
            for word in entries(words) {
                if word.contains(' ') {
                    tables.phrase(word, key);
                } else {
                    tables.synonyms.insert(tables.base(word), key);
                }
            }
        }
        tables.measures = tables.keys("measures");
        tables.tools = tables.keys("tools");
        tables.actors = tables.keys("actors");
        tables.ratios = tables.keys("ratios");
        tables.transforms = tables.keys("transforms");
        tables.containers = tables.keys("containers");
        tables.depictions = tables.keys("depictions");
        tables.predicates = tables.keys("predicates");
        tables.papers = tables.keys("papers");
        tables.durations = tables.keys("durations");
        tables.fees = tables.keys("fees");
        for (words, beside) in lines(CONTEXTS, "@") {
            tables.context(words, beside);
        }
        let bases = tables.verbs.iter().map(|verb| tables.base(verb)).collect();
        tables.verb_bases = bases;
        for rules in tables.phrases.values_mut() {
            // Of two phrases of one length, the one whose words stand as they are written is first.
            rules.sort_by_key(|rule| (std::cmp::Reverse(rule.from.len()), rule.exact.is_empty()));
        }
        tables
    }

    /// The canonical words of a list.
    fn keys(&self, list: &str) -> HashSet<String> {
        let rows = lines(LISTS, ":").filter(|(name, _)| *name == list);
        rows.flat_map(|(_, words)| entries(words))
            .map(|word| self.canonical(word))
            .collect()
    }

    /// A row of irregular forms: beside a participle, what ends neither in "s" nor in "ing" is past.
    fn irregular(&mut self, base: &'static str, forms: &'static str) {
        let has_participle = forms.contains('*');
        for written in entries(forms) {
            let form = written.trim_end_matches(['*', '+']);
            self.forms.insert(form, base);
            if written.ends_with('*') {
                self.participles.insert(form);
            }
            let finite =
                has_participle && form != base && !form.ends_with('s') && !form.ends_with("ing");
            if finite || written.ends_with('+') {
                self.pasts.insert(form);
            }
        }
    }

    fn phrase(&mut self, from: &'static str, to: &'static str) {
        let rest = from.trim().strip_prefix('^');
        let starts = rest.is_some();
        let raw = rest.unwrap_or(from).trim();
        let (raw, as_written) = match raw.strip_prefix('=') {
            Some(raw) => (raw, true),
            None => (raw, !raw.contains(' ')),
        };
        let exact = raw.split_whitespace().filter(|_| as_written).collect();
        let from: Vec<_> = raw.split_whitespace().map(|word| self.base(word)).collect();
        let to: Vec<_> = to.split_whitespace().collect();
        let tense = tense(raw, &to);
        if let Some(first) = from.first() {
            let rules = self.phrases.entry(first.clone()).or_default();
            rules.push(Phrase {
                starts,
                exact,
                from,
                to,
                tense,
            });
        }
    }

    fn list(&mut self, list: &'static str, words: &'static str) {
        let mut all = entries(words);
        match list.split_once(' ') {
            Some(("unit", name)) => {
                self.units.insert(name, name);
                self.units.extend(all.map(|word| (word, name)));
            }
            Some(("role", name)) => self.prepositions.extend(all.map(|word| (word, name))),
            _ => {
                let set = match list {
                    "determiners" => &mut self.determiners,
                    "stop" => &mut self.stop,
                    "soft" => &mut self.soft,
                    "mild" => &mut self.mild,
                    "movable" => &mut self.movable,
                    "definite" => &mut self.definite,
                    "uncounted" => &mut self.uncounted,
                    "fixed" => &mut self.fixed,
                    "silent" => &mut self.silent,
                    "whole" => &mut self.whole,
                    "verbs" => &mut self.verbs,
                    "nominal" => &mut self.nominal,
                    "foreign" => &mut self.foreign,
                    "separable" => &mut self.separable,
                    _ => return,
                };
                set.extend(all.by_ref());
            }
        }
    }

    /// Whether a base form is that of a verb.
    pub(super) fn is_verb(&self, base: &str) -> bool {
        self.verb_bases.contains(base)
    }

    /// The word that stands for `key` beside the other words of a text.
    pub(super) fn beside(&self, key: &str, others: &[&str]) -> Option<&str> {
        let rules = self.contexts.get(key)?;
        let fits = |beside: &[String]| others.iter().any(|other| beside.iter().any(|b| b == other));
        rules
            .iter()
            .find(|(beside, _)| fits(beside))
            .map(|(_, to)| to.as_str())
    }

    fn context(&mut self, words: &'static str, beside: &'static str) {
        let Some((to, words)) = words.split_once(':') else {
            return;
        };
        let beside: Vec<String> = entries(beside).map(|word| self.canonical(word)).collect();
        let to = self.canonical(to.trim());
        for word in entries(words) {
            let rules = self.contexts.entry(self.canonical(word)).or_default();
            rules.push((beside.clone(), to.clone()));
        }
    }

    /// The word that stands for all synonyms of `word`.
    pub(super) fn canonical(&self, word: &str) -> String {
        let base = self.base(word);
        match self.synonyms.get(&base) {
            Some(key) => (*key).to_owned(),
            None => base,
        }
    }
}

/// The mark of the tense in words that a phrase replaces; openings such as "do you know" have none.
fn tense(from: &str, to: &[&str]) -> Option<&'static str> {
    if matches!(
        to.first(),
        None | Some(&"@tell" | &"@polite" | &"@whether" | &"@why")
    ) || to.contains(&"@was")
    {
        return None;
    }
    let has = |words: &[&str]| from.split_whitespace().any(|word| words.contains(&word));
    let kept = |word: &str| to.contains(&word);
    if has(&["is", "are", "do", "does", "am"]) && !kept("is") {
        Some("@is")
    } else if has(&["was", "were", "did"]) && !kept("was") {
        Some("@was")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
