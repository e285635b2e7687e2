//! The frame of a text: the kind of question, modality, tense and persons.

use super::atoms::{Atom, Relation};
use super::scan::{Token, TokenKind};
use super::tables::TABLES;

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
            "@who" | "who" | "whom" | "whose" => Self::Who,
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
    /// A time that is over is named: "yesterday".
    pub(super) over: bool,
    /// "What time", "what day" or "what year"; none for "when". "How many days" for "how long".
    pub(super) grain: Option<&'static str>,
    /// First and second person in the order of their first place.
    pub(super) persons: Vec<&'static str>,
    /// The pronoun behind the first auxiliary: "I" in "when am I paid".
    pub(super) subject: Option<String>,
    /// Something is done to "me" or "you": "which users follow you".
    pub(super) done_to: bool,
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
        frame.past |= super::tense::is_perfect(&tokens, at);
        frame.person(word);
        frame.done_to |= is_object(&tokens, at);
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

        match modal(word) {
            Some(_) if is_month(&tokens, at) => found.push(Token::word("may-month")),
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

/// How exactly a question asks when something happens.
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

/// "You", "me" or "us" behind a verb.
fn is_object(tokens: &[Token], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| &tokens[before]) else {
        return false;
    };
    let word = before.text.as_str();
    matches!(tokens[at].text.as_str(), "you" | "me" | "us")
        && before.kind == TokenKind::Word
        && !is_auxiliary(word)
        && !word.starts_with('@')
        && !TABLES.prepositions.contains_key(word)
        && !TABLES.stop.contains(word)
        && !matches!(
            word,
            "if" | "when" | "and" | "or" | "what" | "because" | "happenif"
        )
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

/// Joins wordings that differ in the kind of question: "how do A and B differ" and "what is the
/// difference", "how much does it cost" and "what is the price".
pub(super) fn settle(frame: &mut SentenceFrame, atoms: &mut Vec<Atom>) {
    let has = |atoms: &[Atom], key: &str| atoms.iter().any(|atom| atom.key == key);
    match frame.ask {
        Asking::YesNo if super::compare::offers_a_choice(atoms) => frame.ask = Asking::What,
        Asking::How if has(atoms, "differ") => frame.ask = Asking::What,
        Asking::HowMuch if has(atoms, "price") || measures_first(atoms) => {
            frame.ask = Asking::What;
        }
        Asking::HowLong if frame.grain.is_none() && lasts(atoms) => frame.ask = Asking::What,
        Asking::When
            if atoms
                .iter()
                .any(|atom| atom.key == "deadlin" && !atom.modifier) =>
        {
            frame.ask = Asking::What;
        }
        // "Will I lose it if I cancel" and "do I lose it when I cancel".
        Asking::YesNo if has(atoms, "if") => frame.modals.retain(|modal| *modal != "will"),
        // "Why won't it connect" and "why doesn't it connect", of a thing.
        Asking::Why if has(atoms, "not") => frame.modals.retain(|modal| *modal != "will"),
        Asking::Nothing if has(atoms, "not") && frame.persons.is_empty() => {
            let timed = atoms.iter().any(|atom| atom.class == "time");
            frame.modals.retain(|modal| *modal != "will" || timed);
        }
        Asking::What if has(atoms, "happenif") || has(atoms, "happen") => {
            frame.modals.retain(|modal| *modal != "will")
        }
        Asking::What if has(atoms, "amount") => {
            frame.ask = Asking::HowMuch;
            atoms.retain(|atom| atom.key != "amount");
        }
        Asking::What if atoms.len() > 1 && atoms.last().is_some_and(|last| last.key == "mean") => {
            atoms.pop();
        }
        Asking::Where => {
            let kept = |atom: &Atom| {
                frame.modals.is_empty() && atom.passive && matches!(&*atom.key, "store" | "save")
            };
            atoms.retain(|atom| !matches!(&*atom.key, "locat" | "locate") && !kept(atom));
        }
        Asking::HowLong => {
            if has(atoms, "tak") {
                frame.modals.retain(|modal| *modal != "will");
            }
            atoms.retain(|atom| !matches!(&*atom.key, "tak" | "require"));
            // "How long does it last" and "how long is it".
            atoms.pop_if(|atom| atom.key == "last");
        }
        Asking::When if atoms.iter().any(|atom| SCHEDULED.contains(&&*atom.key)) => {
            frame.modals.retain(|modal| *modal != "will");
            happening(atoms);
        }
        _ => {}
    }
    if matches!(frame.ask, Asking::What | Asking::HowMuch) && has(atoms, "price") {
        single(atoms);
        computed(atoms);
    }
    if frame.ask == Asking::Why {
        occurring(atoms);
    }
    // "Was it ever hacked" and "has it been hacked", where no time is named.
    if frame.ask == Asking::YesNo
        && frame.past
        && !atoms
            .iter()
            .any(|atom| matches!(atom.class, "time" | "number" | "negation"))
    {
        atoms.retain(|atom| atom.key != "ever");
    }
    // "How can I see my invoices" and "where can I see my invoices".
    let own = frame.owners == ["my"] && matches!(frame.ask, Asking::How | Asking::Where);
    if own && atoms.len() > 1 && atoms.first().is_some_and(is_looked_at) {
        frame.ask = Asking::Where;
        frame.modals.retain(|modal| *modal != "can");
        if atoms[0].key == "view" {
            atoms.remove(0);
        }
    }
    measured(atoms);
    if has(atoms, "distanc") {
        apart(atoms);
    }
    if frame.ask == Asking::YesNo {
        judged(atoms);
    }
    if frame.ask == Asking::Nothing && programs(frame, atoms) {
        frame.ask = Asking::How;
        frame.present = true;
    }
}

/// "How much volume does it have" asks what its volume is.
fn measures_first(atoms: &[Atom]) -> bool {
    let chunk = atoms.first().map(|first| first.chunk);
    let head = atoms
        .iter()
        .take_while(|atom| Some(atom.chunk) == chunk)
        .last();
    head.is_some_and(|head| {
        TABLES.measures.contains(head.key.as_str()) && head.joined.is_none() && !head.modifier
    })
}

/// "How long is the timeout" asks what the timeout is: its noun is a duration and nothing is done.
fn lasts(atoms: &[Atom]) -> bool {
    let head = |atom: &Atom| {
        TABLES.durations.contains(atom.key.as_str()) && !atom.modifier && atom.joined.is_none()
    };
    let verb = |atom: &Atom| !atom.modifier && TABLES.is_verb(&TABLES.base(&atom.shown));
    atoms.iter().any(head) && !atoms.iter().any(verb)
}

/// "Reverse a list in Python" asks how it is done.
fn programs(frame: &SentenceFrame, atoms: &[Atom]) -> bool {
    let verb = atoms.first().is_some_and(|first| {
        TABLES.is_verb(&TABLES.base(&first.shown)) && first.role == Relation::Plain
    });
    let language = |atom: &Atom| atom.class == "language" && atom.role == Relation::In;
    verb && frame.persons.is_empty() && !frame.past && atoms.iter().any(language)
}

/// The price of one token is that of the token.
fn single(atoms: &mut [Atom]) {
    for atom in atoms.iter_mut().filter(|atom| atom.class == "number") {
        let unit = atom.key.strip_prefix("1 ").map(str::to_owned);
        let token = unit.filter(|unit| TABLES.classes.get(unit.as_str()) == Some(&"ticker"));
        if let Some(token) = token {
            atom.key = token;
            atom.class = "ticker";
        }
    }
}

/// "How high is the fee" is "what is the fee", while a tower has a height of its own.
fn measured(atoms: &mut Vec<Atom>) {
    let measure = |atom: &Atom| {
        TABLES.measures.contains(atom.key.as_str()) && !atom.modifier && atom.joined.is_none()
    };
    let own = match atoms.first().map(|first| first.key.as_str()) {
        Some("howhigh") => "height",
        Some("howbig") => "siz",
        _ => return,
    };
    if atoms.iter().any(measure) {
        atoms.remove(0);
    } else {
        atoms[0].key = own.to_owned();
    }
}

/// "How much is 15 % of 200" asks for no price.
fn computed(atoms: &mut Vec<Atom>) {
    if let [first, second, ..] = &atoms[..]
        && first.key == "price"
        && second.class == "number"
        && (!second.key.contains(' ') || second.key.ends_with("percent"))
    {
        atoms.remove(0);
        atoms[0].role = Relation::Plain;
    }
}

/// Verbs of what happens by plan: "when does it open" and "when will it open" ask the same.
const SCHEDULED: [&str; 8] = [
    "open", "close", "start", "end", "expire", "arrive", "renew", "ship",
];

/// Moves a verb behind what it happens to: "the closing time of the shop" as "the shop closes".
fn happening(atoms: &mut [Atom]) {
    let verb = atoms
        .first()
        .is_some_and(|first| SCHEDULED.contains(&&*first.key));
    let Some(next) = atoms
        .get(1)
        .filter(|next| verb && matches!(next.role, Relation::Of | Relation::For))
    else {
        return;
    };
    let chunk = next.chunk;
    let end = atoms[1..]
        .iter()
        .take_while(|atom| atom.chunk == chunk)
        .count();
    atoms[..=end].rotate_left(1);
}

/// What is shown or downloaded is found at a place.
fn is_looked_at(atom: &Atom) -> bool {
    matches!(&*atom.key, "view" | "download") && !atom.passive && atom.role == Relation::Plain
}

/// Verbs of what happens by itself: "the reasons for the fall of Rome" and "why did Rome fall".
const OCCURS: [&str; 8] = [
    "fall", "rise", "crash", "fail", "collaps", "decrease", "increase", "end",
];

/// Moves a noun of an event behind what it happens to, and leaves out "happen": "the causes of
/// earthquakes" and "why earthquakes happen".
fn occurring(atoms: &mut Vec<Atom>) {
    let event = atoms
        .first()
        .is_some_and(|first| OCCURS.contains(&&*first.key));
    if let Some(next) = atoms
        .get(1)
        .filter(|next| event && next.role == Relation::Of)
    {
        let chunk = next.chunk;
        let end = atoms[1..]
            .iter()
            .take_while(|atom| atom.chunk == chunk)
            .count();
        atoms[..=end].rotate_left(1);
    }
    if atoms.len() > 1 {
        atoms.pop_if(|last| last.key == "happen" && last.role == Relation::Plain);
    }
}

/// The distance from one place to another is that between both, in each order.
fn apart(atoms: &mut Vec<Atom>) {
    atoms.retain(|atom| atom.key != "between");
    for atom in atoms {
        if matches!(atom.role, Relation::From | Relation::To) {
            atom.role = Relation::Plain;
        }
    }
}

/// Moves the word that judges to the front: "is it safe to eat raw eggs", "is eating raw eggs safe",
/// "are raw eggs safe to eat". Words before a noun, as in "safe eggs", stay.
fn judged(atoms: &mut Vec<Atom>) {
    let judges = |atom: &Atom| TABLES.predicates.contains(atom.key.as_str());
    let mut places = (0..atoms.len()).filter(|&at| judges(&atoms[at]));
    let (Some(at), None) = (places.next(), places.next()) else {
        return;
    };
    drop(places);
    if atoms[at].modifier || atoms[at].joined.is_some() {
        return;
    }
    let mut predicate = atoms.remove(at);
    let object_first = at > 0 && at + 1 == atoms.len() && TABLES.is_verb(&atoms[at].key);
    if let Some(before) = at.checked_sub(1)
        && atoms[before].chunk == predicate.chunk
    {
        atoms[before].modifier = false;
    }
    if object_first {
        let verb = atoms.remove(at);
        atoms.insert(0, verb);
    }
    predicate.chunk = usize::MAX;
    predicate.role = Relation::Plain;
    atoms.insert(0, predicate);
}

impl SentenceFrame {
    fn auxiliary(&mut self, word: &str) {
        match word {
            "@was" | "did" | "was" | "were" | "had" => self.past = true,
            "@is" | "@how" | "is" | "are" | "am" | "do" | "does" | "would" => {
                self.present = true;
            }
            _ => {}
        }
    }

    fn person(&mut self, word: &str) {
        match word {
            "i" | "me" | "we" | "us" | "myself" | "ourselves" => add(&mut self.persons, "I"),
            "you" | "yourself" => add(&mut self.persons, "you"),
            "my" | "mine" | "our" | "ours" => add(&mut self.owners, "my"),
            "your" | "yours" => add(&mut self.owners, "your"),
            "their" | "theirs" => add(&mut self.owners, "their"),
            "they" => add(&mut self.others, "they"),
            "he" | "him" | "his" | "himself" => add(&mut self.others, "he"),
            "she" | "her" | "hers" | "herself" => add(&mut self.others, "she"),
            _ => {}
        }
    }

    /// Leaves out what does not separate questions of this kind.
    fn ease(&mut self) {
        let eased: &[&str] = match self.ask {
            Asking::Nothing | Asking::YesNo => &[],
            Asking::How => &["can", "should", "must"],
            Asking::Why if self.persons.is_empty() => &[],
            Asking::Why => &["can"],
            Asking::What
            | Asking::When
            | Asking::Where
            | Asking::Who
            | Asking::HowMany
            | Asking::HowMuch
            | Asking::HowLong
            | Asking::HowOften => &[],
        };
        self.modals.retain(|modal| !eased.contains(modal));
        if self.ask == Asking::How {
            self.others.retain(|person| *person != "they");
        }
        self.modals.sort_unstable();
    }
}
