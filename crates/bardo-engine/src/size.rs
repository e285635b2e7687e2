//! What a request tells of its size before it is sent.

use bardo_ledger::hold::prompt_tokens_upper;
use bardo_types::model::Dialect;
use bardo_wire::json::TopLevel;

/// Searches that are reckoned with where a request offers them to the model.
const SEARCHES: u64 = 5;

/// What a request tells of its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Tokens of the prompt, rather too many than too few.
    pub(crate) prompt: u64,
    /// Tokens of output per answer, where the caller set a limit.
    pub(crate) output: Option<u64>,
    /// How many answers are asked for.
    pub(crate) choices: u64,
    /// Searches that the provider may run.
    pub(crate) searches: u64,
}

impl Size {
    pub(crate) fn of(dialect: Dialect, top: &TopLevel<'_>) -> Self {
        let number = |key: &str| top.get(key)?.trim().parse::<u64>().ok();
        let output = match dialect {
            Dialect::Chat => number("max_completion_tokens").max(number("max_tokens")),
            Dialect::Responses => number("max_output_tokens"),
            Dialect::Anthropic | Dialect::Completions | Dialect::Gemini => number("max_tokens"),
        };
        let choices = match dialect {
            Dialect::Chat => number("n"),
            Dialect::Completions => number("best_of").max(number("n")),
            Dialect::Responses | Dialect::Anthropic | Dialect::Gemini => None,
        };
        let searches = [
            "tools",
            "plugins",
            "web_search_options",
            "venice_parameters",
        ]
        .iter()
        .filter_map(|key| top.get(key))
        .any(|json| memchr::memmem::find(json.as_bytes(), b"search").is_some());
        Self {
            prompt: prompt_tokens_upper(top.bytes()),
            output,
            choices: choices.unwrap_or(1).max(1),
            searches: if searches { SEARCHES } else { 0 },
        }
    }

    /// Tokens of all answers, where the caller set a limit.
    pub(crate) fn output_of_all(&self) -> Option<u64> {
        self.output
            .map(|output| output.saturating_mul(self.choices))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dialect: Dialect, body: &str) -> Size {
        Size::of(dialect, &bardo_wire::json::scan(body.as_bytes()).unwrap())
    }

    #[test]
    fn limits_and_choices_are_read_as_each_dialect_writes_them() {
        let body =
            r#"{"max_tokens":5,"max_completion_tokens":7,"max_output_tokens":9,"n":3,"best_of":4}"#;
        let check = |dialect, expected| {
            let size = read(dialect, body);
            assert_eq!((size.output, size.choices), expected, "{dialect:?}");
        };
        check(Dialect::Chat, (Some(7), 3));
        check(Dialect::Responses, (Some(9), 1));
        check(Dialect::Anthropic, (Some(5), 1));
        check(Dialect::Completions, (Some(5), 4));
        assert_eq!(read(Dialect::Chat, body).output_of_all(), Some(21));
        assert_eq!(
            read(Dialect::Chat, r#"{"max_tokens":null,"n":0}"#).output_of_all(),
            None
        );
    }

    #[test]
    fn searches_are_reckoned_with_where_they_are_offered() {
        let tool = r#"{"tools":[{"type":"web_search_20260209","name":"web_search"}]}"#;
        assert_eq!(read(Dialect::Anthropic, tool).searches, SEARCHES);
        let words = r#"{"messages":"search the web","tools":[{"name":"f"}]}"#;
        assert_eq!(read(Dialect::Anthropic, words).searches, 0);
    }
}
