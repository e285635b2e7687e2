//! The operations of the clients' listener. Every route of the router is one of them, or the program
//! does not compile.

#[cfg(test)]
use bardo_engine::Task;
#[cfg(test)]
use bardo_types::model::Dialect;
use serde_json::{Value, json};

use super::parts;
#[cfg(test)]
use crate::route::{ApiRoute, ReadRoute, VeniceRoute};

/// A route for clients, with what its readers need to know of it.
pub(super) struct DataRow {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    summary: &'static str,
    form: DataForm,
    query: &'static [&'static str],
}

/// What is sent and answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DataForm {
    /// A request in a dialect, answered whole or as a stream.
    Answer(&'static str),
    /// A request in a dialect, answered whole.
    Whole(&'static str),
    /// A request of any dialect that is not carried out.
    DryRun,
    /// A body of JSON, answered with JSON.
    Change,
    /// No body, answered with JSON.
    Read,
    /// No body, answered with server-sent events.
    Feed,
    /// No body and no key, answered with JSON.
    Open,
}

macro_rules! data_operations {
    ($($name:ident: $method:literal $path:literal, $summary:literal, $form:expr, $query:expr;)+) => {
        /// An operation for clients.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum DataOperation { $($name,)+ }

        impl DataOperation {
            pub(super) const ALL: &[Self] = &[$(Self::$name),+];

            pub(super) const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }

            pub(super) const fn row(self) -> DataRow {
                match self {
                    $(Self::$name => DataRow {
                        method: $method, path: $path, summary: $summary, form: $form, query: $query,
                    },)+
                }
            }
        }
    };
}

use DataForm::{Answer, Change, DryRun, Feed, Open, Read, Whole};

data_operations! {
    ChatCompletions: "POST" "/v1/chat/completions", "Answer a conversation, in the Chat Completions dialect", Answer("ChatRequest"), &[];
    Messages: "POST" "/v1/messages", "Answer a conversation, in the Messages dialect", Answer("MessagesRequest"), &[];
    CountTokens: "POST" "/v1/messages/count_tokens", "Count the tokens of a prompt, in the Messages dialect", Whole("MessagesRequest"), &[];
    Responses: "POST" "/v1/responses", "Answer a conversation, in the Responses dialect", Answer("ResponsesRequest"), &[];
    InputTokens: "POST" "/v1/responses/input_tokens", "Count the tokens of a prompt, in the Responses dialect", Whole("ResponsesRequest"), &[];
    Completions: "POST" "/v1/completions", "Complete a prompt, in the legacy dialect; other dialects are recognized by their bodies", Answer("CompletionsRequest"), &[];
    Embeddings: "POST" "/v1/embeddings", "Compute vectors of texts", Whole("EmbeddingsRequest"), &[];
    ExplainRoute: "POST" "/v1/route/explain", "Dry run: which backend would answer a request, and why", DryRun, &[];
    ExplainCache: "POST" "/v1/cache/explain", "Dry run: which stored answer a request would get", DryRun, &[];
    ListModels: "GET" "/v1/models", "List the models; in Anthropic's form with the header `anthropic-version`", Read, &[];
    ShowModel: "GET" "/v1/models/{model}", "Show one model", Read, &[];
    Balance: "GET" "/v1/balance", "The balance of the caller's account", Read, &[];
    Usage: "GET" "/v1/usage", "Requests, tokens and costs of the caller's account", Read, &["by", "group_by", "from", "to"];
    Receipt: "GET" "/v1/receipts/{id}", "The receipt of one request", Read, &[];
    Deposit: "POST" "/v1/deposits", "Pay into an account by x402; without a payment the answer is an offer", Change, &[];
    WalletKey: "POST" "/v1/keys", "Make a key for the account of a wallet, which signs the request", Change, &[];
    LinkAgent: "POST" "/v1/identity/link", "Link a wallet with its agent of ERC-8004, by a signed request", Change, &[];
    RevokeDelegation: "POST" "/v1/identity/delegations/revoke", "Revoke a delegation, by a request that its owner signs", Change, &[];
    Payment: "GET" "/v1/payments/{id}", "The state of a payment by x402", Open, &[];
    Events: "GET" "/v1/events", "Events of the account's requests, as they happen", Feed, &["events"];
    ShowCaps: "GET" "/v1/caps", "The caps of the caller's key", Read, &[];
    ChangeCaps: "POST" "/v1/caps", "Change the caps of the caller's key within their ranges", Change, &[];
    CacheStats: "GET" "/v1/cache", "Figures of the stored answers of the caller's account", Read, &[];
    FlushCache: "DELETE" "/v1/cache", "Remove stored answers of the caller's account", Read, &["agent", "domain", "token", "pool", "playbook", "market"];
    VeniceStatus: "GET" "/venice/status", "Facts about Venice and its models, and sums over the caller's latest calls there", Read, &[];
    VeniceTelemetry: "GET" "/venice/telemetry", "The caller's latest calls of Venice, newest first", Read, &["limit"];
    VeniceAttestations: "GET" "/venice/attestations", "The evidence of the caller's calls of models in a TEE", Read, &["limit"];
    VeniceStream: "GET" "/venice/stream", "The caller's calls of Venice, as they happen", Feed, &["token"];
    VeniceStreamToken: "POST" "/venice/stream-token", "A token that opens the stream once, for browsers", Change, &[];
    Health: "GET" "/health/ready", "Whether the gateway takes requests", Open, &[];
    OpenApi: "GET" "/openapi.json", "This description", Open, &[];
}

