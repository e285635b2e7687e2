//! Custom tools, which take free text, where a model has only functions.

use bardo_types::json::RawJson;

use crate::json::{Str, TypeOnly, wire_object};

wire_object! {
    struct WrappedText<'a> {
        "input" => input: Option<Str<'a>>,
    }
}

/// The free text of a custom tool that was called as a function with `{"input": text}`; `None` for
/// arguments that are cut off or anything else.
pub(crate) fn unwrapped_whole(arguments: &str) -> Option<String> {
    let wrapped: WrappedText<'_> = serde_json::from_str(arguments).ok()?;
    wrapped.input.map(Str::into_string)
}

/// The free text of a custom tool that was called as a function with `{"input": text}`.
pub(crate) fn unwrapped(arguments: &str) -> Option<String> {
    let read = |json: &str| {
        let wrapped: WrappedText<'_> = serde_json::from_str(json).ok()?;
        Some(wrapped.input.map(Str::into_string))
    };
    // Where the model was cut off, the text so far is as good as a free text that was cut off.
    read(arguments).or_else(|| read(&format!("{arguments}\"}}")))?
}

/// Whether the format of a custom tool is more than any text.
pub(crate) fn has_grammar(format: &RawJson) -> bool {
    let format: TypeOnly<'_> = format.read().unwrap_or_default();
    format.kind.is_some_and(|kind| &*kind != "text")
}
