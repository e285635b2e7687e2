//! Says what each thought needs: the tier of the tick, the owner's intents, how alive the agent is.
//! It chooses no model and no backend; those are hints for whoever does.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::event::GolemEvent;
use crate::extension::{CallContext, Extension, Hook};
use crate::heartbeat::TickTier;
use crate::hints::IntentHints;
use crate::negotiator::is_setting;

/// The extension `model-router`.
#[derive(Debug, Default)]
pub struct ModelRouter {
    intents: BTreeMap<String, IntentHints>,
    /// Last message about each subsystem, so that each change is reported once.
    said: Mutex<BTreeMap<String, String>>,
}

impl ModelRouter {
    /// A router that leaves every intent to the gateway's table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the intent of a subsystem beside the gateway's table. A call's own intent wins.
    #[must_use]
    pub fn with_intent(mut self, subsystem: &str, intent: IntentHints) -> Self {
        self.intents.insert(normal(subsystem), intent);
        self
    }

    /// Whether the gate of the heartbeat applies: to the heartbeat alone, however it is spelled.
    /// All other parts think when they want to.
    #[must_use]
    pub fn is_gated(subsystem: &str) -> bool {
        normal(subsystem).starts_with("heartbeat")
    }

    fn gate(context: &mut CallContext) {
        if !Self::is_gated(context.spec.subsystem()) {
            return;
        }
        match context.tier() {
            Some(TickTier::T0) => context.skip("T0: the rules decide this tick"),
            Some(TickTier::T1) => context.spec.hints.subsystem = Some("heartbeat_t1".into()),
            Some(TickTier::T2) => context.spec.hints.subsystem = Some("heartbeat_t2".into()),
            // Before the first tick nothing was weighed, and the name stays as it is.
            None => {}
        }
    }

    fn attach(&self, context: &mut CallContext) {
        let state = context.state.clone();
        let gated = Self::is_gated(context.spec.subsystem());
        let name = normal(context.spec.subsystem());
        let hints = &mut context.spec.hints;
        if let Some(intent) = self.intents.get(&name) {
            hints.intent.fill_from(intent);
        }
        let mortality = state.mortality;
        hints.vitality.get_or_insert(mortality.vitality());
        hints.phase.get_or_insert(mortality.phase());
        if hints.sustainability.is_none() {
            hints.sustainability = mortality.sustainability();
        }
        if hints.regime.is_none() {
            hints.regime = state.regime.as_deref().map(str::to_owned);
        }
        hints.tick.get_or_insert(state.tick);
        let own = |name: &str| name.to_owned();
        hints.golem_id.get_or_insert_with(|| own(&state.golem_id));
        hints
            .session_id
            .get_or_insert_with(|| own(&state.session_id));
        context.emit(GolemEvent::InferenceStart {
            subsystem: context.spec.subsystem().to_owned(),
            model: context.spec.model.clone(),
            tier: context.tier().filter(|_| gated),
        });
    }

    /// Tells where the thought went, and the owner what was lost, once per change.
    fn tell(&self, context: &CallContext) {
        let Some(reply) = context.reply() else {
            return;
        };
        let origin = &reply.origin;
        let subsystem = context.spec.subsystem();
        // A setting that a model does not take is the negotiator's to record, and no loss that an
        // owner could mend.
        let lost = origin.degraded.iter().filter(|name| !is_setting(name));
        let lost: Vec<String> = lost.cloned().collect();
        context.emit(GolemEvent::ProviderResolved {
            subsystem: subsystem.to_owned(),
            provider: origin.provider.clone(),
            model: origin.model.clone(),
            degraded: lost.clone(),
        });
        let message = warning(subsystem, &origin.provider, &origin.model, &lost);
        let is_new = {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            let text = message.clone().unwrap_or_default();
            said.insert(subsystem.to_owned(), text.clone()) != Some(text)
        };
        if let Some(message) = message.filter(|_| is_new) {
            context.emit(GolemEvent::Warning {
                extension: self.name().to_owned(),
                message,
            });
        }
    }
}

/// Message to the owner about missing features; `None` if none is missing.
#[must_use]
pub fn warning(
    subsystem: &str,
    provider: &str,
    model: &str,
    degraded: &[String],
) -> Option<String> {
    if degraded.is_empty() {
        return None;
    }
    let lost = degraded.join(", ");
    Some(format!(
        "{subsystem} routed to {provider}/{model} (unavailable: {lost})"
    ))
}

/// As the gateway reads names: case, hyphens and underscores do not matter.
fn normal(subsystem: &str) -> String {
    subsystem.trim().to_ascii_lowercase().replace('-', "_")
}

impl Extension for ModelRouter {
    fn name(&self) -> &'static str {
        "model-router"
    }

    fn layer(&self) -> u8 {
        3
    }

    fn on_before_llm_call<'a>(&'a self, context: &'a mut CallContext) -> Hook<'a> {
        Box::pin(async move {
            Self::gate(context);
            if context.skipped.is_none() {
                self.attach(context);
            }
            Ok(())
        })
    }

    fn on_after_llm_call<'a>(&'a self, context: &'a mut CallContext) -> Hook<'a> {
        Box::pin(async move {
            self.tell(context);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
