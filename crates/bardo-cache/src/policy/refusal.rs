//! Refusals in plain words: short answers that say no and end like any other answer.
//!
//! Many models refuse without a member `refusal` and without a finish reason of their own. The next
//! request may get an answer, so such a text is not stored. A text that only looks like a refusal
//! costs one more call.

/// Bytes of the longest text that counts as a refusal. Longer ones also say what they can say.
pub(super) const LONGEST_BYTES: usize = 600;

/// Bytes of the start that is read: the longest apologies and the refusal behind them.
const START_BYTES: usize = 160;

/// Words before the refusal itself.
const APOLOGIES: [&str; 19] = [
    "i'm sorry",
    "i am sorry",
    "i'm really sorry",
    "i'm very sorry",
    "i'm so sorry",
    "sorry",
    "i apologize",
    "i apologise",
    "my apologies",
    "unfortunately",
    "i'm afraid",
    "i understand",
    "thank you for asking",
    "as an ai language model",
    "as an ai assistant",
    "as an ai model",
    "as an ai",
    "but",
    "that",
];

/// How a model says that it will not answer, after the apologies.
const UNABLE: [&str; 15] = [
    "i can't ",
    "i cannot ",
    "i can not ",
    "i won't ",
    "i will not ",
    "i'm unable to ",
    "i am unable to ",
    "i'm not able to ",
    "i am not able to ",
    "i'm not going to ",
    "i must decline",
    "i have to decline",
    "i need to decline",
    "i'm not comfortable ",
    "i don't feel comfortable ",
];

/// Refusals of other languages, with their apologies.
const ELSEWHERE: [&str; 24] = [
    "es tut mir leid",
    "tut mir leid",
    "ich kann dir dabei nicht",
    "ich kann ihnen dabei nicht",
    "lo siento",
    "lamento",
    "no puedo ayudar",
    "je suis désolé",
    "je regrette",
    "désolé",
    "je ne peux pas",
    "mi dispiace",
    "non posso aiutar",
    "desculpe",
    "sinto muito",
    "não posso ajudar",
    "het spijt me",
    "к сожалению, я не",
    "извините",
    "抱歉",
    "对不起",
    "很抱歉",
    "申し訳",
    "죄송",
];

/// Whether an answer is a refusal in plain words.
pub(super) fn is_refusal(text: &str) -> bool {
    let text = text.trim();
    if text.len() > LONGEST_BYTES {
        return false;
    }
    let start = &text[..text.floor_char_boundary(START_BYTES)];
    let mut text = start.to_lowercase();
    if text.contains('\u{2019}') {
        text = text.replace('\u{2019}', "'");
    }
    if ELSEWHERE.iter().any(|words| text.starts_with(words)) {
        return true;
    }
    let mut rest = text.as_str();
    let mut found = Some(rest);
    while let Some(after) = found {
        rest = after;
        found = APOLOGIES.iter().find_map(|words| behind(rest, words));
    }
    UNABLE.iter().any(|words| rest.starts_with(words))
}

/// What follows `words` at the start of `text`, without the punctuation between.
fn behind<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(words)?;
    let is_between = |letter: char| letter.is_whitespace() || ",.;:!—–-".contains(letter);
    rest.starts_with(is_between)
        .then(|| rest.trim_start_matches(is_between))
}

#[cfg(test)]
mod tests {
    use super::is_refusal;

    #[test]
    fn a_text_that_says_no_is_a_refusal() {
        for text in [
            "I'm sorry, but I can't help with that request.",
            "I\u{2019}m sorry, I can\u{2019}t assist with that.",
            "Sorry — I cannot comply with this request as it is written.",
            "  I cannot provide instructions for that.",
            "As an AI language model, I am not able to give legal advice about this.",
            "I apologize, but I'm unable to discuss this topic.",
            "I won't help with breaking into an account that isn't yours.",
            "Unfortunately, I must decline to answer this question.",
            "I understand, but I can't share that information with you.",
            "Es tut mir leid, aber dabei kann ich nicht helfen.",
            "抱歉，我无法回答这个问题。",
        ] {
            assert!(is_refusal(text), "{text}");
        }
    }

    #[test]
    fn an_answer_about_refusals_is_none() {
        let long = format!("I can't say for sure. {}", "One more reason. ".repeat(40));
        for text in [
            "A blockchain is a list of records.",
            "Sorry is a word of apology in English.",
            "Unfortunately, the pool cannot be entered before the epoch ends.",
            "I can help with that: use a limit order.",
            "The message \"I'm sorry, but I can't help\" is a refusal of the model.",
            "Sorrygate was a scandal.",
            long.as_str(),
            "",
        ] {
            assert!(!is_refusal(text), "{text}");
        }
    }
}
