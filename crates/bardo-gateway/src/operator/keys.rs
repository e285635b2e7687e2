use std::time::Duration;

use bardo_access::{
    Amendment, CachePermission, CapRange, KeyMakingError, KeyRecord, KeyState, KeyTier,
    PresentedKey, hash_secret,
};
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::{BasisPoints, MicroUsd};
use serde_json::{Value, json};

use super::scopes::{check_ranges, read_scopes, version};
use super::{Operator, OperatorError, Unseen};

/// The last millisecond of the year 9999. Stores and calendars support no later one.
const END_OF_TIME_MS: u64 = 253_402_300_799_999;

/// The properties of a new key.
#[derive(Debug, Default)]
pub(crate) struct KeySpec {
    pub(crate) name: String,
    /// An account or the id of one of its keys; `None`: a new account.
    pub(crate) account: Option<String>,
    /// Whether a name in `account` that is unknown creates an account.
    pub(crate) unseen: Unseen,
    pub(crate) scopes: Vec<String>,
    pub(crate) tier: Option<String>,
    pub(crate) deposit: Option<MicroUsd>,
    pub(crate) expires_in: Option<Duration>,
}

/// A change of an existing key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyChange {
    /// Revoke it now.
    Revoke,
    /// Replace it. The old key works for this grace period.
    Rotate(Duration),
}

impl Operator {
    /// Creates a key. Its text is in the answer and nowhere else.
    pub(crate) async fn create_key(&self, spec: KeySpec) -> Result<Value, OperatorError> {
        let invalid = |text: String| OperatorError::Invalid(text);
        let (scopes, kind) =
            read_scopes(&spec.scopes).map_err(|error| invalid(error.to_string()))?;
        check_ranges(&scopes)?;
        let tier = match spec.tier.as_deref() {
            None => None,
            Some(name) => Some(KeyTier::named(name).ok_or_else(|| {
                invalid(format!(
                    "unknown tier `{name}`; tiers are free, pro and golem"
                ))
            })?),
        };
        if spec.name.len() > 200 || spec.name.chars().any(char::is_control) {
            return Err(invalid(
                "`name` must have at most 200 printable characters".to_owned(),
            ));
        }
        let account = match spec.account {
            Some(name) => self.payer(&name, spec.unseen).await?,
            None => AccountId::parse(&format!("acct_{}", fresh_name()))
                .map_err(|error| invalid(error.to_string()))?,
        };
        let now_ms = self.clock.now_ms();
        let record = KeyRecord {
            id: KeyId::parse("pending").map_err(|error| invalid(error.to_string()))?,
            account,
            kind,
            name: spec.name,
            hash: String::new(),
            scopes,
            tier,
            spread: None,
            created_at_ms: now_ms,
            expires_at_ms: spec.expires_in.map(|after| later(now_ms, after)),
            revoked_at_ms: None,
            replaces: None,
        };
        let mut shown = self.issue(record).await?;
        // A deposit of zero is none, and no reason to lose the new key.
        if let Some(amount) = spec.deposit.filter(|&amount| amount > MicroUsd::ZERO) {
            let account = AccountId::parse(shown["account"].as_str().unwrap_or_default())
                .map_err(|error| invalid(error.to_string()))?;
            // The key exists, and its text is nowhere else, so it is returned in any case.
            match self.deposit(account, amount, None).await {
                Ok(balance) => shown["balance"] = balance,
                Err(error) => shown["deposit_error"] = json!(error.to_string()),
            }
        }
        Ok(shown)
    }

    /// The account that pays for a new key.
    async fn payer(&self, name: &str, unseen: Unseen) -> Result<AccountId, OperatorError> {
        let found = self.payee(name, unseen).await;
        found.map_err(|error| match error {
            OperatorError::Unknown(name) => OperatorError::Invalid(format!(
                "no key or account has the id `{name}`, so the new key would have no money. List keys with \
                 their accounts: bardo-gateway keys list. To create this account, add --create-account \
                 (admin API: `\"create_account\": true`)"
            )),
            other => other,
        })
    }

    /// Gives a record its id and secret, stores it, and returns it with the key's text.
    async fn issue(&self, mut record: KeyRecord) -> Result<Value, OperatorError> {
        let unmade = |error: KeyMakingError| OperatorError::Unavailable(error.to_string());
        let fresh = PresentedKey::generate(record.kind).map_err(unmade)?;
        record.id = fresh.id.clone();
        record.hash = hash_secret(&fresh.secret).map_err(unmade)?;
        self.keys.insert(record.clone()).await?;
        let mut shown = key_json(&record, self.clock.now_ms());
        shown["key"] = json!(fresh.text().expose());
        Ok(shown)
    }

    /// The keys, without their secrets.
    pub(crate) async fn list_keys(
        &self,
        account: Option<&str>,
    ) -> Result<Vec<Value>, OperatorError> {
        let now_ms = self.clock.now_ms();
        let account = match account {
            Some(name) => Some(self.account(name).await?),
            None => None,
        };
        let records = self.keys.list(account.as_ref()).await?;
        Ok(records
            .iter()
            .map(|record| key_json(record, now_ms))
            .collect())
    }

