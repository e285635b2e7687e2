//! Which requests the cache has a part in, by the members of their bodies first: a request that
//! does not ask for it, and leaves the answer to chance, is not even decoded.

use bardo_access::{CachePermission, KeyTier};
use bardo_cache::key::{KeySource, Steering, key_of};
use bardo_cache::policy::{CacheCandidate, Never, Wish, may_use};
use bardo_cache::tags::Tags;
use bardo_cache::ttl::AnswerKind;
use bardo_profile::{Sources, wanted};
use bardo_types::chat::{ChatRequest, ReasoningRequest};
use bardo_types::hints::RouteHints;
use bardo_types::intent::Quality;
use bardo_types::model::Dialect;

use crate::answer_cache::CacheSkip;
use crate::cache_policy::CachePolicy;
use crate::cache_slot::CacheSlot;
use crate::call::Call;
use crate::entitle;
use crate::key_headers;
use crate::memory::Memory;
use crate::partition::namespace_of;
use crate::received::{Payer, Task};
use crate::routing::wished_class;

/// The place of a request in the cache.
///
/// # Errors
/// The reason why the cache has no part in it.
pub(crate) fn slot_of(call: &Call, memory: &Memory) -> Result<CacheSlot, CacheSkip> {
    let policy = &call.snapshot().cache;
    let wish = wish(call);
    may_be_decoded(call, policy, wish)?;
    let body = call.request_body();
    let request = body.request(memory).map_err(|_| CacheSkip::Unreadable)?;
    let silent = RouteHints::default();
    let hints = call.hints().route.as_deref().unwrap_or(&silent);
    let class = wished_class(call.snapshot(), hints);
    let setup = Setup::of(call, hints, &request);
    may_use(&CacheCandidate {
        request: &request,
        // Looked at before the request was decoded.
        body_bytes: 0,
        wish,
        has_profile: setup.has_profile,
        temperature: setup.temperature,
        subsystem: setup.subsystem,
        task: hints.task_class,
        critical: false,
        class,
        keeps_private: policy.keeps_private,
        flagged: false,
    })
    .map_err(CacheSkip::Never)?;
    let unread = body.unread(memory);
    if unread.is_some() && wish.is_none() {
        return Err(CacheSkip::Never(Never::Unread));
    }
    let namespace = namespace_of(call, class).map_err(|_| CacheSkip::Scope)?;
    let tags = Tags::of(&request, hints.domain.as_deref(), &call.hints().ephemeral);
    let key = key_of(&KeySource {
        request: &request,
        hints,
        steering: Steering::Raw,
        namespace: &namespace,
        class,
        settings: &settings(call, policy),
        enrichment: &[],
        unread: unread.as_deref().unwrap_or_default(),
        ephemeral: &call.hints().ephemeral,
    });
    Ok(CacheSlot {
        key,
        namespace,
        class,
        wish: wish.unwrap_or(Wish::Default),
        kind: AnswerKind::of_domain(hints.domain.as_deref()),
        regime: call.hints().regime.or(policy.regime),
        tags,
        output: request.output.clone(),
        has_profile: setup.has_profile,
        thinks: setup.thinks,
        flushes: 0,
        heard: None,
    })
}

/// Demand of a request on the cache: its own hint, or else the scope of its key.
pub(crate) fn wish(call: &Call) -> Option<Wish> {
    call.hints().cache.or_else(|| match key_scope(call)? {
        CachePermission::Off => Some(Wish::NoStore),
        CachePermission::Default | CachePermission::Semantic => Some(Wish::Default),
    })
}

/// Part that the key of a request gives the cache; `None` where the key says nothing, and for
/// callers without a key.
pub(crate) fn key_scope(call: &Call) -> Option<CachePermission> {
    match &call.principal().payer {
        Payer::Owner => None,
        Payer::Prepaid(terms) => terms.scopes.cache,
    }
}

