//! `/v1/caps`: the caps of a key, and their change by the program that holds the key.
//!
//! The owner of the key sets a range for a cap; within it the program may move the cap, once a
//! minute. Each change is in the audit log.

use std::collections::HashSet;

use bardo_access::{
    Amendment, CapRange, KeyError, KeyRecord, KeyState, KeyStore, LimitRequest, LimitStore,
};
use bardo_engine::{Payer, Principal};
use bardo_ledger::{Dimension, ReceiptFilter, Receipts, StoreError, SumQuery};
use bardo_router::Router;
use bardo_types::calendar::DAY_MS;
use bardo_types::ids::KeyId;
use bardo_types::money::MicroUsd;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::admin::Amount;
use crate::error::Problem;

/// Bytes of a body at most.
pub(crate) const BODY_MAX: usize = 4 << 10;
/// Changes of the caps of one key per minute.
const CHANGES_PER_MINUTE: u32 = 1;
/// Tries to change a key that others change at the same time.
const TRIES: usize = 3;

/// New caps; a cap that is absent stays.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewCaps {
    day: Option<Amount>,
    month: Option<Amount>,
}

/// Answers `GET /v1/caps` with the caps of the caller's key and their ranges.
///
/// Of each cap of a subsystem it shows what was charged today; requests under way come on top.
pub(crate) async fn show(
    keys: &dyn KeyStore,
    receipts: &dyn Receipts,
    principal: &Principal,
    now_ms: u64,
    router: &Router,
) -> Result<Value, Problem> {
    let record = stored(keys, principal).await?;
    let mut shown = caps_json(&record);
    let caps = &record.scopes.subsystem_caps;
    if caps.is_empty() {
        return Ok(shown);
    }
    let store = |error: StoreError| Problem::store_unavailable(&error);
    receipts.flush().await.map_err(store)?;
    let query = SumQuery {
        filter: ReceiptFilter {
            account: Some(record.account.clone()),
            ..ReceiptFilter::between(now_ms / DAY_MS * DAY_MS, u64::MAX)
        },
        by: vec![Dimension::Key, Dimension::Subsystem],
        limit: u32::MAX,
    };
    let rows = receipts.sums(query).await.map_err(store)?;
    let kin = kin(keys, &record).await?;
    let consumed = |wanted: &str| {
        let own = rows.iter().filter(|row| {
            let name = row.group.subsystem.as_deref();
            let part = name.and_then(|name| router.subsystem(name));
            part.is_some_and(|part| part.name == wanted || part.group == wanted)
                && row.group.key.as_ref().is_some_and(|key| kin.contains(key))
        });
        let charges = own.map(|row| row.sums.charge.get());
        MicroUsd::new(charges.fold(0, u64::saturating_add))
    };
    shown["subsystems"] = caps
        .iter()
        .map(|(name, cap)| {
            let consumed = consumed(name).to_string();
            let row = json!({ "consumed": consumed, "cap": cap.to_string() });
            (name.clone(), row)
        })
        .collect::<Map<_, _>>()
        .into();
    Ok(shown)
}

/// Ids of the keys that count as one with this key: those that it replaced or that replaced it.
async fn kin(keys: &dyn KeyStore, record: &KeyRecord) -> Result<HashSet<String>, Problem> {
    let own = keys.list(Some(&record.account)).await;
    let own = own.map_err(|error| Problem::store_unavailable(&error))?;
    let kin = own
        .iter()
        .filter(|key| key.counted_as() == record.counted_as());
    Ok(kin.map(|key| key.id.to_string()).collect())
}

