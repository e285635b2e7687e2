//! JSON out of the words around it.

/// The first JSON object or list in a text: the whole text, what a code fence holds, or the first
/// place where one reads to its end.
pub(super) fn json(text: &str) -> Option<&str> {
    let trimmed = text.trim();
    if is_json(trimmed) {
        return Some(trimmed);
    }
    fenced(trimmed).or_else(|| anywhere(trimmed))
}

fn is_json(text: &str) -> bool {
    text.starts_with(['{', '['])
        && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

/// The content of the first code fence that is JSON.
fn fenced(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(start) = rest.find("```") {
        let body = &rest[start + 3..];
        // The word behind the fence names the language.
        let body = body.find('\n').map_or(body, |line| &body[line + 1..]);
        let (inner, after) = body.split_once("```").unwrap_or((body, ""));
        if is_json(inner.trim()) {
            return Some(inner.trim());
        }
        rest = after;
    }
    None
}

/// The most places that are tried.
const TRIES: usize = 64;

fn anywhere(text: &str) -> Option<&str> {
    let starts = text
        .char_indices()
        .filter(|(_, letter)| matches!(letter, '{' | '['));
    starts.take(TRIES).find_map(|(start, _)| {
        let rest = &text[start..];
        let mut values =
            serde_json::Deserializer::from_str(rest).into_iter::<&serde_json::value::RawValue>();
        let value = values.next()?.ok()?.get();
        // A list in prose is seldom the answer.
        (value.starts_with('{')).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::json;

    #[test]
    fn json_is_found_and_words_are_not_taken_for_it() {
        for (text, found) in [
            ("{\"a\":1}", Some("{\"a\":1}")),
            ("  [1] ", Some("[1]")),
            ("```json\n{\"a\":1}\n```", Some("{\"a\":1}")),
            ("```\nlet x = {};\n```\n```\n{}\n```", Some("{}")),
            ("as [1] says: {\"a\":\"}\"} so", Some("{\"a\":\"}\"}")),
            ("{not json} {\"a\":{\"b\":[]}}", Some("{\"a\":{\"b\":[]}}")),
            ("```json\n{\"a\":1}", Some("{\"a\":1}")),
            ("{\"a\":", None),
            ("no", None),
            ("12", None),
            ("", None),
        ] {
            assert_eq!(json(text), found, "{text}");
        }
    }
}
