//! The word lists of `data/guard`, ready to be asked.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

mod parse;

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
    /// What comes from one and goes to another: "the invoice of Bob" is not "the invoice for Bob".
    pub(super) aimed: HashSet<String>,
    /// What a place or a whole has in it: "the museums of Berlin" are those in Berlin.
    pub(super) contained: HashSet<String>,
    /// What neither acts nor is a target: "the address of my account" is the one "on my account".
    pub(super) inert: HashSet<String>,
    /// What has rules and no other will: "the rules of chess" are those for chess.
    pub(super) games: HashSet<String>,
    /// What somebody does or writes on another: "the court ruling" is not "the ruling on the court".
    pub(super) deeds: HashSet<String>,
    /// Verbs before somebody who does something: "stop dogs barking" is not "stop barking at dogs".
    pub(super) hinder: HashSet<String>,
    /// Programs of which the next word is a command: "docker run".
    pub(super) commanders: HashSet<String>,
    /// What names or measures a thing: "the formula of salt" is "the formula for salt".
    pub(super) labels: HashSet<String>,
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
    /// What refers to a thing or a person without a name for it.
    pub(super) pronouns: HashSet<&'static str>,
    /// Words that begin a clause: no phrase goes on beyond them.
    pub(super) conjunctions: HashSet<&'static str>,
    /// Words behind which "'s" is "is": "what's". Behind others it is an owner's.
    pub(super) contracted: HashSet<&'static str>,
    /// Words behind which "one" is no number: "this one".
    pub(super) before_one: HashSet<&'static str>,
    /// Words that, beside prepositions, begin a clause before a question: "if it fails, what".
    pub(super) fronted: HashSet<&'static str>,
    /// Prepositions that stand before a question word, or at the end: "under which license".
    pub(super) stranded: HashSet<&'static str>,
    /// Particles that stand at the end of their clause: "turn the light off".
    pub(super) particles: HashSet<&'static str>,
    /// What a clause with a particle goes on with: "turn the light off when".
    pub(super) behind_particles: HashSet<&'static str>,
    /// Adjectives that say the same before their noun and behind "is": "which dose is normal".
    pub(super) judged: HashSet<&'static str>,
    /// Participles of what lasts once it is done: "has it been fixed" and "is it fixed".
    pub(super) results: HashSet<&'static str>,
    /// Participles of what happens and leaves no state of its own, as "locked" does.
    pub(super) events: HashSet<&'static str>,
    /// Participles behind "get" that say how something is, not what is done to it: "get lost".
    pub(super) gotten: HashSet<&'static str>,
    /// Participles of what an owner has others do: "how do I get my passport renewed".
    pub(super) services: HashSet<&'static str>,
    /// What a program is given up to a limit: "how much memory can it use".
    pub(super) resources: HashSet<&'static str>,
    /// Verbs with a noun that says alone what both say: "run a test" is "test".
    pub(super) carried: HashSet<(&'static str, &'static str)>,
    /// Verbs of what happens by plan: "when does it open" and "when will it open" ask the same.
    pub(super) scheduled: HashSet<String>,
    /// Verbs of what happens by itself: "the fall of Rome" and "Rome fell".
    pub(super) occurs: HashSet<String>,
    /// Verbs of a price that moves.
    pub(super) price_moves: HashSet<String>,
    /// Verbs that say the same of a place and of who acts there: "is X supported in Python".
    pub(super) hosted: HashSet<String>,
    /// Verbs of what somebody may be able to do and not allowed to.
    pub(super) abilities: HashSet<&'static str>,
    /// Verbs of what is said, seen or decided: "who decides if" is not "who decides when".
    pub(super) reporting: HashSet<String>,
    /// Verbs of what is so and not of what is done: "what do I weigh" asks for no advice.
    pub(super) states: HashSet<String>,
    /// What one has of another: "the fear of dogs" is not "the fear in dogs".
    pub(super) felt: HashSet<String>,
    /// What somebody gives, and another gets: "the advice of doctors" is not "the advice for doctors".
    pub(super) given: HashSet<String>,
    /// What is added to a place and has no sum: "add a user in the group" is "add a user to the group".
    pub(super) enrolled: HashSet<String>,
    pub(super) handed: HashSet<String>,
    /// Verbs of what goes at a thing from outside: "bark at the car" is not "bark in the car".
    pub(super) aiming: HashSet<String>,
    /// Verbs that say another thing with "of": "smell of gas" is not "smell gas".
    pub(super) senses: HashSet<String>,
    /// What has no other length than its time: "how long is the film" and "how long does it last".
    pub(super) spans: HashSet<String>,
    /// Verbs of what moves above a thing: "fly over 100 people".
    pub(super) crossing: HashSet<String>,
    /// Verbs of what is done in parts during a time: "spread payments over 12 months".
    pub(super) spreading: HashSet<String>,
    /// What there is against something: "does rabies have a cure" is "is there a cure for rabies".
    pub(super) cures: HashSet<String>,
    /// What is not counted, where "the" names a certain one: "is the ice safe" is not "is ice safe".
    pub(super) masses: HashSet<String>,
    /// Verbs that pick things by what they have: "count cells with a formula" may count those that have one.
    pub(super) picking: HashSet<String>,
    /// Words that ask about a word itself: "what rhymes with big".
    pub(super) mentions: HashSet<String>,
    /// Words of which the one before them is a name: "the exit command".
    pub(super) named: HashSet<String>,
    /// Places from which one removes what is still there: a photo from an album.
    pub(super) linked: HashSet<String>,
    /// What is reduced and not lowered, or the other way round: a fraction, a flag.
    pub(super) shapes: HashSet<String>,
    /// Verbs of what owners do to things of theirs: "can my order be cancelled".
    pub(super) own: HashSet<String>,
    /// Verbs of what anyone does to things that are nobody's: "can soup be frozen".
    pub(super) done: HashSet<String>,
    /// What a program lets its user set: "where do I change my password".
    pub(super) settings: HashSet<String>,
    /// What is done to a setting.
    pub(super) sets: HashSet<String>,
    /// Function words of other languages.
    pub(super) foreign: HashSet<&'static str>,
    /// Synonyms beside certain words only: the word, those words, and the canonical word.
    contexts: HashMap<String, Vec<(Vec<String>, String)>>,
    /// American by British spellings, as starts of words, by their first byte.
    pub(super) spellings: HashMap<u8, Vec<(&'static str, &'static str)>>,
    /// Verbs whose particle can stand behind their object.
    pub(super) separable: HashSet<&'static str>,
    /// Verbs whose past is written as their base form: "set".
    pub(super) unchanged: HashSet<&'static str>,
    /// Past forms that tell no past where a phrase begins with them: "based on".
    pub(super) timeless: HashSet<&'static str>,
    /// Types of programming languages.
    pub(super) types: HashSet<&'static str>,
    /// Words of everyday language that are names too: "rust" and "Rust".
    pub(super) homographs: HashSet<&'static str>,
    /// Places where one is for their purpose, without "the": "in prison".
    pub(super) institutions: HashSet<&'static str>,
    /// Words that name one of a kind behind "a", and the whole without it: "a security".
    pub(super) one_or_all: HashSet<&'static str>,
    /// Things of which "the" names the one that is known: "the moon".
    pub(super) unique: HashSet<&'static str>,
    /// Unit of a number by its names.
    pub(super) units: HashMap<&'static str, &'static str>,
    /// Prepositions and the role of what follows them.
    pub(super) prepositions: HashMap<&'static str, &'static str>,
    /// Name of the class of a canonical word, for explanations and for words of time.
    pub(super) classes: HashMap<&'static str, &'static str>,
}

/// The tables of this build.
pub(super) static TABLES: LazyLock<Tables> = LazyLock::new(Tables::parse);

impl Tables {
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

    /// The word that stands for all synonyms of `word`.
    pub(super) fn canonical(&self, word: &str) -> String {
        let base = self.base(word);
        match self.synonyms.get(&base) {
            Some(key) => (*key).to_owned(),
            None => base,
        }
    }
}
