//! The frame of a text: the kind of question, modality, tense and persons.

mod person;

use super::scan::{Token, TokenKind};
use super::tables::TABLES;

use person::is_object;

/// What a text asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Asking {
    /// A command or a bare phrase.
    #[default]
    Nothing,
    YesNo,
    What,
    How,
    Why,
    When,
    Where,
    Who,
    Whose,
    HowMany,
    HowMuch,
    HowLong,
    HowOften,
}

impl Asking {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "no question",
            Self::YesNo => "yes or no",
            Self::What => "what",
            Self::How => "how",
            Self::Why => "why",
            Self::When => "when",
            Self::Where => "where",
            Self::Who => "who",
            Self::Whose => "whose",
            Self::HowMany => "how many",
            Self::HowMuch => "how much",
            Self::HowLong => "how long",
            Self::HowOften => "how often",
        }
    }

    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "@what" | "what" | "which" => Self::What,
            "@how" | "how" => Self::How,
            "@why" | "why" => Self::Why,
            "@when" => Self::When,
            "@where" | "where" => Self::Where,
            "@who" | "who" | "whom" => Self::Who,
            "whose" => Self::Whose,
            "@howmany" => Self::HowMany,
            "@howmuch" => Self::HowMuch,
            "@howlong" => Self::HowLong,
            "@howoften" => Self::HowOften,
            _ => return None,
        })
    }
}

/// What auxiliaries and pronouns say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SentenceFrame {
    pub(super) ask: Asking,
    /// "can", "should", "must", "will", sorted, each once.
    pub(super) modals: Vec<&'static str>,
    pub(super) past: bool,
    pub(super) present: bool,
    /// "Have" with a participle: "how long have you worked here".
    pub(super) perfect: bool,
    /// Whether the first auxiliary, at the start or behind the question word, tells the past: "did" in "why
    /// did you delete what is in it".
    pub(super) opens_past: Option<bool>,
    /// A form of "be" stands there: "is" in "how is it made".
    pub(super) tells: bool,
    /// A time that is over is named: "yesterday".
    pub(super) over: bool,
    /// "What time", "what day" or "what year"; none for "when". "How many days" for "how long".
    pub(super) grain: Option<&'static str>,
    /// First and second person in the order of their first place.
    pub(super) persons: Vec<&'static str>,
    /// The pronoun behind the first auxiliary: "I" in "when am I paid".
    pub(super) subject: Option<String>,
    /// Asks how much a fee, a rate or a duration is.
    pub(super) sum: bool,
    /// Such a noun stands alone and without "the" or "my": "what is a fee", "what is inflation".
    pub(super) indefinite: bool,
    /// Something is done to "me" or "you": "which users follow you".
    pub(super) done_to: bool,
    /// Something comes to "me" or from "me": "the dog barks at me".
    pub(super) at_me: bool,
    /// Third persons that do something: "he" in "who did he kill".
    pub(super) acts: Vec<&'static str>,
    /// Third persons to whom something is done: "he" in "who killed him".
    pub(super) objects: Vec<&'static str>,
    /// Prepositions before "it", "them", "him" and "her", but not "of": "with" in "pay him with it".
    pub(super) aims: Vec<&'static str>,
    /// Prepositions before the other persons, and "of" and "about" before any: "about me".
    pub(super) asides: Vec<(&'static str, &'static str)>,
    /// Who acts, in the order of the first place: "I", "he" in "I think he lied".
    pub(super) cast: Vec<&'static str>,
    /// The words for owners, in their order: "my", "her" in "how do I get my name on her booking".
    pub(super) possessors: Vec<&'static str>,
    /// How often "I" or "we" acts, and how often "me" or "us" stands there.
    pub(super) first: (u8, u8),
    /// Modal verbs that do not stand at the start of a question: "must" in "you must pay, how do I do it".
    pub(super) stated: Vec<&'static str>,
    /// "Its" says who owns something.
    pub(super) of_it: bool,
    /// Owners: "my", "your" or "their".
    pub(super) owners: Vec<&'static str>,
    /// "he" and "she" in the order of their first place.
    pub(super) others: Vec<&'static str>,
}