/// Looks at the members of the body alone.
fn may_be_decoded(call: &Call, policy: &CachePolicy, wish: Option<Wish>) -> Result<(), CacheSkip> {
    if !policy.enabled || call.task() != Task::Generate {
        return Err(CacheSkip::Off);
    }
    // A request may not widen what its key allows.
    if key_scope(call) == Some(CachePermission::Off) {
        return Err(CacheSkip::Never(Never::KeyOff));
    }
    match wish {
        Some(Wish::NoStore) => return Err(CacheSkip::Never(Never::NoStore)),
        Some(_) => return Ok(()),
        None => {}
    }
    let top = call.top();
    let own = top.get("temperature").map(str::trim);
    let is_cold = own.is_some_and(|json| json.parse() == Ok(0.0_f64));
    // A profile may set the temperature.
    let is_open = matches!(own, None | Some("null")) && call.hints().route.is_some();
    if !is_cold && !is_open && !is_golem(call) {
        return Err(CacheSkip::Never(Never::NotAsked));
    }
    match call.body().len() > policy.unasked_bytes {
        true => Err(CacheSkip::Never(Never::Long)),
        false => Ok(()),
    }
}

pub(crate) fn is_golem(call: &Call) -> bool {
    matches!(&call.principal().payer, Payer::Prepaid(terms) if terms.tier == Some(KeyTier::Golem))
}

/// How the model will be set up, as far as hints tell.
struct Setup<'a> {
    subsystem: Option<&'a bardo_types::subsystem::Subsystem>,
    /// The caller is an agent whose profile sets the temperature.
    has_profile: bool,
    temperature: Option<f64>,
    /// The request or its profile says how much the model thinks.
    thinks: bool,
}

impl<'a> Setup<'a> {
    fn of(call: &'a Call, hints: &RouteHints, request: &ChatRequest) -> Self {
        let snapshot = call.snapshot();
        let subsystem = hints.subsystem.as_deref();
        let subsystem = subsystem.and_then(|name| snapshot.router.subsystem(name));
        let set = match call.hints().route {
            None => None,
            Some(_) => wanted(&Sources {
                subsystem: subsystem.map(|row| &**row),
                hints,
                owner: subsystem.and_then(|row| snapshot.profiles.get(&row.name)),
                quality: Quality::Medium,
            }),
        };
        let own = request.sampling.temperature.as_ref();
        // What is no number is no temperature that the cache could know.
        let own = own.map(|json| json.as_str().trim().parse().unwrap_or(f64::NAN));
        let by_profile = set.as_ref().and_then(|set| set.profile.temperature);
        Self {
            subsystem: subsystem.map(|row| &**row),
            has_profile: is_golem(call) && set.as_ref().is_some_and(|set| set.row.is_some()),
            temperature: own.or(by_profile),
            thinks: request.reasoning != ReasoningRequest::default()
                || set.is_some_and(|set| set.profile.reasoning_effort.is_some()),
        }
    }
}

/// Spellings of "how to think" in Chat Completions that some servers read and others do not. They
/// are one in neutral form, and a relay sends each as it came.
const OWN_SPELLINGS: [&str; 2] = ["thinking", "reasoning"];

/// What changes answers beside the request: the settings, headers that are sent on, names whose
/// loss is an error, and spellings that not every server reads.
pub(crate) fn settings(call: &Call, policy: &CachePolicy) -> Vec<u8> {
    let mut all = policy.revision.clone();
    let is_chat = call.dialect() == Dialect::Chat;
    let top = call.top();
    let spelled = OWN_SPELLINGS.iter();
    let spelled = spelled.filter(|name| is_chat && top.member(name).is_some());
    let spelled = spelled.flat_map(|name| [&b"bardo-spelling"[..], name.as_bytes()]);
    let headers = key_headers::sorted(call.forward(), call.dialect());
    let headers = headers
        .iter()
        .flat_map(|(name, value)| [name.as_bytes(), value]);
    // Each name stands behind an empty one, which is no header.
    let required = call.hints().require.iter();
    let required = required.flat_map(|name| [&[], name.as_bytes()]);
    for part in headers.chain(required).chain(spelled) {
        all.extend_from_slice(&(part.len() as u64).to_le_bytes());
        all.extend_from_slice(part);
    }
    all
}

/// Whether the caller may use the model and the backend of an answer that another request made.
pub(crate) fn may_have(call: &Call, model: &str, backend: &str) -> bool {
    let (principal, snapshot) = (call.principal(), call.snapshot());
    if matches!(principal.payer, Payer::Owner) {
        return true;
    }
    let candidates = snapshot.roster().resolve(model).unwrap_or_default();
    candidates.iter().any(|candidate| {
        snapshot.endpoint(candidate).name == backend
            && candidate.entry.id == model
            && entitle::may_use(principal, snapshot, call.model(), candidate)
    })
}
