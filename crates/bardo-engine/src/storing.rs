//! Prefixes that Gemini stores (`cachedContents`): a request names the stored prefix in place of its
//! tools and system prompt, and beside requests prefixes are stored for which that pays. Whether it
//! pays is decided in `bardo_cache::prefix`.
//!
//! The owner of the gateway pays for storing. It has receipts of its own, under the account
//! [`STORED_PREFIX_ACCOUNT`].

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bardo_cache::prefix::{Millis, PrefixId, StorageCase, StoragePlan, StorageRates, StorageStep};
use bardo_providers::transport::UpstreamBody;
use bardo_types::chat::{ChatRequest, Message, Role, Text};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::model::{Dialect, Price, Service};
use bardo_types::money::MicroUsd;
use bardo_types::receipt::STORED_PREFIX_ACCOUNT;
use bardo_types::usage::Usage;
use bardo_wire::json::scan;
use bardo_wire::splice::{Edit, splice};
use bytes::Bytes;
use http::{Method, Response, Uri};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::cache_policy::StoredPrefixPolicy;
use crate::call::Call;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::leg::Leg;
use crate::leg_cache::may_be_kept;
use crate::lifecycle::Lifecycle;
use crate::partition::prompt_owner;
use crate::plan::{Plan, Planned};
use crate::prompt_cache::texts_id;
use crate::received::Task;
use crate::shape::{AnswerMode, Shaped, shape};
use crate::stored_calls::{StoreFailure, ask_store, names_the_prefix, tell};
use crate::stored_prefixes::StoredPrefix;

/// The members of a request that a stored prefix holds.
const HELD: [&str; 3] = ["systemInstruction", "tools", "toolConfig"];
/// Fewest tokens that Gemini stores, where the catalog does not say it.
const MINIMUM: u64 = 4_096;
/// The provider's count of tokens is believed up to so many times the estimate.
const TIMES_BELIEVED: u64 = 4;
/// Longest prefix that is stored, in bytes.
const PREFIX_MAX: usize = 4 << 20;

/// The prefix of one request that may be stored, with what it takes to store it.
struct Prefix {
    id: PrefixId,
    policy: StoredPrefixPolicy,
    case: StorageCase,
    /// The held members as they lie in the body, each with its name.
    members: String,
    /// What a stored prefix would be, without its name.
    stored: StoredPrefix,
}

impl Engine {
    /// As [`Engine::attempt`], with the stored prefix of the request where there is one. A provider
    /// that does not have it any more refuses the request, which is then sent once as it was.
    pub(crate) async fn attempt_stored(
        self: &Arc<Self>,
        call: &Call,
        shaped: &mut Shaped,
        left: Duration,
    ) -> Result<Response<UpstreamBody>, Failure> {
        match prefix_of(call, shaped) {
            None => pin!(self.attempt(call, shaped, left)).await,
            // Boxed, since most requests have none.
            Some(prefix) => Box::pin(self.attempt_with(prefix, call, shaped, left)).await,
        }
    }

    async fn attempt_with(
        self: &Arc<Self>,
        prefix: Prefix,
        call: &Call,
        shaped: &mut Shaped,
        left: Duration,
    ) -> Result<Response<UpstreamBody>, Failure> {
        let asked = Instant::now();
        // A flush while the provider answers means this prefix too.
        let flushes = self.prompt_caches.stored.flush_count();
        let now = self.prompt_caches.millis(asked);
        let plain = shaped.body.clone();
        let used = self.prompt_caches.stored.usable(prefix.id, now);
        let mut is_named = false;
        if let Some(body) = used.as_ref().and_then(|used| naming(&plain, &used.name)) {
            shaped.body = body;
            is_named = true;
        }
        let mut answered = self.attempt(call, shaped, left).await;
        if let (Err(failure), Some(used), true) = (&answered, &used, is_named)
            && may_be_about_the_prefix(failure)
        {
            let is_told = names_the_prefix(failure);
            shaped.body = plain;
            is_named = false;
            let left = left.saturating_sub(asked.elapsed());
            answered = self.attempt(call, shaped, left).await;
            // What is accepted without the prefix was refused for it, whatever the words.
            if is_told || answered.is_ok() {
                self.prefix_lost(prefix.id, used);
            }
        }
        if answered.is_ok() {
            if let Some(cache) = &shaped.leg.prompt_cache {
                let _ = cache.stored.set((prefix.id, is_named));
            }
            self.order_storage(call, &shaped.leg, prefix, (now, flushes));
        }
        answered
    }

