use super::*;

#[test]
fn setting_rows() {
    check(vec![
        row(
            "max tokens",
            |r| r.max_output_tokens = Some(7),
            "/max_tokens",
            json!(7),
            &[],
        ),
        row(
            "max tokens of the model",
            |_| {},
            "/max_tokens",
            json!(64_000),
            &[],
        ),
        row(
            "max tokens above the model's",
            |r| r.max_output_tokens = Some(64_001),
            "/max_tokens",
            json!(64_000),
            &["max_tokens"],
        ),
        on(
            Capabilities::default,
            row(
                "max tokens unknown",
                |_| {},
                "/max_tokens",
                json!(32_000),
                &[],
            ),
        ),
        row(
            "temperature",
            |r| r.sampling.temperature = Some(raw("0.70")),
            "/temperature",
            json!(0.7),
            &[],
        ),
        row(
            "temperature clamped",
            |r| r.sampling.temperature = Some(raw("1.7")),
            "/temperature",
            json!(1),
            &["temperature"],
        ),
        row(
            "temperature or top_p",
            |r| {
                r.sampling.temperature = Some(raw("0.7"));
                r.sampling.top_p = Some(raw("0.9"));
            },
            "/top_p",
            Value::Null,
            &["top_p"],
        ),
        on(
            newest,
            row(
                "sampling refused, defaults lose nothing",
                |r| {
                    r.sampling.temperature = Some(raw("1.0"));
                    r.sampling.top_p = Some(raw("1"));
                },
                "/temperature",
                Value::Null,
                &[],
            ),
        ),
        row(
            "top_k",
            |r| r.sampling.top_k = Some(raw("5")),
            "/top_k",
            json!(5),
            &[],
        ),
        row(
            "stop",
            |r| r.stop = vec!["a".into(), "\n".into()],
            "/stop_sequences",
            json!(["a"]),
            &["stop"],
        ),
        row(
            "penalties, logit_bias, seed, logprobs",
            |r| {
                r.sampling.min_p = Some(raw("0.1"));
                r.sampling.presence_penalty = Some(raw("1"));
                r.sampling.frequency_penalty = Some(raw("0"));
                r.sampling.repetition_penalty = Some(raw("1.1"));
                r.sampling.seed = Some(raw("1"));
                r.sampling.logit_bias = Some(raw(r#"{"1":2}"#));
                r.logprobs = Some(Logprobs { top: None });
            },
            "/seed",
            Value::Null,
            &[
                "min_p",
                "presence_penalty",
                "repetition_penalty",
                "seed",
                "logit_bias",
                "logprobs",
            ],
        ),
        row(
            "json_object",
            |r| r.output = OutputFormat::JsonObject,
            "/output_config",
            Value::Null,
            &["json_object"],
        ),
        row(
            "json schema, constraints become words",
            |r| {
                r.output = OutputFormat::JsonSchema {
                    name: Some("n".into()),
                    description: None,
                    schema: raw(
                        r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1}}}"#,
                    ),
                    strict: None,
                };
            },
            "/output_config/format/schema",
            json!({"type": "object", "properties": {"n": {"type": "integer", "description": "{minimum: 1}"}}, "additionalProperties": false}),
            &["schema_constraints"],
        ),
        on(
            || Capabilities {
                structured_output: false,
                ..older()
            },
            row(
                "json schema, model without it",
                |r| {
                    r.output = OutputFormat::JsonSchema {
                        name: None,
                        description: None,
                        schema: raw(r#"{"type":"object"}"#),
                        strict: None,
                    };
                },
                "/output_config",
                Value::Null,
                &["structured_output"],
            ),
        ),
        row(
            "user id",
            |r| r.end_user = Some("u".into()),
            "/metadata",
            json!({"user_id": "u"}),
            &[],
        ),
        row(
            "service tier auto",
            |r| r.service_tier = Some("auto".into()),
            "/service_tier",
            json!("auto"),
            &[],
        ),
        row(
            "service tier default",
            |r| r.service_tier = Some("default".into()),
            "/service_tier",
            json!("standard_only"),
            &[],
        ),
        row(
            "service tier flex",
            |r| r.service_tier = Some("flex".into()),
            "/service_tier",
            Value::Null,
            &["service_tier"],
        ),
        row(
            "cache hints",
            |r| {
                r.cache = CacheHints {
                    key: Some("k".into()),
                    options: Some(raw("{}")),
                    automatic: Some(raw(r#"{"type":"ephemeral"}"#)),
                };
            },
            "/cache_control",
            json!({"type": "ephemeral"}),
            &["prompt_cache_options"],
        ),
        row("stream", |r| r.stream = true, "/stream", json!(true), &[]),
        row(
            "members of other dialects",
            |r| {
                r.prediction = Some(raw("{}"));
                r.metadata = Some(raw("{}"));
                r.store = Some(true);
                r.verbosity = Some(Verbosity::Low);
                r.extra = vec![("provider".into(), raw("{}")), ("x.y".into(), raw("1"))];
            },
            "/provider",
            Value::Null,
            &[
                "verbosity",
                "prediction",
                "metadata",
                "store",
                "provider",
                "x.y",
            ],
        ),
    ]);
}

fn effort(effort: Effort) -> impl Fn(&mut ChatRequest) {
    move |request| request.reasoning.effort = Some(effort)
}

#[test]
fn effort_rows() {
    let five = &[
        Effort::Low,
        Effort::Medium,
        Effort::High,
        Effort::Xhigh,
        Effort::Max,
    ][..];
    for (wanted, accepted, sent, lost) in [
        (Effort::None, five, Some("low"), &["effort"][..]),
        (Effort::Minimal, five, Some("low"), &[]),
        (Effort::Low, five, Some("low"), &[]),
        (Effort::Medium, five, Some("medium"), &[]),
        (Effort::High, five, Some("high"), &[]),
        (Effort::Xhigh, five, Some("xhigh"), &[]),
        (Effort::Max, five, Some("max"), &[]),
        (Effort::Max, &five[..3], Some("high"), &["effort"]),
        (Effort::High, &[], None, &["effort"]),
        // Models of other makers take less than this dialect has words for.
        (
            Effort::Minimal,
            &[Effort::Minimal, Effort::Low],
            Some("low"),
            &[],
        ),
        (
            Effort::None,
            &[Effort::Minimal, Effort::Low],
            Some("low"),
            &["effort"],
        ),
    ] {
        let mut request = hello();
        effort(wanted)(&mut request);
        let capabilities = Capabilities {
            efforts: accepted.to_vec(),
            ..newest()
        };
        let (body, features) = encoded(&request, capabilities);
        assert_eq!(body["output_config"]["effort"].as_str(), sent, "{wanted:?}");
        assert_eq!(features, lost, "{wanted:?}");
    }
}

#[test]
fn thinking_rows() {
    let between = || Capabilities {
        thinking: ThinkingModes {
            adaptive: true,
            between_tools: true,
            by_default: true,
            ..ThinkingModes::default()
        },
        ..newest()
    };
    let silent = || Capabilities {
        thinking: ThinkingModes {
            adaptive: true,
            disabled: true,
            ..ThinkingModes::default()
        },
        ..newest()
    };
    check(vec![
        row(
            "off, budget model",
            |r| r.reasoning.effort = Some(Effort::None),
            "/thinking",
            json!({"type": "disabled"}),
            &[],
        ),
        on(
            silent,
            row(
                "off, allowed",
                |r| r.reasoning.mode = Some(ThinkingMode::Disabled),
                "/thinking",
                json!({"type": "disabled"}),
                &[],
            ),
        ),
        on(
            newest,
            row(
                "off, not allowed",
                |r| r.reasoning.mode = Some(ThinkingMode::Disabled),
                "/output_config",
                json!({"effort": "low"}),
                &["thinking"],
            ),
        ),
        on(
            between,
            row(
                "off, between tools is nearest",
                |r| r.reasoning.mode = Some(ThinkingMode::Disabled),
                "/thinking",
                json!({"type": "between_tools"}),
                &["thinking"],
            ),
        ),
        on(
            between,
            row(
                "between tools takes high at most",
                |r| {
                    r.reasoning.mode = Some(ThinkingMode::BetweenTools);
                    r.reasoning.effort = Some(Effort::Max);
                },
                "/output_config/effort",
                json!("high"),
                &["effort"],
            ),
        ),
        on(
            newest,
            row(
                "between tools unknown",
                |r| r.reasoning.mode = Some(ThinkingMode::BetweenTools),
                "/thinking",
                json!({"type": "adaptive"}),
                &["thinking"],
            ),
        ),
        on(
            silent,
            row(
                "effort turns thinking on",
                |r| r.reasoning.effort = Some(Effort::High),
                "/thinking",
                json!({"type": "adaptive"}),
                &[],
            ),
        ),
        on(
            silent,
            row(
                "nothing asked, nothing sent",
                |_| {},
                "/thinking",
                Value::Null,
                &[],
            ),
        ),
        on(
            newest,
            row(
                "a summary is shown",
                |r| r.reasoning.summary = Some("auto".into()),
                "/thinking",
                json!({"type": "adaptive", "display": "summarized"}),
                &[],
            ),
        ),
        on(
            newest,
            row(
                "omitted",
                |r| {
                    r.reasoning.mode = Some(ThinkingMode::Adaptive);
                    r.reasoning.display = Some(ThinkingDisplay::Omitted);
                },
                "/thinking",
                json!({"type": "adaptive", "display": "omitted"}),
                &[],
            ),
        ),
        row(
            "budget",
            |r| r.reasoning.mode = Some(ThinkingMode::Budget(1024)),
            "/thinking",
            json!({"type": "enabled", "budget_tokens": 1024}),
            &[],
        ),
        row(
            "budget below max_tokens",
            |r| {
                r.reasoning.mode = Some(ThinkingMode::Budget(9000));
                r.max_output_tokens = Some(5000);
            },
            "/thinking/budget_tokens",
            json!(4999),
            &["thinking_budget"],
        ),
        row(
            "budget too small",
            |r| r.reasoning.mode = Some(ThinkingMode::Budget(1023)),
            "/thinking",
            json!({"type": "disabled"}),
            &["thinking_budget"],
        ),
        row(
            "budget of nothing",
            |r| r.reasoning.mode = Some(ThinkingMode::Budget(0)),
            "/thinking",
            json!({"type": "disabled"}),
            &[],
        ),
        row(
            "effort as a budget",
            |r| r.reasoning.effort = Some(Effort::High),
            "/thinking/budget_tokens",
            json!(24_576),
            &[],
        ),
        row(
            "sampling while thinking",
            |r| {
                r.reasoning.effort = Some(Effort::High);
                r.sampling.temperature = Some(raw("0.1"));
            },
            "/temperature",
            Value::Null,
            &["temperature"],
        ),
        on(
            Capabilities::default,
            row(
                "a model that does not think",
                |r| r.reasoning.mode = Some(ThinkingMode::Adaptive),
                "/thinking",
                Value::Null,
                &["thinking"],
            ),
        ),
    ]);
}

#[test]
fn stop_reason_rows() {
    for (wire, finish, back) in [
        ("end_turn", Finish::Stop, "end_turn"),
        ("stop_sequence", Finish::StopSequence, "stop_sequence"),
        ("max_tokens", Finish::Length, "max_tokens"),
        (
            "model_context_window_exceeded",
            Finish::ContextWindow,
            "model_context_window_exceeded",
        ),
        ("pause_turn", Finish::Pause, "pause_turn"),
        ("compaction", Finish::Pause, "pause_turn"),
        ("refusal", Finish::Refusal, "refusal"),
        ("tool_use", Finish::Stop, "end_turn"),
        ("something_new", Finish::Unknown, "end_turn"),
    ] {
        let body = json!({"content": [{"type": "text", "text": "x"}], "stop_reason": wire});
        let response = decode_response(body.to_string().as_bytes(), &context()).unwrap();
        assert_eq!(response.choices[0].finish, Some(finish), "{wire}");
        let again: Value = serde_json::from_slice(&encode_response(&response, &reply())).unwrap();
        assert_eq!(again["stop_reason"], back, "{wire}");
        let call = json!({"content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}], "stop_reason": wire});
        let response = decode_response(call.to_string().as_bytes(), &context()).unwrap();
        let expected = match finish {
            Finish::Refusal | Finish::Pause => finish,
            _ => Finish::ToolCalls,
        };
        assert_eq!(
            response.choices[0].finish,
            Some(expected),
            "{wire} with a call"
        );
    }
}
