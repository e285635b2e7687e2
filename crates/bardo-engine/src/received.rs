use bytes::Bytes;
use http::HeaderMap;

use bardo_types::model::Dialect;

use crate::hints::Hints;

/// What the caller wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// An answer.
    Generate,
    /// The size of the prompt (`count_tokens`, `responses/input_tokens`).
    CountTokens,
    /// Vectors.
    Embeddings,
}

/// Who calls, as the authenticator established it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    /// Stable id of the account or key; partitions everything that is remembered.
    pub id: String,
}

/// A request whose head and body have been read, within their limits.
#[derive(Debug)]
pub struct Received {
    /// Its id, shown in every answer.
    pub request_id: String,
    /// What is wanted.
    pub task: Task,
    /// The caller's dialect.
    pub dialect: Dialect,
    /// The body as written.
    pub body: Bytes,
    /// The few headers that may travel on: `anthropic-version`, `anthropic-beta`, `traceparent`….
    pub forward: HeaderMap,
    /// Hints from headers; hints in the body win over them.
    pub hints: Hints,
    /// Who calls.
    pub principal: Principal,
}