/// Reads the frame and returns the tokens without their question words and modals.
pub(super) fn read(tokens: Vec<Token>) -> (SentenceFrame, Vec<Token>) {
    let mut frame = SentenceFrame::default();
    let mut asked = false;
    let mut found: Vec<Token> = Vec::with_capacity(tokens.len());
    let starts_with_aux = tokens
        .iter()
        .find(|token| token.kind != TokenKind::Break && !TABLES.soft.contains(token.text.as_str()))
        .is_some_and(|first| first.kind == TokenKind::Word && is_auxiliary(&first.text));
    for at in 0..tokens.len() {
        let token = &tokens[at];
        if token.kind != TokenKind::Word {
            found.push(token.clone());
            continue;
        }
        let word = token.text.as_str();
        if let Some(grain) = grain(word) {
            frame.grain = Some(grain);
            continue;
        }
        frame.auxiliary(word);
        frame.opens_past = frame.opens_past.or_else(|| opens_past(&tokens, at));
        frame.tells |= is_be(word) && begins(&tokens, at);
        let perfect = super::tense::is_perfect(&tokens, at);
        frame.perfect |= perfect;
        frame.past |= perfect;
        frame.person(word);
        frame.done_to |= is_object(&tokens, at);
        frame.at_me |= person::is_behind_preposition(&tokens, at);
        frame.third(&tokens, at);
        frame.possessors.extend(person::possessor(&tokens, at));
        frame.aims.extend(person::preposition(&tokens, at));
        frame.aims.extend(person::wanted(&tokens, at));
        frame.asides.extend(person::aside(&tokens, at));
        frame.subject = frame.subject.or_else(|| subject(&tokens, at));
        if let Some(ask) = question(&tokens, at) {
            let weak = !asked
                || frame.ask == Asking::What && found.iter().all(|t| t.kind == TokenKind::Break);
            if weak {
                frame.ask = ask;
                asked = true;
                found.push(Token::new(TokenKind::Break, ""));
            } else if !matches!(word, "what" | "which" | "who" | "whom" | "whose" | "@what") {
                found.push(Token::word(word.trim_start_matches('@')));
            }
            continue;
        }

        if !begins(&tokens, at) {
            frame.stated.extend(modal(word));
        }
        match modal(word) {
            Some(_) if is_month(&tokens, at) => found.push(Token::word("may-month")),
            // "Do not have to pay" is no "must not pay".
            Some("must") if denied(&found) => {
                add(&mut frame.modals, "need not");
                found.push(Token::word("@aux"));
            }
            Some(modal) => {
                add(&mut frame.modals, modal);
                found.push(Token::word("@aux"));
            }
            None => found.push(token.clone()),
        }
    }
    if !asked && starts_with_aux {
        frame.ask = Asking::YesNo;
    }
    frame.ease();
    (frame, found)
}

/// The tense of an auxiliary at the start or behind the question word.
fn opens_past(tokens: &[Token], at: usize) -> Option<bool> {
    let past = match tokens[at].text.as_str() {
        "did" | "was" | "were" | "@was" => true,
        "do" | "does" | "is" | "are" | "am" | "@is" => false,
        _ => return None,
    };
    begins(tokens, at).then_some(past)
}

/// Whether an auxiliary stands at the start or behind the question word.
fn begins(tokens: &[Token], at: usize) -> bool {
    at.checked_sub(1).is_none_or(|before| {
        let before = &tokens[before];
        before.text == "when" || Asking::of(&before.text).is_some()
    })
}

fn is_be(word: &str) -> bool {
    matches!(word, "is" | "are" | "was" | "were")
}

/// The pronoun behind an auxiliary. "How to be paid" says nothing of who is paid, as "how am I paid".
fn subject(tokens: &[Token], at: usize) -> Option<String> {
    let next = tokens
        .get(at + 1)
        .filter(|next| next.kind == TokenKind::Word)?;
    let word = tokens[at].text.as_str();
    let pronoun = matches!(
        next.text.as_str(),
        "i" | "you" | "we" | "he" | "she" | "it" | "they"
    );
    let done = word == "@how" && matches!(next.text.as_str(), "be" | "get");
    let named = is_auxiliary(word) && pronoun;
    (named || done).then(|| next.text.clone())
}

