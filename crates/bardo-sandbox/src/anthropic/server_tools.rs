//! Tools that run on Anthropic's side: their calls and results stand in the same message.

use serde_json::{Value, json};

use super::error::ApiError;
use super::rules::rules;
use super::turns::Turn;
use crate::world::World;

const SEARCH: &str = "anthropic.web_search";

/// The family of a server tool, such as `web_search`, if `tool` is one.
pub(crate) fn family(tool: &Value) -> Option<&'static str> {
    let rule = rules().tools.get(tool["type"].as_str()?)?;
    rule.server.as_deref()
}

/// The name under which a request offers a server tool of this family.
pub(crate) fn offered<'a>(tools: &'a [Value], wanted: &str) -> Option<&'a str> {
    tools
        .iter()
        .find(|tool| family(tool) == Some(wanted))
        .and_then(|tool| tool["name"].as_str())
}

/// A finished server-tool call: the blocks of call and result, and a citation of the result.
pub(crate) struct Ran {
    pub(crate) blocks: Vec<Value>,
    pub(crate) citation: Option<Value>,
}

/// Runs a server tool for show.
pub(crate) fn run(family: &str, name: &str, input: &Value, id: &str, world: &World) -> Ran {
    let id = format!("srvtoolu_{id}");
    let call = json!({"type": "server_tool_use", "id": id, "name": name, "input": input});
    if family == "web_search" {
        return web_search(call, &id, input, world);
    }
    let (kind, content) = match family {
        "web_fetch" => ("web_fetch_tool_result", fetched(input)),
        "tool_search" => (
            "tool_search_tool_result",
            json!({"type": "tool_search_tool_search_result", "tool_references": []}),
        ),
        _ => (
            "code_execution_tool_result",
            json!({"type": "code_execution_result", "stdout": "sandbox\n", "stderr": "",
                "return_code": 0, "content": []}),
        ),
    };
    Ran {
        blocks: vec![
            call,
            json!({"type": kind, "tool_use_id": id, "content": content}),
        ],
        citation: None,
    }
}

fn fetched(input: &Value) -> Value {
    let url = input["url"].as_str().unwrap_or("https://example.com/");
    json!({"type": "web_fetch_result", "url": url, "retrieved_at": "2026-11-01T00:00:00Z",
        "content": {"type": "document", "title": "Sandbox page",
            "source": {"type": "text", "media_type": "text/plain",
                "data": format!("The sandbox page at {url}.")}}})
}

fn web_search(call: Value, id: &str, input: &Value, world: &World) -> Ran {
    let query = input["query"].as_str().unwrap_or_default();
    let results: Vec<Value> = (1..=2)
        .map(|rank| {
            let url = format!("https://example.com/sandbox/{rank}");
            let title = format!("Sandbox result {rank}");
            let sealed = format!("About {query}, result {rank}.");
            json!({"type": "web_search_result", "url": url, "title": title,
                "encrypted_content": seal(&url, &sealed, world), "page_age": "November 1, 2026"})
        })
        .collect();
    let citation = json!({"type": "web_search_result_location",
        "url": results[0]["url"], "title": results[0]["title"],
        "encrypted_index": world.seals.mint(SEARCH, &[b"index"], query.as_bytes()),
        "cited_text": format!("About {query}, result 1.")});
    let result = json!({"type": "web_search_tool_result", "tool_use_id": id, "content": results});
    Ran {
        blocks: vec![call, result],
        citation: Some(citation),
    }
}

fn seal(url: &str, content: &str, world: &World) -> String {
    world
        .seals
        .mint(SEARCH, &[url.as_bytes()], content.as_bytes())
}

/// Checks that search results come back as they were sent.
pub(crate) fn verify(turns: &[Turn], world: &World) -> Result<(), ApiError> {
    let blocks = turns.iter().flat_map(|turn| &turn.blocks);
    for block in blocks.filter(|block| block.kind() == "web_search_tool_result") {
        let results = block.value["content"].as_array();
        for (index, result) in results.into_iter().flatten().enumerate() {
            let text = |field: &str| result[field].as_str().unwrap_or_default();
            let url = text("url").as_bytes();
            if world
                .seals
                .open(SEARCH, &[url], text("encrypted_content"))
                .is_none()
            {
                return Err(ApiError::at(
                    format!("{}.content.{index}", block.path()),
                    "Invalid `encrypted_content` in `search_result` block",
                ));
            }
        }
    }
    Ok(())
}
