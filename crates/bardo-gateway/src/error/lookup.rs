//! Requests for something that does not exist.

use bardo_types::fault::FaultClass;

use super::Problem;

impl Problem {
    pub(crate) fn receipt_not_found(id: &str) -> Self {
        let id: String = id.chars().take(128).collect();
        let message = format!(
            "no receipt `{id}` exists for this account; send the `x-bardo-request-id` of the answer, or for a replayed \
             answer its `x-bardo-replayed-request-id`"
        );
        let mut problem = Self::new(404, "receipt_not_found", FaultClass::NotFound, message);
        // Else the dialects would say that a model is missing.
        problem.fault.code = Some("receipt_not_found".into());
        problem
    }

    pub(crate) fn unknown_endpoint(method: &http::Method, path: &str) -> Self {
        let message = format!(
            "no endpoint `{method} {}`; use POST /v1/chat/completions, /v1/messages, /v1/responses, /v1/completions, \
             /v1/embeddings, /v1/messages/count_tokens and GET /v1/models",
            path.chars().take(200).collect::<String>()
        );
        let mut problem = Self::new(404, "unknown_endpoint", FaultClass::NotFound, message);
        // Else the dialects would say that a model is missing.
        problem.fault.code = Some("unknown_endpoint".into());
        problem
    }
}
