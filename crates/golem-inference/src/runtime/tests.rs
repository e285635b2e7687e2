use std::sync::{Arc, Mutex};

use super::fake::{FakeGateway, start, thought};
use super::*;
use crate::adapter::ProviderAdapter;
use crate::extension::Hook;
use crate::heartbeat::Severity;
use crate::reply::Cost;
use bardo_types::money::MicroUsd;

/// Writes down when it ran.
struct Scribe {
    name: &'static str,
    layer: u8,
    written: Arc<Mutex<Vec<String>>>,
}

impl Scribe {
    fn write(&self, hook: &str) -> Hook<'_> {
        let line = format!("{hook} {}", self.name);
        self.written.lock().unwrap().push(line);
        crate::extension::done()
    }
}

impl Extension for Scribe {
    fn name(&self) -> &str {
        self.name
    }

    fn layer(&self) -> u8 {
        self.layer
    }

    fn on_before_agent_start<'a>(&'a self, _: &'a mut StartContext) -> Hook<'a> {
        self.write("start")
    }

    fn on_context<'a>(&'a self, _: &'a mut CallContext) -> Hook<'a> {
        self.write("context")
    }

    fn on_before_llm_call<'a>(&'a self, _: &'a mut CallContext) -> Hook<'a> {
        self.write("before")
    }

    fn on_before_provider_request<'a>(&'a self, _: &'a mut CallContext) -> Hook<'a> {
        self.write("request")
    }

    fn on_tool_call<'a>(&'a self, _: &'a mut CallContext, call: &'a ToolCalled) -> Hook<'a> {
        self.write(&format!("tool {}", call.name))
    }

    fn on_after_turn<'a>(&'a self, _: &'a mut CallContext) -> Hook<'a> {
        self.write("turn")
    }

    fn on_after_llm_call<'a>(&'a self, _: &'a mut CallContext) -> Hook<'a> {
        self.write("after")
    }

    fn on_tick<'a>(&'a self, _: &'a mut TickContext) -> Hook<'a> {
        self.write("tick")
    }

    fn on_session_end<'a>(&'a self, _: &'a mut EndContext) -> Hook<'a> {
        self.write("end")
    }
}

fn adapter(gateway: &Arc<FakeGateway>) -> ProviderAdapter {
    ProviderAdapter::connected("http://gateway".into(), gateway.clone())
}

#[tokio::test]
async fn every_hook_runs_by_layer_and_then_by_registration() {
    let written = Arc::new(Mutex::new(Vec::new()));
    let scribe = |name, layer| Scribe {
        name,
        layer,
        written: Arc::clone(&written),
    };
    let gateway = FakeGateway::new();
    let extensions = Extensions::new()
        .with(scribe("c", 3))
        .with(scribe("a", 1))
        .with(scribe("d", 3))
        .with(adapter(&gateway))
        .with(scribe("b", 2));
    let names: Vec<&str> = extensions.names().collect();
    assert_eq!(names, ["a", "bardo-provider-adapter", "b", "c", "d"]);

    let (runtime, _) = start(extensions).await;
    runtime.tick(1, &[]).await;
    runtime.call(thought("risk")).await.unwrap();
    runtime.end().await;
    let hooks = [
        "start", "tick", "context", "before", "request", "after", "turn", "end",
    ];
    let expected: Vec<String> = hooks
        .iter()
        .flat_map(|hook| ["a", "b", "c", "d"].map(|name| format!("{hook} {name}")))
        .collect();
    assert_eq!(*written.lock().unwrap(), expected);
}

/// Fails in one hook.
struct Broken(&'static str);

impl Broken {
    fn answer(&self, hook: &str) -> Hook<'_> {
        let result = if hook == self.0 {
            Err("broken".into())
        } else {
            Ok(())
        };
        Box::pin(std::future::ready(result))
    }
}

impl Extension for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn layer(&self) -> u8 {
        0
    }

    fn on_before_agent_start<'a>(&'a self, _: &'a mut StartContext) -> Hook<'a> {
        self.answer("start")
    }

    fn on_before_llm_call<'a>(&'a self, _: &'a mut CallContext) -> Hook<'a> {
        self.answer("before")
    }

    fn on_after_llm_call<'a>(&'a self, _: &'a mut CallContext) -> Hook<'a> {
        self.answer("after")
    }

    fn on_tick<'a>(&'a self, _: &'a mut TickContext) -> Hook<'a> {
        self.answer("tick")
    }
}

#[tokio::test]
async fn an_extension_that_fails_before_a_call_keeps_it_back() {
    let gateway = FakeGateway::new();
    let extensions = Extensions::new()
        .with(adapter(&gateway))
        .with(Broken("before"));
    let (runtime, _) = start(extensions).await;
    let error = runtime.call(thought("risk")).await.unwrap_err();
    assert_eq!(error.to_string(), "broken: broken");
    assert_eq!(gateway.asked().len(), 0);
}

#[tokio::test]
async fn an_extension_that_fails_elsewhere_is_told_and_life_goes_on() {
    for hook in ["after", "tick"] {
        let gateway = FakeGateway::new();
        let extensions = Extensions::new().with(adapter(&gateway)).with(Broken(hook));
        let (runtime, sink) = start(extensions).await;
        let beat = runtime
            .tick(1, &[ProbeReading::new("price", Severity::Low)])
            .await;
        assert_eq!(beat.tier, TickTier::T1);
        assert!(
            runtime
                .call(thought("risk"))
                .await
                .unwrap()
                .reply()
                .is_some()
        );
        assert_eq!(sink.warnings(), ["broken"]);
    }
}