/// How exactly a question asks when something happens, and of whom "how old was X when he died" asks.
fn grain(word: &str) -> Option<&'static str> {
    Some(match word {
        "@clock" => "what time",
        "@day" => "what day",
        "@year" => "what year",
        "@minutes" => "how many minutes",
        "@hours" => "how many hours",
        "@days" => "how many days",
        "@weeks" => "how many weeks",
        "@months" => "how many months",
        "@years" => "how many years",
        "@he" => "how old he was",
        "@she" => "how old she was",
        "@they" => "how old they were",
        _ => return None,
    })
}

/// The question word at a place; "when" asks only before an auxiliary.
fn question(tokens: &[Token], at: usize) -> Option<Asking> {
    let word = tokens[at].text.as_str();
    if word == "when" {
        let next = tokens.get(at + 1)?;
        let asks = next.kind == TokenKind::Word && is_auxiliary(&next.text);
        return asks.then_some(Asking::When);
    }
    Asking::of(word)
}

pub(super) fn is_auxiliary(word: &str) -> bool {
    matches!(
        word,
        "is" | "are" | "am" | "was" | "were" | "do" | "does" | "did" | "has" | "have" | "had"
    ) || modal(word).is_some()
}

fn modal(word: &str) -> Option<&'static str> {
    Some(match word {
        "can" | "could" | "may" | "might" | "@can" => "can",
        "should" | "ought" => "should",
        "must" | "@must" => "must",
        "will" | "shall" | "@will" => "will",
        _ => return None,
    })
}

/// Whether "not" ends the words before a modal, with one adverb between at most.
fn denied(before: &[Token]) -> bool {
    let mut last = before.iter().rev();
    let adverb = |token: &&Token| {
        matches!(
            token.text.as_str(),
            "always" | "really" | "actually" | "usually"
        )
    };
    last.by_ref()
        .find(|token| !adverb(token))
        .is_some_and(|token| token.is_word("not"))
}

/// "May" behind a preposition or an article, or before a number: "in May", "the May report", "May 3".
fn is_month(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).map_or("", |before| &tokens[before].text);
    let is_number =
        |token: Option<&Token>| token.map(|token| token.kind) == Some(TokenKind::Number);
    let number = is_number(tokens.get(at + 1)) || at > 0 && is_number(tokens.get(at - 1));
    tokens[at].text == "may"
        && (number
            || TABLES.prepositions.contains_key(before)
            || TABLES.determiners.contains(before)
            || matches!(
                before,
                "last" | "next" | "before" | "after" | "until" | "since" | "during"
            ))
}

fn add(list: &mut Vec<&'static str>, word: &'static str) {
    if !list.contains(&word) {
        list.push(word);
    }
}

impl Asking {
    /// Whether the answer is yes or no, or nothing is asked: "can I bring a dog", "delete an account".
    pub(super) fn is_decided(self) -> bool {
        matches!(self, Self::YesNo | Self::Nothing)
    }
}

impl SentenceFrame {
    /// Reads "will" as the present, where both ask the same; "did" still tells the past.
    pub(super) fn foretold(&mut self) {
        self.present |= self.modals.contains(&"will");
        self.modals.retain(|modal| *modal != "will");
    }

    fn auxiliary(&mut self, word: &str) {
        match word {
            "@was" | "did" | "was" | "were" | "had" => self.past = true,
            "@is" | "@how" | "is" | "are" | "am" | "do" | "does" | "would" => {
                self.present = true;
            }
            _ => {}
        }
    }

    /// Leaves out what does not separate questions of this kind.
    fn ease(&mut self) {
        let eased: &[&str] = match self.ask {
            Asking::Nothing | Asking::YesNo => &[],
            Asking::How => &["can", "should", "must", "need not"],
            Asking::Why if self.persons.is_empty() => &[],
            Asking::Why => &["can"],
            Asking::What
            | Asking::When
            | Asking::Where
            | Asking::Who
            | Asking::Whose
            | Asking::HowMany
            | Asking::HowMuch
            | Asking::HowLong
            | Asking::HowOften => &[],
        };
        self.modals.retain(|modal| !eased.contains(modal));
        self.modals.sort_unstable();
    }
}
