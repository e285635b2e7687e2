//! Inputs to start from: the fixtures of the codecs, with knobs before them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use bardo_types::model::Dialect;
use serde_json::Value;

use crate::{FuzzTarget, Knobs, Payload, kept, world};

/// An input with a name.
#[derive(Debug, Clone)]
pub struct Seed {
    /// Where it comes from; usable as a file name.
    pub name: String,
    /// The bytes of the input.
    pub input: Vec<u8>,
}

/// Words that steer the codecs; some of them no fixture holds.
pub(crate) const TOKENS: &[&str] = &[
    "index",
    "id",
    "name",
    "type",
    "text",
    "content",
    "arguments",
    "input",
    "role",
    "error",
    "tool_calls",
    "call_id",
    "tool_use",
    "tool_result",
    "thinking",
    "signature",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "encrypted_content",
    "summary",
    "function",
    "custom",
    "data",
    "format",
    "delta",
    "message",
    "choices",
    "finish_reason",
    "stop",
    "length",
    "usage",
    "cache_control",
    "assistant",
    "user",
    "system",
    "developer",
    "tool",
    "output",
    "output_index",
    "content_index",
    "item",
    "item_id",
    "response",
    "status",
    "code",
    "functionCall",
    "functionResponse",
    "partialArgs",
    "thoughtSignature",
    "candidates",
    "parts",
    "finishReason",
    "extra_content",
    "google",
    "bardo1.",
    "bardo1.e30",
    "get_weather",
    "get weather",
    "apply_patch",
    "{",
    "{}",
    "{\"a\":",
    "[DONE]",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<function=get_weather>",
    "</function>",
    "<parameter=days>",
    "</parameter>",
    "<function_calls>",
    "</function_calls>",
    "<invoke name=\"get_weather\">",
    "</invoke>",
    "<parameter name=\"days\">",
    "```json\n",
    "```",
    "{\"name\": \"get_weather\", \"arguments\": {}}",
    "\u{0}",
    "é😀",
    "data:image/png;base64,AAAA",
    "https://example.com/a.pdf",
];

const WORDS: &[&str] = &[
    "<think>\nLet me see.\n</think>\n\nParis.",
    "no opening tag\n</think>\nthe answer",
    "<think>never closed",
    "```xml\n<think>code</think>\n<tool_call>\n```\nthen <think> in a line",
    "Sure.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bern\"}}\n</tool_call>\nDone.",
    "<tool_call>{'name': 'get_weather', 'arguments': {'days': 3,}}}</tool_call><tool_call>",
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nBern\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
    "<function=apply_patch><parameter=input>*** Begin\n</parameter></function>",
    "Sure.\n<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Bern</parameter>\n</invoke>\n<invoke name=\"get_weather\">\n{\"days\": 3}\n</invoke>\n</function_calls>\nDone.",
    "<function_calls><invoke><tool_name>get_weather</tool_name><parameters><days>3</days></parameters></invoke></function_calls>",
    "{\"tool_calls\": [{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bern\"}}]}",
    "Sure.\n```json\n[{\"name\": \"get_weather\", \"arguments\": {}}]\n```\nDone.",
    "<think>a</think><tool_call>{\"name\":\"get_weather\",\"arguments\":\"{\\\"city\\\":1}\"}</tool_call> {\"json\": true}",
    "bardo1.eyJrIjoiYW50aHJvcGljX3NpZ25hdHVyZSIsImQiOiJFcVFCIiwidCI6Imhtbm0ifQ",
    "eyJrIjoib3BlbmFpX3JlYXNvbmluZyIsImQiOiJ7XCJ0eXBlXCI6XCJyZWFzb25pbmdcIn0ifQ",
];