#[tokio::test]
async fn an_agent_without_a_way_out_does_not_start() {
    let setup = || AgentSetup::new("golem-7", "s");
    let none = Runtime::start(Extensions::new(), setup()).await;
    assert!(matches!(none.err(), Some(StartError::NoProvider)));
    let gateway = FakeGateway::new();
    let extensions = Extensions::new()
        .with(adapter(&gateway))
        .with(Broken("start"));
    let refused = Runtime::start(extensions, setup()).await;
    assert_eq!(refused.err().unwrap().to_string(), "broken: broken");
}

#[tokio::test]
async fn text_is_heard_as_it_comes() {
    let gateway = FakeGateway::new();
    let (runtime, _) = start(Extensions::new().with(adapter(&gateway))).await;
    let mut heard = String::new();
    let called = runtime
        .call_aloud(thought("operator"), &mut |text| heard.push_str(text))
        .await
        .unwrap();
    assert_eq!(heard, called.reply().unwrap().text);
}

/// Adds a fact before others see the conversation, and a member of the body at the end.
struct Librarian;

impl Extension for Librarian {
    fn name(&self) -> &'static str {
        "librarian"
    }

    fn layer(&self) -> u8 {
        9
    }

    fn on_context<'a>(&'a self, context: &'a mut CallContext) -> Hook<'a> {
        let fact = crate::call::Message::system("the sky is blue");
        context.spec.messages.insert(0, fact);
        crate::extension::done()
    }

    fn on_before_provider_request<'a>(&'a self, context: &'a mut CallContext) -> Hook<'a> {
        let facts = context.spec.messages.len();
        let extra = &mut context.spec.extra;
        extra.insert("metadata".into(), serde_json::json!({ "facts": facts }));
        crate::extension::done()
    }
}

#[tokio::test]
async fn what_the_hooks_put_into_a_thought_is_sent() {
    let gateway = FakeGateway::new();
    let extensions = Extensions::new().with(adapter(&gateway)).with(Librarian);
    let (runtime, _) = start(extensions).await;
    runtime.call(thought("risk")).await.unwrap();
    let sent = gateway.asked().remove(0);
    assert_eq!(sent.messages[0].content, "the sky is blue");
    assert_eq!(sent.extra["metadata"]["facts"], 2);
}

#[tokio::test]
async fn each_call_of_a_tool_is_told_and_the_turn_ends_without_one() {
    let written = Arc::new(Mutex::new(Vec::new()));
    let scribe = Scribe {
        name: "s",
        layer: 4,
        written: Arc::clone(&written),
    };
    let gateway = FakeGateway::new();
    let (runtime, sink) = start(Extensions::new().with(adapter(&gateway)).with(scribe)).await;
    let call = |id: &str, name: &str| {
        serde_json::json!({ "id": id, "type": "function",
            "function": { "name": name, "arguments": "{}" } })
    };
    gateway.answer(|reply| reply.tool_calls = vec![call("1", "swap"), call("2", "stop")]);
    let mut spec = thought("operator");
    spec.stream = true;
    runtime.call(spec.clone()).await.unwrap();
    gateway.answer(|reply| reply.tool_calls.clear());
    runtime.call(spec).await.unwrap();
    let heard = written.lock().unwrap().clone();
    let of = |start: &str| heard.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(
        (of("tool swap s"), of("tool stop s"), of("turn s")),
        (1, 1, 1)
    );
    let events = sink.events();
    let tools = events.iter().filter_map(|event| match &event.data {
        GolemEvent::ToolStart { id, tool, .. } => Some(format!("{id} {tool}")),
        _ => None,
    });
    assert_eq!(tools.collect::<Vec<_>>(), ["1 swap", "2 stop"]);
    let ends = events.iter().filter(|event| matches!(&event.data, GolemEvent::StreamEnd { provider, request_id, .. } if provider == "blockrun" && request_id == "req_1"));
    assert_eq!(ends.count(), 2);
}

#[tokio::test]
async fn the_totals_of_a_session_are_the_sum_of_its_answers() {
    let gateway = FakeGateway::new();
    let (runtime, sink) = start(Extensions::new().with(adapter(&gateway))).await;
    let charges = [1_500, 20_000, 0, 7];
    for charge in charges {
        let charge = MicroUsd::new(charge);
        gateway.answer(|reply| reply.origin.cost = Cost::Usd(charge));
        runtime.call(thought("risk")).await.unwrap();
    }
    // What the ledger says is the sum of the receipts.
    let ledger = MicroUsd::new(charges.iter().sum());
    let totals = runtime.totals();
    assert_eq!((totals.answered, totals.usage.output), (4, 80));
    assert_eq!(totals.difference(ledger), None);
    assert_eq!(totals.difference(MicroUsd::ZERO), Some(ledger));
    assert_eq!(
        totals.difference(MicroUsd::new(21_508)),
        Some(MicroUsd::new(1))
    );
    gateway.answer(|reply| reply.origin.cost = Cost::Unknown);
    runtime.call(thought("risk")).await.unwrap();
    assert_eq!(runtime.totals().without_cost, ["req_1"]);
    runtime.end().await;
    let told = sink
        .events()
        .into_iter()
        .find_map(|event| match event.data {
            GolemEvent::SessionEnd {
                answered,
                cost_usd,
                without_cost,
                ..
            } => Some((answered, cost_usd, without_cost)),
            _ => None,
        });
    assert_eq!(told, Some((5, ledger, 1)));
}
