//! Whether two answers to one question agree.

mod claims;

use std::collections::BTreeSet;

use claims::{AnswerClaims, Finding};

use crate::guard::{Mismatch, Signature};

/// The least cosine of two single sentences that agree although their words differ.
const ANSWER_SIMILARITY: f32 = 0.90;
/// The least cosine of longer answers that agree where no claim contradicts another.
const CLOSE: f32 = 0.85;
/// The least cosine where the answers also share [`SHARED_FACTS`].
const CLOSE_WITH_FACTS: f32 = 0.75;
/// Figures and names of both answers that lower the least cosine.
const SHARED_FACTS: usize = 2;
/// Below this cosine two answers are about different things.
const DISTANT: f32 = 0.45;

/// Longest piece of an answer that is read at once, in bytes.
const PIECE_BYTES: usize = 256;

/// Compares a stored answer with a live one: `Some(true)` where they agree, `Some(false)` where the
/// stored one would have been a wrong answer, `None` where the words do not say. `similarity` is the
/// cosine of both answers; `None` where no embedder ran.
///
/// Equal words agree. Two single sentences must have equal facts (numbers, names of code, addresses,
/// files, negations, directions) and close vectors. Longer answers are compared claim by claim: one
/// may say more than the other, but sentences about one subject must not have another number or
/// name, a negation or an opposite word. Without a contradiction, close vectors agree, also less
/// close ones where both answers share figures or names, and distant ones disagree.
///
/// Of a long answer only a part is read: 48 sentences, and none that is too long for the guard. What
/// was read can show that the answer disagrees, but it agrees only with equal words.
#[must_use]
pub fn verdict(stored: &str, live: &str, similarity: Option<f32>) -> Option<bool> {
    if normal(stored) == normal(live) {
        return Some(true);
    }
    let (one, other) = AnswerClaims::of(stored, live);
    if one.is_short() && other.is_short() {
        let (one, other) = (SentenceFacts::of(stored), SentenceFacts::of(live));
        if one.found != other.found {
            return Some(false);
        }
        let agrees = similarity? >= ANSWER_SIMILARITY;
        return (!agrees || !(one.is_cut || other.is_cut)).then_some(agrees);
    }
    let is_cut = one.is_cut() || other.is_cut();
    match one.compare(&other) {
        Finding::Contradiction => Some(false),
        Finding::Doubt => similarity.filter(|cosine| *cosine < DISTANT).map(|_| false),
        Finding::Compatible { shared } => {
            let cosine = similarity?;
            let close = if shared >= SHARED_FACTS {
                CLOSE_WITH_FACTS
            } else {
                CLOSE
            };
            if cosine >= close {
                (!is_cut).then_some(true)
            } else {
                (cosine < DISTANT).then_some(false)
            }
        }
    }
}

/// Whether two answers agree as [`verdict`] says; answers that cannot be compared do not.
#[must_use]
pub fn agree(stored: &str, live: &str, similarity: Option<f32>) -> bool {
    verdict(stored, live, similarity) == Some(true)
}

