//! A wanted profile written into a request for one model.
//!
//! Each field goes through the same questions, in this order: does the caller's own request say it
//! already (then that stands, unless the profile is locked); does the model take it (its
//! capabilities, which are data); does the dialect have a member for it at this service
//! (`data/members.toml`, data too). What has to change to be taken is changed as little as
//! possible and recorded.

mod caching;
mod limits;
mod lock;
mod sampling;
mod shape;
mod thinking;

pub use caching::{longest_mark, placed};

use std::borrow::Cow;
use std::fmt::Display;

use bardo_types::Degradation;
use bardo_types::chat::{ChatRequest, MarkPlan, Message, Opaque, Part, Role, Text, ThinkingMode};
use bardo_types::model::{Capabilities, Dialect, Effort, Service};
use bardo_types::privacy::SecurityClass;
use bardo_types::profile::InferenceProfile;

use crate::members::Members;
use crate::schema::SchemaCheck;
use crate::wanted::Wanted;

/// Beginning of the warning that names all settings which a locked profile lacks.
const IN_PART: &str = "the locked profile does not apply in full: ";

/// Value in reports for a setting that is not sent: the provider decides.
const DEFAULT: &str = "provider default";

/// The model that a request is set up for.
#[derive(Debug, Clone, Copy)]
pub struct Model<'a> {
    /// Capabilities of the model.
    pub capabilities: &'a Capabilities,
    /// Service that serves the model.
    pub service: Service,
    /// The dialect that it is spoken to in.
    pub dialect: Dialect,
    /// Its name there.
    pub name: &'a str,
    /// Protection class of the model there.
    pub security: SecurityClass,
    /// Temperature, `top_p` and `top_k` may be sent at all. Not so where a caller's request is
    /// relayed under version 2026-10-21 of the Messages API, which refuses them of every model.
    pub takes_sampling: bool,
    /// Cache marks that pay for this request, where they are wanted and the caller sets none.
    pub marks: MarkPlan,
}

/// The result of applying a profile.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Applied {
    /// Settings that are not sent, or not as wanted.
    pub degraded: Vec<Degradation>,
    /// The temperature that is sent.
    pub temperature: Option<f64>,
    /// The effort that is sent.
    pub effort: Option<Effort>,
    /// Check of the answer against the profile's schema.
    pub schema: Option<SchemaCheck>,
    /// The profile lets the provider search the web.
    pub searches: bool,
    /// The reasoning is wanted with the answer.
    pub visible_thinking: bool,
    /// Messages or tools were changed too, not the settings alone.
    pub touched_conversation: bool,
    /// Reason why this model must not be called; nothing was changed then.
    pub refused: Option<Degradation>,
    /// Settings of a locked profile that the model excludes, as sentences.
    pub warnings: Vec<String>,
}

/// Sets up a request for a model. Doing it twice is doing it once.
pub fn apply(wanted: &Wanted, request: &mut ChatRequest, model: &Model<'_>) -> Applied {
    let sealed = wanted.profile.tee_mode == Some(true);
    if sealed && model.security < SecurityClass::Tee {
        return Applied {
            refused: Some(Degradation {
                feature: Cow::Borrowed("tee_mode"),
                detail: Cow::Owned(format!(
                    "{} does not run on attested hardware, which this call requires",
                    model.name
                )),
            }),
            ..Applied::default()
        };
    }
    let mut setup = ProfileApplication::new(wanted, request, model);
    setup.run();
    setup.applied
}

/// One request on its way to one model.
struct ProfileApplication<'a> {
    wanted: &'a Wanted,
    request: &'a mut ChatRequest,
    model: &'a Model<'a>,
    caps: &'a Capabilities,
    members: &'static Members,
    applied: Applied,
    /// The model will think.
    thinks: bool,
    /// An effort that the model can only be told in words.
    told_effort: Option<Effort>,
    /// Signed thinking binds everything before it, so nothing there may change.
    signed: bool,
    /// System blocks to append, in order.
    words: Vec<String>,
}

