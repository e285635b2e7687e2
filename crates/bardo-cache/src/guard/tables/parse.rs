//! Reads the files of `data/guard`. A line is `key: word, word, two words`; `#` starts a comment.

use std::collections::HashSet;

use super::{Phrase, Tables};

const SYNONYMS: &str = include_str!("../../../data/guard/synonyms.txt");
const NAMES: &str = include_str!("../../../data/guard/names.txt");
const PHRASES: &str = include_str!("../../../data/guard/phrases.txt");
const FRAMES: &str = include_str!("../../../data/guard/frames.txt");
const FORMS: &str = include_str!("../../../data/guard/forms.txt");
const LISTS: &str = include_str!("../../../data/guard/lists.txt");
const CLASSES: &str = include_str!("../../../data/guard/classes.txt");
const SPELLINGS: &str = include_str!("../../../data/guard/spellings.txt");
const CONTEXTS: &str = include_str!("../../../data/guard/contexts.txt");

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
    /// Reads all lists.
    pub(super) fn parse() -> Self {
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
        tables.aimed = tables.keys("aimed");
        tables.contained = tables.keys("contained");
        tables.inert = tables.keys("inert");
        tables.games = tables.keys("games");
        tables.deeds = tables.keys("deeds");
        tables.hinder = tables.keys("hinder");
        tables.commanders = tables.keys("commanders");
        tables.labels = tables.keys("labels");
        tables.depictions = tables.keys("depictions");
        tables.predicates = tables.keys("predicates");
        tables.papers = tables.keys("papers");
        tables.durations = tables.keys("durations");
        tables.fees = tables.keys("fees");
        tables.scheduled = tables.keys("scheduled");
        tables.occurs = tables.keys("occurs");
        tables.price_moves = tables.keys("price_moves");
        tables.hosted = tables.keys("hosted");
        tables.mentions = tables.keys("mentions");
        tables.named = tables.keys("named");
        tables.linked = tables.keys("linked");
        tables.shapes = tables.keys("shapes");
        tables.own = tables.keys("own");
        tables.done = tables.keys("done");
        tables.settings = tables.keys("settings");
        tables.sets = tables.keys("sets");
        tables.spans = tables.keys("spans");
        tables.reporting = tables.keys("reporting");
        tables.states = tables.keys("states");
        tables.felt = tables.keys("felt");
        tables.given = tables.keys("given");
        tables.enrolled = tables.keys("enrolled");
        tables.handed = tables.keys("handed");
        tables.aiming = tables.keys("aiming");
        tables.senses = tables.keys("senses");
        tables.picking = tables.keys("picking");
        tables.masses = tables.keys("masses");
        tables.cures = tables.keys("cures");
        tables.crossing = tables.bases("crossing");
        tables.spreading = tables.bases("spreading");
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

    /// The base forms of the words of a list.
    fn bases(&self, list: &str) -> HashSet<String> {
        let rows = lines(LISTS, ":").filter(|(name, _)| *name == list);
        rows.flat_map(|(_, words)| entries(words))
            .map(|word| self.base(word))
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
            Some(("carried", verb)) => self.carried.extend(all.map(|noun| (verb, noun))),
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
                    "timeless" => &mut self.timeless,
                    "types" => &mut self.types,
                    "homographs" => &mut self.homographs,
                    "one_or_all" => &mut self.one_or_all,
                    "unique" => &mut self.unique,
                    "institutions" => &mut self.institutions,
                    "unchanged" => &mut self.unchanged,
                    "pronouns" => &mut self.pronouns,
                    "conjunctions" => &mut self.conjunctions,
                    "contracted" => &mut self.contracted,
                    "before_one" => &mut self.before_one,
                    "fronted" => &mut self.fronted,
                    "stranded" => &mut self.stranded,
                    "particles" => &mut self.particles,
                    "behind_particles" => &mut self.behind_particles,
                    "judged" => &mut self.judged,
                    "results" => &mut self.results,
                    "events" => &mut self.events,
                    "gotten" => &mut self.gotten,
                    "services" => &mut self.services,
                    "resources" => &mut self.resources,
                    "abilities" => &mut self.abilities,
                    _ => return,
                };
                set.extend(all.by_ref());
            }
        }
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