impl DataOperation {
    /// The operation of a route; `None` for a refusal. Every route that is added needs one.
    #[cfg(test)]
    pub(super) fn of(route: &ApiRoute) -> Option<Self> {
        Some(match route {
            ApiRoute::Work { task, dialect, .. } => match (task, dialect) {
                (Task::Generate, Dialect::Chat) => Self::ChatCompletions,
                (Task::Generate, Dialect::Anthropic) => Self::Messages,
                (Task::Generate, Dialect::Responses) => Self::Responses,
                (Task::Generate, Dialect::Completions) => Self::Completions,
                (Task::CountTokens, Dialect::Anthropic) => Self::CountTokens,
                (Task::CountTokens, _) => Self::InputTokens,
                (Task::Embeddings, _) => Self::Embeddings,
                (Task::Generate, Dialect::Gemini) => return None,
            },
            ApiRoute::Explain => Self::ExplainRoute,
            ApiRoute::ExplainCache => Self::ExplainCache,
            ApiRoute::ChangeCaps => Self::ChangeCaps,
            ApiRoute::FlushCache => Self::FlushCache,
            ApiRoute::WalletKey => Self::WalletKey,
            ApiRoute::LinkAgent => Self::LinkAgent,
            ApiRoute::RevokeDelegation => Self::RevokeDelegation,
            ApiRoute::Deposit => Self::Deposit,
            ApiRoute::Payment(_) => Self::Payment,
            ApiRoute::Health => Self::Health,
            ApiRoute::OpenApi => Self::OpenApi,
            ApiRoute::Read(read) => match read {
                ReadRoute::Models => Self::ListModels,
                ReadRoute::Model(_) => Self::ShowModel,
                ReadRoute::Balance => Self::Balance,
                ReadRoute::Usage => Self::Usage,
                ReadRoute::Caps => Self::ShowCaps,
                ReadRoute::Cache => Self::CacheStats,
                ReadRoute::Events => Self::Events,
                ReadRoute::Receipt(_) => Self::Receipt,
            },
            ApiRoute::Venice(found) => match found {
                VeniceRoute::Status => Self::VeniceStatus,
                VeniceRoute::Telemetry => Self::VeniceTelemetry,
                VeniceRoute::Attestations => Self::VeniceAttestations,
                VeniceRoute::Stream => Self::VeniceStream,
                VeniceRoute::StreamToken => Self::VeniceStreamToken,
                VeniceRoute::Page(_) => return None,
            },
            ApiRoute::WrongMethod(_) | ApiRoute::Unknown => return None,
        })
    }
}

/// The description of an operation.
pub(super) fn describe(operation: DataOperation, row: &DataRow) -> Value {
    let mut parameters: Vec<Value> = parts::names(row.path).map(parts::path_parameter).collect();
    parameters.extend(row.query.iter().map(|name| parts::query_parameter(name)));
    let is_work = matches!(row.form, Answer(_) | Whole(_));
    if is_work {
        parameters.extend(parts::request_headers());
    }
    let (json, events) = ("application/json", "text/event-stream");
    let any = json!({ "schema": { "type": "object" } });
    let stream = json!({ "schema": { "type": "string" } });
    let mut content = json!({});
    match row.form {
        Feed => content[events] = stream,
        Answer(_) => {
            content[json] = any.clone();
            content[events] = stream;
        }
        DryRun => {
            content[json] = any.clone();
            content["text/plain"] = stream;
        }
        _ => content[json] = any.clone(),
    }
    let mut done = json!({ "description": "Done", "content": content });
    if is_work {
        done["headers"] = parts::answer_headers();
    }
    let mut responses = json!({ "200": done });
    let refusals: &[&str] = match row.form {
        Open => &[],
        Answer(_) | Whole(_) => parts::WORK_STATUSES,
        _ => &["400", "401", "403", "404", "405", "429", "503"],
    };
    for status in refusals {
        responses[*status] = json!({ "$ref": format!("#/components/responses/Refused{status}") });
    }
    if operation == DataOperation::Health {
        responses["503"] = json!({ "description": "The gateway stops, or has not reached its store yet", "content": { json: any } });
    }
    let own: &[&str] = match operation {
        DataOperation::Deposit => &["402", "409", "413"],
        DataOperation::WalletKey | DataOperation::LinkAgent | DataOperation::RevokeDelegation => {
            &["413"]
        }
        DataOperation::Payment => &["404", "503"],
        _ => &[],
    };
    for status in own {
        responses[*status] = json!({ "$ref": format!("#/components/responses/Refused{status}") });
    }
    let mut described = json!({
        "operationId": operation.name(),
        "summary": row.summary,
        "tags": ["clients"],
        "parameters": parameters,
        "responses": responses,
    });
    // A gateway without keys takes requests of its own machine without one.
    described["security"] = match row.form {
        Open => json!([]),
        _ => json!([{ "bearer": [] }, { "apiKey": [] }, { "agentProof": [] }, {}]),
    };
    let schema = match row.form {
        Answer(name) | Whole(name) => json!({ "$ref": format!("#/components/schemas/{name}") }),
        DryRun | Change => json!({ "type": "object" }),
        Read | Feed | Open => return described,
    };
    described["requestBody"] =
        json!({ "required": true, "content": { json: { "schema": schema } } });
    described
}
