//! Invalidation: an operator tells what has changed, and answers that depend on it are removed.

use bardo_cache::store::Flush;
use bardo_cache::tags::{BadTag, CacheTag};
use bardo_cache::ttl::MarketRegime;
use bardo_engine::{Engine, FlushCause, Invalidated};
use bardo_types::ids::AccountId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{account, shown};
use crate::operator::{Operator, OperatorError};

/// Most names in one list of an order.
const NAMES_MAX: usize = 1_000;

/// What has changed. Answers that depend on any of it are removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct InvalidateOrder {
    /// Account or key whose answers alone are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    /// Chain of the addresses, for logs. An address is removed whatever chain it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chain: Option<String>,
    /// Addresses of contracts, pools or positions.
    #[serde(skip_serializing_if = "Vec::is_empty", alias = "pools")]
    pub(crate) addresses: Vec<String>,
    /// Tickers of tokens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tokens: Vec<String>,
    /// Domains, such as `defi`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) domains: Vec<String>,
    /// Digests of playbooks, as `cache explain` shows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) playbooks: Vec<String>,
    /// Answers whose lifetime depends on the market.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) market: bool,
    /// Regime of requests that name none; `none` takes it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) regime: Option<String>,
}

/// The beginning of a wrong name, for an error.
fn short(name: &str) -> String {
    name.chars().take(64).collect()
}

impl InvalidateOrder {
    /// The flushes of an order for `account`, and their cause.
    ///
    /// # Errors
    /// When the order names nothing, or too much.
    fn flushes(&self, account: Option<&AccountId>) -> Result<(Vec<Flush>, FlushCause), String> {
        type Parse = fn(&str) -> Result<CacheTag, BadTag>;
        let lists: [(&str, &[String], Parse); 4] = [
            ("addresses", &self.addresses, CacheTag::of_pool),
            ("tokens", &self.tokens, CacheTag::of_token),
            ("domains", &self.domains, |name| {
                Ok(CacheTag::Domain(name.into()))
            }),
            ("playbooks", &self.playbooks, CacheTag::of_playbook),
        ];
        let mut flushes = Vec::new();
        for (name, list, parse) in lists {
            if list.len() > NAMES_MAX {
                return Err(format!("`{name}` has more than {NAMES_MAX} names"));
            }
            for one in list.iter().map(|one| one.trim()) {
                if one.is_empty() {
                    return Err(format!("`{name}` has an empty name"));
                }
                let tag = parse(one).map_err(|bad| format!("`{}` {bad}", short(one)))?;
                flushes.push(Flush::Tag(account.cloned(), tag));
            }
        }
        if self.market {
            flushes.push(Flush::Market(account.cloned()));
        }
        if flushes.is_empty() && self.regime.is_none() {
            let said = match &self.chain {
                Some(_) => "`chain` alone removes nothing: name `addresses` or `tokens` too",
                None => {
                    "say what has changed: `addresses` (or `pools`), `tokens`, `domains`, `playbooks`, \
                    `market` or `regime`; `account` narrows all but `regime`"
                }
            };
            return Err(said.to_owned());
        }
        let is_on_chain = !self.addresses.is_empty() || self.chain.is_some();
        let cause = if is_on_chain {
            FlushCause::Chain
        } else if self.playbooks.is_empty() {
            FlushCause::Operator
        } else {
            FlushCause::Playbook
        };
        Ok((flushes, cause))
    }

    /// The regime to set; `None`: it stays.
    ///
    /// # Errors
    /// When no regime has that name.
    fn regime(&self) -> Result<Option<Option<MarketRegime>>, String> {
        match self.regime.as_deref() {
            None => Ok(None),
            Some("none") => Ok(Some(None)),
            Some(name) => match MarketRegime::parse(name) {
                Some(regime) => Ok(Some(Some(regime))),
                None => Err(format!(
                    "unknown regime `{name}`; use calm (or sideways, ranging), normal (or bull, bear, \
                    trending), volatile (or high_vol), crisis (or crash, panic), or none"
                )),
            },
        }
    }

    /// Refuses what no server could carry out.
    ///
    /// # Errors
    /// The fault in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.regime()?;
        if self.regime.is_some() && self.account.is_some() {
            return Err(
                "send `regime` without an `account`: it is that of all requests that name none"
                    .to_owned(),
            );
        }
        self.flushes(None).map(drop)
    }
}

/// Carries out an order of an operator, whose account may be named by a key.
///
/// # Errors
/// When the order is invalid, the account is unknown, or the store does not answer.
pub(crate) async fn invalidate(
    operator: &Operator,
    engine: &Engine,
    order: &InvalidateOrder,
) -> Result<Value, OperatorError> {
    order.check().map_err(OperatorError::Invalid)?;
    let account = match &order.account {
        None => None,
        Some(name) => Some(account(operator, engine.cache(), name).await?),
    };
    let (flushes, cause) = order
        .flushes(account.as_ref())
        .map_err(OperatorError::Invalid)?;
    let mut done = Invalidated::default();
    if let Some(regime) = order.regime().map_err(OperatorError::Invalid)? {
        done = engine.set_regime(regime).await;
    }
    if !flushes.is_empty() {
        done = sum(done, engine.invalidate(&flushes, cause).await);
    }
    tracing::info!(
        removed = done.removed,
        cause = cause.as_str(),
        chain = order.chain.as_deref(),
        "stored answers were invalidated"
    );
    let mut shown = shown(&done);
    if order.regime.is_some() {
        let regime = engine.regime();
        shown["regime"] = json!(regime.map(MarketRegime::as_str));
    }
    Ok(shown)
}

fn sum(one: Invalidated, other: Invalidated) -> Invalidated {
    Invalidated {
        removed: one.removed + other.removed,
        second: match (one.second, other.second) {
            (Some(one), Some(other)) => Some(one.and_then(|one| Ok(one.saturating_add(other?)))),
            (one, other) => one.or(other),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(json: Value) -> InvalidateOrder {
        serde_json::from_value(json).expect("an order")
    }

    #[test]
    fn an_event_on_a_chain_names_what_depends_on_it() {
        let pool = "0xC02aaa39b223FE8D0A0e5C4F27eAD9083C756Cc2";
        let event = order(json!({ "chain": "base", "pools": [pool], "tokens": ["eth"] }));
        let tag = |tag| Flush::Tag(None, tag);
        let expected = vec![
            tag(CacheTag::Pool(pool.into())),
            tag(CacheTag::Token("eth".into())),
        ];
        assert_eq!(event.flushes(None), Ok((expected, FlushCause::Chain)));
        let own = AccountId::parse("a").expect("an id");
        let (flushes, cause) = order(json!({ "market": true }))
            .flushes(Some(&own))
            .expect("an order");
        assert_eq!(flushes, [Flush::Market(Some(own))]);
        assert_eq!(cause, FlushCause::Operator);
    }

    #[test]
    fn an_order_without_an_effect_or_with_a_wrong_name_is_refused() {
        for wrong in [
            json!({}),
            json!({ "chain": "base" }),
            json!({ "tokens": [" "] }),
            json!({ "playbooks": ["zz"] }),
            json!({ "regime": "wild" }),
            json!({ "regime": "calm", "account": "a" }),
            json!({ "tokens": vec!["ETH"; NAMES_MAX + 1] }),
        ] {
            assert!(order(wrong.clone()).check().is_err(), "{wrong}");
        }
        for right in [json!({ "regime": "none" }), json!({ "regime": "crash" })] {
            assert_eq!(order(right).check(), Ok(()));
        }
    }
}
