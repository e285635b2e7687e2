//! Where in a body serde stumbled, as a path that a person can follow.

use crate::codec::BadRequest;
use crate::json::explain;

/// Turns a serde failure on `text` into a refusal that names the member at fault.
pub(super) fn refuse(text: &str, error: &serde_json::Error) -> BadRequest {
    let mut refusal = explain(error);
    refusal.param = path_at(text, offset_of(text, error.line(), error.column()));
    refusal
}

fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    (start + column).min(text.len())
}

enum Level {
    Object(String),
    Array(usize),
}

/// The path of the last value that begins before `end`, e.g. `messages[2].content`.
fn path_at(text: &str, end: usize) -> String {
    let bytes = text.as_bytes();
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0;
    let mut expects_key = false;
    while at < end {
        match bytes[at] {
            b'{' => {
                if at + 1 >= end {
                    break;
                }
                levels.push(Level::Object(String::new()));
                expects_key = true;
            }
            b'[' => {
                if at + 1 >= end {
                    break;
                }
                levels.push(Level::Array(0));
            }
            b'}' | b']' => {
                levels.pop();
                expects_key = false;
            }
            b',' => match levels.last_mut() {
                Some(Level::Array(index)) => *index += 1,
                Some(Level::Object(_)) => expects_key = true,
                None => {}
            },
            b'"' => {
                let close = string_end(bytes, at);
                if expects_key && let Some(Level::Object(key)) = levels.last_mut() {
                    *key = text
                        .get(at + 1..close.min(text.len()))
                        .unwrap_or("")
                        .to_owned();
                    expects_key = false;
                }
                at = close;
            }
            _ => {}
        }
        at += 1;
    }
    render(&levels)
}

/// The offset of the quote that ends the string beginning at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'"' => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn render(levels: &[Level]) -> String {
    let mut path = String::new();
    for level in levels {
        match level {
            Level::Object(key) => {
                if !path.is_empty() && !key.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Level::Array(index) => {
                path.push_str(&format!("[{index}]"));
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::refuse;
    use crate::chat::shapes::request::ChatBody;

    #[track_caller]
    fn check(body: &str, param: &str) {
        let error = serde_json::from_str::<ChatBody<'_>>(body).unwrap_err();
        assert_eq!(refuse(body, &error).param, param, "{error}");
    }

    #[test]
    fn the_member_at_fault_is_named() {
        check(r#"{"model":5}"#, "model");
        check(r#"{"model":"m","messages":{"role":"user"}}"#, "messages");
        check(
            r#"{"model":"m","messages":[{"role":"user","content":"a,b{["},{"role":"user","content":7}]}"#,
            "messages[1].content",
        );
        check(
            "{\"model\":\"m\",\n \"messages\":[{\"content\":[{\"type\":\"text\",\"text\":[]}]}]}",
            "messages[0].content[0].text",
        );
        check(
            r#"{"messages":[{"tool_calls":[{"id":"a"},{"id":"b","function":{"name":"f","arguments":{"a":1}}}]}]}"#,
            "messages[0].tool_calls[1].function.arguments",
        );
    }
}
