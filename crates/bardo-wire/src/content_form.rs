//! The form of messages and content parts in a body that is relayed: a part is an object with a text
//! `type`. One pass skips over everything else, copies nothing and looks at no value beside `type`.

use bardo_types::model::Dialect;

use crate::codec::BadRequest;
use crate::json::Walker;

/// Checks the value of `key`: a list of messages, items, or system parts in `dialect`. A value that
/// is no list passes.
///
/// # Errors
/// For the first entry that is no object, and the first content part that is no object or has no
/// text `type`; the refusal names its place and what was found there.
pub fn check(dialect: Dialect, key: &str, json: &[u8]) -> Result<(), BadRequest> {
    let mut walker = Walker::over(json);
    if walker.peek() != Some(b'[') {
        return Ok(());
    }
    if key == "system" {
        return parts(&mut walker, &PartsPlace::of(key, dialect));
    }
    walker.entries(|walker, index| {
        let place = PartsPlace {
            entry: index,
            ..PartsPlace::of(key, dialect)
        };
        if walker.peek() != Some(b'{') {
            let message = format!(
                "`{key}[{index}]` is {}; each entry of `{key}` must be an object such as {}",
                walker.found(),
                r#"{"role":"user","content":"Hello"}"#
            );
            return Err(BadRequest::new(format!("{key}[{index}]"), message).unreadable());
        }
        match dialect {
            Dialect::Responses => item(walker, place),
            _ => message(walker, place),
        }
    })
}

/// Where a list of parts stands in the body; written out for a refusal alone.
#[derive(Clone, Copy)]
struct PartsPlace<'a> {
    dialect: Dialect,
    key: &'a str,
    entry: usize,
    /// The member of the entry, empty for a list of system parts.
    member: &'static str,
    /// The part whose own content this is.
    outer: Option<usize>,
}

impl<'a> PartsPlace<'a> {
    fn of(key: &'a str, dialect: Dialect) -> Self {
        Self {
            dialect,
            key,
            entry: 0,
            member: "",
            outer: None,
        }
    }

    fn list(&self) -> String {
        let Self {
            key, entry, member, ..
        } = self;
        match (*member, self.outer) {
            ("", _) => (*key).to_owned(),
            (member, None) => format!("{key}[{entry}].{member}"),
            (member, Some(outer)) => format!("{key}[{entry}].{member}[{outer}].content"),
        }
    }

    fn part(&self, index: usize) -> String {
        format!("{}[{index}]", self.list())
    }

    /// The types to write in place of a wrong one.
    fn types(&self) -> &'static str {
        match (self.dialect, self.member) {
            (_, "") => "`text`",
            (Dialect::Responses, _) => "`input_text`, `input_image` or `input_file`",
            (Dialect::Anthropic, _) => "`text`, `image` or `document`",
            _ => "`text` or `image_url`",
        }
    }

    fn example(&self) -> &'static str {
        match self.dialect {
            Dialect::Responses => r#"{"type":"input_text","text":"Hello"}"#,
            _ => r#"{"type":"text","text":"Hello"}"#,
        }
    }

    fn no_object(&self, index: usize, found: &str) -> BadRequest {
        let part = self.part(index);
        let message = format!(
            "`{part}` is {found}; each part must be an object such as {}",
            self.example()
        );
        BadRequest::new(part, message).unreadable()
    }

    fn no_type(&self, index: usize, found: Option<&str>) -> BadRequest {
        let path = format!("{}.type", self.part(index));
        let types = self.types();
        let message = match found {
            None => format!("`{path}` is required, such as {types}"),
            Some(found) => format!("`{path}` is {found}; it must be a text such as {types}"),
        };
        BadRequest::new(path, message).unreadable()
    }
}

/// A message of Chat Completions or Messages.
fn message(walker: &mut Walker<'_>, place: PartsPlace<'_>) -> Result<(), BadRequest> {
    walker.members(|walker, key| match key {
        b"content" => content(
            walker,
            &PartsPlace {
                member: "content",
                ..place
            },
        ),
        _ => {
            walker.skip();
            Ok(())
        }
    })
}

/// An item of Responses. Only messages and the outputs of the caller's tools have content parts; a
/// member of the same name means something else in other items.
fn item(walker: &mut Walker<'_>, place: PartsPlace<'_>) -> Result<(), BadRequest> {
    let mut kind: Option<&[u8]> = None;
    let mut wrong = None;
    let (mut of_message, mut of_output) = (None, None);
    walker.members(|walker, key| {
        let value = walker.rest();
        match key {
            b"type" if walker.peek() == Some(b'"') => kind = Some(walker.text()),
            b"type" if walker.peek() != Some(b'n') => wrong = Some(walker.found()),
            b"content" => of_message = Some(value),
            b"output" => of_output = Some(value),
            _ => {}
        }
        walker.skip();
        Ok(())
    })?;
    if let Some(found) = wrong {
        let path = format!("{}[{}].type", place.key, place.entry);
        let message = format!(
            "`{path}` is {found}; it must be a text such as `message` or `function_call_output`"
        );
        return Err(BadRequest::new(path, message).unreadable());
    }
    let (member, value) = match kind {
        None | Some(b"message") => ("content", of_message),
        Some(b"function_call_output" | b"custom_tool_call_output") => ("output", of_output),
        Some(_) => return Ok(()),
    };
    match value {
        Some(value) => content(&mut Walker::over(value), &PartsPlace { member, ..place }),
        None => Ok(()),
    }
}

