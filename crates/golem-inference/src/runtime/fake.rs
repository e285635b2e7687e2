//! A gateway that answers from memory and remembers what it was asked.

use std::sync::{Arc, Mutex};

use bardo_types::clock::Clock;

use crate::call::{CallSpec, Message};
use crate::client::{ClientError, Inference, Pending};
use crate::event::Recorded;
use crate::extension::Extensions;
use crate::reply::{Reply, ReplyOrigin, TokenUsage};
use crate::runtime::{AgentSetup, Runtime};

pub(crate) struct FakeGateway {
    asked: Mutex<Vec<CallSpec>>,
    answer: Mutex<Reply>,
}

impl FakeGateway {
    pub(crate) fn new() -> Arc<Self> {
        let origin = ReplyOrigin {
            request_id: "req_1".into(),
            model: "claude-sonnet-5-5".into(),
            provider: "blockrun".into(),
            ..ReplyOrigin::default()
        };
        Arc::new(Self {
            asked: Mutex::default(),
            answer: Mutex::new(Reply {
                text: "well".into(),
                usage: Some(TokenUsage {
                    input: 100,
                    cache_read: 40,
                    output: 20,
                    reasoning: 5,
                }),
                ..Reply::empty(origin)
            }),
        })
    }

    pub(crate) fn asked(&self) -> Vec<CallSpec> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn answer(&self, change: impl FnOnce(&mut Reply)) {
        change(&mut self.answer.lock().unwrap());
    }
}

impl Inference for FakeGateway {
    fn chat<'a>(
        &'a self,
        call: &'a CallSpec,
        on_text: &'a mut (dyn FnMut(&str) + Send),
    ) -> Pending<'a, Result<Reply, ClientError>> {
        self.asked.lock().unwrap().push(call.clone());
        let reply = self.answer.lock().unwrap().clone();
        on_text(&reply.text);
        Box::pin(std::future::ready(Ok(reply)))
    }
}

/// A clock that stands where it was put.
pub(crate) struct Still(pub(crate) Mutex<u64>);

impl Clock for Still {
    fn now_ms(&self) -> u64 {
        *self.0.lock().unwrap()
    }
}

pub(crate) async fn start(extensions: Extensions) -> (Runtime, Arc<Recorded>) {
    let sink = Arc::new(Recorded::default());
    let setup = AgentSetup {
        sink: sink.clone(),
        clock: Arc::new(Still(Mutex::new(0))),
        ..AgentSetup::new("golem-7", "session-1")
    };
    let runtime = Runtime::start(extensions, setup).await.unwrap();
    (runtime, sink)
}

pub(crate) fn thought(subsystem: &str) -> CallSpec {
    CallSpec::new(subsystem, vec![Message::user("what now?")])
}