/// Answers `POST /v1/caps`: moves caps within their ranges.
pub(crate) async fn change(
    keys: &dyn KeyStore,
    limits: &dyn LimitStore,
    principal: &Principal,
    body: &[u8],
    now_ms: u64,
) -> Result<Value, Problem> {
    let wanted: NewCaps =
        serde_json::from_slice(body).map_err(|error| Problem::bad_caps(error.to_string()))?;
    if wanted.day.is_none() && wanted.month.is_none() {
        let message = "send `day`, `month` or both, in USD, such as {\"day\": \"1.50\"}";
        return Err(Problem::bad_caps(message.to_owned()));
    }
    let mut is_first = true;
    for _ in 0..TRIES {
        let mut record = stored(keys, principal).await?;
        let before = record.scopes.clone();
        let ranges = before.ranges;
        let spend = &mut record.scopes.spend;
        set(&mut spend.day, wanted.day.as_ref(), ranges.day, "day")?;
        set(
            &mut spend.month,
            wanted.month.as_ref(),
            ranges.month,
            "month",
        )?;
        if record.state(now_ms) != KeyState::Active {
            return Err(Problem::no_caps("this key is expired or revoked"));
        }
        if is_first {
            is_first = false;
            let request = turn(&record, now_ms);
            let admitted = limits.admit(&request).await;
            admitted.map_err(Problem::caps_too_often)?;
        }
        let how = Amendment {
            note: format!(
                "caps moved by the key itself: {} -> {}",
                before.to_json(),
                record.scopes.to_json()
            ),
            from: Some(before),
        };
        match keys.update(record.clone(), how).await {
            Ok(()) => return Ok(caps_json(&record)),
            Err(KeyError::Changed(_)) => {}
            Err(error) => return Err(Problem::store_unavailable(&error)),
        }
    }
    Err(Problem::store_unavailable(&"the key changes all the time"))
}

/// The key of a caller as the store has it now.
async fn stored(keys: &dyn KeyStore, principal: &Principal) -> Result<KeyRecord, Problem> {
    let nothing = "only a key of `keys create` has caps; the operator, users of Privy and callers without a key have none";
    let key = match &principal.payer {
        Payer::Owner => None,
        Payer::Prepaid(terms) => terms.key.as_ref(),
    };
    let key = key.ok_or_else(|| Problem::no_caps(nothing))?;
    let found = keys.find(key).await;
    let found = found.map_err(|error| Problem::store_unavailable(&error))?;
    found.ok_or_else(|| Problem::no_caps(nothing))
}

fn set(
    cap: &mut Option<MicroUsd>,
    wanted: Option<&Amount>,
    range: Option<CapRange>,
    window: &str,
) -> Result<(), Problem> {
    let Some(Amount(wanted)) = wanted else {
        return Ok(());
    };
    let Some(range) = range else {
        return Err(Problem::no_caps(&format!(
            "the owner of this key set no range for its cap per {window}: \
             bardo-gateway keys set ID --spend-{window}-range MIN..MAX"
        )));
    };
    if !range.holds(Some(*wanted)) {
        return Err(Problem::bad_caps(format!(
            "`{window}` must be within {} to {} USD",
            range.min, range.max
        )));
    }
    *cap = Some(*wanted);
    Ok(())
}

/// Counts a change under a name that no key has.
fn turn(record: &KeyRecord, now_ms: u64) -> LimitRequest {
    LimitRequest {
        account: record.account.clone(),
        key: KeyId::parse(&format!("caps_{}", record.counted_as())).ok(),
        requests_per_minute: Some(CHANGES_PER_MINUTE),
        tokens_per_minute: None,
        allowance: None,
        own_allowance: false,
        tokens: 0,
        now_ms,
    }
}

fn caps_json(record: &KeyRecord) -> Value {
    let usd = |amount: Option<MicroUsd>| amount.map(|amount| amount.to_string());
    let window = |cap: Option<MicroUsd>, range: Option<CapRange>| {
        json!({
            "cap": usd(cap),
            "min": usd(range.map(|range| range.min)),
            "max": usd(range.map(|range| range.max)),
        })
    };
    let (spend, ranges) = (&record.scopes.spend, &record.scopes.ranges);
    json!({
        "object": "caps",
        "key": record.id.as_str(),
        "currency": "USD",
        "day": window(spend.day, ranges.day),
        "month": window(spend.month, ranges.month),
    })
}
