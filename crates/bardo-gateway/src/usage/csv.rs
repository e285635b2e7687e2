//! Rows as comma-separated values (RFC 4180).

use serde_json::{Map, Value};

/// Columns whose texts callers write freely.
const FREE: [&str; 8] = [
    "session",
    "subsystem",
    "golem",
    "name",
    "model",
    "reference",
    "reason",
    "client_request_id",
];

/// Rows as text. All rows have the members of `columns`; a member that is null is an empty field.
pub(crate) fn csv(columns: &[String], rows: &[Map<String, Value>]) -> String {
    let mut text = columns.join(",");
    text.push_str("\r\n");
    for row in rows {
        let fields: Vec<String> = columns.iter().map(|column| field(column, row)).collect();
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    text
}

fn field(column: &str, row: &Map<String, Value>) -> String {
    let value = match row.get(column) {
        None | Some(Value::Null) => return String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    // Spreadsheets run a text that begins like this as a formula.
    let is_formula = FREE.contains(&column) && value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let value = if is_formula {
        format!("'{value}")
    } else {
        value
    };
    if value.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be_and_run_nothing() {
        let columns = ["key", "session", "requests", "cost"].map(str::to_owned);
        let row = |value: Value| value.as_object().cloned().unwrap();
        let rows = [
            row(json!({ "key": "k", "session": "=HYPERLINK(\"x\")", "requests": 3, "cost": null })),
            row(json!({ "key": null, "session": "a,b", "requests": 0, "cost": "0.001880" })),
        ];
        assert_eq!(
            csv(&columns, &rows),
            "key,session,requests,cost\r\nk,\"'=HYPERLINK(\"\"x\"\")\",3,\r\n,\"a,b\",0,0.001880\r\n"
        );
    }
}
