use crate::codec::BadRequest;
use crate::json::told;

/// The refusal of a body that serde could not read, naming the value at fault by its path.
pub(super) fn refuse(body: &[u8], error: &serde_json::Error) -> BadRequest {
    let param = path_at(body, offset(body, error.line(), error.column()));
    let text = told(error)
        .replace("expected u64", "expected a whole number of 0 or more")
        .replace("a boolean", "true or false");
    let message = if param.is_empty() {
        format!("the request body does not fit this endpoint: {text}")
    } else {
        format!("{param}: {text}")
    };
    BadRequest::new(param, message)
}

/// Bytes consumed at a serde position (both counted from one).
fn offset(body: &[u8], line: usize, column: usize) -> usize {
    let start = body
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1)
        .nth(line.wrapping_sub(2))
        .unwrap_or(0);
    (start + column).min(body.len())
}

enum Step {
    Key(String),
    Index(usize),
}

/// The path of the value that ends at, or contains, `end`.
fn path_at(body: &[u8], end: usize) -> String {
    let mut steps: Vec<Step> = Vec::new();
    let mut key_next = false;
    let mut at = 0;
    while at < end {
        match body[at] {
            b'{' => {
                steps.push(Step::Key(String::new()));
                key_next = true;
            }
            b'[' => steps.push(Step::Index(0)),
            b'}' | b']' => {
                steps.pop();
                key_next = false;
            }
            b',' => match steps.last_mut() {
                Some(Step::Index(index)) => *index += 1,
                _ => key_next = true,
            },
            b'"' => {
                let close = string_end(body, at);
                if std::mem::replace(&mut key_next, false)
                    && let Some(Step::Key(key)) = steps.last_mut()
                {
                    *key = String::from_utf8_lossy(&body[at + 1..close.min(body.len())]).into();
                }
                at = close;
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for step in &steps {
        match step {
            Step::Key(key) if key.is_empty() => {}
            Step::Key(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Step::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

/// Where the string that opens at `open` closes, or the end of the body.
fn string_end(body: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < body.len() {
        match body[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    body.len()
}
