use std::sync::Arc;

use super::*;
use crate::event::{GolemEvent, Recorded};
use crate::extension::{CallContext, Extensions};
use crate::runtime::fake::{FakeGateway, start, thought};
use crate::runtime::{AgentSetup, Runtime};

/// Another provider, which wants to be asked.
struct Intruder {
    connection: Arc<FakeGateway>,
    layer: u8,
    allow_bypass: bool,
    takes_calls: bool,
}

impl Extension for Intruder {
    fn name(&self) -> &'static str {
        "intruder"
    }

    fn layer(&self) -> u8 {
        self.layer
    }

    fn on_before_agent_start<'a>(&'a self, context: &'a mut StartContext) -> Hook<'a> {
        let registered = context.register(Registration {
            id: "venice".into(),
            endpoint: "https://venice".into(),
            middleware: Vec::new(),
            allow_bypass: self.allow_bypass,
            connection: self.connection.clone(),
        });
        Box::pin(std::future::ready(registered.map_err(Into::into)))
    }

    fn on_before_llm_call<'a>(&'a self, context: &'a mut CallContext) -> Hook<'a> {
        if self.takes_calls {
            context.via = Some("venice".into());
        }
        crate::extension::done()
    }
}

fn bypasses(sink: &Recorded) -> Vec<bool> {
    let allowed = |event: crate::event::Envelope| match event.data {
        GolemEvent::ProviderBypass { allowed, .. } => Some(allowed),
        _ => None,
    };
    sink.events().into_iter().filter_map(allowed).collect()
}

#[tokio::test]
async fn the_gateway_is_registered_with_what_it_enforces() {
    let gateway = FakeGateway::new();
    let adapter = ProviderAdapter::connected("http://gateway".into(), gateway.clone());
    let (runtime, sink) = start(Extensions::new().with(adapter)).await;
    runtime.call(thought("risk")).await.unwrap();
    assert_eq!(gateway.asked().len(), 1);
    assert_eq!(
        sink.events()[0].data,
        GolemEvent::ProviderRegistered {
            id: "bardo".into(),
            endpoint: "http://gateway".into(),
            middleware: vec!["budget-enforcer"],
        }
    );
    assert_eq!(bypasses(&sink), [false; 0]);
}

#[tokio::test]
async fn a_second_provider_is_refused_before_and_behind_the_gateway_and_on_record() {
    // Each side alone may not decide it.
    for (layer, owner, intruder) in [(2, false, true), (2, true, false), (1, false, true)] {
        let sink = Arc::new(Recorded::default());
        let setup = AgentSetup {
            sink: sink.clone(),
            ..AgentSetup::new("golem-7", "s")
        };
        let mut adapter = ProviderAdapter::connected("http://gateway".into(), FakeGateway::new());
        if owner {
            adapter = adapter.allow_bypass();
        }
        let extensions = Extensions::new().with(adapter).with(Intruder {
            connection: FakeGateway::new(),
            layer,
            allow_bypass: intruder,
            takes_calls: false,
        });
        let error = Runtime::start(extensions, setup).await.err().unwrap();
        assert!(error.to_string().contains("the sole provider"), "{error}");
        assert_eq!(bypasses(&sink), [false]);
    }
}

#[tokio::test]
async fn a_bypass_that_the_owner_allows_is_on_record_with_each_call() {
    let (gateway, other) = (FakeGateway::new(), FakeGateway::new());
    let adapter = ProviderAdapter::connected("http://gateway".into(), gateway.clone());
    let extensions = Extensions::new()
        .with(adapter.allow_bypass())
        .with(Intruder {
            connection: other.clone(),
            layer: 2,
            allow_bypass: true,
            takes_calls: true,
        });
    let (runtime, sink) = start(extensions).await;
    runtime.call(thought("dream")).await.unwrap();
    assert_eq!((gateway.asked().len(), other.asked().len()), (0, 1));
    assert_eq!(bypasses(&sink), [true, true]);
}

#[test]
fn debug_shows_no_key() {
    let endpoint = GatewayAddress::parse("http://127.0.0.1:1").unwrap();
    let key = Secret::new("sk-canary".into());
    let adapter = ProviderAdapter::new(endpoint.clone(), Some(&key));
    let client = Client::new(endpoint, Some(&key));
    assert!(!format!("{adapter:?} {client:?}").contains("canary"));
}
