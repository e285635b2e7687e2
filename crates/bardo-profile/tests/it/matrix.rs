//! The feature matrix: what each service gets of a feature that a request uses.
//!
//! `matrix.toml` has a row for each service and dialect. Each cell is checked against the body that
//! the encoder writes, and against the simulated service, which refuses what the real one refuses.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bardo_types::chat::{
    CacheMark, ChatRequest, Document, DocumentSource, Image, MediaSource, OutputFormat, Part, Role,
    Text,
};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;

use crate::models::question;
use crate::pairs::{lookup, served};
use crate::sandbox::Connection;

/// A feature, as a request uses it.
struct Probe {
    feature: &'static str,
    /// Texts of which the body has one if the feature is sent.
    markers: &'static [&'static str],
    /// Names of the losses if it is not.
    lost: &'static [&'static str],
    change: fn(&mut ChatRequest),
}

const PROBES: [Probe; 8] = [
    Probe {
        feature: "tools",
        markers: &["look_up"],
        lost: &["tools"],
        change: |request| request.tools = vec![lookup()],
    },
    Probe {
        feature: "structured_outputs",
        markers: &["verdict_member"],
        lost: &["response_format", "structured_outputs", "output_format"],
        change: |request| {
            let schema = r#"{"type":"object","properties":{"verdict_member":{"type":"string"}},"required":["verdict_member"],"additionalProperties":false}"#;
            request.output = OutputFormat::JsonSchema {
                name: Some("verdict".to_owned()),
                description: None,
                schema: RawJson::parse(schema).expect("a schema"),
                strict: Some(true),
            };
        },
    },
    Probe {
        feature: "vision",
        markers: &[PIXEL],
        lost: &["images", "vision"],
        change: |request| {
            show(
                request,
                Part::Image(Image {
                    source: media("image/png", PIXEL),
                    detail: None,
                    cache: None,
                }),
            );
        },
    },
    Probe {
        feature: "documents",
        markers: &[PAGE],
        lost: &["documents"],
        change: |request| show(request, document(false)),
    },
    Probe {
        feature: "citations",
        markers: &[r#""citations":{"enabled":true}"#],
        lost: &["citations"],
        change: |request| show(request, document(true)),
    },
    Probe {
        feature: "cache_marks",
        markers: &["cache_control"],
        lost: &["cache_control"],
        change: |request| {
            let mut text = Text::new("A long preface.");
            text.cache = RawJson::parse(r#"{"type":"ephemeral"}"#)
                .ok()
                .map(CacheMark);
            show(request, Part::Text(text));
        },
    },
    Probe {
        feature: "predicted_outputs",
        markers: &["a likely answer"],
        lost: &["prediction", "predicted_outputs", "predicted_output"],
        change: |request| {
            let prediction = r#"{"type":"content","content":"a likely answer"}"#;
            request.prediction = RawJson::parse(prediction).ok();
        },
    },
    Probe {
        feature: "profile_search",
        markers: &["web_search", "google_search", "googleSearch", "\"plugins\""],
        lost: &["web_search", "web_search_options"],
        change: |request| request.web_search = Some(true),
    },
];

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PAGE: &str = "JVBERi0xLjQKMSAwIG9iago8PD4+CmVuZG9iagp0cmFpbGVyCjw8Pj4KJSVFT0YK";

fn media(media_type: &str, data: &str) -> MediaSource {
    MediaSource::Base64 {
        media_type: media_type.to_owned(),
        data: data.to_owned(),
    }
}

fn document(citations: bool) -> Part {
    Part::Document(Document {
        source: DocumentSource::Media(media("application/pdf", PAGE)),
        title: Some("page.pdf".to_owned()),
        context: None,
        citations,
        cache: None,
    })
}

fn show(request: &mut ChatRequest, part: Part) {
    let last = request.messages.last_mut().expect("a question");
    assert_eq!(last.role, Role::User);
    last.parts.insert(0, part);
}

/// The outcome of a feature for one model: it is sent, named as lost, or the request is refused.
const OUTCOMES: [&str; 3] = ["sent", "lost", "refused"];

/// A cell: one outcome for every model there, or several, by model.
fn cell(counts: [usize; 3]) -> String {
    let outcomes = OUTCOMES.into_iter().zip(counts);
    let found: Vec<&str> = outcomes
        .filter(|(_, count)| *count > 0)
        .map(|(outcome, _)| outcome)
        .collect();
    found.join(" or ")
}

#[test]
fn each_feature_is_sent_as_the_matrix_says_or_named_as_lost_and_the_service_takes_it() {
    let mut sandbox = Connection::open();
    let mut faults = Vec::new();
    let mut counts: BTreeMap<(String, &str), [usize; 3]> = BTreeMap::new();
    for served in served() {
        let row = format!("{}.{:?}", served.service.as_str(), served.dialect);
        for probe in &PROBES {
            let mut request = question(Dialect::Chat);
            (probe.change)(&mut request);
            let counts = counts.entry((row.clone(), probe.feature)).or_default();
            let Ok(encoded) = served.try_encode(&request) else {
                counts[2] += 1;
                continue;
            };
            let body = String::from_utf8_lossy(&encoded.body);
            let is_sent = probe.markers.iter().any(|marker| body.contains(marker));
            let is_lost = encoded
                .degraded
                .iter()
                .any(|one| probe.lost.contains(&&*one.feature));
            let label = || format!("{} {}", served.label(), probe.feature);
            if is_sent == is_lost {
                let names: Vec<&str> = encoded.degraded.iter().map(|one| &*one.feature).collect();
                faults.push(format!("{}: sent {is_sent}, lost {names:?}", label()));
            }
            if is_sent {
                let line = format!("POST {}", served.path());
                let (status, answer) = sandbox.send(&line, &encoded.body);
                if status != 200 {
                    faults.push(format!("{}: {status} {answer}", label()));
                }
            }
            counts[usize::from(!is_sent)] += 1;
        }
    }
    let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for ((row, feature), counts) in counts {
        let cells = found.entry(row).or_default();
        cells.insert(feature.to_owned(), cell(counts));
    }
    let expected: BTreeMap<String, BTreeMap<String, String>> =
        toml::from_str(include_str!("matrix.toml")).expect("a table");
    let mut written = String::new();
    for (row, cells) in &found {
        writeln!(written, "\n[\"{row}\"]").expect("memory");
        for (feature, cell) in cells {
            writeln!(written, "{feature} = \"{cell}\"").expect("memory");
        }
    }
    assert!(faults.is_empty(), "{}\n{written}", faults.join("\n"));
    assert_eq!(found, expected, "{written}");
}
