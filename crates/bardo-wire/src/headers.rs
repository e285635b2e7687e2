//! Every header name of our own, written once (decisions §2).

/// Request id as OpenAI's SDKs read it.
pub const X_REQUEST_ID: &str = "x-request-id";
/// Request id as Anthropic's SDKs read it.
pub const REQUEST_ID: &str = "request-id";
/// The model as the caller named it.
pub const MODEL_REQUESTED: &str = "x-bardo-model-requested";
/// The model that answers, by the catalog's name.
pub const MODEL: &str = "x-bardo-model";
/// The backend that answers.
pub const PROVIDER: &str = "x-bardo-provider";
/// What the caller asked for and did not get, comma separated.
pub const DEGRADED: &str = "x-bardo-degraded";
/// `hash`, `semantic`, `miss` or `bypass`.
pub const CACHE: &str = "x-bardo-cache";
/// The dialect that was detected, where the path does not tell.
pub const DIALECT: &str = "x-bardo-dialect";
/// Cost in decimal USD, or `direct` when the caller's own key pays.
pub const COST: &str = "x-bardo-cost";
/// `true` when simulated providers answer.
pub const SANDBOX: &str = "x-bardo-sandbox";
/// The provider's own request id.
pub const UPSTREAM_REQUEST_ID: &str = "x-bardo-upstream-request-id";
/// Whether SDKs shall try again.
pub const SHOULD_RETRY: &str = "x-should-retry";
/// What every hint header begins with; hints are consumed here and never sent on.
pub const HINT_PREFIX: &str = "x-bardo-";
/// A key of the caller's choice; requests under the same one are carried out once.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// `true` when the answer was given before, under the same key.
pub const IDEMPOTENT_REPLAYED: &str = "idempotent-replayed";
/// How often the makers' SDKs have repeated this request already.
pub const SDK_RETRY_COUNT: &str = "x-stainless-retry-count";