    /// Starts what pays beside a request that was answered. Nothing waits for it.
    fn order_storage(
        self: &Arc<Self>,
        call: &Call,
        leg: &Arc<Leg>,
        prefix: Prefix,
        (now, flushes): (Millis, u64),
    ) {
        let limits = &prefix.policy.limits;
        let step = self
            .prompt_caches
            .stored
            .seen(prefix.id, &prefix.case, limits, now);
        let (engine, call, leg) = (Arc::clone(self), call.clone(), Arc::clone(leg));
        let (stored, runtime) = (&self.prompt_caches.stored, Handle::current());
        match step {
            StorageStep::None => {}
            StorageStep::Create(plan) => stored.carry_out(&runtime, async move {
                engine
                    .store_prefix(&call, &leg, prefix, (plan, flushes))
                    .await;
            }),
            StorageStep::Extend(known, plan) => stored.carry_out(&runtime, async move {
                engine
                    .store_longer(&call, &leg, &prefix, &known, plan)
                    .await;
            }),
        }
    }

    async fn store_prefix(
        self: &Arc<Self>,
        call: &Call,
        leg: &Leg,
        prefix: Prefix,
        (plan, begun): (StoragePlan, u64),
    ) {
        let display_name = format!(
            "bardo-{}-{}",
            call.request_id(),
            self.prompt_caches.stored.next()
        );
        let model = Value::from(format!("models/{}", leg.candidate.entry.upstream_id));
        let body = format!(
            r#"{{"model":{model},{},"ttl":"{}s","displayName":"{display_name}"}}"#,
            prefix.members, plan.ttl_s
        );
        let asked = self.prompt_caches.millis(Instant::now());
        let target = prefix.stored.endpoint.stored_prefix(None, "");
        let order = Order {
            method: Method::POST,
            target,
            body: body.into(),
            seconds: plan.ttl_s,
            is_new: true,
        };
        let table = &self.prompt_caches.stored;
        match self.ordered(call, leg, &prefix, order).await {
            Ok(done) if done.name.is_some() => {
                let stored = StoredPrefix {
                    name: done.name.unwrap_or_default().into(),
                    tokens: done.tokens,
                    ..prefix.stored
                };
                tell(
                    &self.services,
                    &stored,
                    "created",
                    (plan.ttl_s, done.cost, plan.saving),
                );
                let expires = asked.saturating_add(plan.ttl_s.saturating_mul(1_000));
                let spent = (plan.cost, done.cost.unwrap_or(plan.cost));
                // A reload looks for what it does not want before this or after it.
                let is_wanted = |stored: &StoredPrefix| {
                    let world = self.snapshot();
                    world.stores_at(&stored.endpoint)
                };
                let kept = table.created(prefix.id, stored, (expires, spent), begun, is_wanted);
                if let Err(stored) = kept {
                    self.prefix_deleter().delete(stored).await;
                }
            }
            // An answer that does not say what it stored is no better than none.
            Ok(_) => self.not_stored(&prefix, plan, true, &display_name),
            Err(is_unknown) => self.not_stored(&prefix, plan, is_unknown, &display_name),
        }
    }

    /// A prefix was not stored, or nobody knows whether it was: then it counts as stored until its
    /// time is over, and what may be there is deleted.
    fn not_stored(&self, prefix: &Prefix, plan: StoragePlan, is_unknown: bool, name: &str) {
        self.prompt_caches
            .stored
            .not_created(prefix.id, plan.cost, is_unknown);
        let result = if is_unknown { "unknown" } else { "failed" };
        let cost = is_unknown.then_some(plan.cost);
        tell(
            &self.services,
            &prefix.stored,
            result,
            (0, cost, MicroUsd::ZERO),
        );
        if is_unknown {
            let stored = prefix.stored.clone();
            self.prefix_deleter().delete_named(stored, name, plan.ttl_s);
        }
    }

