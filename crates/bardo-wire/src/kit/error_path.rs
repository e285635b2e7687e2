//! Where in a body serde stumbled.

/// The path of the value at which reading `body` failed, e.g. `messages[2].content`.
pub(crate) fn of(body: &[u8], error: &serde_json::Error) -> String {
    path_at(body, offset_of(body, error.line(), error.column()))
}

/// The path of `inner`, a path within the value at `outer`.
pub(crate) fn within(outer: &str, inner: &str) -> String {
    match inner {
        "" => outer.to_owned(),
        inner if inner.starts_with('[') => format!("{outer}{inner}"),
        inner => format!("{outer}.{inner}"),
    }
}

fn offset_of(body: &[u8], line: usize, column: usize) -> usize {
    let start: usize = body
        .split_inclusive(|&byte| byte == b'\n')
        .take(line.saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    (start + column).min(body.len())
}

enum Level {
    Object(String),
    Array(usize),
}

/// The path of the last value that begins before `end`.
fn path_at(body: &[u8], end: usize) -> String {
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0;
    let mut expects_key = false;
    while at < end {
        match body[at] {
            b'{' | b'[' if at + 1 >= end => break,
            b'{' => {
                levels.push(Level::Object(String::new()));
                expects_key = true;
            }
            b'[' => levels.push(Level::Array(0)),
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
                let close = string_end(body, at);
                if std::mem::take(&mut expects_key)
                    && let Some(Level::Object(key)) = levels.last_mut()
                {
                    *key = String::from_utf8_lossy(&body[at + 1..close]).into_owned();
                }
                at = close;
            }
            _ => {}
        }
        at += 1;
    }
    render(&levels)
}

/// The offset of the quote that ends the string beginning at `open`, or the end of the body.
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

fn render(levels: &[Level]) -> String {
    let mut path = String::new();
    for level in levels {
        match level {
            Level::Object(key) if key.is_empty() => {}
            Level::Object(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Level::Array(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}
