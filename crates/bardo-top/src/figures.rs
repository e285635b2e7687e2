//! The figures of a screen, read from answers of the admin API. A member that is absent is unknown,
//! which a screen shows as `-`.

use serde::Deserialize;
use serde_json::Value;

/// Bodies of the admin API, as they were answered; `Null` for one that was not.
#[derive(Debug, Clone, Default)]
pub struct AdminAnswers {
    /// Body of the path `/status`.
    pub status: Value,
    /// Body of the path `/admin/receipts`.
    pub receipts: Value,
    /// Body of the path `/admin/usage?by=account` for today.
    pub usage: Value,
    /// Body of the path `/admin/cache`.
    pub cache: Value,
    /// Bodies of the paths `/admin/balances/{account}` of the largest accounts of today.
    pub balances: Vec<Value>,
}

/// Whether a server answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Connection {
    /// The first answer is awaited.
    #[default]
    Connecting,
    /// The last answer is current.
    Live,
    /// No answer, with the reason and the line that helps.
    Lost {
        /// Reason in words.
        reason: String,
        /// Command or setting that helps.
        help: String,
    },
}

/// All figures of a screen.
#[derive(Debug, Clone, Default)]
pub struct ScreenFigures {
    /// Address of the admin listener.
    pub address: String,
    /// Whether the server answers.
    pub connection: Connection,
    pub(crate) status: GatewayStatus,
    pub(crate) today: DaySums,
    pub(crate) cache: CacheSums,
    pub(crate) balances: Vec<Balance>,
    pub(crate) requests: Vec<Request>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GatewayStatus {
    pub(crate) version: String,
    pub(crate) sandbox: bool,
    pub(crate) draining: bool,
    pub(crate) models: u64,
    pub(crate) backends: Vec<Backend>,
    pub(crate) config: ConfigState,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ConfigState {
    pub(crate) reload_error: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Backend {
    pub(crate) provider: String,
    pub(crate) state: String,
    pub(crate) models: Vec<BackendModel>,
    pub(crate) probe: Option<Probe>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Probe {
    pub(crate) error: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct BackendModel {
    pub(crate) first_token: LatencyPercentiles,
    pub(crate) whole_answer: LatencyPercentiles,
    pub(crate) error_rate: f64,
    pub(crate) samples: u64,
    pub(crate) circuit: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LatencyPercentiles {
    pub(crate) p50_ms: Option<u64>,
    pub(crate) p95_ms: Option<u64>,
}

/// Sums of today. Amounts are decimal texts in USD.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DaySums {
    pub(crate) requests: Option<u64>,
    pub(crate) failed_requests: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cache_read_tokens: u64,
    pub(crate) cost: Option<String>,
    pub(crate) charge: Option<String>,
    pub(crate) savings: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CacheSums {
    pub(crate) entries: Option<u64>,
    pub(crate) bytes: u64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) semantic_hits: u64,
    pub(crate) saved_usd: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Balance {
    pub(crate) account: String,
    pub(crate) available: String,
    pub(crate) spent: String,
    pub(crate) held: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Request {
    pub(crate) created: String,
    pub(crate) status: String,
    pub(crate) model: String,
    pub(crate) provider: String,
    pub(crate) cache: String,
    pub(crate) usage: Option<RequestUsage>,
    pub(crate) cost: RequestCost,
    pub(crate) timings_ms: RequestTimings,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RequestUsage {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RequestCost {
    pub(crate) charge: Option<String>,
    pub(crate) provider_cost: Option<String>,
    pub(crate) billed: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RequestTimings {
    pub(crate) total: Option<u64>,
    pub(crate) first_content: Option<u64>,
}

impl ScreenFigures {
    /// Figures before the first answer.
    #[must_use]
    pub fn connecting(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            ..Self::default()
        }
    }

    /// Figures of a server that answered. A body of another form counts as absent.
    #[must_use]
    pub fn read(address: &str, answers: &AdminAnswers) -> Self {
        let rows = answers.receipts["data"].as_array().into_iter().flatten();
        Self {
            address: address.to_owned(),
            connection: Connection::Live,
            status: part(&answers.status),
            today: part(&answers.usage["total"]),
            cache: part(&answers.cache),
            balances: answers.balances.iter().map(part).collect(),
            requests: rows.map(part).collect(),
        }
    }

    /// The last figures of a server that does not answer any more.
    #[must_use]
    pub fn lost(self, reason: String, help: String) -> Self {
        Self {
            connection: Connection::Lost { reason, help },
            ..self
        }
    }
}

/// Reads one body. Members that are `null` count as absent.
fn part<T: for<'de> Deserialize<'de> + Default>(value: &Value) -> T {
    T::deserialize(without_nulls(value)).unwrap_or_default()
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(name, member)| (name.clone(), without_nulls(member)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
