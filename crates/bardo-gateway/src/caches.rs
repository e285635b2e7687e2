//! What operators and accounts see of stored answers, and what they remove.

mod evidence;
mod invalidate;
mod prefixes;
mod semantic;

use bardo_cache::scope::{Namespace, Scope};
use bardo_cache::sealed::Sealer;
use bardo_cache::second::{LevelLosses, Loss};
use bardo_cache::store::{Flush, Stats};
use bardo_cache::tags::{BadTag, CacheTag};
use bardo_engine::{AnswerCache, Engine, FlushCause, Invalidated, bounded_name};
use bardo_telemetry::CacheGauges;
use bardo_types::ids::AccountId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zeroize::Zeroizing;

pub(crate) use self::evidence::EvidenceFile;
pub(crate) use self::invalidate::{InvalidateOrder, invalidate};
pub(crate) use self::prefixes::{prompt_cache_words, with_prompt_caches};
pub(crate) use self::semantic::{explained, explained_words, stats_words, told};
use crate::operator::{Operator, OperatorError};

/// What encrypts answers of class `private`, under a key that is new and never leaves the process.
pub(crate) fn sealer() -> Option<Sealer> {
    let mut key = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *key).ok()?;
    Some(Sealer::new(key))
}

/// What a flush removes. Members narrow it: `account` alone, or together with one of the others;
/// `agent` needs an account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FlushOrder {
    /// Every entry of every account.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) all: bool,
    /// Entries that this account paid for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    /// Entries of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// Entries of this domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) domain: Option<String>,
    /// Entries whose prompts name this token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// Entries whose prompts name this pool or contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    /// Entries whose prompts carry this playbook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) playbook: Option<String>,
    /// Entries whose lifetime depends on the regime.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) market: bool,
}

/// The members that narrow a flush, for errors.
macro_rules! narrow {
    () => {
        "`agent` (with `account`), `domain`, `token`, `pool`, `playbook`, `market`"
    };
}

