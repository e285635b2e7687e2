//! What an answer depends on, so that it can be found when that changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use bardo_types::chat::{ChatRequest, DocumentSource, Part, Role};

use crate::key::without_declared;

/// Tags of one entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags {
    /// Domain of the request: `defi`, `code`, …; lower case.
    pub domain: Option<Arc<str>>,
    /// Tokens that the prompt names: `ETH`, `USDC`; upper case, sorted.
    pub tokens: Box<[Arc<str>]>,
    /// Addresses of pools and contracts that the prompt names; lower case, sorted.
    pub pools: Box<[Arc<str>]>,
    /// Digest of the playbook that the prompt carries, as hex.
    pub playbook: Option<Arc<str>>,
}

/// One thing that an answer depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CacheTag {
    /// A domain, in any case.
    Domain(Arc<str>),
    /// A token by its ticker, in any case.
    Token(Arc<str>),
    /// A pool or contract by its address, in any case.
    Pool(Arc<str>),
    /// A playbook by its digest.
    Playbook(Arc<str>),
}

/// Stands for all names of a prompt that names too many: it is found by every flush of its kind.
pub(crate) const ANY: &str = "*";

impl Tags {
    /// Most tokens and most pools of one entry. An entry of a prompt that names more carries a tag
    /// that every flush of tokens, or of pools, finds.
    pub const MOST: usize = 32;

    /// Reads the tags of a request, all texts of its messages included.
    ///
    /// A token is a word with two capitals in a row (`USDC`, `stETH`), a word after `$`, or one of
    /// a few well-known names in small letters; a pool is `0x` and 40 hex digits. Names too many
    /// are harmless: a flush removes more than it must.
    ///
    /// Texts that the caller declared ephemeral are no part of its playbook: they are none of the
    /// key either, and would make another playbook of each request.
    #[must_use]
    pub fn of(request: &ChatRequest, domain: Option<&str>, ephemeral: &[String]) -> Self {
        let mut found = NamesFound::default();
        for message in &request.messages {
            found.parts(&message.parts);
            if message.role == Role::System && found.playbook.is_none() {
                found.playbook = playbook(&message.text(), ephemeral);
            }
        }
        Self {
            domain: domain.map(|domain| domain.to_ascii_lowercase().into()),
            tokens: listed(found.tokens),
            pools: listed(found.pools),
            playbook: found.playbook,
        }
    }

    /// All tags, one by one.
    pub fn each(&self) -> impl Iterator<Item = CacheTag> + '_ {
        let one = |make: fn(Arc<str>) -> CacheTag| move |name: &Arc<str>| make(Arc::clone(name));
        self.domain
            .iter()
            .map(one(CacheTag::Domain))
            .chain(self.tokens.iter().map(one(CacheTag::Token)))
            .chain(self.pools.iter().map(one(CacheTag::Pool)))
            .chain(self.playbook.iter().map(one(CacheTag::Playbook)))
    }
}

/// Why a name is not that of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadTag {
    /// No word of the name can be a ticker.
    #[error("is not a token; write its ticker, of 2 to 12 letters and digits")]
    Token,
    /// Not an address of an EVM chain.
    #[error("is not an address; write 0x and 40 hexadecimal digits")]
    Address,
    /// Not a digest.
    #[error(
        "is not the digest of a playbook; write 32 hexadecimal digits, which `cache explain` shows"
    )]
    Playbook,
}

impl CacheTag {
    /// A token by a name that a prompt can carry.
    ///
    /// # Errors
    /// When no prompt carries a tag for such a name.
    pub fn of_token(name: &str) -> Result<Self, BadTag> {
        let is_right = ticker_words(name).next().is_some();
        is_right
            .then(|| Self::Token(name.into()))
            .ok_or(BadTag::Token)
    }

    /// A pool or contract by its address: `0x` and 40 hexadecimal digits, in any case.
    ///
    /// # Errors
    /// When it is not one. No other form is ever a tag.
    pub fn of_pool(address: &str) -> Result<Self, BadTag> {
        is_address(address)
            .then(|| Self::Pool(address.into()))
            .ok_or(BadTag::Address)
    }

