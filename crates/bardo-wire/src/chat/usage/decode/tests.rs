use serde_json::value::RawValue;

use super::*;

fn usage_of(usage: &RawValue) -> Counts<'_> {
    Counts {
        usage: Some(usage.get()),
        ..Counts::default()
    }
}

fn cost_of(cost: &RawValue) -> Counts<'_> {
    Counts {
        cost: Some(cost.get()),
        ..Counts::default()
    }
}

#[track_caller]
fn check(text: &str, expected: Usage) {
    let raw: &RawValue = serde_json::from_str(text).unwrap();
    assert_eq!(read(&usage_of(raw)), Some(expected));
}

#[test]
fn a_call_with_the_customers_own_key_costs_the_resellers_fee_alone() {
    let fee = |text: &str| {
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        let usage = read(&usage_of(raw)).unwrap();
        usage.byok_fee.map(|fee| fee.get())
    };
    let told = r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"cost":0.0000475001,"is_byok":true,"cost_details":{"upstream_inference_cost":0.00095}}"#;
    assert_eq!(fee(told), Some(48));
    assert_eq!(fee(&told.replace("true", "false")), None);
    assert_eq!(fee(&told.replace("true", "null")), None);
    // Without the fee the price of the tokens has to do.
    assert_eq!(fee(&told.replace("0.0000475001", "null")), None);
    assert_eq!(fee(&told.replace("0.0000475001", "0")), Some(0));
}

#[test]
fn openai_counts_cache_reads_and_writes_within_the_prompt() {
    check(
        r#"{"prompt_tokens":3936,"completion_tokens":20,"total_tokens":3956,"prompt_tokens_details":{"cached_tokens":3712,"cache_write_tokens":24,"audio_tokens":3},"completion_tokens_details":{"reasoning_tokens":5,"audio_tokens":null,"accepted_prediction_tokens":2,"rejected_prediction_tokens":1}}"#,
        Usage {
            fresh_input: 200,
            cache_read: 3712,
            cache_write_5m: 24,
            output: 20,
            reasoning: Some(5),
            audio_input: Some(3),
            accepted_prediction: Some(2),
            rejected_prediction: Some(1),
            ..Usage::default()
        },
    );
}

#[test]
fn a_total_tells_whether_cached_tokens_were_counted_apart() {
    let told = |total: &str| {
        let text = format!(
            r#"{{"prompt_tokens":4000,"completion_tokens":10{total},"prompt_tokens_details":{{"cached_tokens":5000}}}}"#
        );
        let raw: &RawValue = serde_json::from_str(&text).unwrap();
        let usage = read(&usage_of(raw)).unwrap();
        (usage.fresh_input, usage.cache_read, usage.output)
    };
    assert_eq!(told(r#","total_tokens":4010"#), (0, 4000, 10));
    assert_eq!(told(r#","total_tokens":9010"#), (4000, 5000, 10));
    assert_eq!(told(""), (4000, 5000, 10));
}

#[test]
fn each_service_has_its_own_name_for_cache_writes() {
    for (name, nested) in [
        ("cache_write_tokens", true),
        ("cached_creation_tokens", true),
        ("cache_creation_input_tokens", true),
        ("cache_creation_input_tokens", false),
    ] {
        let member = format!("\"{name}\":100");
        let text = if nested {
            format!(
                r#"{{"prompt_tokens":1110,"completion_tokens":5,"prompt_tokens_details":{{"cached_tokens":1000,{member}}}}}"#
            )
        } else {
            format!(
                r#"{{"prompt_tokens":1110,"completion_tokens":5,"cache_read_input_tokens":1000,{member}}}"#
            )
        };
        check(
            &text,
            Usage {
                fresh_input: 10,
                cache_read: 1000,
                cache_write_5m: 100,
                output: 5,
                ..Usage::default()
            },
        );
    }
}

#[test]
fn deepseek_tells_hits_and_misses() {
    check(
        r#"{"prompt_tokens":100,"completion_tokens":9,"total_tokens":109,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}"#,
        Usage {
            fresh_input: 36,
            cache_read: 64,
            output: 9,
            ..Usage::default()
        },
    );
}

#[test]
fn reasoning_left_out_of_the_completion_is_added() {
    check(
        r#"{"prompt_tokens":7,"completion_tokens":10,"total_tokens":107,"completion_tokens_details":{"reasoning_tokens":90}}"#,
        Usage {
            fresh_input: 7,
            output: 100,
            reasoning: Some(90),
            ..Usage::default()
        },
    );
}

#[test]
fn costs_keep_the_text_of_their_number() {
    let usage: &RawValue =
        serde_json::from_str(r#"{"prompt_tokens":1,"completion_tokens":1,"cost":0.00014,"server_tool_use_details":{"web_search_requests":2}}"#).unwrap();
    let read_usage = read(&usage_of(usage)).unwrap();
    assert_eq!(read_usage.provider_cost_usd.as_deref(), Some("0.00014"));
    assert_eq!(read_usage.web_searches, Some(2));
    let venice: &RawValue = serde_json::from_str(r#"{"usd":0.006,"diem":0}"#).unwrap();
    assert_eq!(
        read(&cost_of(venice)).unwrap().provider_cost_usd.as_deref(),
        Some("0.006")
    );
    let diem: &RawValue = serde_json::from_str(r#"{"usd":0.0,"diem":0.25}"#).unwrap();
    assert_eq!(
        read(&cost_of(diem)).unwrap().provider_cost_usd.as_deref(),
        Some("0.25")
    );
}

#[test]
fn cached_tokens_that_a_service_counts_apart_do_not_eat_the_prompt() {
    check(
        r#"{"prompt_tokens":10,"completion_tokens":5,"cache_read_input_tokens":1000,"cache_creation_input_tokens":100}"#,
        Usage {
            fresh_input: 10,
            cache_read: 1000,
            cache_write_5m: 100,
            output: 5,
            ..Usage::default()
        },
    );
}

#[test]
fn writes_for_an_hour_are_told_apart_where_a_service_does() {
    check(
        r#"{"prompt_tokens":300,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":280},"cache_creation":{"ephemeral_5m_input_tokens":80,"ephemeral_1h_input_tokens":200}}"#,
        Usage {
            fresh_input: 20,
            cache_write_5m: 80,
            cache_write_1h: 200,
            output: 5,
            ..Usage::default()
        },
    );
}

#[test]
fn odd_spellings_cost_one_member_and_never_the_count() {
    check(
        r#"{"prompt_tokens":"12","completion_tokens":3.0,"prompt_tokens_details":[],"completion_tokens_details":"none","server_tool_use":{"web_search_requests":0}}"#,
        Usage {
            fresh_input: 12,
            output: 3,
            ..Usage::default()
        },
    );
}

#[test]
fn timings_stand_in_for_usage_and_never_over_it() {
    let timings: &RawValue =
        serde_json::from_str(r#"{"cache_n":20,"prompt_n":5,"prompt_ms":3.1,"predicted_n":9}"#)
            .unwrap();
    let usage: &RawValue =
        serde_json::from_str(r#"{"prompt_tokens":25,"completion_tokens":9}"#).unwrap();
    let timed = read(&Counts {
        timings: Some(timings.get()),
        ..Counts::default()
    });
    assert_eq!(
        timed,
        Some(Usage {
            fresh_input: 5,
            cache_read: 20,
            output: 9,
            ..Usage::default()
        })
    );
    let both = read(&Counts {
        usage: Some(usage.get()),
        timings: Some(timings.get()),
        ..Counts::default()
    });
    assert_eq!(both.unwrap().fresh_input, 25);
}