impl<'a> ProfileApplication<'a> {
    fn new(wanted: &'a Wanted, request: &'a mut ChatRequest, model: &'a Model<'a>) -> Self {
        let is_signed = |part: &Part| {
            matches!(part, Part::Reasoning(reasoning) if matches!(
                reasoning.opaque,
                Some(Opaque::AnthropicSignature(_) | Opaque::AnthropicRedacted(_))
            ))
        };
        Self {
            signed: model.capabilities.bound_thinking && request.any_part(is_signed),
            wanted,
            caps: model.capabilities,
            members: Members::of(model.dialect, model.service),
            request,
            model,
            applied: Applied::default(),
            thinks: false,
            told_effort: None,
            words: Vec::new(),
        }
    }

    fn run(&mut self) {
        let said = self.wanted.locked.then(|| self.unsay());
        // Without `..`, so that a new field is not forgotten. `tee_mode` was asked above.
        let InferenceProfile {
            temperature: _,
            top_p: _,
            top_k: _,
            min_p: _,
            frequency_penalty: _,
            presence_penalty: _,
            reasoning_effort,
            visible_thinking,
            response_schema,
            max_tokens,
            stop_sequences,
            prompt_cache_key,
            cache_control,
            web_search,
            tee_mode: _,
            predicted_output,
            seed,
        } = &self.wanted.profile;
        self.think(*reasoning_effort);
        self.show(*visible_thinking);
        self.apply_sampling();
        self.seed(*seed);
        self.shape(response_schema.as_ref());
        self.tell_effort();
        self.limit(*max_tokens);
        self.stop(stop_sequences.as_deref());
        self.cache_key(prompt_cache_key.as_deref());
        // The words count for the length that a model caches.
        self.append_words();
        self.mark(*cache_control);
        self.search(*web_search);
        self.predict(predicted_output.as_deref());
        if let Some(said) = said {
            self.overruled(&said);
        }
        self.sum_up();
    }

    /// Notes that something is sent otherwise than it was wanted, once per feature.
    fn record(
        &mut self,
        feature: &'static str,
        wanted: impl Display,
        sent: impl Display,
        why: &str,
    ) {
        let detail = format!("{feature} {wanted} → {sent} ({why})");
        if self
            .applied
            .degraded
            .iter()
            .any(|known| known.feature == feature)
        {
            return;
        }
        if self.wanted.locked {
            let known = self.applied.warnings.iter_mut();
            match { known }.find(|warning| warning.starts_with(IN_PART)) {
                Some(warning) => {
                    warning.push_str(", ");
                    warning.push_str(&detail);
                }
                None => self.applied.warnings.push(format!("{IN_PART}{detail}")),
            }
        }
        self.applied.degraded.push(Degradation {
            feature: Cow::Borrowed(feature),
            detail: Cow::Owned(detail),
        });
    }

    /// Adds system blocks after the prompt that there is, so that what was cached of it stays
    /// cached.
    fn append_words(&mut self) {
        for words in std::mem::take(&mut self.words) {
            let leading = self.request.leading_system();
            if leading.iter().any(|message| message.text() == words) {
                continue;
            }
            let end = leading.len();
            let message = Message::new(Role::System, vec![Text::new(words).into()]);
            self.request.messages.insert(end, message);
            self.applied.touched_conversation = true;
        }
    }

    fn sum_up(&mut self) {
        let reasoning = &self.request.reasoning;
        self.applied.effort = match (reasoning.mode, reasoning.effort) {
            (Some(ThinkingMode::Disabled), _) => Some(Effort::None),
            (Some(ThinkingMode::Budget(tokens)), None) => Some(Effort::of_budget(tokens)),
            (_, effort) => effort,
        };
        let temperature = self.request.sampling.temperature.as_ref();
        self.applied.temperature = temperature.and_then(|raw| raw.read().ok());
    }
}