    /// A playbook by its BLAKE3 digest, of which the first 32 hexadecimal digits count.
    ///
    /// # Errors
    /// When it has fewer digits, more than 64, or other characters.
    pub fn of_playbook(digest: &str) -> Result<Self, BadTag> {
        let is_hex = digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        match digest.get(..PLAYBOOK_DIGITS) {
            Some(first) if is_hex && digest.len() <= 64 => Ok(Self::Playbook(first.into())),
            _ => Err(BadTag::Playbook),
        }
    }

    /// The tags of entries that a flush of this one removes, in their spelling.
    pub(crate) fn found_by(&self) -> Vec<Self> {
        match self {
            Self::Token(name) => {
                let words = ticker_words(name).map(Self::token);
                words.chain([Self::Token(ANY.into())]).collect()
            }
            Self::Pool(_) => vec![self.normal(), Self::Pool(ANY.into())],
            Self::Domain(_) | Self::Playbook(_) => vec![self.normal()],
        }
    }

    fn token(word: &str) -> Self {
        Self::Token(word.to_ascii_uppercase().into())
    }

    /// The tag in the spelling that entries carry: tokens in upper case and without `$`, the rest in
    /// lower case.
    #[must_use]
    pub fn normal(&self) -> Self {
        match self {
            Self::Domain(name) => Self::Domain(name.to_ascii_lowercase().into()),
            Self::Token(name) => Self::token(name.trim_start_matches('$')),
            Self::Pool(name) => Self::Pool(name.to_ascii_lowercase().into()),
            Self::Playbook(name) => Self::Playbook(name.to_ascii_lowercase().into()),
        }
    }
}

/// Names as they are found. One more than [`Tags::MOST`] is enough to know that there are too many.
#[derive(Default)]
struct NamesFound {
    tokens: BTreeSet<String>,
    pools: BTreeSet<String>,
    playbook: Option<Arc<str>>,
}

impl NamesFound {
    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Text(text) => self.text(&text.text),
                Part::ToolResult(result) => self.parts(&result.parts),
                Part::ToolCall(call) => self.text(call.input.text()),
                Part::SearchResult(result) => {
                    self.text(&result.title);
                    self.text(&result.source);
                    result.content.iter().for_each(|text| self.text(&text.text));
                }
                Part::Document(document) => {
                    let about = [&document.title, &document.context];
                    about.into_iter().flatten().for_each(|text| self.text(text));
                    match &document.source {
                        DocumentSource::Text(text) => self.text(text),
                        DocumentSource::Parts(parts) => self.parts(parts),
                        DocumentSource::Media(_) => {}
                    }
                }
                Part::Reasoning(reasoning) => self.text(&reasoning.text),
                Part::Refusal(text) => self.text(text),
                Part::Image(_) | Part::Audio(_) | Part::Server(_) => {}
            }
        }
    }

    fn text(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        let mut start = 0;
        while !rest.is_empty() {
            let mut classes = 0;
            let mut length = 0;
            for byte in rest {
                match BYTE_CLASSES[usize::from(*byte)] {
                    0 => break,
                    class => classes |= class,
                }
                length += 1;
            }
            // What surrounds a word is no part of a character, or all of one.
            if may_be_a_name(&rest[..length], classes) {
                self.word(&text[start..start + length]);
            }
            start += length + 1;
            rest = rest.get(length + 1..).unwrap_or_default();
        }
    }

    fn word(&mut self, word: &str) {
        if is_address(word) {
            add(&mut self.pools, || word.to_ascii_lowercase());
        } else if let Some(name) = ticker(word) {
            add(&mut self.tokens, || name.to_ascii_uppercase());
        }
    }
}

const CAPITAL: u8 = 1;
const MARK: u8 = 2;
const PLAIN: u8 = 4;

