//! Edits of single top-level members in place: every other byte of a relayed body stays as the
//! caller wrote it.

use crate::json::TopLevel;

/// One edit of a top-level member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Replaces the value, or adds the member at the end.
    Set {
        /// Key of the member.
        key: &'static str,
        /// The value as JSON text.
        value: String,
    },
    /// Takes the member out.
    Remove {
        /// Key of the member.
        key: &'static str,
    },
    /// Writes another name for the member; its place and its value stay. A body without the member
    /// is not changed.
    Rename {
        /// Key of the member.
        key: &'static str,
        /// Its new name, which no other member of the body has.
        to: &'static str,
    },
}

impl Edit {
    /// Sets `key` to a JSON text.
    #[must_use]
    pub fn set(key: &'static str, value: impl Into<String>) -> Self {
        Self::Set {
            key,
            value: value.into(),
        }
    }

    /// Sets `key` to a string.
    #[must_use]
    pub fn set_string(key: &'static str, value: &str) -> Self {
        Self::Set {
            key,
            value: serde_json::to_string(value).expect("a string always serializes"),
        }
    }

    /// The member that it is about.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Set { key, .. } | Self::Remove { key } | Self::Rename { key, .. } => key,
        }
    }
}

/// The body with `edits` applied; each key at most once.
#[must_use]
pub fn splice(top: &TopLevel<'_>, edits: &[Edit]) -> Vec<u8> {
    let body = top.bytes();
    let added: usize = edits
        .iter()
        .map(|edit| match edit {
            Edit::Set { value, key } => value.len() + key.len() + 4,
            Edit::Remove { .. } => 0,
            Edit::Rename { to, .. } => to.len(),
        })
        .sum();
    let mut out = Vec::with_capacity(body.len() + added);
    let mut copied = 0;
    let members = top.members();
    // Whether a member before the present one is kept, so that commas stay right.
    let mut kept_before = false;
    for (index, member) in members.iter().enumerate() {
        let edit = edits.iter().find(|edit| top.has_key(member, edit.key()));
        match edit {
            Some(Edit::Set { value, .. }) => {
                out.extend_from_slice(&body[copied..member.value.start]);
                out.extend_from_slice(value.as_bytes());
                copied = member.value.end;
                kept_before = true;
            }
            Some(Edit::Remove { .. }) => {
                // With something kept before, the comma in front goes too; else the one behind.
                let (from, to) = if kept_before {
                    (members[index - 1].value.end.max(copied), member.value.end)
                } else {
                    let next = members
                        .get(index + 1)
                        .map_or(member.value.end, |next| next.key.start);
                    (member.key.start, next)
                };
                out.extend_from_slice(&body[copied..from]);
                copied = to;
            }
            Some(Edit::Rename { to, .. }) => {
                out.extend_from_slice(&body[copied..member.key.start]);
                out.push(b'"');
                out.extend_from_slice(to.as_bytes());
                out.push(b'"');
                copied = member.key.end;
                kept_before = true;
            }
            None => kept_before = true,
        }
    }
    let close = memchr::memrchr(b'}', body).expect("a scanned body is an object");
    let last = members
        .last()
        .map_or(close, |member| member.value.end)
        .max(copied);
    out.extend_from_slice(&body[copied..last.min(close)]);
    for edit in edits {
        if let Edit::Set { key, value } = edit
            && top.member(key).is_none()
        {
            if kept_before {
                out.push(b',');
            }
            out.push(b'"');
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(b"\":");
            out.extend_from_slice(value.as_bytes());
            kept_before = true;
        }
    }
    out.extend_from_slice(&body[last.min(close)..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan;

    #[track_caller]
    fn check(body: &str, edits: &[Edit], expected: &str) {
        let top = scan(body.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(splice(&top, edits)).unwrap(), expected);
        assert!(scan(expected.as_bytes()).is_ok());
    }

    #[test]
    fn a_value_is_replaced_and_nothing_else_moves() {
        check(
            r#"{ "n":1.0, "model" : "a" ,"x":[ ]}"#,
            &[Edit::set_string("model", "b")],
            r#"{ "n":1.0, "model" : "b" ,"x":[ ]}"#,
        );
    }

    #[test]
    fn a_member_gets_another_name_and_nothing_else_moves() {
        let rename = |key, to| Edit::Rename { key, to };
        check(
            r#"{ "n":1.0, "\u0061" : 5E1 ,"x":[ ]}"#,
            &[rename("a", "b"), rename("none", "c")],
            r#"{ "n":1.0, "b" : 5E1 ,"x":[ ]}"#,
        );
        check(
            r#"{"a":1, "b":2, "c":3}"#,
            &[
                Edit::Remove { key: "a" },
                rename("b", "d"),
                rename("c", "e"),
            ],
            r#"{"d":2, "e":3}"#,
        );
    }

    #[test]
    fn members_go_with_their_comma_wherever_they_stand() {
        let remove = |key| [Edit::Remove { key }];
        check(
            r#"{"a":1, "b":2, "c":3}"#,
            &remove("a"),
            r#"{"b":2, "c":3}"#,
        );
        check(
            r#"{"a":1, "b":2, "c":3}"#,
            &remove("b"),
            r#"{"a":1, "c":3}"#,
        );
        check(
            r#"{"a":1, "b":2, "c":3}"#,
            &remove("c"),
            r#"{"a":1, "b":2}"#,
        );
        check(r#"{"a":1}"#, &remove("a"), r#"{}"#);
        check(
            r#"{"a":1, "b":2}"#,
            &[Edit::Remove { key: "a" }, Edit::Remove { key: "b" }],
            r#"{}"#,
        );
        check(
            r#"{"a":1, "b":2, "c":3}"#,
            &[Edit::Remove { key: "b" }, Edit::Remove { key: "c" }],
            r#"{"a":1}"#,
        );
        check(
            r#"{"a":1, "b":2, "c":3}"#,
            &[Edit::Remove { key: "a" }, Edit::Remove { key: "b" }],
            r#"{"c":3}"#,
        );
    }

    #[test]
    fn a_member_with_an_escaped_key_is_edited_and_not_added_again() {
        check(
            r#"{"mod\u0065l":"a","x":1}"#,
            &[Edit::set_string("model", "b"), Edit::Remove { key: "x" }],
            r#"{"mod\u0065l":"b"}"#,
        );
    }

    #[test]
    fn new_members_are_added_at_the_end() {
        check(r#"{"a":1 }"#, &[Edit::set("s", "{}")], r#"{"a":1,"s":{} }"#);
        check(
            "{ }",
            &[Edit::set("s", "1"), Edit::set("t", "2")],
            r#"{ "s":1,"t":2}"#,
        );
        check(
            r#"{"a":1}"#,
            &[Edit::Remove { key: "a" }, Edit::set("s", "1")],
            r#"{"s":1}"#,
        );
    }
}
