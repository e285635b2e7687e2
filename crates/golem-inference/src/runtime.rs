//! An agent's thinking, put together: the gate, the extensions in their order, one provider.

use std::sync::{Arc, Mutex, PoisonError};

use bardo_types::clock::{Clock, SystemClock};

use crate::call::CallSpec;
use crate::client::{ClientError, Inference};
use crate::event::{EventSink, Events, GolemEvent, Silence};
use crate::extension::{
    CallContext, EndContext, Extension, Extensions, HookError, Registration, StartContext,
    TickContext, ToolCalled,
};
use crate::heartbeat::{Beat, Heartbeat, ProbeReading, TickTier, TierCounts};
use crate::negotiator::Negotiated;
use crate::reply::Reply;
use crate::session::SessionTotals;
use crate::state::{GolemState, Mortality};

/// Settings of an agent beside its extensions.
pub struct AgentSetup {
    /// Id of the agent.
    pub golem_id: Arc<str>,
    /// Id of the session.
    pub session_id: Arc<str>,
    /// The gate that decides which ticks need a model.
    pub heartbeat: Heartbeat,
    /// Sink of events.
    pub sink: Arc<dyn EventSink>,
    /// Clock of the agent.
    pub clock: Arc<dyn Clock>,
}

impl AgentSetup {
    /// An agent with the usual gate, on the machine's clock, of which nobody hears.
    #[must_use]
    pub fn new(golem_id: &str, session_id: &str) -> Self {
        Self {
            golem_id: golem_id.into(),
            session_id: session_id.into(),
            heartbeat: Heartbeat::default(),
            sink: Arc::new(Silence),
            clock: Arc::new(SystemClock),
        }
    }
}

/// Why an agent did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An extension refused.
    #[error("{extension}: {source}")]
    Extension {
        /// Name of the extension.
        extension: String,
        /// The error of the extension.
        #[source]
        source: HookError,
    },
    /// No extension registered a provider.
    #[error("no provider is registered: add a `ProviderAdapter`")]
    NoProvider,
}

/// Why a thought was not answered.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// An extension refused to send it.
    #[error("{extension}: {source}")]
    Extension {
        /// Name of the extension.
        extension: String,
        /// The error of the extension.
        #[source]
        source: HookError,
    },
    /// The call names a provider that is not registered.
    #[error("no provider `{0}` is registered")]
    UnknownProvider(String),
    /// The gateway did not answer it.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    /// The gateway answered the call.
    Answered {
        /// The answer itself.
        reply: Box<Reply>,
        /// The negotiated features of the call.
        negotiated: Box<Negotiated>,
    },
    /// An extension skipped the call, for this reason; nothing was sent, and it cost nothing.
    Skipped(String),
}

impl CallOutcome {
    /// The answer, where there is one.
    #[must_use]
    pub fn reply(&self) -> Option<&Reply> {
        match self {
            Self::Answered { reply, .. } => Some(reply),
            Self::Skipped(_) => None,
        }
    }
}

/// An agent that lives.
pub struct Runtime {
    extensions: Extensions,
    /// Never empty; calls go to the first.
    providers: Vec<Registration>,
    heartbeat: Mutex<Heartbeat>,
    state: Mutex<GolemState>,
    totals: Mutex<SessionTotals>,
    events: Events,
}

impl Runtime {
    /// Starts an agent.
    ///
    /// # Errors
    /// When an extension refuses, or none registers a provider.
    pub async fn start(extensions: Extensions, setup: AgentSetup) -> Result<Self, StartError> {
        let events = Events::new(Arc::clone(&setup.golem_id), setup.sink, setup.clock);
        let state = GolemState {
            golem_id: setup.golem_id,
            session_id: setup.session_id,
            tick: 0,
            tier: None,
            mortality: Mortality::default(),
            regime: None,
        };
        let mut context = StartContext {
            state,
            providers: Vec::new(),
            events: events.clone(),
        };
        for extension in extensions.iter() {
            let started = extension.on_before_agent_start(&mut context).await;
            started.map_err(|source| StartError::Extension {
                extension: extension.name().to_owned(),
                source,
            })?;
        }
        if context.providers.is_empty() {
            return Err(StartError::NoProvider);
        }
        Ok(Self {
            extensions,
            providers: context.providers,
            heartbeat: Mutex::new(setup.heartbeat),
            state: Mutex::new(context.state),
            totals: Mutex::default(),
            events,
        })
    }

