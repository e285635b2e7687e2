//! Streams as providers write them, made here so that what they say is known.

use serde_json::{Value, json};

/// One event, and the words in it with the place that they belong to.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) bytes: String,
    pub(super) said: Option<(&'static str, String)>,
}

const VOCABULARY: [&str; 24] = [
    " the",
    " liquidity",
    " pool",
    " rebal",
    "ances",
    ",",
    " then",
    " swap",
    "s",
    " 1000",
    " USDC",
    " for",
    " ETH",
    ".\n",
    " \"quoted\"",
    " naïve",
    " 価格",
    " risk-adjusted",
    "\n\n- ",
    " 0x9fE4",
    "a7",
    " and",
    " {\"fee\":",
    " 30}",
];

/// Pieces as a model streams them, the same each time.
pub(super) fn words(count: usize) -> Vec<String> {
    let mut state: u32 = 7;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            VOCABULARY[(state >> 16) as usize % VOCABULARY.len()].to_owned()
        })
        .collect()
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn named(value: &Value) -> String {
    let name = value["type"].as_str().unwrap();
    format!("event: {name}\ndata: {value}\n\n")
}

fn silent(bytes: String) -> Said {
    Said { bytes, said: None }
}

fn saying(bytes: String, place: &'static str, text: &str) -> Said {
    Said {
        bytes,
        said: Some((place, text.to_owned())),
    }
}

/// A third each of thinking, words and the input of a call.
fn thirds(pieces: usize) -> [Vec<String>; 3] {
    let all = words(pieces * 3);
    let (thinking, rest) = all.split_at(pieces);
    let (text, call) = rest.split_at(pieces);
    [thinking.to_vec(), text.to_vec(), call.to_vec()]
}

pub(super) fn chat(pieces: usize) -> Vec<Said> {
    let chunk = |delta: Value, finish: Value| {
        data(
            &json!({"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",
            "choices":[{"index":0,"delta":delta,"finish_reason":finish}],"usage":null}),
        )
    };
    let [thinking, text, call] = thirds(pieces);
    let mut out = vec![silent(chunk(
        json!({"role":"assistant","content":""}),
        Value::Null,
    ))];
    for piece in thinking {
        let bytes = chunk(json!({"reasoning_content":piece}), Value::Null);
        out.push(saying(bytes, "thinking", &piece));
    }
    for piece in text {
        let bytes = chunk(json!({"content":piece}), Value::Null);
        out.push(saying(bytes, "text", &piece));
    }
    let begin = json!({"tool_calls":[{"index":0,"id":"call_1","type":"function",
        "function":{"name":"get_price","arguments":""}}]});
    out.push(saying(chunk(begin, Value::Null), "call", "get_price"));
    for piece in call {
        let delta = json!({"tool_calls":[{"index":0,"function":{"arguments":piece}}]});
        out.push(saying(chunk(delta, Value::Null), "call", &piece));
    }
    out.push(silent(chunk(json!({}), json!("tool_calls"))));
    out.push(silent("data: [DONE]\n\n".into()));
    out
}

pub(super) fn completions(pieces: usize) -> Vec<Said> {
    words(pieces)
        .iter()
        .map(|piece| {
            let bytes = data(
                &json!({"id":"c1","object":"text_completion","created":1,"model":"m",
                "choices":[{"index":0,"text":piece,"finish_reason":null}]}),
            );
            saying(bytes, "text", piece)
        })
        .collect()
}

