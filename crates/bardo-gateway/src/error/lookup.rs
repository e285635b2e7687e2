//! Requests for something that does not exist.

use bardo_types::error_code::ErrorCode;

use super::Problem;

/// The API of a provider that a path means and that the gateway does not have.
fn absent_api(path: &str) -> Option<&'static str> {
    const ABSENT: [(&str, &str); 14] = [
        ("batches", "batches"),
        ("files", "files"),
        ("uploads", "files"),
        ("images", "images"),
        ("audio", "audio"),
        ("videos", "videos"),
        ("moderations", "moderations"),
        ("fine_tuning", "fine-tuning"),
        ("assistants", "assistants"),
        ("threads", "assistants"),
        ("vector_stores", "vector stores"),
        ("realtime", "realtime sessions"),
        ("conversations", "conversations"),
        ("rerank", "reranking"),
    ];
    let mut parts = path.split('/');
    parts.find_map(|part| {
        let found = ABSENT.iter().find(|(name, _)| *name == part);
        found.map(|(_, api)| *api)
    })
}

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
        const SERVED: &str = "POST /v1/chat/completions, /v1/messages, /v1/responses, /v1/completions, \
             /v1/embeddings, /v1/messages/count_tokens, /v1/route/explain, or GET /v1/models, /v1/balance, /v1/usage, \
             /v1/receipts/{id}, /v1/cache, /v1/caps, /v1/events";
        let asked: String = path.chars().take(200).collect();
        let message = match absent_api(path) {
            Some(api) => format!(
                "`{method} {asked}`: this gateway has no API for {api}; send such requests to the provider itself. \
                 The gateway serves {SERVED}"
            ),
            None => format!("no endpoint `{method} {asked}`; use {SERVED}"),
        };
        // Without a code of its own the dialects would say that a model is missing.
        let code = ErrorCode::UnknownEndpoint;
        Self::new(code, message).told_as(code.as_str())
    }

    /// An endpoint is about Venice, and no backend of it is configured.
    pub(crate) fn no_venice() -> Self {
        let message = "Venice is not configured, so there are no calls to show; set `providers.venice.api_key`";
        Self::new(ErrorCode::NotConfigured, message).for_good()
    }

    /// The token of a stream is unknown, expired, or was used.
    pub(crate) fn stream_token_refused() -> Self {
        let message = "the token of the stream is unknown, expired or used; get one by `POST /venice/stream-token`, and \
             use it once within 60 seconds";
        Self::new(ErrorCode::InvalidKey, message).param("token")
    }

    /// Too many tokens of streams wait to be used.
    pub(crate) fn too_many_stream_tokens() -> Self {
        let message = "too many stream tokens wait to be used; try again in a minute";
        Self::new(ErrorCode::Busy, message).retry_after(60_000)
    }

    /// The parameter `limit` is no number of records.
    pub(crate) fn bad_limit() -> Self {
        let message = "`limit` must be a whole number from 1 to 500";
        Self::new(ErrorCode::InvalidRequest, message).param("limit")
    }
}