    /// Takes one tick: weighs the probes, then tells the extensions. Sends nothing by itself.
    pub async fn tick(&self, tick: u64, probes: &[ProbeReading]) -> Beat {
        let beat = self.with_heartbeat(|heart| heart.observe(probes));
        let state = self.with_state(|state| {
            state.tick = tick;
            state.tier = Some(beat.tier);
            state.clone()
        });
        self.events.emit(tick, GolemEvent::Heartbeat(beat.clone()));
        let mut context = TickContext {
            state,
            beat: beat.clone(),
            now_ms: self.events.now_ms(),
            events: self.events.clone(),
        };
        for extension in self.extensions.iter() {
            if let Err(error) = extension.on_tick(&mut context).await {
                self.complain(extension, tick, &error);
            }
        }
        beat
    }

    /// Hands the tick over to System 2, because the small model was not sure; gives whether there
    /// was something to hand over.
    pub fn escalate(&self) -> bool {
        let escalated = self.with_heartbeat(Heartbeat::escalate);
        if escalated {
            self.with_state(|state| state.tier = Some(TickTier::T2));
        }
        escalated
    }

    /// Carries one thought.
    ///
    /// # Errors
    /// When an extension refuses to send it or the gateway does not answer it.
    pub async fn call(&self, spec: CallSpec) -> Result<CallOutcome, CallError> {
        self.call_aloud(spec, &mut |_| {}).await
    }