pub(super) fn anthropic(pieces: usize) -> Vec<Said> {
    let [thinking, text, call] = thirds(pieces);
    let mut out = vec![silent(named(
        &json!({"type":"message_start","message":{"id":"m1","type":"message",
        "role":"assistant","model":"m","content":[],"stop_reason":null,
        "usage":{"input_tokens":9,"output_tokens":1}}}),
    ))];
    let blocks = [
        (
            "thinking",
            json!({"type":"thinking","thinking":"","signature":""}),
            thinking,
        ),
        ("text", json!({"type":"text","text":""}), text),
        (
            "call",
            json!({"type":"tool_use","id":"toolu_1","name":"get_price","input":{}}),
            call,
        ),
    ];
    for (index, (place, block, pieces)) in blocks.into_iter().enumerate() {
        let begin =
            named(&json!({"type":"content_block_start","index":index,"content_block":block}));
        out.push(match place {
            "call" => saying(begin, place, "get_price"),
            _ => silent(begin),
        });
        out.push(silent("event: ping\ndata: {\"type\":\"ping\"}\n\n".into()));
        for piece in pieces {
            let delta = match place {
                "thinking" => json!({"type":"thinking_delta","thinking":piece}),
                "text" => json!({"type":"text_delta","text":piece}),
                _ => json!({"type":"input_json_delta","partial_json":piece}),
            };
            let bytes = named(&json!({"type":"content_block_delta","index":index,"delta":delta}));
            out.push(saying(bytes, place, &piece));
        }
        out.push(silent(named(
            &json!({"type":"content_block_stop","index":index}),
        )));
    }
    out.push(silent(named(&json!({"type":"message_delta",
        "delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}}))));
    out.push(silent(named(&json!({"type":"message_stop"}))));
    out
}

pub(super) fn responses(pieces: usize) -> Vec<Said> {
    let [thinking, text, call] = thirds(pieces);
    let (all_thinking, all_text, all_call) = (thinking.concat(), text.concat(), call.concat());
    let reasoning = json!({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":all_thinking}]});
    let message = json!({"type":"message","id":"msg_1","role":"assistant","status":"completed",
        "content":[{"type":"output_text","text":all_text,"annotations":[]}]});
    let called = json!({"type":"function_call","id":"fc_1","call_id":"call_1","name":"get_price",
        "arguments":all_call,"status":"completed"});
    let created =
        json!({"id":"resp_1","object":"response","model":"m","status":"in_progress","output":[]});
    let mut out = vec![silent(named(
        &json!({"type":"response.created","response":created}),
    ))];
    let added = |at: usize, item: Value| {
        named(&json!({"type":"response.output_item.added","output_index":at,"item":item}))
    };
    let done = |at: usize, item: &Value| {
        silent(named(
            &json!({"type":"response.output_item.done","output_index":at,"item":item}),
        ))
    };
    out.push(silent(added(
        0,
        json!({"type":"reasoning","id":"rs_1","summary":[]}),
    )));
    for piece in thinking {
        let bytes = named(
            &json!({"type":"response.reasoning_summary_text.delta","item_id":"rs_1",
            "output_index":0,"summary_index":0,"delta":piece}),
        );
        out.push(saying(bytes, "thinking", &piece));
    }
    out.push(done(0, &reasoning));
    out.push(silent(added(
        1,
        json!({"type":"message","id":"msg_1","role":"assistant","content":[]}),
    )));
    for piece in text {
        let bytes = named(
            &json!({"type":"response.output_text.delta","item_id":"msg_1","output_index":1,
            "content_index":0,"delta":piece}),
        );
        out.push(saying(bytes, "text", &piece));
    }
    out.push(done(1, &message));
    let begin = json!({"type":"function_call","id":"fc_1","call_id":"call_1","name":"get_price","arguments":""});
    out.push(saying(added(2, begin), "call", "get_price"));
    for piece in call {
        let bytes = named(
            &json!({"type":"response.function_call_arguments.delta","item_id":"fc_1",
            "output_index":2,"delta":piece}),
        );
        out.push(saying(bytes, "call", &piece));
    }
    out.push(done(2, &called));
    let complete = json!({"id":"resp_1","object":"response","model":"m","status":"completed",
        "output":[reasoning, message, called],"usage":{"input_tokens":1,"output_tokens":2}});
    out.push(silent(named(
        &json!({"type":"response.completed","response":complete}),
    )));
    out
}

pub(super) fn gemini(pieces: usize) -> Vec<Said> {
    let [thinking, text, _] = thirds(pieces);
    let chunk = |part: Value| {
        data(
            &json!({"candidates":[{"content":{"parts":[part],"role":"model"},"index":0}],
            "usageMetadata":{"promptTokenCount":4,"totalTokenCount":4},"modelVersion":"m"}),
        )
    };
    let mut out = Vec::new();
    for piece in thinking {
        let bytes = chunk(json!({"text":piece,"thought":true}));
        out.push(saying(bytes, "thinking", &piece));
    }
    for piece in text {
        out.push(saying(chunk(json!({"text":piece})), "text", &piece));
    }
    let args = "{\"pair\":\"ETH/USDC\",\"venue\":\"uniswap\"}";
    let call = json!({"functionCall":{"name":"get_price",
        "args":serde_json::from_str::<Value>(args).unwrap()}});
    out.push(saying(chunk(call), "call", &format!("get_price{args}")));
    out.push(silent(data(
        &json!({"candidates":[{"content":{"parts":[],"role":"model"},"index":0,
        "finishReason":"STOP"}],"modelVersion":"m"}),
    )));
    out
}
