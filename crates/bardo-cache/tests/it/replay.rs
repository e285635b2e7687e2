//! Recorded answers of every provider come back from the cache as they went in.

use std::sync::Arc;

use bardo_cache::codec::{read_events, write_events};
use bardo_cache::policy::{CacheOffer, Never, may_store};
use bardo_types::chat::{Assembler, ChatRequest, Citation, CitationSource, StreamEvent};
use bardo_types::model::{Capabilities, Dialect, Service};
use bardo_wire::codec::{DecodeContext, Target};
use bardo_wire::sse::SseParser;
use bardo_wire::table;

use crate::fixtures;

/// The events of every recorded stream: its name, and what the decoder of its dialect says.
fn streams() -> Vec<(String, Vec<StreamEvent>)> {
    let mut found = Vec::new();
    for (folder, dialect, service) in [
        ("anthropic/streams", Dialect::Anthropic, Service::Anthropic),
        ("chat/openai", Dialect::Chat, Service::OpenAi),
        ("chat/openrouter", Dialect::Chat, Service::OpenRouter),
        ("chat/venice", Dialect::Chat, Service::Venice),
        ("chat/deepseek", Dialect::Chat, Service::DeepSeek),
        ("chat/local", Dialect::Chat, Service::Local),
        ("chat/google", Dialect::Chat, Service::OpenAi),
        ("chat/broken", Dialect::Chat, Service::OpenAi),
        ("gemini", Dialect::Gemini, Service::Google),
    ] {
        for (name, body) in fixtures::files(folder, "sse") {
            let context = context(dialect, service);
            let mut decoder = table::stream_decoder(dialect, context);
            let mut events = Vec::new();
            let mut parser = SseParser::new(usize::MAX);
            parser
                .push(&body, |event| decoder.event(event, &mut events))
                .unwrap();
            parser.finish(|event| decoder.event(event, &mut events));
            decoder.end(&mut events);
            found.push((format!("{folder}/{name}"), events));
        }
    }
    assert!(found.len() > 40, "the fixtures moved");
    found
}

fn context(dialect: Dialect, service: Service) -> DecodeContext {
    DecodeContext {
        target: Target {
            model: "m".to_owned(),
            service,
            capabilities: Arc::new(Capabilities::default()),
        },
        request: Arc::new(ChatRequest::new(dialect, "m")),
        renamed_tools: Vec::new(),
        id_seed: "seed".to_owned(),
    }
}

#[test]
fn every_recorded_stream_comes_back_event_by_event() {
    for (name, events) in streams() {
        let bytes = write_events(&events);
        if events.last() == Some(&StreamEvent::Done) {
            assert_eq!(read_events(&bytes).unwrap(), events, "{name}");
        } else {
            assert!(
                read_events(&bytes).is_err(),
                "{name}: a failure is never served"
            );
        }
    }
}

#[test]
fn every_answer_but_a_clean_end_without_calls_is_kept_out() {
    let (mut kept, mut searched) = (0, 0);
    for (name, events) in streams() {
        let mut assembler = Assembler::default();
        events
            .iter()
            .cloned()
            .for_each(|event| assembler.push(event));
        let usage = assembler.so_far().usage.clone();
        let outcome = may_store(&CacheOffer {
            events: &events,
            usage: usage.as_ref(),
            matches_schema: None,
        });
        let whole = assembler.finish();
        let has_calls = |calls: &bardo_types::chat::Choice| calls.has_tool_calls();
        match &whole {
            Err(_) => assert_eq!(outcome, Err(Never::Cut), "{name}"),
            Ok(whole) if whole.choices.iter().any(has_calls) => {
                assert!(outcome.is_err(), "{name}: {outcome:?}");
            }
            Ok(_) if events.iter().any(cites_a_page) => {
                assert_eq!(outcome, Err(Never::ServerSide), "{name}");
                searched += 1;
            }
            Ok(_) => {}
        }
        kept += usize::from(outcome.is_ok());
        // Cut anywhere, it is no answer.
        for len in 0..events.len() - 1 {
            let cut = CacheOffer {
                events: &events[..len],
                usage: usage.as_ref(),
                matches_schema: None,
            };
            assert_eq!(may_store(&cut), Err(Never::Cut), "{name} cut at {len}");
        }
    }
    assert!(kept >= 4 && searched >= 1, "{kept} {searched}");
}

fn cites_a_page(event: &StreamEvent) -> bool {
    let page = |citation: &Citation| matches!(citation.source, CitationSource::Url { .. });
    matches!(event, StreamEvent::Citation { citation, .. } if page(citation))
}
