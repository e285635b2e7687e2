//! The mapping tables, one row of data per row of the map.

mod content;
mod settings;

use super::*;
use bardo_types::chat::{
    Audio, CacheHints, Citation, CitationSource, Document, DocumentSource, Finish, Image, Logprobs,
    MediaSource, OutputFormat, SearchResult, ThinkingDisplay, ThinkingMode, ToolChoice, Verbosity,
};
use serde_json::json;

fn raw(json: &str) -> RawJson {
    RawJson::parse(json).unwrap()
}

/// Changes the usual request, and tells what is found at a place of the body and what is lost.
struct Row {
    name: &'static str,
    change: fn(&mut ChatRequest),
    capabilities: fn() -> Capabilities,
    at: &'static str,
    expected: Value,
    lost: &'static [&'static str],
}

fn row(
    name: &'static str,
    change: fn(&mut ChatRequest),
    at: &'static str,
    expected: Value,
    lost: &'static [&'static str],
) -> Row {
    Row {
        name,
        change,
        capabilities: older,
        at,
        expected,
        lost,
    }
}

fn on(capabilities: fn() -> Capabilities, row: Row) -> Row {
    Row {
        capabilities,
        ..row
    }
}

fn check(rows: Vec<Row>) {
    for row in rows {
        let mut request = hello();
        (row.change)(&mut request);
        let capabilities = Capabilities {
            cache_marks: false,
            ..(row.capabilities)()
        };
        let encoded = encode_request(&request, &target(capabilities)).expect(row.name);
        let found = body(&encoded)
            .pointer(row.at)
            .cloned()
            .unwrap_or(Value::Null);
        assert_eq!(found, row.expected, "{}", row.name);
        assert_eq!(features(&encoded), row.lost, "{}", row.name);
    }
}

fn with_part(request: &mut ChatRequest, part: Part) {
    request.messages[0].parts = vec![part];
}

fn with_tool(request: &mut ChatRequest, choice: ToolChoice) {
    request.tools = vec![function("f", None), function("g", None)];
    request.tool_choice = Some(choice);
}

fn image(source: MediaSource) -> Part {
    Part::Image(Image {
        source,
        detail: None,
        cache: None,
    })
}

fn document(source: DocumentSource) -> Part {
    Part::Document(Document {
        source,
        title: Some("T".into()),
        context: None,
        citations: true,
        cache: None,
    })
}
