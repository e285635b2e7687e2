//! Streams that never end, to watch what a decoder keeps of them.

use bardo_types::model::Dialect;
use bardo_wire::codec::StreamDecoder;
use bardo_wire::table;

use crate::{Knobs, world};

/// A kind of event that comes again and again.
pub struct Stream {
    /// Name in reports.
    pub name: &'static str,
    /// The decoder has to keep something of every event.
    pub keeps: bool,
    dialect: Dialect,
    opening: &'static [&'static str],
    /// The repeated event; `NUMBER` stands for a number that rises, `WORDS` for words.
    repeated: &'static str,
}

impl Stream {
    /// A decoder for this stream.
    #[must_use]
    pub fn decoder(&self) -> Box<dyn StreamDecoder> {
        let context = world::decode_context(Knobs([0, 0x20, 0, 0]), Dialect::Chat);
        table::stream_decoder(self.dialect, context)
    }

    /// Name and data of the event at a place.
    #[must_use]
    pub fn event(&self, place: usize) -> (String, String) {
        let data = match self.opening.get(place) {
            Some(data) => (*data).to_owned(),
            None => self
                .repeated
                .replace("NUMBER", &place.to_string())
                .replace("WORDS", &"words ".repeat(50)),
        };
        let kind = data.split("\"type\":\"").nth(1);
        let name = kind.and_then(|rest| rest.split('"').next());
        let named = matches!(self.dialect, Dialect::Anthropic | Dialect::Responses);
        (name.filter(|_| named).unwrap_or_default().to_owned(), data)
    }
}

const fn stream(
    name: &'static str,
    keeps: bool,
    dialect: Dialect,
    opening: &'static [&'static str],
    repeated: &'static str,
) -> Stream {
    Stream {
        name,
        keeps,
        dialect,
        opening,
        repeated,
    }
}

const FORGETS: bool = false;
const KEEPS: bool = true;

/// All streams of the test.
#[must_use]
pub fn streams() -> Vec<Stream> {
    [chat(), anthropic(), responses(), gemini()]
        .into_iter()
        .flatten()
        .collect()
}

fn chat() -> Vec<Stream> {
    let of = |name, keeps, opening, repeated| stream(name, keeps, Dialect::Chat, opening, repeated);
    vec![
        of(
            "chat text",
            FORGETS,
            &[],
            r#"{"choices":[{"index":0,"delta":{"content":"WORDS"}}]}"#,
        ),
        of(
            "chat thinking",
            FORGETS,
            &[],
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"WORDS"}}]}"#,
        ),
        of(
            "chat empty deltas",
            FORGETS,
            &[],
            r#"{"choices":[{"index":0,"delta":{}}]}"#,
        ),
        of(
            "chat counts",
            FORGETS,
            &[],
            r#"{"choices":[],"usage":{"prompt_tokens":NUMBER,"completion_tokens":1}}"#,
        ),
        of(
            "chat inputs",
            KEEPS,
            &[
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}}]}"#,
            ],
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"WORDS"}}]}}]}"#,
        ),
        of(
            "chat calls",
            KEEPS,
            &[],
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":NUMBER,"id":"NUMBER","function":{"name":"f","arguments":"{"}}]}}]}"#,
        ),
        of(
            "chat searches",
            KEEPS,
            &[],
            r#"{"choices":[],"venice_parameters":{"web_search_citations":[{"url":"NUMBER"}]}}"#,
        ),
        of(
            "chat details",
            KEEPS,
            &[],
            r#"{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","text":"WORDS","index":0}]}}]}"#,
        ),
    ]
}

fn anthropic() -> Vec<Stream> {
    const START: &str = r#"{"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":1,"output_tokens":1}}}"#;
    let of =
        |name, keeps, opening, repeated| stream(name, keeps, Dialect::Anthropic, opening, repeated);
    vec![
        of(
            "anthropic text",
            FORGETS,
            &[
                START,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            ],
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"WORDS"}}"#,
        ),
        of(
            "anthropic thinking",
            FORGETS,
            &[
                START,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
            ],
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"WORDS"}}"#,
        ),
        of("anthropic pings", FORGETS, &[START], r#"{"type":"ping"}"#),
        of(
            "anthropic counts",
            FORGETS,
            &[START],
            r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":NUMBER}}"#,
        ),
        of(
            "anthropic inputs",
            KEEPS,
            &[
                START,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
            ],
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"WORDS"}}"#,
        ),
        of(
            "anthropic signatures",
            KEEPS,
            &[
                START,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
            ],
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"WORDS"}}"#,
        ),
        of(
            "anthropic calls",
            KEEPS,
            &[START],
            r#"{"type":"content_block_start","index":NUMBER,"content_block":{"type":"tool_use","id":"t","name":"f"}}"#,
        ),
        of(
            "anthropic blocks",
            KEEPS,
            &[START],
            r#"{"type":"content_block_start","index":NUMBER,"content_block":{"type":"redacted_thinking","data":"WORDS"}}"#,
        ),
    ]
}

fn responses() -> Vec<Stream> {
    let of =
        |name, keeps, opening, repeated| stream(name, keeps, Dialect::Responses, opening, repeated);
    vec![
        of(
            "responses pings",
            FORGETS,
            &[],
            r#"{"type":"keepalive","sequence_number":NUMBER}"#,
        ),
        of(
            "responses progress",
            FORGETS,
            &[],
            r#"{"type":"response.in_progress","response":{"id":"r","status":"in_progress"}}"#,
        ),
        // What a `done` event repeats is told apart from what is new by what came before.
        of(
            "responses text",
            KEEPS,
            &[],
            r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"WORDS"}"#,
        ),
        of(
            "responses thinking",
            KEEPS,
            &[],
            r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"WORDS"}"#,
        ),
        of(
            "responses inputs",
            KEEPS,
            &[
                r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f"}}"#,
            ],
            r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"WORDS"}"#,
        ),
        of(
            "responses calls",
            KEEPS,
            &[],
            r#"{"type":"response.output_item.added","output_index":NUMBER,"item":{"type":"function_call","call_id":"a","name":"f"}}"#,
        ),
        of(
            "responses items",
            KEEPS,
            &[],
            r#"{"type":"response.output_item.added","output_index":NUMBER,"item":{"type":"message"}}"#,
        ),
    ]
}

fn gemini() -> Vec<Stream> {
    let of =
        |name, keeps, opening, repeated| stream(name, keeps, Dialect::Gemini, opening, repeated);
    vec![
        of(
            "gemini text",
            FORGETS,
            &[],
            r#"{"candidates":[{"index":0,"content":{"parts":[{"text":"WORDS"}]}}]}"#,
        ),
        of(
            "gemini thinking",
            FORGETS,
            &[],
            r#"{"candidates":[{"index":0,"content":{"parts":[{"text":"WORDS","thought":true}]}}]}"#,
        ),
        of(
            "gemini counts",
            FORGETS,
            &[],
            r#"{"usageMetadata":{"promptTokenCount":NUMBER}}"#,
        ),
        of(
            "gemini calls",
            KEEPS,
            &[],
            r#"{"candidates":[{"index":0,"content":{"parts":[{"functionCall":{"name":"f","args":{"n":NUMBER}}}]}}]}"#,
        ),
    ]
}
