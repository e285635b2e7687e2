//! Keys and prompts taken out of a provider's words.

use std::borrow::Cow;
use std::collections::HashSet;

use bardo_types::fault::Fault;

/// A key shorter than this is no secret, and would blot out ordinary words.
const KEY_MIN: usize = 4;

/// Takes out `key`, and whatever looks like somebody's, from everything that a fault quotes.
pub(crate) fn scrub(fault: &mut Fault, key: &str) {
    if let Some(clean) = scrubbed(&fault.message, key) {
        fault.message = clean.into();
    }
    for told in [&mut fault.code, &mut fault.param].into_iter().flatten() {
        if let Some(clean) = scrubbed(told, key) {
            *told = clean;
        }
    }
}

/// Number of letters and digits in a row that count as a quotation.
const QUOTED: usize = 12;

/// The fault as logs may have it: without its words, where they quote the caller's request. Texts
/// are compared as a reader reads them: JSON escapes resolved, and without white space,
/// punctuation and case.
pub(crate) fn for_logs(fault: &Fault, request: &[u8]) -> Fault {
    let mut told = fault.clone();
    // A fixed text is the gateway's own.
    let Cow::Owned(words) = &fault.message else {
        return told;
    };
    let words = plain(words.chars());
    let words: HashSet<&[char]> = words.windows(QUOTED).collect();
    if words.is_empty() {
        return told;
    }
    let request = plain(decoded(&String::from_utf8_lossy(request)));
    if request.windows(QUOTED).any(|run| words.contains(run)) {
        told.message = "[a quotation of the request]".into();
    }
    told
}

/// Letters and digits alone, in lower case.
fn plain(text: impl Iterator<Item = char>) -> Vec<char> {
    text.filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// JSON text with the escapes of its strings resolved.
fn decoded(json: &str) -> impl Iterator<Item = char> + '_ {
    let mut rest = json.chars();
    std::iter::from_fn(move || {
        let next = rest.next()?;
        if next != '\\' {
            return Some(next);
        }
        match rest.next()? {
            'n' | 'r' | 't' | 'b' | 'f' => Some(' '),
            'u' => {
                let code = |rest: &mut std::str::Chars<'_>| {
                    let hex: String = rest.by_ref().take(4).collect();
                    u16::from_str_radix(&hex, 16).unwrap_or(0x20)
                };
                let first = code(&mut rest);
                let mut units = vec![first];
                if (0xd800..0xdc00).contains(&first) && rest.as_str().starts_with("\\u") {
                    rest.nth(1);
                    units.push(code(&mut rest));
                }
                let mut letters = char::decode_utf16(units).map(|letter| letter.unwrap_or(' '));
                letters.next()
            }
            other => Some(other),
        }
    })
}

/// The text without keys; `None` where it has none.
fn scrubbed(text: &str, key: &str) -> Option<String> {
    let own = key.len() >= KEY_MIN && text.contains(key);
    let others = text.split(|c| !is_key_char(c)).any(looks_like_key);
    if !own && !others {
        return None;
    }
    let text = if own {
        text.replace(key, "[redacted]")
    } else {
        text.to_owned()
    };
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = rest.find(|c| !is_key_char(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        clean.push_str(if looks_like_key(word) {
            "[redacted]"
        } else {
            word
        });
        let next = after.chars().next();
        clean.extend(next);
        rest = &after[next.map_or(0, char::len_utf8)..];
    }
    Some(clean)
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.*".contains(c)
}

fn looks_like_key(word: &str) -> bool {
    const STARTS: [&str; 7] = ["sk-", "sk_", "bk_", "brk_", "AIza", "vk_", "bardo_"];
    word.len() >= 16 && STARTS.iter().any(|start| word.starts_with(start))
}

#[cfg(test)]
mod tests {
    use bardo_types::fault::FaultClass;

    use super::*;

    #[test]
    fn keys_are_taken_out_of_every_member() {
        let mut fault = Fault::new(
            FaultClass::BadRequest,
            "key \"hunter2\" or (sk-ant-api03-0123456789): é hunter2",
        )
        .with_code("bad hunter2")
        .with_param("Bearer hunter2");
        scrub(&mut fault, "hunter2");
        assert_eq!(
            fault.message,
            "key \"[redacted]\" or ([redacted]): é [redacted]"
        );
        assert_eq!(fault.code.as_deref(), Some("bad [redacted]"));
        assert_eq!(fault.param.as_deref(), Some("Bearer [redacted]"));
    }

    #[test]
    fn a_quotation_of_the_request_is_not_for_logs() {
        let request = br#"{"model":"gpt-5.5","messages":[{"content":"Tell nobody of my plans."}]}"#;
        let told = |words: &str| {
            let fault = Fault::new(FaultClass::BadRequest, words.to_owned());
            for_logs(&fault, request).message
        };
        for quoting in [
            "you said \"Tell nobody of my plans\"",
            "bad: nobody of my plans.",
        ] {
            assert_eq!(told(quoting), "[a quotation of the request]", "{quoting}");
        }
        for plain in [
            "`messages` is too long",
            "the model gpt-5.5 is overloaded",
            "",
        ] {
            assert_eq!(told(plain), plain);
        }
    }

    #[test]
    fn ordinary_words_stay() {
        for text in ["sk-short is no key", "the task-force asked 7 times", ""] {
            assert_eq!(scrubbed(text, "abc"), None, "{text}");
            assert_eq!(scrubbed(text, ""), None, "{text}");
        }
    }
}
