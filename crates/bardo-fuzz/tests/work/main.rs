//! How the work on a request grows with the request.
//!
//! Every object of a rich body of each dialect is given more and more members that nobody knows,
//! and every list of it more and more entries, with names of their own and with the same names.
//! Reading such a body and writing it for every kind of upstream may cost four times as much where
//! the body is four times as long, and not sixteen times. Steps are counted, never time.
#![cfg(target_os = "linux")]

mod allocations;
mod bodies;

use std::hint::black_box;
use std::sync::Arc;

use bardo_steps::{Steps, count};
use bardo_types::Losses;
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Dialect, Service, ToolFormat};
use bardo_wire::codec::Target;
use bardo_wire::settings::settings_change;
use bardo_wire::{json, table, textual};

const SMALL: usize = 100;
const LARGE: usize = 400;
/// Linear work grows by 4, quadratic work by 16; lists that grow by doubling waver in between.
const GROWTH_MAX: u64 = 7;
/// Work that is too small to be judged by its growth.
const SLACK: Steps = Steps {
    comparisons: 3_000,
    allocations: 1_000,
    bytes: 200_000,
};

/// The kinds of upstreams that requests are written for.
fn upstreams() -> Vec<(Dialect, Target)> {
    let of = |dialect, service, model: &str, tool_format| {
        let target = Target {
            model: model.to_owned(),
            service,
            capabilities: Arc::new(Capabilities {
                tool_format,
                ..Capabilities::default()
            }),
        };
        (dialect, target)
    };
    let native = ToolFormat::Native;
    vec![
        of(Dialect::Chat, Service::OpenAi, "gpt-5.5", native),
        of(Dialect::Chat, Service::OpenRouter, "x/y", native),
        of(Dialect::Chat, Service::Local, "q", ToolFormat::QwenXml),
        of(Dialect::Chat, Service::Local, "q", ToolFormat::Anthropic),
        of(Dialect::Chat, Service::Local, "q", ToolFormat::Json),
        of(
            Dialect::Anthropic,
            Service::Anthropic,
            "claude-opus-5-5",
            native,
        ),
        of(Dialect::Responses, Service::OpenAi, "gpt-5.5", native),
        of(Dialect::Gemini, Service::Google, "gemini-3-pro", native),
    ]
}

/// The work on one body: what the reader does, then each writer, then a change of settings.
fn work(dialect: Dialect, body: &[u8]) -> Vec<(String, Steps)> {
    let mut all = Vec::new();
    let (request, steps) = count(|| table::decode_request(dialect, body));
    all.push(("read".to_owned(), steps));
    let Ok(request) = request else {
        return all;
    };
    for (upstream, target) in upstreams() {
        let format = target.capabilities.tool_format;
        let name = format!("{upstream:?} {} {format:?}", target.service.as_str());
        let (written, steps) = count(|| {
            let lowered = textual::lower(&request, format);
            table::encode_request(upstream, &lowered, &target)
        });
        if let Ok(written) = &written {
            let most = Losses::FIELDS_MAX + FIXED_NAMES_MAX;
            assert!(written.degraded.len() <= most, "{}", written.degraded.len());
        }
        all.push((name, steps));
        if upstream == dialect && format == ToolFormat::Native {
            let top = json::scan(body).expect("the body is JSON");
            let (changed, steps) = count(|| {
                settings_change(dialect, &top, &target, |request| {
                    request.sampling.temperature = RawJson::parse("0.25").ok();
                })
            });
            black_box(changed.is_ok());
            all.push(("change of settings".to_owned(), steps));
        }
    }
    all
}

/// Features with fixed names that one request can lose.
const FIXED_NAMES_MAX: usize = 48;

fn is_worse_than_linear(small: Steps, large: Steps) -> bool {
    let grows = |small: u64, large: u64, slack: u64| large > small * GROWTH_MAX + slack;
    grows(small.comparisons, large.comparisons, SLACK.comparisons)
        || grows(small.allocations, large.allocations, SLACK.allocations)
        || grows(small.bytes, large.bytes, SLACK.bytes)
}

#[track_caller]
fn check(dialect: Dialect) {
    let mut found = Vec::new();
    for grown in bodies::of(dialect) {
        let small = work(dialect, &grown.body(SMALL));
        let large = work(dialect, &grown.body(LARGE));
        for ((name, small), (_, large)) in small.iter().zip(&large) {
            if is_worse_than_linear(*small, *large) {
                found.push(format!("{grown}: {name}: {small:?} to {large:?}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn work_on_chat_requests_is_linear_in_every_member() {
    check(Dialect::Chat);
}

#[test]
fn work_on_messages_requests_is_linear_in_every_member() {
    check(Dialect::Anthropic);
}

#[test]
fn work_on_responses_requests_is_linear_in_every_member() {
    check(Dialect::Responses);
}

#[test]
fn work_on_completions_requests_is_linear_in_every_member() {
    check(Dialect::Completions);
}

#[test]
fn a_search_through_a_list_for_each_entry_is_found() {
    let search = |entries: usize| {
        let names: Vec<String> = (0..entries)
            .map(|entry| format!("name_{entry:06}"))
            .collect();
        let (found, steps) = count(|| {
            let mut known: Vec<&String> = Vec::new();
            for name in &names {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
            known.len()
        });
        assert_eq!(found, entries);
        steps
    };
    assert!(is_worse_than_linear(search(SMALL), search(LARGE)));
}
