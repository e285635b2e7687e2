//! Streams of every dialect, made from known words and cut after every event.

mod streams;

use bardo_types::chat::{Message, Role, ServerBlock, Text};
use bardo_types::json::RawJson;

use super::*;
use streams::{Said, anthropic, chat, completions, gemini, responses, words};

/// A stream of each dialect that speaks, thinks and calls.
fn each_dialect(pieces: usize) -> Vec<(Dialect, Vec<Said>)> {
    vec![
        (Dialect::Chat, chat(pieces)),
        (Dialect::Anthropic, anthropic(pieces)),
        (Dialect::Responses, responses(pieces)),
        (Dialect::Gemini, gemini(pieces)),
    ]
}

/// What the tokenizer says of the words in these events, each place's by itself.
fn expected(said: &[Said]) -> u64 {
    let mut places: Vec<(&str, String)> = Vec::new();
    for (place, text) in said.iter().filter_map(|event| event.said.as_ref()) {
        match places.iter_mut().find(|(known, _)| known == place) {
            Some((_, all)) => all.push_str(text),
            None => places.push((place, text.clone())),
        }
    }
    let tokens = places.iter().map(|(_, text)| tokenizer::text_tokens(text));
    tokens.sum()
}

fn metered(dialect: Dialect, said: &[Said]) -> Meter {
    let mut meter = Meter::new(dialect);
    for event in said {
        meter.keep(event.bytes.clone().into());
    }
    meter
}

#[track_caller]
fn assert_near(counted: u64, expected: u64, what: &str) {
    let error = counted.abs_diff(expected) as f64;
    assert!(
        error <= expected as f64 * 0.02,
        "{what}: {counted}, not {expected}"
    );
}

#[test]
fn a_stream_cut_after_any_event_counts_what_was_said_before_the_cut() {
    for (dialect, said) in each_dialect(40) {
        let mut before = 0;
        for cut in 0..=said.len() {
            let counted = metered(dialect, &said[..cut]).delivered_tokens();
            assert_eq!(counted, expected(&said[..cut]), "{dialect:?} at {cut}");
            // A word may take fewer tokens than its halves did.
            assert!(counted + 3 >= before, "{dialect:?} at {cut}");
            before = counted;
        }
        assert!(before > 100, "{dialect:?}: {before}");
    }
}

#[test]
fn bytes_may_be_cut_anywhere_and_a_torn_event_counts_nothing() {
    for (dialect, said) in each_dialect(12) {
        let whole: String = said.iter().map(|event| event.bytes.as_str()).collect();
        let mut meter = Meter::new(dialect);
        for piece in whole.as_bytes().chunks(5) {
            meter.keep(Bytes::copy_from_slice(piece));
        }
        assert_eq!(meter.delivered_tokens(), expected(&said), "{dialect:?}");
        let last = said.iter().rposition(|event| event.said.is_some()).unwrap();
        let mut torn = metered(dialect, &said[..last]);
        let half = &said[last].bytes.as_bytes()[..said[last].bytes.len() / 2];
        torn.keep(Bytes::copy_from_slice(half));
        assert_eq!(
            torn.delivered_tokens(),
            expected(&said[..last]),
            "{dialect:?}"
        );
    }
}

#[test]
fn long_answers_fold_and_still_count() {
    for (dialect, said) in each_dialect(6_000) {
        let mut meter = Meter::new(dialect);
        for event in &said {
            meter.keep(event.bytes.clone().into());
            assert!(meter.kept.len() <= KEPT_MAX, "{dialect:?}");
        }
        let expected = expected(&said);
        assert!(expected > 7_000, "{dialect:?}: {expected}");
        assert_near(meter.delivered_tokens(), expected, &format!("{dialect:?}"));
    }
}

#[test]
fn text_is_folded_at_words_and_kept_within_bounds() {
    let mut meter = Meter::new(Dialect::Chat);
    let mut all = String::new();
    for word in words(40_000) {
        meter.text(&word);
        all.push_str(&word);
    }
    assert!(all.len() > 2 * TEXT_MAX);
    assert_eq!(meter.delivered_tokens(), tokenizer::text_tokens(&all));
    let mut endless = Meter::new(Dialect::Chat);
    let run = "0x9f".repeat(40_000);
    for piece in run.as_bytes().chunks(1_000) {
        endless.text(std::str::from_utf8(piece).unwrap());
    }
    assert_near(
        endless.delivered_tokens(),
        tokenizer::text_tokens(&run),
        "one word",
    );
}

