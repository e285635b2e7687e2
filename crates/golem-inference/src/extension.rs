//! Hooks of an agent, and their order.
//!
//! Extensions run by (layer, order of registration), lowest first, in every hook. Hooks of one call
//! run one after the other; hooks of different calls may run at the same time, so an extension that
//! remembers something keeps it behind a lock that it does not hold while it waits.

use std::sync::Arc;

use serde_json::Value;

use crate::call::CallSpec;
use crate::client::{ClientError, Inference, Pending};
use crate::event::{Events, GolemEvent};
use crate::heartbeat::{Beat, TickTier};
use crate::negotiator::Negotiated;
use crate::reply::Reply;
use crate::session::SessionTotals;
use crate::state::GolemState;

/// Why a hook failed.
pub type HookError = Box<dyn std::error::Error + Send + Sync>;

/// The result of a hook.
pub type Hook<'a> = Pending<'a, Result<(), HookError>>;

/// A hook that has nothing to do.
#[must_use]
pub fn done<'a>() -> Hook<'a> {
    Box::pin(std::future::ready(Ok(())))
}

/// One part of the runtime. Every hook may be left out.
///
/// An error of a hook. Before the start, the agent does not start; before a call, the call is not
/// sent; anywhere else the owner gets a message and the agent continues.
pub trait Extension: Send + Sync {
    /// Its name in events and errors.
    fn name(&self) -> &str;

    /// Lower layers run first: 2 for providers, 3 for routing.
    fn layer(&self) -> u8;

    /// The agent is about to start.
    fn on_before_agent_start<'a>(&'a self, context: &'a mut StartContext) -> Hook<'a> {
        let _ = context;
        done()
    }

    /// A thought is put together: facts and documents go into [`CallContext::spec`] here, before any
    /// other hook sees it.
    fn on_context<'a>(&'a self, context: &'a mut CallContext) -> Hook<'a> {
        let _ = context;
        done()
    }

    /// A thought is about to be sent; it may be changed, or kept back with [`CallContext::skip`].
    fn on_before_llm_call<'a>(&'a self, context: &'a mut CallContext) -> Hook<'a> {
        let _ = context;
        done()
    }

    /// The request is about to be sent, and no extension changes the conversation any more: hints and
    /// other members of the body go into [`CallContext::spec`] here.
    fn on_before_provider_request<'a>(&'a self, context: &'a mut CallContext) -> Hook<'a> {
        let _ = context;
        done()
    }

    /// The model calls a tool. The call is read-only; the agent's own code carries it out.
    fn on_tool_call<'a>(&'a self, context: &'a mut CallContext, call: &'a ToolCalled) -> Hook<'a> {
        let _ = (context, call);
        done()
    }

    /// A thought was answered, or was not: [`CallContext::outcome`].
    fn on_after_llm_call<'a>(&'a self, context: &'a mut CallContext) -> Hook<'a> {
        let _ = context;
        done()
    }

    /// A turn is over: the model answered and calls no tool.
    fn on_after_turn<'a>(&'a self, context: &'a mut CallContext) -> Hook<'a> {
        let _ = context;
        done()
    }

    /// A tick was weighed.
    fn on_tick<'a>(&'a self, context: &'a mut TickContext) -> Hook<'a> {
        let _ = context;
        done()
    }

    /// The session ends.
    fn on_session_end<'a>(&'a self, context: &'a mut EndContext) -> Hook<'a> {
        let _ = context;
        done()
    }
}

/// The extensions of an agent, in the order in which they run.
#[derive(Default)]
pub struct Extensions {
    held: Vec<Box<dyn Extension>>,
}

