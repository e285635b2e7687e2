use std::collections::HashSet;
use std::sync::Arc;

use bardo_types::chat::{ChatRequest, Message, Part, Role, Tool, ToolCall, ToolChoice};
use bardo_types::model::{Capabilities, Dialect, Service};
use proptest::prelude::*;

use super::{NameRule, ToolNames};
use crate::codec::{DecodeContext, Target};

const DIALECTS: [Dialect; 4] = [
    Dialect::Chat,
    Dialect::Anthropic,
    Dialect::Responses,
    Dialect::Gemini,
];

fn function(name: &str) -> Tool {
    Tool::Function {
        name: name.to_owned(),
        description: None,
        schema: None,
        strict: None,
        cache: None,
        extra: Vec::new(),
    }
}

fn with_tools<'a>(names: impl IntoIterator<Item = &'a str>) -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Chat, "m");
    request.tools = names.into_iter().map(function).collect();
    request
}

fn sent(request: &ChatRequest, dialect: Dialect) -> Vec<String> {
    let names = ToolNames::plan(request, NameRule::of(dialect));
    let tools = request.tools.iter().filter_map(Tool::name);
    tools.map(|name| names.sent(name).to_owned()).collect()
}

#[test]
fn a_name_that_fits_is_sent_as_it_is() {
    let long = "x".repeat(64);
    let request = with_tools(["get_weather-2", "_a", &long]);
    for dialect in DIALECTS {
        assert_eq!(sent(&request, dialect), ["get_weather-2", "_a", &long]);
    }
    let longer = "x".repeat(128);
    let request = with_tools(["9lives", &longer]);
    assert_eq!(sent(&request, Dialect::Anthropic), ["9lives", &longer]);
    let request = with_tools(["a.b:c", &longer]);
    assert_eq!(sent(&request, Dialect::Gemini), ["a.b:c", &longer]);
}

#[test]
fn a_changed_name_keeps_its_letters_and_takes_a_digest_only_where_they_are_taken() {
    let request = with_tools(["fs.read", "fs/read", "größe", "", "9 lives"]);
    let names = ToolNames::plan(&request, NameRule::of(Dialect::Chat));
    assert_eq!(names.sent("fs.read"), "fs_read");
    assert_eq!(names.sent("fs/read"), "fs_read_96379919");
    assert_eq!(names.sent("größe"), "gr__e");
    assert_eq!(names.sent(""), "_e3b0c442");
    assert_eq!(names.sent("9 lives"), "9_lives");
    let names = ToolNames::plan(&request, NameRule::of(Dialect::Gemini));
    assert_eq!(names.sent("9 lives"), "_9_lives");
}

#[test]
fn a_tool_that_the_provider_runs_keeps_its_name_and_keeps_it_free() {
    let mut request = with_tools(["web.search"]);
    request.tools.push(Tool::Server {
        dialect: Dialect::Anthropic,
        kind: "web_search_20260318".into(),
        name: Some("web_search".into()),
        raw: bardo_types::json::RawJson::empty_object(),
    });
    let names = ToolNames::plan(&request, NameRule::of(Dialect::Anthropic));
    assert_ne!(names.sent("web.search"), "web_search");
    assert_eq!(names.sent("web_search"), "web_search");
}

#[test]
fn names_of_the_history_and_of_the_choice_change_alike() {
    let mut request = with_tools(["a.b"]);
    let call = Part::ToolCall(ToolCall::new("c", "old/tool", "{}"));
    request.messages = vec![Message::new(Role::Assistant, vec![call])];
    request.tool_choice = Some(ToolChoice::Named("a.b".into()));
    for dialect in [Dialect::Chat, Dialect::Anthropic, Dialect::Responses] {
        let names = ToolNames::plan(&request, NameRule::of(dialect));
        assert_eq!(
            names.into_renamed(),
            [("a_b", "a.b"), ("old_tool", "old/tool")]
                .map(|(sent, name)| (sent.to_owned(), name.to_owned()))
        );
    }
}

fn context(request: ChatRequest, renamed_tools: Vec<(String, String)>) -> DecodeContext {
    DecodeContext {
        target: Target {
            model: "m".into(),
            service: Service::Local,
            capabilities: Arc::new(Capabilities::default()),
        },
        request: Arc::new(request),
        renamed_tools,
        id_seed: "seed".into(),
    }
}

proptest! {
    #[test]
    fn distinct_names_stay_distinct_and_come_back_exactly(
        names in prop::collection::hash_set(
            prop_oneof!["[ab./ _]{0,3}", "[a.é]{60,70}", "[a.é-]{120,140}", ".{0,20}"],
            1..12,
        ),
        dialect in prop::sample::select(&DIALECTS[..]),
    ) {
        let request = with_tools(names.iter().map(String::as_str));
        let sent = sent(&request, dialect);
        let rule = NameRule::of(dialect);
        for (sent, name) in sent.iter().zip(request.tools.iter().filter_map(Tool::name)) {
            prop_assert!(rule.fits(sent), "{sent:?}");
            prop_assert!(!rule.fits(name) || sent == name);
        }
        prop_assert_eq!(sent.iter().collect::<HashSet<_>>().len(), names.len());
        let renamed = ToolNames::plan(&request, rule).into_renamed();
        let context = context(request.clone(), renamed);
        for (sent, name) in sent.iter().zip(request.tools.iter().filter_map(Tool::name)) {
            prop_assert_eq!(context.original_tool_name(sent), name);
        }
    }
}
