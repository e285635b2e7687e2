//! Lists as files.

use serde_json::{Map, Value};

use super::visit::Shown;
use crate::usage;

/// Rows as a file: `csv` with these columns, else JSON.
pub(super) fn file(name: &str, kind: &str, columns: &[&str], rows: Vec<Value>) -> Shown {
    if kind != "csv" {
        let body = serde_json::to_string_pretty(&Value::Array(rows)).unwrap_or_default();
        return Shown::File {
            name: format!("{name}.json"),
            kind: "application/json",
            body,
        };
    }
    let columns: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
    let row = |row: &Value| -> Map<String, Value> {
        let value = |column: &String| {
            let value = match &row[column.as_str()] {
                nested @ (Value::Object(_) | Value::Array(_)) => Value::String(nested.to_string()),
                plain => plain.clone(),
            };
            (column.clone(), value)
        };
        columns.iter().map(value).collect()
    };
    let rows: Vec<Map<String, Value>> = rows.iter().map(row).collect();
    Shown::File {
        name: format!("{name}.csv"),
        kind: "text/csv; charset=utf-8",
        body: usage::csv(&columns, &rows),
    }
}
