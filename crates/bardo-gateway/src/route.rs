//! Which endpoint a path means. Clients disagree about prefixes, so all usual ones are served.

use bardo_engine::Task;
use bardo_types::model::Dialect;
use http::Method;

/// The endpoint that a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ApiRoute {
    /// Work for the engine.
    Work {
        /// The kind of work.
        task: Task,
        /// The dialect that the path means.
        dialect: Dialect,
        /// The body may overrule the path (`/v1/completions`).
        detect: bool,
    },
    /// Why a request would go where it would go.
    Explain,
    /// Says which stored answer a request would get.
    ExplainCache,
    /// Something that the caller reads.
    Read(ReadRoute),
    /// New caps for the caller's key.
    ChangeCaps,
    /// The removal of stored answers of the caller's account.
    FlushCache,
    /// A key for a wallet that signs for it.
    WalletKey,
    /// The link of a wallet with its agent.
    LinkAgent,
    /// The revocation of a delegation.
    RevokeDelegation,
    /// A deposit by x402.
    Deposit,
    /// The state of one payment.
    Payment(String),
    /// An endpoint below `/venice`.
    Venice(VeniceRoute),
    /// Alive, ready, or both.
    Health,
    /// The description of this listener.
    OpenApi,
    /// A known path with another method.
    WrongMethod(&'static str),
    /// A path without a route.
    Unknown,
}

/// An endpoint that spends nothing and takes every key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadRoute {
    /// The list of models.
    Models,
    /// A single model.
    Model(String),
    /// The balance of the caller's account.
    Balance,
    /// The usage of the caller's account, by day.
    Usage,
    /// The caps of the caller's key.
    Caps,
    /// The figures of the stored answers of the caller's account.
    Cache,
    /// The feed of events.
    Events,
    /// The receipt of one request.
    Receipt(String),
}

/// An endpoint below `/venice`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VeniceRoute {
    /// What is known of Venice, and sums over the caller's calls there.
    Status,
    /// The caller's latest calls.
    Telemetry,
    /// The evidence of calls of models in a TEE.
    Attestations,
    /// The caller's calls as they happen.
    Stream,
    /// A token that opens a stream.
    StreamToken,
    /// A file of the page, by its path below `/venice`.
    Page(String),
}

/// The path below the version: `/v1/v1/messages/`, `/anthropic/v1/messages` and `/messages` all
/// give `messages`.
fn stem(path: &str) -> &str {
    let mut rest = path.trim_matches('/');
    for prefix in ["anthropic", "openai", "api"] {
        if let Some(after) = rest.strip_prefix(prefix)
            && after.starts_with('/')
        {
            rest = after.trim_start_matches('/');
            break;
        }
    }
    while let Some(after) = rest.strip_prefix("v1/") {
        rest = after.trim_start_matches('/');
    }
    rest
}

/// Finds the endpoint.
pub(crate) fn route(method: &Method, path: &str) -> ApiRoute {
    let work = |task, dialect| {
        if method == Method::POST {
            ApiRoute::Work {
                task,
                dialect,
                detect: false,
            }
        } else {
            ApiRoute::WrongMethod("POST")
        }
    };
    match stem(path) {
        "chat/completions" => work(Task::Generate, Dialect::Chat),
        "messages" => work(Task::Generate, Dialect::Anthropic),
        "responses" => work(Task::Generate, Dialect::Responses),
        "messages/count_tokens" => work(Task::CountTokens, Dialect::Anthropic),
        "responses/input_tokens" => work(Task::CountTokens, Dialect::Responses),
        "embeddings" => work(Task::Embeddings, Dialect::Chat),
        "completions" if method == Method::POST => ApiRoute::Work {
            task: Task::Generate,
            dialect: Dialect::Completions,
            detect: true,
        },
        "completions" => ApiRoute::WrongMethod("POST"),
        "route/explain" if method == Method::POST => ApiRoute::Explain,
        "cache/explain" if method == Method::POST => ApiRoute::ExplainCache,
        "route/explain" | "cache/explain" => ApiRoute::WrongMethod("POST"),
        "keys" if method == Method::POST => ApiRoute::WalletKey,
        "identity/link" if method == Method::POST => ApiRoute::LinkAgent,
        "identity/delegations/revoke" if method == Method::POST => ApiRoute::RevokeDelegation,
        "keys" | "identity/link" | "identity/delegations/revoke" => ApiRoute::WrongMethod("POST"),
        "deposits" if method == Method::POST => ApiRoute::Deposit,
        "deposits" => ApiRoute::WrongMethod("POST"),
        "models" if is_read(method) => ApiRoute::Read(ReadRoute::Models),
        "models" => ApiRoute::WrongMethod("GET"),
        "openapi.json" if is_read(method) => ApiRoute::OpenApi,
        "health/live" | "health/ready" | "healthz" | "health" | "health/liveliness"
        | "health/readiness" => ApiRoute::Health,
        "venice/stream-token" if method == Method::POST => {
            ApiRoute::Venice(VeniceRoute::StreamToken)
        }
        "venice/stream-token" => ApiRoute::WrongMethod("POST"),
        "balance" if is_read(method) => ApiRoute::Read(ReadRoute::Balance),
        "usage" if is_read(method) => ApiRoute::Read(ReadRoute::Usage),
        "events" if is_read(method) => ApiRoute::Read(ReadRoute::Events),
        "caps" if is_read(method) => ApiRoute::Read(ReadRoute::Caps),
        "caps" if method == Method::POST => ApiRoute::ChangeCaps,
        "caps" => ApiRoute::WrongMethod("GET, POST"),
        "cache" if is_read(method) => ApiRoute::Read(ReadRoute::Cache),
        "cache" if method == Method::DELETE => ApiRoute::FlushCache,
        "cache" => ApiRoute::WrongMethod("GET, DELETE"),
        "balance" | "usage" | "events" => ApiRoute::WrongMethod("GET"),
        other => named(method, other),
    }
}

