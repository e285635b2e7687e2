//! Settings of a model from the profile of the caller's subsystem: planned once for each leg, by single edits where the request can be relayed, else in the neutral request.

use std::sync::Arc;

use bardo_profile::{Applied, Model, Wanted, apply, longest_mark};
use bardo_providers::Endpoint;
use bardo_router::{Candidate, RoutedCandidate};
use bardo_types::Degradation;
use bardo_types::chat::{ChatRequest, MarkPlan, OutputFormat, Part, Tool};
use bardo_types::model::Dialect;
use bardo_wire::codec::Target;
use bardo_wire::settings::{TRANSLATE, settings_change};
use bardo_wire::splice::Edit;

use crate::call::Call;
use crate::error::EngineError;
use crate::fit::is_relayed;
use crate::leg::{Leg, Settings};
use crate::memory::Memory;

/// Bytes that come to a token at least.
const TOKEN_BYTES: u64 = 3;

/// One candidate whose settings are planned.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) call: &'a Call,
    pub(crate) candidate: &'a Candidate,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) dialect: Dialect,
    pub(crate) choice: Option<&'a RoutedCandidate>,
    pub(crate) wanted: Option<&'a Wanted>,
    /// Marks for the provider's prompt cache that pay.
    pub(crate) marks: MarkPlan,
}

/// The settings of one leg, and what they do to the size of the request.
pub(crate) struct PlannedSettings {
    pub(crate) settings: Settings,
    /// Tokens that they add to the prompt, rather too many than too few.
    pub(crate) added: u64,
    /// Tokens of one answer at most, where the request carries a limit.
    pub(crate) output: Option<u64>,
}

impl PlannedSettings {
    /// The settings of a candidate without a profile.
    pub(crate) fn untouched(call: &Call) -> Self {
        Self {
            settings: Settings::Untouched,
            added: 0,
            output: call.size().output,
        }
    }
}

/// Plans the settings of a candidate.
///
/// # Errors
/// When the profile rules the model out, or a setting is wrong in itself.
pub(crate) fn plan(subject: Subject<'_>, memory: &Memory) -> Result<PlannedSettings, EngineError> {
    let own = subject.call.size().output;
    if !subject.is_set_up() {
        return Ok(PlannedSettings::untouched(subject.call));
    }
    if is_relayed(
        subject.call,
        subject.candidate,
        subject.endpoint,
        subject.dialect,
    ) && let Some(planned) = subject.by_edits(memory)?
    {
        return Ok(planned);
    }
    let mut request = subject.call.request_body().request(memory)?;
    let (before, limit) = (words(&request), request.max_output_tokens);
    let applied = subject.apply(Arc::make_mut(&mut request))?;
    Ok(PlannedSettings {
        added: words(&request).saturating_sub(before).div_ceil(TOKEN_BYTES),
        output: carried(own, limit, request.max_output_tokens),
        settings: Settings::Rewritten(request, Box::new(applied)),
    })
}

/// Sets up another request for the model of a leg, as the leg itself is set up.
///
/// # Errors
/// When the profile rules the model out.
pub(crate) fn again(
    call: &Call,
    leg: &Leg,
    mut request: ChatRequest,
) -> Result<(ChatRequest, Option<Applied>), EngineError> {
    let subject = Subject {
        call,
        candidate: &leg.candidate,
        endpoint: &leg.endpoint,
        dialect: leg.dialect,
        choice: leg.choice(),
        wanted: leg.wanted(),
        marks: leg.marks(),
    };
    if !subject.is_set_up() {
        return Ok((request, None));
    }
    let applied = subject.apply(&mut request)?;
    Ok((request, Some(applied)))
}

/// The limit that a request carries: the changed one, else the larger of those that were read of
/// it.
fn carried(own: Option<u64>, before: Option<u64>, after: Option<u64>) -> Option<u64> {
    if after == before {
        after.max(own)
    } else {
        after
    }
}