/// Words in small letters, without punctuation and white space.
fn normal(text: &str) -> String {
    let words = text
        .split(|c: char| c.is_whitespace())
        .map(|word| {
            word.trim_matches(|c: char| {
                c.is_ascii_punctuation() && !matches!(c, '-' | '+' | '%' | '$')
            })
        })
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

/// What must be equal in two single sentences.
#[derive(Default)]
struct SentenceFacts {
    found: BTreeSet<(String, String)>,
    /// A piece was too long to be read.
    is_cut: bool,
}

impl SentenceFacts {
    fn of(text: &str) -> Self {
        let mut facts = Self::default();
        let mut piece = String::new();
        for word in text.split_whitespace() {
            if piece.len() + word.len() > PIECE_BYTES {
                facts.collect(&piece);
                piece.clear();
            }
            piece.push_str(word);
            piece.push(' ');
        }
        facts.collect(&piece);
        facts
    }

    fn collect(&mut self, piece: &str) {
        let signature = Signature::of(piece);
        self.is_cut |= signature.unusable() == Some(Mismatch::TooLong);
        let facts = signature.facts();
        self.found
            .extend(facts.map(|(class, key)| (class.to_owned(), key.to_owned())));
    }
}

#[cfg(test)]
mod tests {
    use super::{agree, verdict};

    #[test]
    fn answers_that_were_not_compared_neither_agree_nor_disagree() {
        let (one, other) = ("The fee is 10 USDC.", "You pay a fee of 10 USDC.");
        assert_eq!(verdict(one, other, None), None);
        assert_eq!(verdict(one, "The fee is 11 USDC.", None), Some(false));
        assert_eq!(verdict(one, "the fee is 10 USDC", None), Some(true));
    }

    #[test]
    fn equal_words_agree_without_an_embedder() {
        assert!(agree("It is  Paris.", "it is paris", None));
        assert!(!agree("It is Paris.", "It is Rome.", None));
    }

    #[test]
    fn close_answers_with_other_facts_disagree() {
        assert!(agree(
            "The fee is 10 USDC.",
            "You pay a fee of 10 USDC.",
            Some(0.95)
        ));
        assert!(!agree(
            "The fee is 10 USDC.",
            "You pay a fee of 1 USDC.",
            Some(0.99)
        ));
        assert!(!agree("It is safe.", "It is not safe.", Some(0.98)));
        assert!(!agree(
            "The fee is 10 USDC.",
            "The fee is 10 USDC now.",
            Some(0.5)
        ));
    }

    const LONG: &str = "Yes, you can get a refund within 30 days. Keep the original packaging. \
        The money is back on your card within 5 business days.";

    #[test]
    fn an_answer_that_says_more_agrees() {
        let more = "Yes. You can get a refund within 30 days. Open your order and choose a reason. \
            Keep the original packaging. The money is back on your card within 5 business days, \
            and you get an e-mail.";
        assert_eq!(verdict(LONG, more, Some(0.88)), Some(true));
        assert_eq!(verdict(LONG, more, None), None);
    }

    #[test]
    fn an_answer_that_contradicts_disagrees_however_close_it_is() {
        for (from, to) in [
            ("Yes, you can", "No, you can"),
            ("30 days", "60 days"),
            ("you can get", "you can not get"),
        ] {
            let other = LONG.replacen(from, to, 1);
            assert_eq!(verdict(LONG, &other, Some(0.99)), Some(false), "{other}");
            assert_eq!(verdict(&other, LONG, None), Some(false), "{other}");
        }
        let (one, other) = (
            "When rates rise, bond prices fall. This holds for all bonds.",
            "When rates rise, bond prices rise. This holds for all bonds.",
        );
        assert_eq!(verdict(one, other, Some(0.97)), Some(false));
        let (one, other) = (
            "The capital of Australia is Canberra. It is a small city.",
            "The capital of Australia is Sydney. It is a big city.",
        );
        assert_eq!(verdict(one, other, Some(0.97)), Some(false));
    }

    #[test]
    fn answers_about_different_things_disagree_and_those_between_are_not_judged() {
        let other = "Open the settings and choose a theme. The dark one saves power.";
        assert_eq!(verdict(LONG, other, Some(0.2)), Some(false));
        assert_eq!(verdict(LONG, other, Some(0.6)), None);
    }

    #[test]
    fn an_answer_that_was_not_read_whole_agrees_only_with_an_equal_one() {
        let last = "The fee of the last plan is 10 USDC";
        let many: String = (0..48).map(|at| format!("Plan {at} is open. ")).collect();
        let bytes = format!("It is open. {last} {}", "and open ".repeat(300));
        let words: String = (0..70).map(|at| format!("word{at} ")).collect();
        let words = format!("It is open. {last} {words}");
        let letters = format!("{last} {}", "x ".repeat(200));
        for one in [format!("{many}{last}"), bytes, words, letters] {
            let other = one.replace("10 USDC", "11 USDC");
            assert_ne!(verdict(&one, &other, Some(0.99)), Some(true), "{one}");
            let other = one.replace("is open", "is now open");
            let other = other.replace("last plan", "latest plan");
            assert_eq!(verdict(&one, &other, Some(0.99)), None, "{one}");
            assert_eq!(verdict(&one, &one, None), Some(true), "{one}");
        }
        // What was read can still show that they disagree.
        let (one, other) = (format!("Yes. {many}{last}"), format!("No. {many}{last}"));
        assert_eq!(verdict(&one, &other, Some(0.99)), Some(false));
    }

    #[test]
    fn the_labelled_answers_are_seldom_judged_wrongly() {
        let pairs = include_str!("../../data/guard/answers.jsonl");
        let mut wrong = [0, 0];
        let mut judged = 0;
        for line in pairs.lines() {
            let pair: serde_json::Value = serde_json::from_str(line).expect("a pair");
            let text = |name: &str| pair[name].as_str().expect("a text").to_owned();
            #[expect(clippy::cast_possible_truncation, reason = "a cosine")]
            let cosine = pair["cosine"].as_f64().expect("a cosine") as f32;
            let (one, other) = (text("a"), text("b"));
            let found = verdict(&one, &other, Some(cosine));
            assert_eq!(
                found,
                verdict(&other, &one, Some(cosine)),
                "{one} | {other}"
            );
            let same = pair["same"].as_bool().expect("a label");
            judged += usize::from(found.is_some());
            wrong[usize::from(same)] += usize::from(found == Some(!same));
        }
        assert_eq!(
            wrong,
            [0, 0],
            "wrong answers that agree, right ones that disagree"
        );
        assert!(judged >= 48, "{judged} of 64");
    }
}
