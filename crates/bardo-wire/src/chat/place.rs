//! Where in a body serde stumbled, as a path that a person can follow.

use crate::codec::BadRequest;
use crate::json::told;
use crate::kit::error_path;

/// Turns a serde failure on `text` into a refusal that names the member at fault.
pub(super) fn refuse(text: &str, error: &serde_json::Error) -> BadRequest {
    let param = error_path::of(text.as_bytes(), error);
    let message = told(error, &param);
    BadRequest::new(param, message)
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