    /// The record of a key, by its id or its text.
    pub(super) async fn record(&self, id: &str) -> Result<KeyRecord, OperatorError> {
        let unknown = || OperatorError::Unknown(super::shown(id));
        let id = match PresentedKey::parse(id) {
            Some(Ok(key)) => key.id,
            Some(Err(_)) => return Err(unknown()),
            None => KeyId::parse(id).map_err(|_| unknown())?,
        };
        self.keys.find(&id).await?.ok_or_else(unknown)
    }

    /// One key, without its secret.
    pub(crate) async fn show_key(&self, id: &str) -> Result<Value, OperatorError> {
        let record = self.record(id).await?;
        Ok(key_json(&record, self.clock.now_ms()))
    }

    /// Revokes or rotates a key.
    pub(crate) async fn change_key(
        &self,
        id: &str,
        change: KeyChange,
    ) -> Result<Value, OperatorError> {
        let mut record = self.record(id).await?;
        let id = record.id.clone();
        let now_ms = self.clock.now_ms();
        match change {
            KeyChange::Revoke => {
                // The first revocation counts.
                record.revoked_at_ms.get_or_insert(now_ms);
                let how = Amendment::noted("revoked by the operator");
                self.keys.update(record.clone(), how).await?;
                Ok(key_json(&record, now_ms))
            }
            KeyChange::Rotate(overlap) => {
                if record.state(now_ms) != KeyState::Active {
                    return Err(OperatorError::Invalid(format!(
                        "the key `{id}` is expired or revoked and cannot be rotated. Create a key: bardo-gateway keys create"
                    )));
                }
                let mut next = record.clone();
                next.replaces = Some(record.counted_as().clone());
                next.created_at_ms = now_ms;
                let mut shown = self.issue(next).await?;
                shown["replaces"] = json!(id.as_str());
                let end = later(now_ms, overlap);
                record.expires_at_ms = Some(record.expires_at_ms.map_or(end, |old| old.min(end)));
                let fresh = shown["id"].as_str().unwrap_or_default();
                let how = Amendment::noted(format!("replaced by {fresh}"));
                self.keys.update(record, how).await?;
                Ok(shown)
            }
        }
    }
}

fn later(now_ms: u64, after: Duration) -> u64 {
    now_ms
        .saturating_add(u64::try_from(after.as_millis()).unwrap_or(u64::MAX))
        .min(END_OF_TIME_MS)
}

/// A fresh unique name.
pub(crate) fn fresh_name() -> String {
    crate::request_id::fresh()
        .as_str()
        .trim_start_matches("req_")
        .to_owned()
}

/// A key as listings show it.
pub(crate) fn key_json(record: &KeyRecord, now_ms: u64) -> Value {
    let scopes = &record.scopes;
    let usd = |amount: Option<MicroUsd>| amount.map(|amount| amount.to_string());
    let range = |range: Option<CapRange>| {
        range.map(|range| json!({ "min": range.min.to_string(), "max": range.max.to_string() }))
    };
    json!({
        "id": record.id.as_str(),
        "account": record.account.as_str(),
        "name": record.name,
        "kind": record.kind.as_str(),
        "state": match record.state(now_ms) {
            KeyState::Active => "active",
            KeyState::Expired => "expired",
            KeyState::Revoked => "revoked",
        },
        "tier": record.tier.map(KeyTier::as_str),
        "spread_bps": record.spread.map(BasisPoints::get),
        "version": version(scopes),
        "scopes": {
            "models": scopes.models,
            "backends": scopes.backends,
            "networks": scopes.networks.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "requests_per_minute": scopes.requests_per_minute,
            "tokens_per_minute": scopes.tokens_per_minute,
            "allowance": scopes.allowance.map(|allowance| json!({
                "tokens_per_hour": allowance.tokens,
                "overage": if allowance.overage { "bill" } else { "block" },
            })),
            "spend": {
                "session": usd(scopes.spend.session),
                "day": usd(scopes.spend.day),
                "month": usd(scopes.spend.month),
                "total": usd(scopes.spend.total),
            },
            "spend_day_of_subsystems": scopes
                .subsystem_caps
                .iter()
                .map(|(name, cap)| (name.clone(), json!(cap.to_string())))
                .collect::<serde_json::Map<_, _>>(),
            "spend_ranges": {
                "day": range(scopes.ranges.day),
                "month": range(scopes.ranges.month),
            },
            "cache": scopes.cache.map(CachePermission::as_str),
        },
        "created_at_ms": record.created_at_ms,
        "expires_at_ms": record.expires_at_ms,
        "revoked_at_ms": record.revoked_at_ms,
        "replaces": record.replaces.as_ref().map(KeyId::as_str),
    })
}
