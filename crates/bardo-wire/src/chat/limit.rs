//! The two names of the limit of output tokens in Chat Completions.

use crate::json::TopLevel;
use crate::splice::Edit;

const OLD: &str = "max_tokens";
const NEW: &str = "max_completion_tokens";

/// The edits that a body needs for a model that refuses `max_tokens` and takes
/// `max_completion_tokens`: another name for the member. With both members the newer one counts, as
/// it does where the body is decoded, and the other is removed. Empty: the body has nothing that
/// the model refuses.
#[must_use]
pub fn limit_renamed(body: &TopLevel<'_>) -> Vec<Edit> {
    let value = |key| body.get(key).map(str::trim);
    let rename = Edit::Rename { key: OLD, to: NEW };
    match (value(OLD), value(NEW)) {
        (None | Some("null"), _) => Vec::new(),
        (Some(_), None) => vec![rename],
        (Some(_), Some("null")) => vec![Edit::Remove { key: NEW }, rename],
        (Some(_), Some(_)) => vec![Edit::Remove { key: OLD }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan;
    use crate::splice::splice;

    #[track_caller]
    fn check(body: &str, expected: &str) {
        let top = scan(body.as_bytes()).unwrap();
        let body = splice(&top, &limit_renamed(&top));
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }

    #[test]
    fn the_old_name_of_the_limit_becomes_the_new_one_in_place() {
        check(
            r#"{ "model":"m", "max_tokens" : 5e1 ,"n":1 }"#,
            r#"{ "model":"m", "max_completion_tokens" : 5e1 ,"n":1 }"#,
        );
        let other = r#"{"model":"m","max_completion_tokens":7}"#;
        check(other, other);
    }

    #[test]
    fn with_both_names_the_new_one_stays_as_it_is() {
        check(
            r#"{"max_tokens":5,"max_completion_tokens":7}"#,
            r#"{"max_completion_tokens":7}"#,
        );
        check(
            r#"{"max_completion_tokens":7, "max_tokens":5}"#,
            r#"{"max_completion_tokens":7}"#,
        );
        check(
            r#"{"max_completion_tokens":null, "max_tokens":5}"#,
            r#"{"max_completion_tokens":5}"#,
        );
        let none = r#"{"max_completion_tokens":7,"max_tokens":null}"#;
        check(none, none);
    }
}