    /// Carries one thought and hears the text of its answer as it comes.
    ///
    /// # Errors
    /// When an extension refuses to send it or the gateway does not answer it.
    pub async fn call_aloud(
        &self,
        spec: CallSpec,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<CallOutcome, CallError> {
        let mut context = CallContext {
            state: self.state(),
            spec,
            via: None,
            negotiated: Negotiated::default(),
            skipped: None,
            outcome: None,
            events: self.events.clone(),
        };
        for extension in self.extensions.iter() {
            let built = extension.on_context(&mut context).await;
            built.map_err(|source| refused(extension, source))?;
        }
        for extension in self.extensions.iter() {
            let before = extension.on_before_llm_call(&mut context).await;
            before.map_err(|source| refused(extension, source))?;
            if let Some(reason) = context.skipped.take() {
                context.emit(GolemEvent::InferenceSkipped {
                    subsystem: context.spec.subsystem().to_owned(),
                    reason: reason.clone(),
                });
                self.with_totals(|totals| totals.skipped += 1);
                return Ok(CallOutcome::Skipped(reason));
            }
        }
        for extension in self.extensions.iter() {
            let before = extension.on_before_provider_request(&mut context).await;
            before.map_err(|source| refused(extension, source))?;
        }
        let connection = self.connection(context.via.as_deref())?;
        let outcome = connection.chat(&context.spec, on_text).await;
        self.with_totals(|totals| totals.count(&outcome));
        context.outcome = Some(outcome);
        self.report(&context);
        self.hear_tools(&mut context).await;
        for extension in self.extensions.iter() {
            if let Err(error) = extension.on_after_llm_call(&mut context).await {
                self.complain(extension, context.state.tick, &error);
            }
        }
        self.end_turn(&mut context).await;
        match context.outcome {
            Some(Ok(reply)) => Ok(CallOutcome::Answered {
                reply: Box::new(reply),
                negotiated: Box::new(context.negotiated),
            }),
            Some(Err(error)) => Err(error.into()),
            None => Err(ClientError::Malformed("the outcome of a call").into()),
        }
    }

    /// Tells the extensions of each tool that the model calls.
    async fn hear_tools(&self, context: &mut CallContext) {
        let calls = context.reply().map_or(&[][..], |reply| &reply.tool_calls);
        let calls: Vec<ToolCalled> = calls.iter().map(ToolCalled::read).collect();
        for call in &calls {
            context.emit(GolemEvent::ToolStart {
                subsystem: context.spec.subsystem().to_owned(),
                id: call.id.clone(),
                tool: call.name.clone(),
            });
            for extension in self.extensions.iter() {
                if let Err(error) = extension.on_tool_call(context, call).await {
                    self.complain(extension, context.state.tick, &error);
                }
            }
        }
    }

    /// Tells of the end of a stream, and of the turn if the model calls no tool.
    async fn end_turn(&self, context: &mut CallContext) {
        let Some(reply) = context.reply() else { return };
        let is_over = reply.tool_calls.is_empty();
        if context.spec.stream {
            context.emit(GolemEvent::StreamEnd {
                subsystem: context.spec.subsystem().to_owned(),
                request_id: reply.origin.request_id.clone(),
                model: reply.origin.model.clone(),
                provider: reply.origin.provider.clone(),
                finish_reason: reply.finish_reason.clone(),
            });
        }
        if !is_over {
            return;
        }
        for extension in self.extensions.iter() {
            if let Err(error) = extension.on_after_turn(context).await {
                self.complain(extension, context.state.tick, &error);
            }
        }
    }

    /// Ends the session.
    pub async fn end(&self) {
        let totals = self.totals();
        let mut context = EndContext {
            state: self.state(),
            totals: totals.clone(),
            events: self.events.clone(),
        };
        for extension in self.extensions.iter() {
            if let Err(error) = extension.on_session_end(&mut context).await {
                self.complain(extension, context.state.tick, &error);
            }
        }
        context.emit(GolemEvent::SessionEnd {
            answered: totals.answered,
            failed: totals.failed,
            skipped: totals.skipped,
            input_tokens: totals.usage.input,
            output_tokens: totals.usage.output,
            cost_usd: totals.cost,
            without_cost: totals.without_cost.len() as u64,
        });
    }

    /// Says how alive the agent is, from the next call on.
    pub fn set_mortality(&self, mortality: Mortality) {
        self.with_state(|state| state.mortality = mortality);
    }

    /// Says what the market is like, from the next call on.
    pub fn set_regime(&self, regime: &str) {
        self.with_state(|state| state.regime = Some(regime.into()));
    }

    /// Sums over the calls of the session until now.
    #[must_use]
    pub fn totals(&self) -> SessionTotals {
        self.with_totals(|totals| totals.clone())
    }

    /// The agent as it is.
    #[must_use]
    pub fn state(&self) -> GolemState {
        self.with_state(|state| state.clone())
    }

    /// Ticks of each tier.
    #[must_use]
    pub fn counts(&self) -> TierCounts {
        self.with_heartbeat(|heart| heart.counts())
    }

    fn connection(&self, via: Option<&str>) -> Result<&dyn Inference, CallError> {
        let found = match via {
            None => self.providers.first(),
            Some(id) => self.providers.iter().find(|provider| provider.id == id),
        };
        found
            .map(|provider| &*provider.connection)
            .ok_or_else(|| CallError::UnknownProvider(via.unwrap_or_default().to_owned()))
    }

    fn report(&self, context: &CallContext) {
        let subsystem = context.spec.subsystem().to_owned();
        match &context.outcome {
            Some(Ok(reply)) => {
                let usage = reply.usage.unwrap_or_default();
                context.emit(GolemEvent::InferenceEnd {
                    subsystem,
                    model: reply.origin.model.clone(),
                    provider: reply.origin.provider.clone(),
                    input_tokens: usage.input,
                    output_tokens: usage.output,
                    cost_usd: reply.origin.cost.usd(),
                });
            }
            Some(Err(error)) => context.emit(GolemEvent::InferenceFailed {
                subsystem,
                message: error.to_string(),
            }),
            None => {}
        }
        if let Some(id) = &context.via {
            // Each call around the gateway is on record, not the registration alone.
            let endpoint = self.providers.iter().find(|provider| provider.id == *id);
            context.emit(GolemEvent::ProviderBypass {
                id: id.clone(),
                endpoint: endpoint.map_or_else(String::new, |found| found.endpoint.clone()),
                allowed: true,
            });
        }
    }

    fn complain(&self, extension: &dyn Extension, tick: u64, error: &HookError) {
        let event = GolemEvent::Warning {
            extension: extension.name().to_owned(),
            message: error.to_string(),
        };
        self.events.emit(tick, event);
    }

    fn with_totals<T>(&self, change: impl FnOnce(&mut SessionTotals) -> T) -> T {
        change(&mut self.totals.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut GolemState) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn with_heartbeat<T>(&self, change: impl FnOnce(&mut Heartbeat) -> T) -> T {
        change(
            &mut self
                .heartbeat
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

fn refused(extension: &dyn Extension, source: HookError) -> CallError {
    CallError::Extension {
        extension: extension.name().to_owned(),
        source,
    }
}

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;