    async fn store_longer(
        self: &Arc<Self>,
        call: &Call,
        leg: &Leg,
        prefix: &Prefix,
        stored: &StoredPrefix,
        plan: StoragePlan,
    ) {
        let asked = self.prompt_caches.millis(Instant::now());
        let order = Order {
            method: Method::PATCH,
            target: stored
                .endpoint
                .stored_prefix(Some(&stored.name), "?updateMask=ttl"),
            body: format!(r#"{{"ttl":"{}s"}}"#, plan.ttl_s).into(),
            seconds: plan.added_s,
            is_new: false,
        };
        let table = &self.prompt_caches.stored;
        let done = self.ordered(call, leg, prefix, order).await;
        let until = done
            .is_ok()
            .then(|| asked.saturating_add(plan.ttl_s.saturating_mul(1_000)));
        let is_unknown = matches!(done, Err(true));
        table.extended(prefix.id, until, plan.cost, is_unknown);
        let (result, cost) = match done {
            Ok(done) => ("extended", done.cost),
            Err(true) => ("unknown", Some(plan.cost)),
            Err(false) => ("failed", None),
        };
        tell(
            &self.services,
            stored,
            result,
            (plan.ttl_s, cost, plan.saving),
        );
    }

    /// Gives an order to the provider and books what it costs. Fails with whether the provider may
    /// have carried it out.
    async fn ordered(
        self: &Arc<Self>,
        call: &Call,
        leg: &Leg,
        prefix: &Prefix,
        order: Order,
    ) -> Result<Done, bool> {
        let begun = self.booked(call, leg).await.ok_or(false)?;
        let (call, mut shaped, life) = begun;
        shaped.target = order.target.ok_or(false)?;
        shaped.body = order.body;
        let mut sent = life.sent(&call, &shaped);
        let endpoint = &shaped.leg.endpoint;
        let asked = ask_store(
            &self.transport,
            endpoint,
            order.method,
            shaped.target.clone(),
            shaped.body.clone(),
        );
        let answer = match asked.await {
            Ok(answer) => answer,
            Err(StoreFailure {
                failure,
                is_unknown,
            }) => {
                if let Some(reserved) = sent.failed(&failure).await {
                    reserved.failed();
                }
                return Err(is_unknown);
            }
        };
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let told = answer["usageMetadata"]["totalTokenCount"].as_u64();
        let most = prefix.case.tokens.saturating_mul(TIMES_BELIEVED);
        let tokens = match told {
            Some(told) if order.is_new => told.min(most),
            None if order.is_new => prefix.case.tokens,
            _ => prefix.stored_tokens(&answer),
        };
        let case = StorageCase {
            tokens,
            ..prefix.case
        };
        let price = Price {
            input: case.rates.input,
            request: case.fee(order.seconds),
            ..Price::default()
        };
        let usage = Usage {
            fresh_input: if order.is_new { tokens } else { 0 },
            ..Usage::default()
        };
        sent.record_mut().ordered(usage, price);
        let cost = match sent.answered().at_once() {
            Ok(concluded) => concluded.record().receipt().amounts.provider_cost,
            Err(unsettled) => {
                drop(unsettled);
                None
            }
        };
        Ok(Done {
            name: answer["name"].as_str().map(str::to_owned),
            tokens,
            cost,
        })
    }

    /// The books of an order, at the owner's cost and under the configuration of now.
    async fn booked(
        self: &Arc<Self>,
        call: &Call,
        leg: &Leg,
    ) -> Option<(Call, Shaped, Lifecycle<crate::lifecycle::Reserved>)> {
        let number = self.prompt_caches.stored.next();
        let id = RequestId::parse(&format!("{}_store{number}", call.request_id())).ok()?;
        let account = AccountId::parse(STORED_PREFIX_ACCOUNT).ok()?;
        let mut request = ChatRequest::new(call.dialect(), call.model().to_string());
        let turn = Message::new(Role::User, vec![Text::new(".".to_owned()).into()]);
        request.messages.push(turn);
        request.max_output_tokens = Some(1);
        let body = call
            .request_body()
            .alone(request, account.as_str(), &self.memory);
        let call = call.shortened(body).again_as(id).paid_by_owner(account);
        let call = call.in_world(self.snapshot());
        if !call.snapshot().stores_at(&leg.endpoint) {
            return None;
        }
        let world = call.snapshot();
        let candidate = world.candidate_at(&leg.candidate.entry.id, &leg.endpoint.name)?;
        let leg = Leg {
            prompt_cache: None,
            ..self.leg(&call, None, candidate).ok()?
        };
        let legs = [Arc::new(leg)];
        let mut limited = self.limit(call).await.ok()?;
        limited.planned(&legs);
        let [leg] = legs;
        let planned = Planned::new(limited, Plan::of_leg(leg));
        let (call, plan, grant, life) = self.reserve(planned).await.ok()?.into_parts();
        match shape(&call, plan.legs().first()?, grant, &[], &self.memory) {
            Ok(shaped) => Some((call, shaped, life)),
            Err(_) => {
                life.failed();
                None
            }
        }
    }
}

/// What the provider is told.
struct Order {
    method: Method,
    target: Option<Uri>,
    body: Bytes,
    /// Time whose storage it costs.
    seconds: u64,
    /// The prefix is sent, and billed as input.
    is_new: bool,
}

/// What came of an order.
struct Done {
    name: Option<String>,
    tokens: u64,
    cost: Option<MicroUsd>,
}

impl Prefix {
    /// Tokens of a prefix that is stored, as far as the provider tells them.
    fn stored_tokens(&self, answer: &Value) -> u64 {
        let told = answer["usageMetadata"]["totalTokenCount"].as_u64();
        told.unwrap_or(self.case.tokens)
            .min(self.case.tokens.saturating_mul(TIMES_BELIEVED))
    }
}

/// The prefix of a request, where it may be stored: translated for Gemini itself, by the owner's
/// leave, with known prices, and without any wish for protection.
fn prefix_of(call: &Call, shaped: &Shaped) -> Option<Prefix> {
    let policy = call.snapshot().setup.stored_prefixes?;
    let leg = &shaped.leg;
    let AnswerMode::Transcode(translation) = &shaped.mode else {
        return None;
    };
    let is_meant = shaped.leg.endpoint.service == Service::Google
        && shaped.dialect == Dialect::Gemini
        && call.task() == Task::Generate
        && call.hints().ephemeral.is_empty()
        && may_be_kept(leg.routed.as_ref());
    if !is_meant || shaped.body.len() > PREFIX_MAX {
        return None;
    }
    let entry = &leg.candidate.entry;
    let request = &translation.decode.request;
    let tokens = request.system_tokens();
    let minimum = match entry.capabilities.cache_minimum_tokens {
        0 => MINIMUM,
        known => known,
    };
    // What cannot be stored takes no place among what may be.
    if tokens < minimum {
        return None;
    }
    let price = entry.price?.for_prompt(request.prompt_tokens());
    let top = scan(&shaped.body).ok()?;
    if top.member("cachedContent").is_some() {
        return None;
    }
    let held = HELD.map(|key| top.get(key));
    let own: Vec<String> = HELD
        .iter()
        .zip(held)
        .filter_map(|(key, value)| Some(format!(r#""{key}":{}"#, value?)))
        .collect();
    if own.is_empty() {
        return None;
    }
    let agent = call.hints().route.as_deref();
    let agent = agent.and_then(|hints| hints.golem_id.as_deref());
    let [system, tools, config] = held.map(Option::unwrap_or_default);
    let id = texts_id(&[
        &call.principal().prompts_of(),
        agent.unwrap_or_default(),
        &shaped.leg.endpoint.name,
        &entry.upstream_id,
        system,
        tools,
        config,
    ]);
    Some(Prefix {
        id,
        policy,
        case: StorageCase {
            rates: StorageRates {
                input: price.input,
                read: price.cache_read?,
                hour: policy.hour,
            },
            tokens,
            minimum,
        },
        members: own.join(","),
        stored: StoredPrefix {
            name: "".into(),
            endpoint: Arc::clone(&shaped.leg.endpoint),
            owner: prompt_owner(call),
            model: entry.id.as_str().into(),
            tokens,
        },
    })
}

/// A body with the name of a stored prefix in place of what that holds.
fn naming(plain: &Bytes, name: &str) -> Option<Bytes> {
    let top = scan(plain).ok()?;
    let mut edits: Vec<Edit> = HELD
        .into_iter()
        .filter(|key| top.member(key).is_some())
        .map(|key| Edit::Remove { key })
        .collect();
    edits.push(Edit::set_string("cachedContent", name));
    Some(splice(&top, &edits).into())
}

/// Whether a provider may have refused the stored prefix, and not the request. Gemini has several
/// answers for a prefix that it does not have any more: 400 once it has expired, 403 or 404 else.
const fn may_be_about_the_prefix(failure: &Failure) -> bool {
    matches!(failure.fault.status, Some(400 | 403 | 404))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_prefix_replaces_what_it_holds_and_nothing_else_moves() {
        let plain = Bytes::from_static(
            br#"{"systemInstruction":{"parts":[{"text":"a"}]},"contents":[ 1, 2 ],"tools":[3],"generationConfig":{"seed":1}}"#,
        );
        let named = naming(&plain, "cachedContents/x").expect("an object");
        assert_eq!(
            std::str::from_utf8(&named),
            Ok(
                r#"{"contents":[ 1, 2 ],"generationConfig":{"seed":1},"cachedContent":"cachedContents/x"}"#
            )
        );
    }
}