/// Beside the fixtures: legacy completions have none of their own, and the simplest of Chat
/// Completions is where mutations start best.
const WRITTEN: &[(&str, &str)] = &[
    (
        "completions/prompt.json",
        r#"{"model":"gpt-5.5","prompt":"Say hi","max_tokens":5,"stream":true}"#,
    ),
    (
        "completions/prompts.json",
        r#"{"model":"gpt-5.5","prompt":["Say hi"],"suffix":"","n":2,"best_of":2,"logprobs":3,"echo":false,"stop":["\n"],"temperature":0.5,"logit_bias":{"50256":-100},"seed":7,"user":"u-1","stream_options":{"include_usage":true}}"#,
    ),
    (
        "chat/smallest.json",
        r#"{"model":"gpt-5.5","messages":[{"role":"system","content":"S"},{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{}}}]}"#,
    ),
    (
        "chat/call.sse",
        concat!(
            r#"data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}"#,
            "\n\n",
            r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"get_weather","arguments":"{}"}}]}}]}"#,
            "\n\n",
            r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
            "\n\ndata: [DONE]\n\n",
        ),
    ),
];

/// A file that the codecs are tested with.
struct Fixture {
    name: String,
    dialect: Dialect,
    payload: Payload,
    bytes: Vec<u8>,
}

/// The seeds of a target.
///
/// # Panics
/// When the fixtures cannot be read.
#[must_use]
pub fn seeds(target: &FuzzTarget) -> Vec<Seed> {
    let mut seeds: Vec<Seed> = WORDS
        .iter()
        .enumerate()
        .filter(|_| target.payload == Payload::Words)
        .flat_map(|(number, words)| {
            (0..12).map(move |knob| {
                seed(
                    &format!("words-{number}"),
                    [knob, knob, knob, knob],
                    words.as_bytes(),
                )
            })
        })
        .collect();
    for fixture in fixtures().expect("the fixtures of the workspace can be read") {
        if target.payload == Payload::Entry && fixture.payload == Payload::Stream {
            let entry = kept::entry_of(fixture.dialect, &fixture.bytes);
            seeds.extend(entry.map(|entry| seed(&fixture.name, [0; 4], &entry)));
        }
        if wants(target, &fixture) {
            let knobs = knobs(target, &fixture);
            seeds.extend(
                knobs
                    .into_iter()
                    .map(|knobs| seed(&fixture.name, knobs, &fixture.bytes)),
            );
        }
    }
    seeds
}

fn seed(name: &str, knobs: [u8; 4], payload: &[u8]) -> Seed {
    let [a, b, c, d] = knobs;
    Seed {
        name: format!("{name}-{a:02x}{b:02x}{c:02x}{d:02x}"),
        input: Knobs(knobs).with(payload),
    }
}

fn wants(target: &FuzzTarget, fixture: &Fixture) -> bool {
    let shape = match target.payload {
        Payload::Request => fixture.payload == Payload::Request,
        Payload::Answer => matches!(fixture.payload, Payload::Answer | Payload::Stream),
        Payload::Stream => fixture.payload == Payload::Stream,
        Payload::Words | Payload::Entry => false,
    };
    let dialect = match target.name.split_once('_') {
        Some(("chat", _)) => Some(Dialect::Chat),
        Some(("anthropic", _)) => Some(Dialect::Anthropic),
        Some(("responses", _)) => Some(Dialect::Responses),
        Some(("completions", _)) => Some(Dialect::Completions),
        Some(("gemini", _)) => Some(Dialect::Gemini),
        _ => None,
    };
    shape && dialect.is_none_or(|dialect| dialect == fixture.dialect)
}

