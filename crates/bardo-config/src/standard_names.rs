//! Settings of telemetry by the names that other programs use: `OTEL_*` and `LANGFUSE_*`.

use serde_json::{Map, Value, json};

use super::layers::merge;

/// Names whose value is a text as it stands, and where it goes.
const TEXTS: &[(&str, &str)] = &[
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "endpoint"),
    ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "traces_endpoint"),
    ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "metrics_endpoint"),
    ("OTEL_SERVICE_NAME", "service_name"),
    ("OTEL_TRACES_SAMPLER", "sampler"),
];

/// Names whose value is a number of milliseconds, and where it goes.
const TIMES: &[(&str, &str)] = &[
    ("OTEL_EXPORTER_OTLP_TIMEOUT", "timeout"),
    ("OTEL_BSP_SCHEDULE_DELAY", "every"),
    ("OTEL_METRIC_EXPORT_INTERVAL", "metrics_every"),
];

/// The settings of telemetry that the environment names. A file's own settings win over them.
pub(crate) fn telemetry(environment: &[(String, String)]) -> Value {
    let get = |name: &str| {
        let found = environment.iter().find(|(key, _)| key == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    };
    let mut otlp = Map::new();
    for (name, setting) in TEXTS {
        if let Some(text) = get(name) {
            otlp.insert((*setting).to_owned(), json!(text));
        }
    }
    for (name, setting) in TIMES {
        if let Some(text) = get(name) {
            otlp.insert((*setting).to_owned(), json!(format!("{text}ms")));
        }
    }
    if let Some(share) = get("OTEL_TRACES_SAMPLER_ARG") {
        let share = share.parse::<serde_json::Number>();
        otlp.insert(
            "sample".to_owned(),
            share.map_or_else(|_| json!("?"), |share| json!(share)),
        );
    }
    for (name, setting) in [
        ("OTEL_TRACES_EXPORTER", "traces"),
        ("OTEL_METRICS_EXPORTER", "metrics"),
    ] {
        if get(name) == Some("none") {
            otlp.insert(setting.to_owned(), json!(false));
        }
    }
    if let Some(headers) = get("OTEL_EXPORTER_OTLP_HEADERS") {
        otlp.insert("headers".to_owned(), pairs(headers));
    }
    if let Some(resource) = get("OTEL_RESOURCE_ATTRIBUTES") {
        let mut resource = pairs(resource);
        // The name of its own wins.
        let name = resource
            .as_object_mut()
            .and_then(|all| all.remove("service.name"));
        if let Some(name) = name {
            otlp.entry("service_name").or_insert(name);
        }
        otlp.insert("resource".to_owned(), resource);
    }
    let mut all = json!({});
    if !otlp.is_empty() {
        merge(&mut all, &json!({ "telemetry": { "otlp": otlp } }));
    }
    if get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        merge(&mut all, &json!({ "telemetry": { "enabled": false } }));
    }
    if let (Some(public), Some(_)) = (get("LANGFUSE_PUBLIC_KEY"), get("LANGFUSE_SECRET_KEY")) {
        let keys = json!({ "public_key": public, "secret_key": "env:LANGFUSE_SECRET_KEY" });
        merge(&mut all, &json!({ "telemetry": { "langfuse": keys } }));
        if let Some(url) = get("LANGFUSE_BASE_URL").or_else(|| get("LANGFUSE_HOST")) {
            merge(
                &mut all,
                &json!({ "telemetry": { "langfuse": { "url": url } } }),
            );
        }
    }
    all
}

/// A list `name=value,name=value` with percent-encoded values. Other parts are skipped.
fn pairs(list: &str) -> Value {
    let pair = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), json!(decoded(value.trim()))))
    };
    Value::Object(list.split(',').filter_map(pair).collect())
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let code = (*byte == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        plain.push(code.unwrap_or(*byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8(plain).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Value {
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        telemetry(&pairs)
    }

    #[test]
    fn standard_names_become_settings() {
        assert_eq!(of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]), json!({}));
        let told = of(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Basic%20YTpi, x-one=1,odd",
            ),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=else,team=a%2Cb"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.05"),
            ("OTEL_METRICS_EXPORTER", "none"),
            ("OTEL_SDK_DISABLED", "True"),
        ]);
        assert_eq!(
            told,
            json!({ "telemetry": { "enabled": false, "otlp": {
                "endpoint": "http://127.0.0.1:4318",
                "headers": { "authorization": "Basic YTpi", "x-one": "1" },
                "timeout": "2500ms",
                "service_name": "else",
                "resource": { "team": "a,b" },
                "sampler": "traceidratio",
                "sample": 0.05,
                "metrics": false,
            } } })
        );
    }

    #[test]
    fn langfuse_needs_both_keys() {
        let public = ("LANGFUSE_PUBLIC_KEY", "pk");
        assert_eq!(of(&[public]), json!({}));
        let told = of(&[
            public,
            ("LANGFUSE_SECRET_KEY", "sk"),
            ("LANGFUSE_HOST", "http://localhost:3000"),
        ]);
        let langfuse = &told["telemetry"]["langfuse"];
        assert_eq!(langfuse["secret_key"], "env:LANGFUSE_SECRET_KEY");
        assert_eq!(langfuse["url"], "http://localhost:3000");
    }
}
