//! Requests for something that does not exist.

use bardo_types::error_code::ErrorCode;

use super::Problem;

impl Problem {
    pub(crate) fn receipt_not_found(id: &str) -> Self {
        let id: String = id.chars().take(128).collect();
        let message = format!(
            "no receipt `{id}` exists for this account; send the `x-bardo-request-id` of the answer, or for a replayed \
             answer its `x-bardo-replayed-request-id`"
        );
        // Without a code of its own the dialects would say that a model is missing.
        let code = ErrorCode::ReceiptNotFound;
        Self::new(code, message).told_as(code.as_str())
    }

    pub(crate) fn unknown_endpoint(method: &http::Method, path: &str) -> Self {
        let message = format!(
            "no endpoint `{method} {}`; use POST /v1/chat/completions, /v1/messages, /v1/responses, /v1/completions, \
             /v1/embeddings, /v1/messages/count_tokens, /v1/route/explain, or GET /v1/models, /v1/balance, /v1/usage, \
             /v1/receipts/{{id}}, /v1/cache, /v1/caps, /v1/events",
            path.chars().take(200).collect::<String>()
        );
        // Without a code of its own the dialects would say that a model is missing.
        let code = ErrorCode::UnknownEndpoint;
        Self::new(code, message).told_as(code.as_str())
    }
}