/// Knobs that put a fixture where it belongs, with a few models and services each.
fn knobs(target: &FuzzTarget, fixture: &Fixture) -> Vec<[u8; 4]> {
    let place = |all: &[Dialect]| {
        let found = all.iter().position(|dialect| *dialect == fixture.dialect);
        found.and_then(|place| u8::try_from(place).ok())
    };
    const MODELS: [u8; 3] = [0, 23, 50];
    match target.name {
        "request_conversion" => {
            let client = place(&world::CLIENTS).unwrap_or(0);
            (0..12)
                .map(|way| [client, way % 4, MODELS[usize::from(way / 4)], way])
                .collect()
        }
        "stream_conversion" | "response_conversion" => {
            let upstream = place(&world::UPSTREAMS).unwrap_or(0);
            (0..12)
                .map(|way| {
                    [
                        way % 4,
                        upstream + (way << 4),
                        MODELS[usize::from(way / 4)],
                        way,
                    ]
                })
                .collect()
        }
        _ => (0..4)
            .map(|way| [way * 21, way * 17, way * 9, way])
            .collect(),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fixtures() -> io::Result<Vec<Fixture>> {
    let mut found: Vec<Fixture> = WRITTEN
        .iter()
        .filter_map(|(name, body)| fixture(name, body.as_bytes().to_vec()))
        .collect();
    for folder in ["crates/bardo-wire/fixtures", "tests/clients/fixtures"] {
        let base = root().join(folder);
        for path in files(&base)? {
            let inside = path
                .strip_prefix(&base)
                .unwrap_or(&path)
                .to_string_lossy()
                .replace('\\', "/");
            found.extend(fixture(&inside, fs::read(&path)?));
        }
    }
    Ok(found)
}

fn fixture(inside: &str, bytes: Vec<u8>) -> Option<Fixture> {
    let (stem, ending) = inside.rsplit_once('.')?;
    let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let has = |key: &str| value.get(key).is_some();
    let payload = match ending {
        "sse" => Payload::Stream,
        "json" if has("messages") || has("prompt") => Payload::Request,
        "json" if has("input") && has("model") && !has("output") => Payload::Request,
        "json" | "html" | "txt" => Payload::Answer,
        _ => return None,
    };
    let told = [
        ("anthropic", Dialect::Anthropic),
        ("claude-code", Dialect::Anthropic),
        ("gemini/", Dialect::Gemini),
        ("responses", Dialect::Responses),
        ("codex", Dialect::Responses),
        ("completions", Dialect::Completions),
    ];
    let dialect = told.into_iter().find(|(word, _)| inside.contains(word));
    let dialect = match dialect {
        _ if has("prompt") && !has("messages") => Dialect::Completions,
        Some((_, dialect)) => dialect,
        None => Dialect::Chat,
    };
    Some(Fixture {
        name: stem.replace('/', "-"),
        dialect,
        payload,
        bytes,
    })
}

/// All files below a folder, in order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The inputs of a target that once failed.
///
/// # Panics
/// When a file that is there cannot be read.
#[must_use]
pub fn regressions(target: &FuzzTarget) -> Vec<Seed> {
    let folder = root().join("fuzz/regressions").join(target.name);
    let Ok(paths) = files(&folder) else {
        return Vec::new();
    };
    let read = |path: &PathBuf| Seed {
        name: path.display().to_string(),
        input: fs::read(path).expect("a regression can be read"),
    };
    paths.iter().map(read).collect()
}

/// A dictionary for the fuzzer: our tokens, and the keys and short values of every fixture.
///
/// # Panics
/// When the fixtures cannot be read.
#[must_use]
pub fn dictionary() -> String {
    let mut words: BTreeSet<String> = TOKENS.iter().map(|token| (*token).to_owned()).collect();
    for fixture in fixtures().expect("the fixtures of the workspace can be read") {
        for piece in String::from_utf8_lossy(&fixture.bytes).split('"') {
            let plain = piece
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
            if plain && (2..=40).contains(&piece.len()) && piece.parse::<f64>().is_err() {
                words.insert(format!("\"{piece}\""));
            }
        }
    }
    words.iter().map(|word| entry(word)).collect()
}

/// A line of the dictionary, in the fuzzer's spelling.
fn entry(word: &str) -> String {
    let spelled: String = word
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' => format!("\\{}", char::from(byte)),
            b' '..=b'~' => char::from(byte).to_string(),
            _ => format!("\\x{byte:02x}"),
        })
        .collect();
    format!("\"{spelled}\"\n")
}