#[test]
fn steps_count_like_the_events_that_they_came_from() {
    let mut meter = Meter::new(Dialect::Anthropic);
    for step in [
        StreamEvent::Reasoning {
            choice: 0,
            text: "Think it over.".into(),
            summary: false,
        },
        StreamEvent::ToolStart {
            choice: 0,
            call: 0,
            id: "call_1".into(),
            name: "get_price".into(),
            custom: false,
            opaque: None,
        },
        StreamEvent::ToolInput {
            choice: 0,
            call: 0,
            fragment: "{\"pair\":\"ETH\"}".into(),
        },
        StreamEvent::Usage(Usage::default()),
    ] {
        meter.step(&step);
    }
    let expected = tokenizer::text_tokens("Think it over.")
        + tokenizer::text_tokens("get_price{\"pair\":\"ETH\"}");
    assert_eq!(meter.delivered_tokens(), expected);
}

#[test]
fn a_providers_search_results_are_no_output_of_the_model() {
    let block = |kind: &str| StreamEvent::Server {
        choice: 0,
        block: ServerBlock {
            dialect: Dialect::Anthropic,
            kind: kind.into(),
            raw: RawJson::string("a page of text"),
        },
    };
    let counted = |kind: &str| {
        let mut meter = Meter::new(Dialect::Anthropic);
        meter.step(&block(kind));
        meter.delivered_tokens()
    };
    assert_eq!(counted("web_search_tool_result"), 0);
    assert_eq!(counted("compaction"), 0);
    assert!(counted("server_tool_use") > 0);
    assert!(counted("web_search_call") > 0);
}

#[test]
fn the_quick_look_finds_the_content_and_little_else() {
    let mut streams = each_dialect(400);
    streams.push((Dialect::Completions, completions(400)));
    for (dialect, said) in streams {
        let said_bytes: usize = said
            .iter()
            .filter_map(|event| Some(event.said.as_ref()?.1.len()))
            .sum();
        let mut meter = metered(dialect, &said);
        let found = meter.estimate_bytes();
        assert!(
            found >= said_bytes as u64 * 95 / 100 && found <= said_bytes as u64 * 115 / 100,
            "{dialect:?}: {found} of {said_bytes}"
        );
    }
}

/// A stream that reported `reported`, after it said some words.
fn reckoned(reported: Option<Usage>, complete: bool, events: usize) -> (Usage, bool) {
    let said = chat(10);
    let mut begun = 0;
    let cut = said
        .iter()
        .position(|event| {
            begun += usize::from(event.said.is_some());
            begun > events
        })
        .unwrap_or(said.len());
    metered(Dialect::Chat, &said[..cut]).reckon(reported, complete, || 70)
}

fn usage(fresh_input: u64, cache_read: u64, output: u64) -> Usage {
    Usage {
        fresh_input,
        cache_read,
        output,
        ..Usage::default()
    }
}

#[test]
fn what_the_provider_reported_at_the_end_is_charged_as_it_is() {
    let told = usage(5, 6, 7);
    assert_eq!(reckoned(Some(told.clone()), true, 9), (told, false));
    let silent = usage(5, 6, 0);
    assert_eq!(reckoned(Some(silent.clone()), true, 0), (silent, false));
}

#[test]
fn what_is_missing_is_counted_here_and_said_to_be_estimated() {
    let (counted, estimated) = reckoned(None, true, 9);
    assert!(estimated && counted.fresh_input == 70 && counted.output > 5);
    let (counted, estimated) = reckoned(Some(usage(5, 6, 0)), true, 9);
    assert!(estimated && (counted.fresh_input, counted.cache_read) == (5, 6));
    assert!(counted.output > 5);
    let (counted, estimated) = reckoned(Some(usage(0, 0, 3)), true, 9);
    assert!(estimated && (counted.fresh_input, counted.output) == (70, 3));
    assert_eq!(reckoned(None, false, 0), (usage(70, 0, 0), true));
}

#[test]
fn a_count_from_the_middle_is_not_the_last_word() {
    let (counted, estimated) = reckoned(Some(usage(5, 6, 1)), false, 9);
    assert!(estimated && counted.output > 5);
    let (counted, estimated) = reckoned(Some(usage(5, 6, 900)), false, 9);
    assert!(estimated && counted.output == 900);
}

#[test]
fn prompts_are_counted_by_the_same_tokenizer() {
    let text = "What is the price of ether today?";
    let request = ChatRequest {
        messages: vec![Message::new(Role::User, vec![Text::new(text).into()])],
        ..ChatRequest::new(Dialect::Chat, "m")
    };
    let tokens = prompt_tokens(&request);
    assert!(tokens >= tokenizer::text_tokens(text) && tokens <= tokenizer::text_tokens(text) + 10);
}
