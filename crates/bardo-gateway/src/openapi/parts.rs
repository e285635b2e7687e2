//! The parts that operations share: schemas, headers, refusals and credentials.

use std::collections::BTreeMap;

use bardo_types::error_code::ErrorCode;
use bardo_wire::headers as names_of_headers;
use serde_json::{Map, Value, json};

/// Refusals of operators' requests that read, and that change something.
pub(super) const READ_REFUSALS: &[(&str, &str)] = &[
    ("400", "A parameter is wrong; `error.param` names it"),
    ("401", "The token is missing or wrong"),
    ("403", "The request comes from another origin"),
    ("404", "There is no such key, account or path"),
    ("503", "The store does not answer"),
];
pub(super) const WRITE_REFUSALS: &[(&str, &str)] = &[
    ("400", "The body is wrong"),
    ("401", "The token is missing or wrong"),
    ("403", "The request comes from another origin"),
    ("404", "There is no such key, account or path"),
    ("413", "The body is larger than 64 KiB"),
    ("415", "The content type is not application/json"),
    ("503", "The store does not answer"),
];
/// Statuses of refused requests to models.
pub(super) const WORK_STATUSES: &[&str] = &[
    "400", "401", "402", "403", "404", "408", "412", "413", "422", "429", "500", "502", "503",
    "504", "529",
];

/// The names in the braces of a path.
pub(super) fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

pub(super) fn path_parameter(name: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 } })
}

pub(super) fn query_parameter(name: &str) -> Value {
    let schema = match name {
        "limit" => json!({ "type": "integer", "minimum": 1, "maximum": 1000 }),
        "format" => json!({ "enum": ["json", "csv"] }),
        "from" | "to" => json!({ "type": "string", "examples": ["2026-11-20"] }),
        "since" => json!({ "type": "string", "examples": ["7d"] }),
        "outcome" => json!({ "enum": ["finished", "aborted", "failed", "unknown"] }),
        _ => json!({ "type": "string" }),
    };
    json!({ "name": name, "in": "query", "required": false, "schema": schema })
}

/// Headers of requests to models.
pub(super) fn request_headers() -> Vec<Value> {
    [
        (names_of_headers::IDEMPOTENCY_KEY, "A repeated request gets the answer of the first one"),
        (names_of_headers::X_REQUEST_ID, "Your id of the request: 8 to 128 plain characters"),
        ("anthropic-version", "The version of the Messages API"),
    ]
    .map(|(name, description)| {
        json!({ "name": name, "in": "header", "required": false, "description": description, "schema": { "type": "string" } })
    })
    .into()
}

/// Headers of answers of models, with what they say.
const ANSWER_HEADERS: &[(&str, &str)] = &[
    (
        names_of_headers::BARDO_REQUEST_ID,
        "Id of the request, for its receipt",
    ),
    (
        names_of_headers::MODEL_REQUESTED,
        "The model that was asked for",
    ),
    (names_of_headers::MODEL, "The model that answered"),
    (names_of_headers::PROVIDER, "The backend that answered"),
    (
        names_of_headers::DEGRADED,
        "Requested features that the answer lacks",
    ),
    (names_of_headers::WARNINGS, "Warnings about the request"),
    (names_of_headers::CACHE, "hash, semantic, miss or bypass"),
    (names_of_headers::COST_ESTIMATE, "Estimated price in USD"),
    (names_of_headers::COST, "Price in USD"),
    (names_of_headers::SAVINGS, "Saved amount in USD"),
    (names_of_headers::BALANCE, "Balance of the account in USD"),
];

pub(super) fn answer_headers() -> Value {
    let headers = ANSWER_HEADERS.iter().map(|(name, _)| {
        (
            (*name).to_owned(),
            json!({ "$ref": format!("#/components/headers/{name}") }),
        )
    });
    Value::Object(headers.collect())
}

pub(super) fn headers() -> Value {
    let headers = ANSWER_HEADERS.iter().map(|(name, description)| {
        (
            (*name).to_owned(),
            json!({ "description": description, "schema": { "type": "string" } }),
        )
    });
    Value::Object(headers.collect())
}