/// The kinds of bytes that words are made of; 0 for all others.
const BYTE_CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        classes[byte as usize] = match byte {
            b'A'..=b'Z' => CAPITAL,
            b'$' => MARK,
            b'a'..=b'z' | b'0'..=b'9' => PLAIN,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// Tells most words from names, by the classes of their bytes and a few comparisons.
fn may_be_a_name(word: &[u8], classes: u8) -> bool {
    classes & (CAPITAL | MARK) != 0 && word.len() > 1
        || word.len() == ADDRESS_LENGTH
        || WELL_KNOWN_LENGTHS.contains(&word.len()) && KNOWN_LETTERS.contains(&letters(word))
}

/// Up to eight letters as a number.
const fn letters(word: &[u8]) -> u64 {
    let mut letters = 0;
    let mut at = 0;
    while at < word.len() {
        letters = letters << 8 | word[at] as u64;
        at += 1;
    }
    letters
}

fn add(names: &mut BTreeSet<String>, name: impl FnOnce() -> String) {
    if names.len() <= Tags::MOST {
        names.insert(name());
    }
}

fn listed(names: BTreeSet<String>) -> Box<[Arc<str>]> {
    if names.len() > Tags::MOST {
        return Box::new([ANY.into()]);
    }
    names.into_iter().map(Arc::from).collect()
}

const ADDRESS_LENGTH: usize = 42;

fn is_address(word: &str) -> bool {
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    digits.is_some_and(|digits| {
        digits.len() == ADDRESS_LENGTH - 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Names that people write in small letters too.
const WELL_KNOWN: [&str; 16] = [
    "aave", "arb", "bnb", "btc", "cbeth", "crv", "dai", "eth", "matic", "reth", "sol", "steth",
    "usdc", "usdt", "wbtc", "weth",
];
const WELL_KNOWN_LENGTHS: std::ops::RangeInclusive<usize> = 3..=5;
/// [`WELL_KNOWN`] as [`letters`] has them.
const KNOWN_LETTERS: [u64; WELL_KNOWN.len()] = {
    let mut known = [0; WELL_KNOWN.len()];
    let mut place = 0;
    while place < known.len() {
        let name = WELL_KNOWN[place].as_bytes();
        assert!(name.len() >= 3 && name.len() <= 5, "see WELL_KNOWN_LENGTHS");
        known[place] = letters(name);
        place += 1;
    }
    known
};
const TICKER_LENGTHS: std::ops::RangeInclusive<usize> = 2..=12;

/// The words of a token's name that prompts with that name carry as tags: `USDC` of `USDC.e`. No
/// prompt carries a tag for a name without one.
fn ticker_words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| TICKER_LENGTHS.contains(&word.len()))
}

fn ticker(word: &str) -> Option<&str> {
    let marks = word.bytes().take_while(|byte| *byte == b'$').count();
    let name = &word.as_bytes()[marks..];
    if !TICKER_LENGTHS.contains(&name.len()) || name.contains(&b'$') {
        return None;
    }
    let is_capital = u8::is_ascii_uppercase;
    let has_capitals = || name.windows(2).any(|pair| pair.iter().all(is_capital));
    let is_marked = || marks > 0 && name.iter().any(u8::is_ascii_alphabetic);
    let is_known = || {
        let mut known = WELL_KNOWN.iter().map(|known| known.as_bytes());
        known.any(|known| known.eq_ignore_ascii_case(name))
    };
    (has_capitals() || is_marked() || is_known()).then(|| &word[marks..])
}

/// Hexadecimal digits of the digest of a playbook.
const PLAYBOOK_DIGITS: usize = 32;

/// The digest of a system text that carries a playbook.
fn playbook(text: &str, ephemeral: &[String]) -> Option<Arc<str>> {
    if !text.contains("PLAYBOOK") {
        return None;
    }
    let lasting = without_declared(text, ephemeral);
    let digest = blake3::hash(lasting.as_bytes()).to_hex();
    Some(digest[..PLAYBOOK_DIGITS].into())
}

#[cfg(test)]
mod tests {
    use bardo_types::chat::{Document, Message, Text};
    use bardo_types::model::Dialect;

    use super::*;

    fn tags(role: Role, text: &str) -> Tags {
        let mut request = ChatRequest::new(Dialect::Chat, "m");
        let parts = vec![Part::Text(Text::new(text))];
        request.messages.push(Message::new(role, parts));
        Tags::of(&request, Some("DeFi"), &["tick 1".into(), "2".into()])
    }

    #[test]
    fn a_token_is_found_by_the_words_that_prompts_carry() {
        for (name, prompt) in [
            ("USDC.e", "the price of USDC.e"),
            ("PT-sUSDE", "Is PT-sUSDE liquid?"),
            ("usd₮0", "swap USD₮0"),
            ("$pepe", "what about $PEPE"),
        ] {
            let found = CacheTag::of_token(name).unwrap().found_by();
            let mut carried = tags(Role::User, prompt).each().collect::<Vec<_>>();
            carried.retain(|tag| found.contains(tag));
            assert!(!carried.is_empty(), "{name}");
        }
        for name in ["", "$", "a", "₮", "ABCDEFGHIJKLM"] {
            assert_eq!(CacheTag::of_token(name), Err(BadTag::Token), "{name}");
        }
    }

    #[test]
    fn names_beside_the_text_of_a_document_count_too() {
        let mut request = ChatRequest::new(Dialect::Chat, "m");
        let document = Part::Document(Document {
            source: DocumentSource::Text("a report".into()),
            title: Some("On stETH".into()),
            context: Some("pool 0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2".into()),
            citations: false,
            cache: None,
        });
        let parts = vec![document, Part::Refusal("not about $pepe".into())];
        request.messages.push(Message::new(Role::User, parts));
        let found = Tags::of(&request, None, &[]);
        let tokens: Vec<&str> = found.tokens.iter().map(|token| &**token).collect();
        assert_eq!(tokens, ["PEPE", "STETH"]);
        assert_eq!(found.pools.len(), 1);
    }

    #[test]
    fn tokens_and_pools_are_found_in_every_spelling() {
        let pool = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
        let found = tags(
            Role::User,
            &format!("swap 10 ETH/usdc, stETH or $pepe at {pool}. Then go."),
        );
        let tokens: Vec<&str> = found.tokens.iter().map(|name| &**name).collect();
        assert_eq!(tokens, ["ETH", "PEPE", "STETH", "USDC"]);
        assert_eq!(found.pools.len(), 1);
        assert_eq!(&*found.pools[0], pool.to_ascii_lowercase());
        assert_eq!(found.domain.as_deref(), Some("defi"));
        assert_eq!(found.playbook, None);
    }

    #[test]
    fn words_that_only_resemble_names_are_none() {
        for text in [
            "Aa", "x eTh1", "ethe", "0x12", "$", "$1", "$$$", "aAbBcC", "\u{e9}th", "A B",
        ] {
            assert!(tags(Role::User, text).tokens.is_empty(), "{text}");
        }
        for (text, token) in [
            ("\u{e9}ETH\u{e9}", "ETH"),
            ("sOl", "SOL"),
            ("cbeth", "CBETH"),
            ("(usdc)", "USDC"),
            ("$a1", "A1"),
            ("$pepe", "PEPE"),
            ("aaBBccddeeff", "AABBCCDDEEFF"),
        ] {
            assert_eq!(*tags(Role::User, text).tokens, [Arc::from(token)], "{text}");
        }
        let long = tags(Role::User, "aaBBccddeeffg");
        assert!(long.tokens.is_empty(), "13 letters are no ticker");
    }

    #[test]
    fn a_prompt_with_too_many_names_is_found_by_any() {
        let many: String = (0..100).map(|n| format!("TOKEN{n} ")).collect();
        let found = tags(Role::User, &many);
        assert_eq!(&*found.tokens, [Arc::from(ANY)]);
        let flushed = CacheTag::Token("eth".into()).found_by();
        assert!(found.each().any(|tag| flushed.contains(&tag)));
        assert!(
            !found
                .each()
                .any(|tag| CacheTag::Pool("0x1".into()).found_by().contains(&tag))
        );
    }

    #[test]
    fn a_playbook_is_known_by_its_text() {
        let one = tags(Role::System, "# PLAYBOOK\nbuy low");
        let other = tags(Role::System, "# PLAYBOOK\nbuy high");
        assert!(one.playbook.is_some());
        assert_ne!(one.playbook, other.playbook);
        let ticking = tags(Role::System, "# PLAYBOOK\nbuytick 1 2low");
        assert_eq!(ticking.playbook, one.playbook);
        assert_eq!(
            tags(Role::User, "# PLAYBOOK").playbook,
            None,
            "a user has no playbook"
        );
        // An agent that knows its text knows the digest too.
        let whole = blake3::hash(b"# PLAYBOOK\nbuy low").to_hex();
        let named = CacheTag::of_playbook(&whole.to_ascii_uppercase()).unwrap();
        assert!(one.each().any(|tag| named.found_by().contains(&tag)));
        for wrong in ["", "zz", &whole[..31], &format!("{whole}0")] {
            assert_eq!(CacheTag::of_playbook(wrong), Err(BadTag::Playbook));
        }
    }
}