impl Extensions {
    /// A list without extensions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one behind those of its layer and of lower ones.
    #[must_use]
    pub fn with(mut self, extension: impl Extension + 'static) -> Self {
        let layer = extension.layer();
        let place = self.held.partition_point(|held| held.layer() <= layer);
        self.held.insert(place, Box::new(extension));
        self
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.held.iter().map(|extension| extension.name())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &dyn Extension> {
        self.held.iter().map(AsRef::as_ref)
    }
}

impl std::fmt::Debug for Extensions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// A provider that an extension brings.
#[derive(Clone)]
pub struct Registration {
    /// Its name; the gateway's is `bardo`.
    pub id: String,
    /// Where it is, for events.
    pub endpoint: String,
    /// Rules that the gateway enforces, for events.
    pub middleware: Vec<&'static str>,
    /// Whether others may be registered beside it.
    pub allow_bypass: bool,
    /// The way to it.
    pub connection: Arc<dyn Inference>,
}

/// Why a provider was not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{id}` cannot be added: `{sole}` is the sole provider")]
pub struct SecondProvider {
    /// The one that was refused.
    pub id: String,
    /// The one that is there.
    pub sole: String,
}

/// Before the start.
#[derive(Debug)]
pub struct StartContext {
    /// State of the agent.
    pub state: GolemState,
    pub(crate) providers: Vec<Registration>,
    pub(crate) events: Events,
}

impl StartContext {
    /// Registers a provider. The first is the one that calls go to. Another is refused, unless
    /// both sides allow a bypass; either way that is on record.
    ///
    /// # Errors
    /// When there is a provider already and no bypass is allowed.
    pub fn register(&mut self, provider: Registration) -> Result<(), SecondProvider> {
        if let Some(first) = self.providers.first() {
            let allowed = first.allow_bypass && provider.allow_bypass;
            self.emit(GolemEvent::ProviderBypass {
                id: provider.id.clone(),
                endpoint: provider.endpoint.clone(),
                allowed,
            });
            if !allowed {
                return Err(SecondProvider {
                    id: provider.id,
                    sole: self.providers[0].id.clone(),
                });
            }
        } else {
            self.emit(GolemEvent::ProviderRegistered {
                id: provider.id.clone(),
                endpoint: provider.endpoint.clone(),
                middleware: provider.middleware.clone(),
            });
        }
        self.providers.push(provider);
        Ok(())
    }

    /// Emits an event.
    pub fn emit(&self, event: GolemEvent) {
        self.events.emit(self.state.tick, event);
    }
}

/// Around one call.
#[derive(Debug)]
pub struct CallContext {
    /// The agent, as it was when the call was made.
    pub state: GolemState,
    /// The call to make.
    pub spec: CallSpec,
    /// Another registered provider than the first, by name.
    pub via: Option<String>,
    /// Negotiated features of the answer.
    pub negotiated: Negotiated,
    pub(crate) skipped: Option<String>,
    pub(crate) outcome: Option<Result<Reply, ClientError>>,
    pub(crate) events: Events,
}

impl CallContext {
    /// Decision of the tick.
    #[must_use]
    pub const fn tier(&self) -> Option<TickTier> {
        self.state.tier
    }

    /// Keeps the thought back; nothing is sent.
    pub fn skip(&mut self, reason: impl Into<String>) {
        self.skipped = Some(reason.into());
    }

    /// Result of the call; `None` before it was sent.
    #[must_use]
    pub const fn outcome(&self) -> Option<&Result<Reply, ClientError>> {
        self.outcome.as_ref()
    }

    /// The answer, once there is one.
    #[must_use]
    pub fn reply(&self) -> Option<&Reply> {
        self.outcome.as_ref()?.as_ref().ok()
    }

    /// Emits an event.
    pub fn emit(&self, event: GolemEvent) {
        self.events.emit(self.state.tick, event);
    }
}

/// A call of a tool, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCalled {
    /// Id of the call, which its result names.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as JSON text. A model may write invalid JSON.
    pub arguments: String,
}

impl ToolCalled {
    /// Reads a call in OpenAI's format.
    pub(crate) fn read(call: &Value) -> Self {
        let text = |path: &str| {
            let text = call.pointer(path).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        Self {
            id: text("/id"),
            name: text("/function/name"),
            arguments: text("/function/arguments"),
        }
    }
}

/// On a tick.
#[derive(Debug)]
pub struct TickContext {
    /// State of the agent.
    pub state: GolemState,
    /// Decision of the tick.
    pub beat: Beat,
    /// The present time, in Unix milliseconds.
    pub now_ms: u64,
    pub(crate) events: Events,
}

impl TickContext {
    /// The number of the tick.
    #[must_use]
    pub const fn tick(&self) -> u64 {
        self.state.tick
    }

    /// Emits an event.
    pub fn emit(&self, event: GolemEvent) {
        self.events.emit(self.state.tick, event);
    }
}

/// At the end.
#[derive(Debug)]
pub struct EndContext {
    /// State of the agent.
    pub state: GolemState,
    /// Sums over the calls of the session.
    pub totals: SessionTotals,
    pub(crate) events: Events,
}

impl EndContext {
    /// Emits an event.
    pub fn emit(&self, event: GolemEvent) {
        self.events.emit(self.state.tick, event);
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration")
            .field("id", &self.id)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}