/// The refusals of requests for clients: one for each status, with its codes.
pub(super) fn responses() -> Value {
    let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in ErrorCode::ALL {
        codes.entry(code.status()).or_default().push(code.as_str());
    }
    let usual = WORK_STATUSES
        .iter()
        .chain(&["405"])
        .filter_map(|status| status.parse().ok());
    for status in usual {
        codes.entry(status).or_default();
    }
    let responses = codes.into_iter().map(|(status, codes)| {
        let description = match codes.as_slice() {
            [] => "The provider refused the request with this status".to_owned(),
            codes => format!("Refused: {}", codes.join(", ")),
        };
        let refused = json!({
            "description": description,
            "headers": {
                "x-should-retry": { "description": "`false`: another try cannot help", "schema": { "type": "string" } },
                "retry-after": { "description": "Seconds to wait", "schema": { "type": "string" } },
            },
            "content": { "application/json": { "schema": { "anyOf": [
                { "$ref": "#/components/schemas/OpenAiError" }, { "$ref": "#/components/schemas/AnthropicError" },
            ] } } },
        });
        (format!("Refused{status}"), refused)
    });
    Value::Object(responses.collect())
}

/// The schemas of requests and errors of the dialects. Members that are not named are passed on.
pub(super) fn schemas() -> Map<String, Value> {
    let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    let mut hints = bardo_engine::hints_schema();
    if let Some(members) = hints.as_object_mut() {
        members.remove("$schema");
    }
    let request = |required: &[&str], members: Value| {
        let mut properties = json!({
            "model": { "type": "string", "examples": ["claude-sonnet-5-5", "bardo/auto"] },
            "bardo": { "$ref": "#/components/schemas/Hints" },
        });
        for (name, member) in members.as_object().into_iter().flatten() {
            properties[name] = member.clone();
        }
        json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": true })
    };
    let list = json!({ "type": "array", "minItems": 1, "items": { "type": "object" } });
    let stream = json!({ "type": "boolean" });
    let tokens = json!({ "type": "integer", "minimum": 1 });
    let text_or_list = json!({ "type": ["string", "array"] });
    let all = json!({
        "Hints": hints,
        "ChatRequest": request(&["model", "messages"], json!({ "messages": list, "stream": stream, "max_completion_tokens": tokens })),
        "MessagesRequest": request(&["model", "messages"], json!({ "messages": list, "stream": stream, "max_tokens": tokens })),
        "ResponsesRequest": request(&["model"], json!({ "input": text_or_list, "stream": stream, "max_output_tokens": tokens })),
        "CompletionsRequest": request(&["model"], json!({ "prompt": text_or_list, "stream": stream, "max_tokens": tokens })),
        "EmbeddingsRequest": request(&["model", "input"], json!({ "input": text_or_list })),
        "ErrorCode": { "description": "Stable code of an error; docs/errors has a page for each.", "enum": codes },
        "OpenAiError": {
            "type": "object", "required": ["error"],
            "properties": { "error": {
                "type": "object", "required": ["message", "type"],
                "properties": {
                    "message": { "type": "string" }, "type": { "type": "string" },
                    "param": { "type": ["string", "null"] }, "code": { "type": ["string", "null"] },
                    "bardo_code": { "$ref": "#/components/schemas/ErrorCode" },
                },
            } },
        },
        "AnthropicError": {
            "type": "object", "required": ["type", "error"],
            "properties": {
                "type": { "const": "error" },
                "error": {
                    "type": "object", "required": ["type", "message"],
                    "properties": {
                        "type": { "type": "string" }, "message": { "type": "string" },
                        "bardo_code": { "$ref": "#/components/schemas/ErrorCode" },
                    },
                },
                "request_id": { "type": ["string", "null"] },
            },
        },
        "AdminError": {
            "type": "object", "required": ["error"],
            "properties": { "error": {
                "type": "object", "required": ["message"],
                "properties": { "message": { "type": "string" }, "param": { "type": "string" } },
            } },
        },
    });
    all.as_object().cloned().unwrap_or_default()
}

pub(super) fn tags(with_admin: bool) -> Value {
    let mut tags = vec![
        json!({ "name": "clients", "description": "The listener for clients, `server.listen`" }),
    ];
    if with_admin {
        tags.push(json!({ "name": "operators", "description": "The listener for operators, `server.admin_listen`" }));
    }
    Value::Array(tags)
}

pub(super) fn security(with_admin: bool) -> Value {
    let mut schemes = json!({
        "bearer": { "type": "http", "scheme": "bearer", "description": "A key of `keys create` or `auth.keys`" },
        "apiKey": { "type": "apiKey", "in": "header", "name": "x-api-key", "description": "The same key, as Anthropic's clients send it" },
        "agentProof": { "type": "apiKey", "in": "header", "name": "x-bardo-agent-proof", "description": "The request as an agent of ERC-8004 signs it, where payments are open" },
    });
    if with_admin {
        schemes["adminToken"] =
            json!({ "type": "http", "scheme": "bearer", "description": "`server.admin_token`" });
    }
    schemes
}
