//! Takes all thinking out of a body that is relayed, leaving every other byte as it is.

use memchr::memmem;
use serde_json::value::RawValue;

use crate::json::{Members, TypeOnly, scan};
use crate::splice::{Edit, splice};

/// The body without its `thinking` and `redacted_thinking` blocks; `None` when it has none, or
/// is not a request at all.
///
/// An assistant message that held nothing else goes too, and the user messages around it become
/// one, so that turns still alternate.
#[must_use]
pub fn strip_thinking(body: &[u8]) -> Option<Vec<u8>> {
    memmem::find(body, b"thinking")?;
    let top = scan(body).ok()?;
    let messages: Vec<&RawValue> = serde_json::from_str(top.get("messages")?).ok()?;
    let mut kept: Vec<StrippedTurn> = Vec::with_capacity(messages.len());
    let mut changed = false;
    let mut gap = false;
    for message in messages {
        match stripped(message.get())? {
            Stripped::Same => push(&mut kept, message.get().to_owned(), gap)?,
            Stripped::Changed(text) => {
                changed = true;
                push(&mut kept, text, gap)?;
            }
            Stripped::Empty => {
                changed = true;
                // An instruction in mid-conversation must be followed by an assistant.
                if kept.last().is_some_and(|turn| turn.role == "system") {
                    push(&mut kept, PLACEHOLDER.to_owned(), false)?;
                } else {
                    gap = true;
                    continue;
                }
            }
        }
        gap = false;
    }
    if !changed {
        return None;
    }
    let texts: Vec<&str> = kept.iter().map(|turn| turn.text.as_str()).collect();
    let messages = format!("[{}]", texts.join(","));
    Some(splice(&top, &[Edit::set("messages", messages)]))
}

/// Stands where an assistant turn is needed and nothing of it is left.
const PLACEHOLDER: &str =
    r#"{"role":"assistant","content":[{"type":"text","text":"(thinking removed)"}]}"#;

struct StrippedTurn {
    role: String,
    text: String,
}

enum Stripped {
    Same,
    Changed(String),
    Empty,
}

/// One message without its thinking.
fn stripped(message: &str) -> Option<Stripped> {
    if memmem::find(message.as_bytes(), b"thinking").is_none() {
        return Some(Stripped::Same);
    }
    let members: Members<'_> = serde_json::from_str(message).ok()?;
    let Some(content) = members
        .get("content")
        .filter(|raw| raw.get().starts_with('['))
    else {
        return Some(Stripped::Same);
    };
    let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
    let kept: Vec<&str> = blocks
        .iter()
        .map(|block| block.get())
        .filter(|block| !is_thinking(block))
        .collect();
    if kept.len() == blocks.len() {
        return Some(Stripped::Same);
    }
    if kept.is_empty() {
        return Some(Stripped::Empty);
    }
    Some(Stripped::Changed(replace(
        message,
        content.get(),
        &format!("[{}]", kept.join(",")),
    )))
}

fn is_thinking(block: &str) -> bool {
    memmem::find(block.as_bytes(), b"thinking").is_some()
        && serde_json::from_str::<TypeOnly<'_>>(block).is_ok_and(|wire| {
            matches!(wire.kind.as_deref(), Some("thinking" | "redacted_thinking"))
        })
}

/// `whole` with its slice `part` replaced.
fn replace(whole: &str, part: &str, by: &str) -> String {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    format!("{}{by}{}", &whole[..start], &whole[start + part.len()..])
}

/// Adds a message; across a gap two user messages become one.
fn push(kept: &mut Vec<StrippedTurn>, text: String, gap: bool) -> Option<()> {
    let members: Members<'_> = serde_json::from_str(&text).ok()?;
    let role: String = serde_json::from_str(members.get("role")?.get()).ok()?;
    if gap
        && role == "user"
        && let Some(last) = kept.last_mut().filter(|last| last.role == "user")
    {
        let before: Members<'_> = serde_json::from_str(&last.text).ok()?;
        let content = before.get("content")?.get();
        let joined = format!(
            "[{}]",
            [content, members.get("content")?.get()]
                .map(blocks_of)
                .into_iter()
                .filter(|blocks| !blocks.is_empty())
                .collect::<Vec<_>>()
                .join(",")
        );
        last.text = replace(&last.text, content, &joined);
        return Some(());
    }
    kept.push(StrippedTurn { role, text });
    Some(())
}

/// The blocks of string-or-blocks content, without the brackets.
fn blocks_of(content: &str) -> String {
    match content
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        Some(blocks) => blocks.trim().to_owned(),
        None => format!(r#"{{"type":"text","text":{content}}}"#),
    }
}