/// Places that end in a name.
fn named(method: &Method, stem: &str) -> ApiRoute {
    let (name, found): (&str, fn(String) -> ApiRoute) = match stem.split_once('/') {
        Some(("models", name)) => (name, |name| ApiRoute::Read(ReadRoute::Model(name))),
        Some(("receipts", name)) => (name, |name| ApiRoute::Read(ReadRoute::Receipt(name))),
        Some(("payments", name)) => (name, ApiRoute::Payment),
        Some(("venice", name)) => (name, |name| ApiRoute::Venice(below_venice(name))),
        None if stem == "venice" && is_read(method) => {
            return ApiRoute::Venice(VeniceRoute::Page(String::new()));
        }
        _ => return ApiRoute::Unknown,
    };
    if is_read(method) && !name.is_empty() {
        found(percent_decoded(name))
    } else {
        ApiRoute::WrongMethod("GET")
    }
}

fn below_venice(name: String) -> VeniceRoute {
    match &*name {
        "status" => VeniceRoute::Status,
        "telemetry" => VeniceRoute::Telemetry,
        "attestations" => VeniceRoute::Attestations,
        "stream" => VeniceRoute::Stream,
        _ => VeniceRoute::Page(name),
    }
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// SDKs escape the slash in `anthropic/claude-opus-5.5`.
pub(crate) fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten();
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_spelling_of_a_path_is_served() {
        let expected = ApiRoute::Work {
            task: Task::Generate,
            dialect: Dialect::Anthropic,
            detect: false,
        };
        for path in [
            "/v1/messages",
            "/v1/messages/",
            "/v1/v1/messages",
            "/anthropic/v1/messages",
            "/messages",
            "/api/v1/messages",
            "/openai/v1/messages",
            "//v1/messages",
            "/anthropic/messages",
        ] {
            assert_eq!(route(&Method::POST, path), expected, "{path}");
        }
        assert_eq!(
            route(&Method::GET, "/v1/messages"),
            ApiRoute::WrongMethod("POST")
        );
        assert_eq!(
            route(&Method::GET, "/v1/models/anthropic%2Fclaude-opus-5.5"),
            ApiRoute::Read(ReadRoute::Model("anthropic/claude-opus-5.5".into()))
        );
        assert_eq!(
            route(&Method::GET, "/v1/models/openai/gpt-5.5"),
            ApiRoute::Read(ReadRoute::Model("openai/gpt-5.5".into()))
        );
        for path in [
            "/v1/route/explain",
            "/anthropic/v1/route/explain",
            "/route/explain/",
        ] {
            assert_eq!(route(&Method::POST, path), ApiRoute::Explain, "{path}");
        }
        assert_eq!(
            route(&Method::GET, "/v1/route/explain"),
            ApiRoute::WrongMethod("POST")
        );
        assert_eq!(route(&Method::POST, "/v1/unknown"), ApiRoute::Unknown);
        assert_eq!(route(&Method::GET, "/"), ApiRoute::Unknown);
        assert_eq!(route(&Method::GET, "/v1"), ApiRoute::Unknown);
    }
}
