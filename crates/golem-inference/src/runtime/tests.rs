use std::sync::{Arc, Mutex};

use super::fake::{FakeGateway, start, thought};
use super::*;
use crate::adapter::ProviderAdapter;
use crate::extension::Hook;
use crate::heartbeat::Severity;

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

    fn on_before_llm_call<'a>(&'a self, _: &'a mut CallContext) -> Hook<'a> {
        self.write("before")
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
    let expected: Vec<String> = ["start", "tick", "before", "after", "end"]
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
        let beat = runtime.tick(1, &[Probe::new("price", Severity::Low)]).await;
        assert_eq!(beat.tier, Tier::T1);
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
    let setup = || Setup::new("golem-7", "s");
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
