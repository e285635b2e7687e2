//! `/openapi.json`: the description of both listeners, made from the tables that route requests.

mod data;
mod parts;

use std::sync::LazyLock;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use self::data::DataOperation;
use crate::admin::routes::{AdminRoute, AnswerForm, ROUTES};

/// The description of the clients' listener.
pub(crate) fn public() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| document(false).to_string());
    &TEXT
}

/// The description of both listeners.
pub(crate) fn whole() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| document(true).to_string());
    &TEXT
}

fn document(with_admin: bool) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = SchemaGenerator::new(settings);
    let mut paths = Map::new();
    for operation in DataOperation::ALL {
        let row = operation.row();
        let described = data::describe(*operation, &row);
        put(&mut paths, row.path, row.method, described);
    }
    if with_admin {
        for route in ROUTES {
            let described = admin(route, &mut generator);
            // Health has one path at both listeners.
            if !paths.contains_key(route.path)
                || paths[route.path].get(lower(route.method)).is_none()
            {
                put(&mut paths, route.path, route.method, described);
            }
        }
    }
    let mut schemas = parts::schemas();
    let definitions = generator.take_definitions(true);
    schemas.extend(definitions);
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "Bardo Inference",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "One API in front of many LLM providers, in the dialects of OpenAI and Anthropic.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:8402", "description": "For clients" }],
        "tags": parts::tags(with_admin),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "headers": parts::headers(),
            "responses": parts::responses(),
            "securitySchemes": parts::security(with_admin),
        },
    })
}

fn put(paths: &mut Map<String, Value>, path: &str, method: &str, operation: Value) {
    let place = paths.entry(path.to_owned()).or_insert_with(|| json!({}));
    place[lower(method)] = operation;
}

fn lower(method: &str) -> String {
    method.to_ascii_lowercase()
}

/// An operation of the operators' listener.
fn admin(route: &AdminRoute, generator: &mut SchemaGenerator) -> Value {
    let is_health = route.path.starts_with("/health/");
    let mut parameters: Vec<Value> = parts::names(route.path)
        .map(parts::path_parameter)
        .collect();
    parameters.extend(route.query.iter().map(|name| parts::query_parameter(name)));
    let required: Vec<&str> = route.members.to_vec();
    let object = json!({ "type": "object", "required": required, "additionalProperties": true });
    let content = match route.answer {
        AnswerForm::Json => json!({ "application/json": { "schema": object } }),
        AnswerForm::Table => json!({
            "application/json": { "schema": object },
            "text/csv": { "schema": { "type": "string" } },
        }),
        AnswerForm::Metrics => {
            json!({ "application/openmetrics-text": { "schema": { "type": "string" } } })
        }
    };
    let mut responses = json!({ "200": { "description": "Done", "content": content } });
    let refusals: &[(&str, &str)] = match (is_health, route.method) {
        (true, _) => &[("503", "The gateway stops, or has not reached its store yet")],
        (false, "GET" | "DELETE") => parts::READ_REFUSALS,
        (false, _) => parts::WRITE_REFUSALS,
    };
    for (status, description) in refusals {
        responses[*status] = json!({
            "description": description,
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/AdminError" } } },
        });
    }
    if is_health {
        responses["503"]["content"]["application/json"]["schema"] = json!({ "type": "object" });
    }
    let mut operation = json!({
        "operationId": format!("admin{}", route.name),
        "summary": route.summary,
        "tags": ["operators"],
        "servers": [{ "url": "http://127.0.0.1:8403", "description": "For operators" }],
        "parameters": parameters,
        "responses": responses,
    });
    if !is_health {
        // Without `server.admin_token` the listener takes requests of this machine without one.
        operation["security"] = json!([{ "adminToken": [] }, {}]);
    } else {
        operation["security"] = json!([]);
    }
    if let Some(body) = route.body {
        operation["requestBody"] = json!({
            "required": route.needs_body,
            "content": { "application/json": { "schema": body(generator).to_value() } },
        });
    } else if matches!(route.method, "POST" | "PATCH") {
        operation["requestBody"] = json!({
            "required": false,
            "content": { "application/json": { "schema": { "type": "object", "maxProperties": 0 } } },
        });
    }
    operation
}

#[cfg(test)]
mod tests;