/// Why a flush was not carried out, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadFlush {
    /// The order as a whole is wrong.
    #[error("{0}")]
    Order(&'static str),
    /// A member has a name that no answer can depend on.
    #[error("`{0}` {1}")]
    Name(&'static str, BadTag),
}

impl FlushOrder {
    /// The order of an account, which reaches its own entries alone.
    pub(crate) fn of(self, account: &AccountId) -> Self {
        Self {
            all: false,
            account: Some(account.as_str().to_owned()),
            ..self
        }
    }

    /// What the store is told. `scope` is that of the cache.
    ///
    /// # Errors
    /// When it does not say what to remove, says it twice, or names an agent where answers have none.
    pub(crate) fn read(&self, scope: Scope) -> Result<Flush, BadFlush> {
        let account = self.account.as_deref().map(AccountId::parse).transpose();
        let account =
            account.map_err(|_| BadFlush::Order("`account` is not an id of an account"))?;
        let names = [
            &self.agent,
            &self.domain,
            &self.token,
            &self.pool,
            &self.playbook,
        ];
        let mut given = names.into_iter().flatten();
        if given.any(|name| name.trim().is_empty()) {
            return Err(BadFlush::Order(concat!(
                "a name is empty in one of ",
                narrow!()
            )));
        }
        type Parse = fn(&str) -> Result<CacheTag, BadTag>;
        let name = |member, name: &Option<String>, parse: Parse| {
            let tag = name.as_deref().map(str::trim).map(parse).transpose();
            tag.map_err(|bad| BadFlush::Name(member, bad))
        };
        let tags = [
            self.domain
                .as_deref()
                .and_then(bounded_name)
                .map(CacheTag::Domain),
            name("token", &self.token, CacheTag::of_token)?,
            name("pool", &self.pool, CacheTag::of_pool)?,
            name("playbook", &self.playbook, CacheTag::of_playbook)?,
        ];
        let mut orders: Vec<Flush> = tags
            .into_iter()
            .flatten()
            .map(|tag| Flush::Tag(account.clone(), tag))
            .collect();
        if let Some(agent) = self.agent.as_deref().and_then(bounded_name) {
            let account = account.clone();
            let account = account.ok_or(BadFlush::Order("`agent` needs an `account`"))?;
            if scope != Scope::Agent {
                return Err(BadFlush::Order(
                    "`agent` cannot be used with `cache.scope: tenant`: the agents of an account share \
                    its answers; leave `agent` out to remove those of the account",
                ));
            }
            let namespace = Namespace::agent(&account, &agent);
            orders.push(Flush::Namespace(account, namespace));
        }
        if self.market {
            orders.push(Flush::Market(account.clone()));
        }
        if self.all {
            orders.push(Flush::All);
        }
        match (orders.pop(), account) {
            (Some(order), _) if orders.is_empty() => match (&order, &self.account) {
                (Flush::All, Some(_)) => Err(BadFlush::Order("send `all` without an `account`")),
                _ => Ok(order),
            },
            (Some(_), _) => Err(BadFlush::Order(concat!(
                "send one of ",
                narrow!(),
                " and `all`"
            ))),
            (None, Some(account)) => Ok(Flush::Tenant(account)),
            (None, None) => Err(BadFlush::Order(concat!(
                "say what to remove: `account`, ",
                narrow!(),
                " or `all`"
            ))),
        }
    }
}

/// The account that a name means: the id or text of a key, or an account. Accounts of callers
/// without a stored key are known while they have figures or stored answers. Where gateways share
/// answers, another one may know an account that this one does not.
///
/// # Errors
/// When the name is unknown, or the store does not answer.
pub(crate) async fn account(
    operator: &Operator,
    cache: &AnswerCache,
    name: &str,
) -> Result<AccountId, OperatorError> {
    let found = operator.account(name).await;
    if let Err(OperatorError::Unknown(_) | OperatorError::Unavailable(_)) = &found
        && let Ok(account) = AccountId::parse(name)
        && (cache.second().is_some() || cache.store().tenants().contains(&account))
    {
        return Ok(account);
    }
    found
}

/// Carries out an order of an operator, whose account may be named by a key.
///
/// # Errors
/// When the order is invalid, the account is unknown, or the store does not answer.
pub(crate) async fn flush_for_operator(
    operator: &Operator,
    engine: &Engine,
    mut order: FlushOrder,
) -> Result<Value, OperatorError> {
    if let Some(name) = &order.account {
        let account = account(operator, engine.cache(), name).await?;
        order.account = Some(account.as_str().to_owned());
    }
    let order = order
        .read(engine.snapshot().cache.scope)
        .map_err(|error| OperatorError::Invalid(error.to_string()))?;
    Ok(flush(engine, &order, FlushCause::Operator).await)
}

/// Removes what an order names, here and in the level behind.
pub(crate) async fn flush(engine: &Engine, order: &Flush, cause: FlushCause) -> Value {
    let done = engine.invalidate(std::slice::from_ref(order), cause).await;
    tracing::info!(removed = done.removed, "stored answers were flushed");
    shown(&done)
}

/// What was removed, as answers show it.
fn shown(done: &Invalidated) -> Value {
    let mut shown = json!({ "flushed": done.removed });
    match &done.second {
        None => {}
        Some(Ok(removed)) => shown["second_level"] = json!({ "flushed": removed }),
        Some(Err(loss)) => shown["second_level"] = json!({ "error": loss.to_string() }),
    }
    shown
}

/// The figures of one account.
fn stats_of(cache: &AnswerCache, account: &AccountId) -> Value {
    let mut shown = figures(&cache.store().stats_of(account));
    shown["account"] = json!(account.as_str());
    shown
}

/// Figures of stored answers and of providers' prompt caches, of one account or of all.
pub(crate) async fn all_figures(
    operator: &Operator,
    cache: &AnswerCache,
    account: Option<&AccountId>,
) -> Value {
    let stored = account.map_or_else(|| stats(cache), |account| stats_of(cache, account));
    with_prompt_caches(operator, account, stored).await
}

/// Figures of the account with a name, or with a key of this id.
///
/// # Errors
/// When there is none, or the store does not answer.
pub(crate) async fn of_account(
    operator: &Operator,
    cache: &AnswerCache,
    name: &str,
) -> Result<Value, OperatorError> {
    let account = account(operator, cache, name).await?;
    Ok(all_figures(operator, cache, Some(&account)).await)
}

/// The figures of all accounts together, and of the largest.
pub(crate) fn stats(cache: &AnswerCache) -> Value {
    const SHOWN: usize = 20;
    let store = cache.store();
    let mut shown = figures(&store.stats());
    let counts = cache.counts();
    shown["followed"] = json!(counts.followed);
    shown["last_resorts"] = json!(counts.last_resorts);
    shown["max_bytes"] = json!(store.limits().bytes);
    let reasons = |reasons: &[(&'static str, u64)]| {
        let rows = reasons
            .iter()
            .map(|(name, count)| ((*name).to_owned(), json!(count)));
        Value::Object(rows.collect())
    };
    shown["bypassed"] = reasons(&counts.bypassed);
    shown["unstored"] = reasons(&counts.unstored);
    shown["semantic"] = semantic::stats(&cache.meaning().counts());
    shown["invalidations"] = reasons(&counts.invalidations);
    if let Some(second) = cache.second() {
        shown["second_level"] = json!({
            "mode": second.mode(),
            "knows_removals": cache.knows_removals(),
            "losses": reasons(&losses(second.losses())),
        });
    }
    let largest = store.tenants().into_iter().take(SHOWN);
    let accounts = largest.map(|account| {
        let mut row = figures(&store.stats_of(&account));
        row["account"] = json!(account.as_str());
        row
    });
    shown["accounts"] = accounts.collect();
    shown
}

fn figures(stats: &Stats) -> Value {
    let looked = stats.hits + stats.misses;
    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    let rate = (looked > 0).then(|| stats.hits as f64 / looked as f64);
    json!({
        "entries": stats.entries,
        "bytes": stats.bytes,
        "hits": stats.hits,
        "misses": stats.misses,
        "semantic_hits": stats.similar,
        "hit_rate": rate,
        "stored": stats.stored,
        "evicted": stats.evicted,
        "expired": stats.expired,
        "flushed": stats.flushed,
        "saved_usd": stats.saved.to_string(),
    })
}

/// The figures for metrics.
pub(crate) fn gauges(engine: &Engine) -> CacheGauges {
    let cache = engine.cache();
    let (stats, counts) = (cache.store().stats(), cache.counts());
    CacheGauges {
        entries: stats.entries,
        bytes: stats.bytes,
        saved_micro_usd: stats.saved.get(),
        events: vec![
            ("hit", stats.hits),
            ("miss", stats.misses),
            ("followed", counts.followed),
            ("last_resort", counts.last_resorts),
            ("stored", stats.stored),
            ("evicted", stats.evicted),
            ("expired", stats.expired),
            ("flushed", stats.flushed),
        ],
        bypassed: counts.bypassed,
        unstored: counts.unstored,
        second_level_losses: cache
            .second()
            .map_or_else(Vec::new, |second| losses(second.losses())),
        shared_losses: engine
            .shared()
            .map_or_else(Vec::new, |shared| losses(shared.losses())),
        semantic: semantic::gauges(cache.meaning().counts()),
        invalidations: counts.invalidations,
    }
}

/// What a store behind the memory of this process lost, by reason.
fn losses(losses: &LevelLosses) -> Vec<(&'static str, u64)> {
    let of = |loss: Loss| (loss.as_str(), losses.of(loss));
    Loss::ALL.map(of).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(order: Value) -> Result<Flush, BadFlush> {
        let order: FlushOrder = serde_json::from_value(order).expect("an order");
        order.read(Scope::Agent)
    }

    fn account(name: &str) -> AccountId {
        AccountId::parse(name).expect("an id")
    }

    #[test]
    fn an_order_says_what_to_remove_once() {
        assert_eq!(read(json!({ "all": true })), Ok(Flush::All));
        let tenant = Flush::Tenant(account("a"));
        assert_eq!(read(json!({ "account": "a" })), Ok(tenant));
        let tag = CacheTag::Token("ETH".into());
        let order = Flush::Tag(Some(account("a")), tag.clone());
        assert_eq!(read(json!({ "account": "a", "token": "ETH" })), Ok(order));
        assert_eq!(read(json!({ "token": "ETH" })), Ok(Flush::Tag(None, tag)));
        assert_eq!(read(json!({ "market": true })), Ok(Flush::Market(None)));
        for wrong in [
            json!({}),
            json!({ "agent": "g" }),
            json!({ "account": "a", "all": true }),
            json!({ "token": "ETH", "domain": "defi" }),
            json!({ "token": "₮" }),
            json!({ "pool": "0x1" }),
            json!({ "playbook": "zz" }),
            json!({ "account": "" }),
            json!({ "domain": " " }),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_account_reaches_its_own_entries_alone_whatever_it_orders() {
        let own = account("own");
        for order in [
            json!({ "all": true }),
            json!({ "account": "other" }),
            json!({ "account": "other", "domain": "defi" }),
            json!({ "agent": "g" }),
            json!({ "market": true }),
        ] {
            let asked: FlushOrder = serde_json::from_value(order).expect("an order");
            let flush = asked.of(&own).read(Scope::Agent).expect("it is understood");
            assert_eq!(flush.tenant(), Some(&own));
        }
    }
}
