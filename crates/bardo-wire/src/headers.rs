//! Every header name of our own, written once.

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
/// Requested features that the answer lacks, comma separated.
pub const DEGRADED: &str = "x-bardo-degraded";
/// Hints that were not understood, and hints that have no effect yet, in words.
pub const WARNINGS: &str = "x-bardo-warnings";
/// Evidence for the claim that the model runs in attested hardware: `listed`, `attested` or
/// `verified`.
pub const TEE: &str = "x-bardo-tee";
/// What a second model said of the decision in an answer, and the request that asked it.
pub const VERIFICATION: &str = "x-bardo-verification";
/// `hash`, `semantic`, `miss` or `bypass`.
pub const CACHE: &str = "x-bardo-cache";
/// Seconds since a stored answer was made; absent where a provider was called.
pub const CACHE_AGE: &str = "x-bardo-cache-age";
/// Likeness of the stored question and this one, where they differ in words: 1 for equal meaning.
pub const CACHE_SIMILARITY: &str = "x-bardo-cache-similarity";
/// Why no stored answer was served, where the cache has a part in the request.
pub const CACHE_REASON: &str = "x-bardo-cache-reason";
/// The dialect that was detected, where the path does not tell.
pub const DIALECT: &str = "x-bardo-dialect";
/// The gateway's own id of the request, which is never used twice; callers may repeat theirs.
pub const BARDO_REQUEST_ID: &str = "x-bardo-request-id";
/// Measures that made the answer cheaper, comma separated.
pub const OPTIMIZATIONS: &str = "x-bardo-optimizations";
/// Cost in decimal USD, whoever pays; absent where no price is known.
pub const COST: &str = "x-bardo-cost";
/// Another name of `x-bardo-cost`, with the same value.
pub const COST_USD: &str = "x-bardo-cost-usd";
/// `no` where the account is not charged; absent where it is.
pub const BILLED: &str = "x-bardo-billed";
/// `unknown` where no price of the model is known, so that its cost is not known either.
pub const PRICE: &str = "x-bardo-price";
/// The expected cost of the answer in decimal USD, where the cost is not known at its start.
pub const COST_ESTIMATE: &str = "x-bardo-cost-estimate";
/// The amount in decimal USD that is held of the balance when the answer begins.
pub const HOLD: &str = "x-bardo-hold";
/// Difference to the list price where the answer was cheaper, in decimal USD.
pub const SAVINGS: &str = "x-bardo-savings";
/// Addition to the provider's cost, in decimal USD.
pub const SPREAD: &str = "x-bardo-spread";
/// Balance that the account can still spend, in decimal USD.
pub const BALANCE: &str = "x-bardo-balance";
/// Sent while the account has less than 1 USD, with what it has.
pub const BALANCE_WARNING: &str = "x-bardo-balance-warning";
/// Tokens left of this hour's allowance.
pub const REMAINING_TOKENS: &str = "x-remaining-tokens";
/// Limits as OpenAI spells them, of requests: limit, remaining, reset.
pub const RATE_REQUESTS: [&str; 3] = [
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
];
/// See [`RATE_REQUESTS`], of tokens.
pub const RATE_TOKENS: [&str; 3] = [
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens",
];
/// Limits as Anthropic spells them, of requests: limit, remaining, reset.
pub const ANTHROPIC_RATE_REQUESTS: [&str; 3] = [
    "anthropic-ratelimit-requests-limit",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-requests-reset",
];
/// See [`ANTHROPIC_RATE_REQUESTS`], of tokens.
pub const ANTHROPIC_RATE_TOKENS: [&str; 3] = [
    "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
];
/// `true` when simulated providers answer.
pub const SANDBOX: &str = "x-bardo-sandbox";
/// The provider's own request id.
pub const UPSTREAM_REQUEST_ID: &str = "x-bardo-upstream-request-id";
/// Whether SDKs shall try again.
pub const SHOULD_RETRY: &str = "x-should-retry";
/// Prefix of every hint header; hints are consumed here and never sent on.
pub const HINT_PREFIX: &str = "x-bardo-";
/// The key of the provider's prompt cache, for clients that name it beside the body.
pub const PROMPT_CACHE_KEY: &str = "x-prompt-cache-key";
/// Id of the payment of a request that pays for itself.
pub const PAYMENT: &str = "x-bardo-payment";
/// A key of the caller's choice; requests under the same one are carried out once.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// `true` when the answer was given before, under the same key.
pub const IDEMPOTENT_REPLAYED: &str = "idempotent-replayed";
/// Id of the request that a replayed answer was given to: its receipt has this id.
pub const REPLAYED_REQUEST_ID: &str = "x-bardo-replayed-request-id";
/// How often the makers' SDKs have repeated this request already.
pub const SDK_RETRY_COUNT: &str = "x-stainless-retry-count";
