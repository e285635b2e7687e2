//! Answers of other providers for an Anthropic caller, and whole requests of other dialects.

use super::*;
use crate::anthropic::encode_marked;
use bardo_types::chat::{
    CacheTtl, Choice, Citation, CitationSource, Finish, MarkPlan, ServerBlock, ToolChoice,
};
use serde_json::json;

#[test]
fn a_foreign_conversation_as_a_whole() {
    let mut request = chat(vec![
        say(Role::System, "You are terse."),
        say(Role::User, "Weather in Paris and Rome?"),
        Message::new(
            Role::Assistant,
            vec![
                Text::new("Looking.").into(),
                called("call.1", "mcp.weather/get", r#"{"city": "Paris"}"#),
                called("call 1", "mcp.weather/get", r#"{"city": "Rome"}"#),
            ],
        ),
        Message::new(
            Role::User,
            vec![result("call 1", "sunny"), result("call.1", "rain")],
        ),
        Message::new(Role::Assistant, vec![called("call.1", "plain", "")]),
        Message::new(Role::User, vec![result("call.1", "ok")]),
    ]);
    request.tools = vec![
        function(
            "mcp.weather/get",
            Some(r#"{"type":"object","properties":{"city":{"type":"string"}}}"#),
        ),
        function("plain", None),
    ];
    request.tool_choice = Some(ToolChoice::Named("mcp.weather/get".into()));
    let encoded = encode_request(&request, &target(older())).unwrap();
    insta::assert_json_snapshot!("foreign_conversation", body(&encoded));
    assert_eq!(
        encoded.renamed_tools,
        [("mcp_weather_get".to_owned(), "mcp.weather/get".to_owned())]
    );
    assert_eq!(features(&encoded), [""; 0]);
    assert_eq!(
        encode_request(&request, &target(older())).unwrap().body,
        encoded.body
    );
}

#[test]
fn a_foreign_answer_as_a_whole() {
    let response = ChatResponse {
        id: Some("chatcmpl-1".into()),
        choices: vec![Choice {
            parts: vec![
                Text {
                    citations: vec![
                        Citation {
                            source: CitationSource::Url {
                                url: "https://a".into(),
                                title: "A".into(),
                                start: Some(0),
                                end: Some(2),
                            },
                            cited_text: None,
                            raw: None,
                        },
                        Citation {
                            source: CitationSource::Document {
                                index: 1,
                                title: None,
                            },
                            cited_text: Some("c".into()),
                            raw: None,
                        },
                    ],
                    ..Text::new("Hi")
                }
                .into(),
                Text::new("").into(),
                called("", "f", "{\"cut"),
                Part::Server(ServerBlock {
                    dialect: Dialect::Responses,
                    kind: "web_search_call".into(),
                    raw: RawJson::empty_object(),
                }),
            ],
            finish: Some(Finish::Length),
            ..Choice::default()
        }],
        ..ChatResponse::default()
    };
    let body: Value = serde_json::from_slice(&encode_response(&response, &reply())).unwrap();
    insta::assert_json_snapshot!("foreign_answer", body);
}

#[test]
fn a_refusal_in_words_is_a_refusal() {
    let response = ChatResponse {
        choices: vec![Choice {
            parts: vec![Part::Refusal("I will not.".into())],
            finish: Some(Finish::Stop),
            ..Choice::default()
        }],
        ..ChatResponse::default()
    };
    let body: Value = serde_json::from_slice(&encode_response(&response, &reply())).unwrap();
    assert_eq!(body["stop_reason"], "refusal");
    assert_eq!(
        body["content"],
        json!([{"type": "text", "text": "I will not."}])
    );
    assert_eq!(body["stop_details"]["type"], "refusal");
    let events = grammatical(&encode_stream([
        StreamEvent::Refusal {
            choice: 0,
            text: "I will not.".into(),
        },
        StreamEvent::Finish {
            choice: 0,
            reason: Finish::Stop,
            stop_sequence: None,
            details: None,
        },
        StreamEvent::Done,
    ]));
    let delta = &events[events.len() - 2].1["delta"];
    assert_eq!(delta["stop_reason"], "refusal");
    assert_eq!(events[0].1["message"]["id"], "msg_seed");
    assert_eq!(events[0].1["message"]["model"], "asked-for");
}

#[test]
fn free_text_calls_stream_as_an_object() {
    let start = StreamEvent::ToolStart {
        choice: 0,
        call: 0,
        id: "a".into(),
        name: "sql".into(),
        custom: true,
        opaque: None,
    };
    let input = |fragment: &str| StreamEvent::ToolInput {
        choice: 0,
        call: 0,
        fragment: fragment.into(),
    };
    let events = grammatical(&encode_stream([
        start,
        input("select \"a\"\n"),
        input("from b"),
        StreamEvent::ToolEnd { choice: 0, call: 0 },
        StreamEvent::Done,
    ]));
    assert_eq!(
        blocks_of(&events)[0]["input"],
        json!({"input": "select \"a\"\nfrom b"})
    );
}

#[test]
fn only_the_first_answer_is_shown() {
    let text = |choice, text: &str| StreamEvent::Text {
        choice,
        text: text.into(),
    };
    let events = grammatical(&encode_stream([
        text(1, "other"),
        text(0, "mine"),
        StreamEvent::Finish {
            choice: 1,
            reason: Finish::Length,
            stop_sequence: None,
            details: None,
        },
        StreamEvent::Done,
    ]));
    assert_eq!(
        blocks_of(&events),
        [json!({"type": "text", "text": "mine"})]
    );
    assert_eq!(
        events[events.len() - 2].1["delta"]["stop_reason"],
        "end_turn"
    );
}

#[test]
fn openrouter_keeps_its_own_members() {
    let mut request = hello();
    request.extra = vec![
        (
            "provider".into(),
            RawJson::parse(r#"{"zdr":true}"#).unwrap(),
        ),
        ("top_a".into(), RawJson::parse("1").unwrap()),
    ];
    let target = Target {
        service: Service::OpenRouter,
        ..target(older())
    };
    let encoded = encode_request(&request, &target).unwrap();
    assert_eq!(body(&encoded)["provider"], json!({"zdr": true}));
    assert_eq!(features(&encoded), ["top_a"]);
}

#[test]
fn no_more_marks_than_the_api_takes() {
    let mut request = hello();
    let mark = bardo_types::chat::CacheMark(RawJson::parse(r#"{"type":"ephemeral"}"#).unwrap());
    request.messages[0].parts = (0..6)
        .map(|n| {
            Text {
                cache: Some(mark.clone()),
                ..Text::new(n.to_string())
            }
            .into()
        })
        .collect();
    let encoded = encode_request(&request, &target(newest())).unwrap();
    let content = body(&encoded)["messages"][0]["content"].clone();
    let marked: Vec<bool> = content
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block.get("cache_control").is_some())
        .collect();
    assert_eq!(marked, [false, false, true, true, true, true]);
    assert_eq!(features(&encoded), ["cache_control"]);
}

#[test]
fn marks_of_tools_keep_their_lifetime_and_are_four_at_most() {
    use bardo_types::chat::{CacheMark, Tool};
    let sent = |marks: &[&str]| {
        let mut request = hello();
        request.dialect = Dialect::Chat;
        let tool = |(number, mark): (usize, &&str)| Tool::Function {
            name: format!("look{number}"),
            description: None,
            schema: None,
            strict: None,
            cache: Some(CacheMark(RawJson::parse(*mark).unwrap())),
            extra: Vec::new(),
        };
        request.tools = marks.iter().enumerate().map(tool).collect();
        let encoded = encode_request(&request, &target(newest())).unwrap();
        let tools = body(&encoded)["tools"].as_array().unwrap().clone();
        let of = |tool: &Value| tool.get("cache_control").cloned();
        let marks: Vec<_> = tools.iter().map(of).collect();
        (marks, features(&encoded))
    };
    let hour = r#"{"type":"ephemeral","ttl":"1h"}"#;
    let (marks, lost) = sent(&[hour, r#"{"type":"persistent"}"#]);
    let usual = json!({"type": "ephemeral"});
    let whole = json!({"type": "ephemeral", "ttl": "1h"});
    assert_eq!(marks, [Some(whole.clone()), Some(usual)]);
    assert!(lost.is_empty(), "{lost:?}");
    let (marks, lost) = sent(&[hour; 6]);
    let kept = vec![Some(whole); 4];
    assert_eq!(marks, [vec![None; 2], kept].concat());
    assert_eq!(lost, ["cache_control"]);
}

#[test]
fn marks_follow_the_plan_and_are_four_at_most() {
    let say = |role, text: &str| Message::new(role, vec![Text::new(text).into()]);
    let mut request = hello();
    request.dialect = Dialect::Chat;
    request.messages = vec![
        say(Role::System, "rules"),
        say(Role::User, "one"),
        say(Role::Assistant, "two"),
        say(Role::User, "three"),
    ];
    request.tools = vec![bardo_types::chat::Tool::Function {
        name: "look".into(),
        description: None,
        schema: None,
        strict: None,
        cache: None,
        extra: Vec::new(),
    }];
    let (five, hour) = (Some(CacheTtl::FiveMinutes), Some(CacheTtl::OneHour));
    let plans = [None, five, hour].map(|stable| [None, five, hour].map(|turns| (stable, turns)));
    for (stable, turns) in plans.into_iter().flatten() {
        let plan = MarkPlan { stable, turns };
        let encoded = encode_marked(&request, &target(newest()), plan).unwrap();
        let sent = body(&encoded);
        let mark = |block: &Value| {
            let mark = block.get("cache_control")?;
            Some(mark.get("ttl").map_or("5m", |ttl| {
                assert_eq!(ttl, "1h");
                "1h"
            }))
        };
        let all = [
            mark(&sent["tools"][0]),
            mark(&sent["system"][0]),
            mark(&sent["messages"][0]["content"][0]),
            mark(&sent["messages"][2]["content"][0]),
        ];
        let [stable, turns] = [stable, turns].map(|ttl| ttl.map(CacheTtl::as_str));
        assert_eq!(all, [stable, stable, turns, turns]);
        let text = String::from_utf8(encoded.body).unwrap();
        assert_eq!(
            text.matches("\"cache_control\"").count(),
            all.iter().flatten().count()
        );
    }
}

#[test]
fn a_prefix_is_marked_where_it_reaches_the_models_minimum() {
    let mut caps = newest();
    caps.cache_minimum_tokens = 1_000;
    let say = |role, bytes| Message::new(role, vec![Text::new("a".repeat(bytes)).into()]);
    let marked = |system: usize, turns: [usize; 3]| {
        let mut request = hello();
        request.dialect = Dialect::Chat;
        request.messages = vec![
            say(Role::System, system),
            say(Role::User, turns[0]),
            say(Role::Assistant, turns[1]),
            say(Role::User, turns[2]),
        ];
        let sent = body(&encode_request(&request, &target(caps.clone())).unwrap());
        let is_marked = |blocks: &Value| blocks[0].get("cache_control").is_some();
        let of_turn = |turn: usize| is_marked(&sent["messages"][turn]["content"]);
        [is_marked(&sent["system"]), of_turn(0), of_turn(2)]
    };
    // 3 bytes or more are a token.
    assert_eq!(marked(2_900, [3, 3, 3]), [false; 3]);
    assert_eq!(marked(3_000, [3, 3, 3]), [true; 3]);
    assert_eq!(marked(1_500, [1_500, 3, 3]), [false, true, true]);
    assert_eq!(marked(1_500, [600, 600, 600]), [false, false, true]);
}
