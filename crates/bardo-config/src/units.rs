//! Durations and sizes as people write them.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};

/// A duration such as `"15s"`, `"5m"` or `"1h 30m"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl std::str::FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        humantime::parse_duration(text).map(Self).map_err(|_| {
            format!("`{text}` is not a duration; write it like \"15s\", \"5m\" or \"30days\"")
        })
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SpanVisitor)
    }
}

/// Reads durations, and says what a number without a unit lacks.
struct SpanVisitor;

impl SpanVisitor {
    fn bare<E: serde::de::Error>(number: impl std::fmt::Display) -> Result<Span, E> {
        Err(E::custom(format!(
            "`{number}` has no unit; write \"{number}s\" for seconds, or \"{number}ms\""
        )))
    }

    fn below_zero<E: serde::de::Error>(number: impl std::fmt::Display) -> Result<Span, E> {
        Err(E::custom(format!(
            "`{number}` is below 0; write a duration of 0 or more, such as \"15s\""
        )))
    }
}

impl serde::de::Visitor<'_> for SpanVisitor {
    type Value = Span;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Span, E> {
        match text.trim().parse::<u64>() {
            Ok(number) => Self::bare(number),
            Err(_) => text.parse().map_err(E::custom),
        }
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Span, E> {
        Self::bare(number)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Span, E> {
        match number {
            0.. => Self::bare(number),
            _ => Self::below_zero(number),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Span, E> {
        match number < 0.0 {
            false => Self::bare(number),
            true => Self::below_zero(number),
        }
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["15s", "5m"] })
    }
}

/// A size in bytes such as `"32MiB"`, `"64KiB"` or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize(pub usize);

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let bytes = match &value {
            serde_json::Value::String(text) => parse_size(text),
            value => value.as_u64().and_then(|bytes| usize::try_from(bytes).ok()),
        };
        bytes.map(Self).ok_or_else(|| {
            let text = match &value {
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Number(number) => number.to_string(),
                _ => "this".to_owned(),
            };
            D::Error::custom(format!("`{text}` is not a size; write it like \"32MiB\""))
        })
    }
}

fn parse_size(text: &str) -> Option<usize> {
    let digits = text
        .trim()
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.trim().len());
    let (number, unit) = text.trim().split_at(digits);
    let factor: usize = match unit.trim() {
        "" | "B" => 1,
        "KB" | "kB" => 1_000,
        "KiB" => 1 << 10,
        "MB" => 1_000_000,
        "MiB" => 1 << 20,
        "GB" => 1_000_000_000,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(factor)
}

impl JsonSchema for ByteSize {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"], "examples": ["32MiB", 65536] })
    }
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("32MiB"), Some(33_554_432));
        assert_eq!(parse_size("64 KiB"), Some(65_536));
        assert_eq!(parse_size("10"), Some(10));
        assert_eq!(parse_size("-1MiB"), None);
        assert_eq!(parse_size("5XB"), None);
    }
}