/// A text, nothing, or a list of parts.
fn content(walker: &mut Walker<'_>, place: &PartsPlace<'_>) -> Result<(), BadRequest> {
    match walker.peek() {
        Some(b'[') => parts(walker, place),
        Some(b'"' | b'n') | None => {
            walker.skip();
            Ok(())
        }
        Some(_) => {
            let path = place.list();
            let message = format!(
                "`{path}` is {}; it must be a text or a list of parts such as [{}]",
                walker.found(),
                place.example()
            );
            Err(BadRequest::new(path, message).unreadable())
        }
    }
}

fn parts(walker: &mut Walker<'_>, place: &PartsPlace<'_>) -> Result<(), BadRequest> {
    walker.entries(|walker, index| {
        if walker.peek() != Some(b'{') {
            return Err(place.no_object(index, walker.found()));
        }
        let mut kind: Option<&[u8]> = None;
        let mut wrong = None;
        let mut inner = None;
        walker.members(|walker, key| {
            let value = walker.rest();
            match key {
                b"type" if walker.peek() == Some(b'"') => kind = Some(walker.text()),
                b"type" => wrong = Some(walker.found()),
                b"content" if walker.peek() == Some(b'[') => inner = Some(value),
                _ => {}
            }
            walker.skip();
            Ok(())
        })?;
        if let Some(found) = wrong {
            return Err(place.no_type(index, Some(found)));
        }
        match (kind, inner) {
            (None, _) => Err(place.no_type(index, None)),
            (Some(b""), _) => Err(place.no_type(index, Some("empty"))),
            (Some(b"tool_result"), Some(inner)) if place.outer.is_none() => {
                let place = PartsPlace {
                    outer: Some(index),
                    ..*place
                };
                parts(&mut Walker::over(inner), &place)
            }
            _ => Ok(()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(dialect: Dialect, key: &str, json: &str, param: &str, words: &str) {
        let refusal = check(dialect, key, json.as_bytes()).expect_err(json);
        assert_eq!(refusal.param, param, "{json}");
        assert!(refusal.message.contains(words), "{}", refusal.message);
        assert!(refusal.is_unreadable);
    }

    #[test]
    fn parts_without_a_text_type_are_refused_with_their_place() {
        let chat = |json, param, words| refused(Dialect::Chat, "messages", json, param, words);
        chat(
            r#"[{"content":[{"text":"no type"}]}]"#,
            "messages[0].content[0].type",
            "is required",
        );
        chat(
            r#"[{"role":"user","content":"a ] \" {"},{"content":[{"type":"text"}, {"type":5}]}]"#,
            "messages[1].content[1].type",
            "is a number; it must be a text such as `text`",
        );
        chat(
            r#"[{"content":["str"]}]"#,
            "messages[0].content[0]",
            "is a text; each part must be an object",
        );
        chat(
            r#"[{"content":[{"type":""}]}]"#,
            "messages[0].content[0].type",
            "is empty",
        );
        chat(r#"[{}, 5, {}]"#, "messages[1]", "is a number");
        chat(
            r#"[{"content":{"type":"text"}}]"#,
            "messages[0].content",
            "is an object; it must be a text or a list of parts",
        );
        let messages = |json, param| refused(Dialect::Anthropic, "messages", json, param, "");
        messages(
            r#"[{"content":[{"content":[{"a":[1,{"type":"text"}]}],"type":"tool_result"}]}]"#,
            "messages[0].content[0].content[0].type",
        );
        refused(
            Dialect::Anthropic,
            "system",
            r#"[{"type":"text"},{"type":null}]"#,
            "system[1].type",
            "is null",
        );
        let items = |json, param| refused(Dialect::Responses, "input", json, param, "");
        items(
            r#"[{"content":[{"text":"x"}],"role":"user"}]"#,
            "input[0].content[0].type",
        );
        items(
            r#"[{"output":[7],"type":"function_call_output"}]"#,
            "input[0].output[0]",
        );
        items(r#"[{"type":["message"]}]"#, "input[0].type");
    }

    #[test]
    fn new_types_and_members_of_other_meaning_pass() {
        for (dialect, key, json) in [
            (
                Dialect::Chat,
                "messages",
                r#"[{"content":[{"type":"hologram"}]},{"content":null}]"#,
            ),
            (
                Dialect::Chat,
                "messages",
                r#"[ { "role":"user" , "content" : [ { "x":[{}], "typ\u0065" : "text" } , ] } ]"#,
            ),
            (
                Dialect::Anthropic,
                "messages",
                r#"[{"content":[{"type":"web_search_tool_result","content":[{"x":1}]}]}]"#,
            ),
            (
                Dialect::Responses,
                "input",
                r#"[{"type":"shell_call_output","output":[{"stdout":"x"}]},{"id":"item_1"}]"#,
            ),
            (
                Dialect::Responses,
                "input",
                r#"[{"type":"reasoning","content":[{"type":"reasoning_text"}],"summary":[]}]"#,
            ),
            (Dialect::Responses, "input", r#""words""#),
        ] {
            assert_eq!(check(dialect, key, json.as_bytes()), Ok(()), "{json}");
        }
    }

    #[test]
    fn cut_and_twisted_bytes_end_the_walk() {
        let body = r#"[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"a\"b"}]}]}]"#;
        for end in 0..body.len() {
            for dialect in [Dialect::Chat, Dialect::Anthropic, Dialect::Responses] {
                let _ = check(dialect, "messages", &body.as_bytes()[..end]);
                let _ = check(dialect, "messages", &body.as_bytes()[end..]);
            }
        }
    }
}