impl<'a> Subject<'a> {
    fn model(&self) -> Model<'a> {
        let Self {
            call,
            candidate,
            endpoint,
            dialect,
            ..
        } = *self;
        let security = self.choice.map(|choice| choice.security);
        Model {
            security: security.unwrap_or(candidate.entry.security),
            takes_sampling: dialect != Dialect::Anthropic || !asks_for_newest(call),
            capabilities: &candidate.entry.capabilities,
            service: endpoint.service,
            dialect,
            name: &candidate.entry.upstream_id,
            marks: self.marks,
        }
    }

    /// Whether a profile or a cap on its cost says anything of the call.
    fn is_set_up(&self) -> bool {
        self.wanted.is_some() || self.cost_cap().is_some()
    }

    /// The tokens of output that a cap on the cost of this call pays for here.
    fn cost_cap(&self) -> Option<u64> {
        self.choice?.max_output
    }

    /// The profile and the cap, in a request that is written anew.
    fn apply(&self, request: &mut ChatRequest) -> Result<Applied, EngineError> {
        let mut applied = self.set(request);
        refuse(&applied)?;
        limit(self.cost_cap(), request, &mut applied);
        Ok(applied)
    }

    fn set(&self, request: &mut ChatRequest) -> Applied {
        match self.wanted {
            None => Applied::default(),
            Some(wanted) => apply(wanted, request, &self.model()),
        }
    }

    /// Whether the profile puts cache marks into the request that are not the caller's own.
    fn places_marks(&self, memory: &Memory) -> bool {
        let wanted = self.wanted.and_then(|wanted| wanted.profile.cache_control);
        let MarkPlan { stable, turns } = self.marks;
        if wanted != Some(true) || stable.is_none() && turns.is_none() {
            return false;
        }
        // Marks lie among the words, so they are placed in a copy to see whether there are any.
        let request = self.call.request_body().request(memory);
        request.is_ok_and(|request| {
            let mut copy = ChatRequest::clone(&request);
            self.set(&mut copy);
            longest_mark(&request).is_none() && longest_mark(&copy).is_some()
        })
    }

    /// The profile as edits of a relayed request; `None` where its words have to change too.
    fn by_edits(&self, memory: &Memory) -> Result<Option<PlannedSettings>, EngineError> {
        if self.places_marks(memory) {
            return Ok(None);
        }
        let call = self.call;
        let target = Target {
            model: self.candidate.entry.upstream_id.clone(),
            service: self.endpoint.service,
            capabilities: Arc::clone(&self.candidate.entry.capabilities),
        };
        let mut applied = Applied::default();
        let mut output = None;
        let changed = settings_change(call.dialect(), &call.top(), &target, |request| {
            let before = request.max_output_tokens;
            applied = self.set(request);
            limit(self.cost_cap(), request, &mut applied);
            output = carried(call.size().output, before, request.max_output_tokens);
        });
        refuse(&applied)?;
        let changed = match changed {
            Ok(_) if applied.touched_conversation => return Ok(None),
            Ok(changed) if self.is_contested(&changed.edits) => return Ok(None),
            Ok(changed) => changed,
            Err(error) if error.code == Some(TRANSLATE) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        applied.degraded.extend(changed.degraded);
        let added = changed.edits.iter().map(|edit| match edit {
            Edit::Set { key, value } => key.len() + value.len(),
            Edit::Rename { .. } | Edit::Remove { .. } => 0,
        });
        let added = u64::try_from(added.sum::<usize>()).unwrap_or(u64::MAX);
        Ok(Some(PlannedSettings {
            settings: Settings::Edits(changed.edits, Box::new(applied)),
            added: added.div_ceil(TOKEN_BYTES),
            output,
        }))
    }

    /// Whether the provider's own edits are about a member that a profile changes too; a member is
    /// edited once.
    fn is_contested(&self, settings: &[Edit]) -> bool {
        let (call, provider) = (self.call, self.endpoint.provider());
        let own = provider.edits(call.dialect(), &call.top());
        own.iter()
            .any(|own| settings.iter().any(|edit| edit.key() == own.key()))
    }
}

/// Whether the caller's own version of the Messages API travels on, and is one that refuses sampling.
fn asks_for_newest(call: &Call) -> bool {
    let version = call.forward().get("anthropic-version");
    call.dialect() == Dialect::Anthropic
        && version
            .is_some_and(|version| version.as_bytes() > bardo_wire::anthropic::VERSION.as_bytes())
}

/// Keeps a call within the cap on its cost, and says so.
fn limit(cap: Option<u64>, request: &mut ChatRequest, applied: &mut Applied) {
    let Some(cap) = cap else { return };
    if request.max_output_tokens.is_none_or(|own| own > cap) {
        request.max_output_tokens = Some(cap);
        applied.degraded.push(Degradation::told(
            "max_tokens",
            format!("the cost limit of this call is enough for {cap} output tokens"),
        ));
    }
}

/// A model that a profile rules out is not asked.
fn refuse(applied: &Applied) -> Result<(), EngineError> {
    match &applied.refused {
        None => Ok(()),
        Some(why) => Err(EngineError::Required {
            feature: why.feature.to_string(),
            detail: why.detail.to_string(),
        }),
    }
}

/// Bytes of the words, tools and schema of a request that a profile may add to.
fn words(request: &ChatRequest) -> u64 {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let texts = parts.map(|part| match part {
        Part::Text(text) => text.text.len(),
        _ => 0,
    });
    let tools = request.tools.iter().map(|tool| match tool {
        Tool::Function {
            name,
            description,
            schema,
            ..
        } => {
            let schema = schema.as_ref().map_or(0, |schema| schema.as_str().len());
            name.len() + description.as_ref().map_or(0, |text| text.len()) + schema
        }
        Tool::Custom {
            name, description, ..
        } => name.len() + description.as_ref().map_or(0, |text| text.len()),
        Tool::Server { raw, .. } => raw.as_str().len(),
    });
    let schema = match &request.output {
        OutputFormat::JsonSchema { schema, .. } => schema.as_str().len(),
        _ => 0,
    };
    u64::try_from(texts.chain(tools).sum::<usize>() + schema).unwrap_or(u64::MAX)
}
