//! The settings of the cache of answers.

use std::path::PathBuf;

use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::secret;
use crate::units::{ByteSize, Span};

/// The cache of answers: the answers that are stored, their scope and their lifetimes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// Callers that share stored answers.
    pub scope: RawCacheScope,
    /// Store answers of privacy class `private` too, encrypted, in memory, for `hash.private_ttl`.
    pub private: bool,
    /// If no backend answers, serve a stored answer also to callers that said `no-cache`.
    pub last_resort: bool,
    /// Regime of the market for requests that name none.
    pub regime: RawRegime,
    /// `redis://…` to share stored answers between gateways; empty: each gateway has its own.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub redis_url: Secret,
    /// Secret of 32 characters or more that encrypts the answers in Redis; the same in all gateways.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub redis_key: Secret,
    /// Answers to identical requests.
    pub hash: HashCacheConfig,
    /// Answers to the same question in other words.
    pub semantic: SemanticCacheConfig,
}

/// How fast the market moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawRegime {
    /// The regime is not known.
    Unknown,
    /// Prices hardly move.
    Calm,
    /// Prices move as usual.
    Normal,
    /// Prices move fast.
    Volatile,
    /// Prices jump and liquidity dries up. `panic` is another name.
    #[serde(alias = "panic", alias = "crash")]
    Crisis,
}

/// Callers that share stored answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawCacheScope {
    /// One agent of an account, by the hint `golem_id`. Requests of the account without that hint
    /// share theirs.
    Agent,
    /// All requests of an account.
    Tenant,
}

/// Answers to identical requests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HashCacheConfig {
    /// Store and serve answers.
    pub enabled: bool,
    /// Let identical requests at the same time share one call of a provider.
    pub single_flight: bool,
    /// Memory for stored answers.
    pub max_bytes: ByteSize,
    /// Largest stored answer.
    pub max_entry: ByteSize,
    /// Largest body of a request that does not ask for the cache itself. Larger ones are looked up
    /// only with the hint `cache: default`.
    pub max_unasked: ByteSize,
    /// Lifetime of answers that no market moves.
    pub ttl: Span,
    /// Lifetime of answers about a market, in a calm one.
    pub market_ttl: Span,
    /// Longest lifetime of answers of privacy class `private`.
    pub private_ttl: Span,
}

/// Answers to the same question in other words, for requests, keys and tiers that ask for them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SemanticCacheConfig {
    /// Compare questions by their meaning where it is asked for.
    pub enabled: bool,
    /// Longest time that a request waits for the vector of its question.
    pub deadline: Span,
    /// Load the embedding model at the start. Otherwise the first question loads it.
    pub warm: bool,
    /// Model that makes the vectors; absent: the one in the program.
    #[serde(default)]
    pub model: Option<SemanticModelConfig>,
    /// Store of vectors that gateways share; absent: each one has its own questions alone.
    #[serde(default)]
    pub vectors: Option<VectorsConfig>,
    /// Questions in the index.
    pub max_entries: usize,
    /// Least similarity of a hit, from 0 to 1, where that of its domain is lower.
    pub min_similarity: f64,
    /// Domains that agents with the tier `golem` have without asking.
    pub golem_domains: Vec<RawDomain>,
    /// Evidence that a domain needs before it serves.
    pub mode: RawAuditMode,
    /// Largest share of false hits, at 95 % confidence; from 0.0001 to 0.5.
    pub max_error: f64,
    /// Share of hits that a provider answers too, to compare both answers; from 0 to 1.
    pub audit_share: f64,
    /// Share of audits whose provider is called twice, at the owner's cost, to learn how often live
    /// answers disagree; from 0 to 1.
    pub baseline_share: f64,
    /// First hits of each account in each domain that are all audited.
    pub first_audits: u32,
    /// Most audits of an account in a day.
    pub audits_per_day: u32,
}

/// An embedding model in an ONNX file. Builds with the feature `onnx` read it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SemanticModelConfig {
    /// The file of the graph. Weights in a second file beside it are found by the graph.
    pub path: PathBuf,
    /// Name in namespaces and messages; absent: the name of the file without its ending.
    #[serde(default)]
    pub name: Option<String>,
    /// Words of a WordPiece tokenizer, one a line (`vocab.txt`); absent: the uncased words of BERT.
    #[serde(default)]
    pub tokenizer: Option<PathBuf>,
    /// Numbers in a vector, from 1 to 4096.
    pub dimension: usize,
    /// Text in front of each question, such as `search_query: `.
    #[serde(default)]
    pub prefix: String,
    /// How the vectors of the tokens become one.
    #[serde(default)]
    pub pooling: RawPooling,
    /// Most tokens of a text that the model reads, from 3 to 8192.
    #[serde(default = "SemanticModelConfig::usual_tokens")]
    pub max_tokens: usize,
    /// Library that runs the model.
    #[serde(default)]
    pub engine: RawVectorEngine,
}

impl SemanticModelConfig {
    fn usual_tokens() -> usize {
        512
    }
}

/// A Qdrant server, by its REST interface. The answers are shared through `cache.redis_url`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VectorsConfig {
    /// `http://…` or `https://…` of the server.
    pub url: String,
    /// Its API key; empty: none is sent.
    #[serde(default = "VectorsConfig::no_key", deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub api_key: Secret,
    /// The collection; it is created at the first question.
    #[serde(default = "VectorsConfig::usual_collection")]
    pub collection: String,
}

impl VectorsConfig {
    fn no_key() -> Secret {
        Secret::new(String::new())
    }

    fn usual_collection() -> String {
        "bardo-questions".to_owned()
    }
}

/// How the vectors of the tokens become one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawPooling {
    /// The mean of all tokens.
    #[default]
    Mean,
    /// The first token.
    First,
}

/// Library that runs a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawVectorEngine {
    /// `rten`, part of builds with the feature `onnx`.
    #[default]
    Rten,
}

/// Domains of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawDomain {
    /// Facts that change seldom: documentation, definitions, support.
    Reference,
    /// Questions of general knowledge, without a field of their own.
    General,
    /// Analysis of markets.
    Market,
    /// Reasoning about strategies.
    Strategy,
    /// Every domain that the gateway does not know.
    Unknown,
}

/// Evidence that a domain needs before it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawAuditMode {
    /// The evidence that the gateway is shipped with, and that of other domains.
    Guarded,
    /// Its own audits.
    Verified,
}
