//! Every request among the fixtures, with changes of all kinds.

use std::path::{Path as FilePath, PathBuf};

use bardo_types::model::Effort;
use proptest::prelude::*;

use super::*;

/// Every request among the fixtures of this repository, by dialect.
fn requests() -> Vec<(Dialect, String, Vec<u8>)> {
    let root = FilePath::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for (dialect, folder) in [
        (Dialect::Chat, "chat"),
        (Dialect::Anthropic, "anthropic"),
        (Dialect::Responses, "responses"),
    ] {
        let folder = root.join("fixtures").join(folder).join("requests");
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        files.sort();
        all.extend(files.into_iter().map(|file| (dialect, file)));
    }
    let clients = root.join("../../tests/clients/fixtures");
    for (dialect, name) in [
        (Dialect::Anthropic, "claude-code-request.json"),
        (Dialect::Responses, "codex-request.json"),
        (Dialect::Responses, "codex-request-gpt-6.json"),
    ] {
        all.push((dialect, clients.join(name)));
    }
    let read = |(dialect, file): (Dialect, PathBuf)| {
        let text = std::fs::read(&file).unwrap();
        // Captured requests are kept with what was around them.
        let wrapped: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
        let inner = wrapped.and_then(|value| {
            value.get("body").map(|body| match body {
                serde_json::Value::String(text) => text.clone(),
                body => body.to_string(),
            })
        });
        let body = inner.map_or(text, String::into_bytes);
        (dialect, file.display().to_string(), body)
    };
    all.into_iter().map(read).collect()
}

fn targets(dialect: Dialect) -> Vec<Target> {
    let services: &[Service] = match dialect {
        Dialect::Chat => &[
            Service::OpenAi,
            Service::OpenRouter,
            Service::Venice,
            Service::Local,
            Service::BlockRun,
        ],
        Dialect::Anthropic => &[Service::Anthropic, Service::OpenRouter],
        _ => &[Service::OpenAi, Service::Venice],
    };
    let of = |service: &Service| [target(*service, thinker()), target(*service, stubborn())];
    services.iter().flat_map(of).collect()
}

#[test]
fn a_change_that_changes_nothing_edits_nothing() {
    let all = requests();
    assert!(all.len() > 12, "the fixtures are gone");
    for (dialect, name, body) in &all {
        let top = scan(body).unwrap();
        for target in targets(*dialect) {
            let edits = settings_edits(*dialect, &top, &target, |_| {});
            assert_eq!(edits.unwrap(), [], "{name}");
        }
    }
}

/// Changes of single settings, with the members that each may move.
const CHANGES: [(Change, &[&str]); 7] = [
    (
        |r| r.sampling.temperature = RawJson::parse("0.35").ok(),
        &["temperature", "top_p"],
    ),
    (
        |r| r.max_output_tokens = Some(4_321),
        &[
            "max_tokens",
            "max_completion_tokens",
            "max_output_tokens",
            "thinking",
        ],
    ),
    (
        |r| r.reasoning.effort = Some(Effort::Medium),
        &[
            "reasoning",
            "reasoning_effort",
            "thinking",
            "chat_template_kwargs",
            "output_config",
        ],
    ),
    (
        |r| r.stop = vec!["one stop".into()],
        &["stop", "stop_sequences"],
    ),
    (|r| r.service_tier = Some("flex".into()), &["service_tier"]),
    (
        |r| r.cache.key = Some("another key".into()),
        &["prompt_cache_key"],
    ),
    (|r| r.stream = !r.stream, &["stream", "stream_options"]),
];

#[test]
fn a_change_of_one_setting_moves_its_own_members_alone() {
    let mut moved = 0;
    for (dialect, name, body) in &requests() {
        let top = scan(body).unwrap();
        for target in targets(*dialect) {
            for (change, may_move) in CHANGES {
                let edits = match settings_edits(*dialect, &top, &target, change) {
                    Ok(edits) => edits,
                    Err(refused) => {
                        assert_eq!(refused.code, Some(TRANSLATE), "{name}: {refused}");
                        continue;
                    }
                };
                moved += edits.len();
                for edit in &edits {
                    let key = edit.key();
                    assert!(may_move.contains(&key), "{name}: {key} moved");
                }
                // Done once, there is nothing left to do.
                let out = splice(&top, &edits);
                let again = scan(&out).unwrap();
                let seen = small::settings_only(*dialect, &again).unwrap();
                let seen = table::decode_request(*dialect, &seen);
                if seen.is_err() {
                    continue;
                }
                let idle = settings_edits(*dialect, &again, &target, |_| {});
                assert_eq!(idle.unwrap(), [], "{name}");
            }
        }
    }
    assert!(moved > 100, "{moved}");
}

proptest! {
    #[test]
    fn what_is_sent_says_what_was_wanted(
        temperature in prop::option::of(0u8..10),
        top_p in prop::option::of(1u8..10),
        limit in prop::option::of(1_025u64..50_000),
        effort in prop::option::of(prop::sample::select(vec![Effort::Low, Effort::Medium, Effort::High])),
        stop in prop::collection::vec("[a-z]{1,4}", 0..3),
        which in any::<prop::sample::Index>(),
        of in any::<prop::sample::Index>(),
    ) {
        let all = requests();
        let (dialect, name, body) = which.get(&all);
        let targets = targets(*dialect);
        let target = of.get(&targets);
        let top = scan(body).unwrap();
        let change = |request: &mut ChatRequest| {
            request.sampling.temperature = temperature.map(|tenths| raw(&format!("0.{tenths}")));
            request.sampling.top_p = top_p.map(|tenths| raw(&format!("0.{tenths}")));
            request.max_output_tokens = limit.or(request.max_output_tokens);
            request.reasoning.effort = effort;
            request.stop.clone_from(&stop);
        };
        let Ok(edits) = settings_edits(*dialect, &top, target, change) else {
            return Ok(());
        };
        // What the edited body says is what the changed request says, as the target takes both.
        let small = |top: &TopLevel<'_>| {
            let small = small::settings_only(*dialect, top).unwrap();
            table::decode_request(*dialect, &small).unwrap()
        };
        let out = splice(&top, &edits);
        let sent = table::encode_request(*dialect, &small(&scan(&out).unwrap()), target).unwrap();
        let mut wanted = small(&top);
        change(&mut wanted);
        let wanted = table::encode_request(*dialect, &wanted, target).unwrap();
        let (sent, wanted) = (scan(&sent.body).unwrap(), scan(&wanted.body).unwrap());
        for key in ["temperature", "top_p", "max_tokens", "max_completion_tokens", "max_output_tokens", "reasoning_effort", "stop", "stop_sequences"] {
            prop_assert_eq!(sent.get(key), wanted.get(key), "{} of {}", key, name);
        }
    }
}
