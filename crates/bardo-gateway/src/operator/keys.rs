use std::time::Duration;

use bardo_access::{
    KeyKind, KeyMakingError, KeyRecord, KeyState, Network, PresentedKey, Scopes, Tier, hash_secret,
};
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::{BasisPoints, MicroUsd};
use serde_json::{Value, json};

use super::{Operator, OperatorError};

/// The last millisecond of the year 9999. Stores and calendars support no later one.
const END_OF_TIME_MS: u64 = 253_402_300_799_999;

/// The properties of a new key.
#[derive(Debug, Default)]
pub(crate) struct KeySpec {
    pub(crate) name: String,
    /// An account that exists; a new one otherwise.
    pub(crate) account: Option<AccountId>,
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

/// An invalid scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown scope `{0}`. Scopes are read-only, model=NAME, backend=NAME, ip=NETWORK, rpm=N, tpm=N, \
     spend-session=USD, spend-day=USD, spend-month=USD, spend-total=USD"
)]
pub(crate) struct ScopeError(String);

/// Reads scopes as the command line and the admin API write them.
pub(crate) fn read_scopes(texts: &[String]) -> Result<(Scopes, KeyKind), ScopeError> {
    let mut scopes = Scopes::default();
    let mut kind = KeyKind::Spend;
    let parts = texts.iter().flat_map(|text| text.split(','));
    for text in parts.map(str::trim).filter(|text| !text.is_empty()) {
        let wrong = || ScopeError(text.to_owned());
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), value.trim()),
            None => (text, ""),
        };
        let usd = || MicroUsd::from_usd(value).map(Some).map_err(|_| wrong());
        match (name.replace('_', "-").as_str(), value.is_empty()) {
            ("read-only" | "readonly" | "read", true) => kind = KeyKind::ReadOnly,
            ("model" | "models", false) => scopes.models.push(value.to_owned()),
            ("backend" | "backends" | "provider", false) => scopes.backends.push(value.to_owned()),
            ("ip" | "cidr" | "network", false) => {
                scopes
                    .networks
                    .push(value.parse::<Network>().map_err(|_| wrong())?);
            }
            ("rpm" | "requests-per-minute", false) => {
                scopes.requests_per_minute = Some(value.parse().map_err(|_| wrong())?);
            }
            ("tpm" | "tokens-per-minute", false) => {
                scopes.tokens_per_minute = Some(value.parse().map_err(|_| wrong())?);
            }
            ("spend-session", false) => scopes.spend.session = usd()?,
            ("spend-day", false) => scopes.spend.day = usd()?,
            ("spend-month", false) => scopes.spend.month = usd()?,
            ("spend-total" | "spend", false) => scopes.spend.total = usd()?,
            _ => return Err(wrong()),
        }
    }
    Ok((scopes, kind))
}

impl Operator {
    /// Creates a key. Its text is in the answer and nowhere else.
    pub(crate) async fn create_key(&self, spec: KeySpec) -> Result<Value, OperatorError> {
        let invalid = |text: String| OperatorError::Invalid(text);
        let (scopes, kind) =
            read_scopes(&spec.scopes).map_err(|error| invalid(error.to_string()))?;
        let tier = match spec.tier.as_deref() {
            None => None,
            Some(name) => Some(Tier::named(name).ok_or_else(|| {
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
            Some(account) => account,
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
        account: Option<&AccountId>,
    ) -> Result<Vec<Value>, OperatorError> {
        let now_ms = self.clock.now_ms();
        let records = self.keys.list(account).await?;
        Ok(records
            .iter()
            .map(|record| key_json(record, now_ms))
            .collect())
    }

    /// Revokes or rotates a key.
    pub(crate) async fn change_key(
        &self,
        id: &str,
        change: KeyChange,
    ) -> Result<Value, OperatorError> {
        let unknown = || OperatorError::Unknown(super::shown(id));
        let id = match PresentedKey::parse(id) {
            Some(Ok(key)) => key.id,
            Some(Err(_)) => return Err(unknown()),
            None => KeyId::parse(id).map_err(|_| unknown())?,
        };
        let mut record = self.keys.find(&id).await?.ok_or_else(unknown)?;
        let now_ms = self.clock.now_ms();
        match change {
            KeyChange::Revoke => {
                // The first revocation counts.
                record.revoked_at_ms.get_or_insert(now_ms);
                self.keys.update(record.clone()).await?;
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
                self.keys.update(record).await?;
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
    json!({
        "id": record.id.as_str(),
        "account": record.account.as_str(),
        "name": record.name,
        "kind": match record.kind { KeyKind::Spend => "spend", KeyKind::ReadOnly => "read_only" },
        "state": match record.state(now_ms) {
            KeyState::Active => "active",
            KeyState::Expired => "expired",
            KeyState::Revoked => "revoked",
        },
        "tier": record.tier.map(Tier::as_str),
        "spread_bps": record.spread.map(BasisPoints::get),
        "scopes": {
            "models": scopes.models,
            "backends": scopes.backends,
            "networks": scopes.networks.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "requests_per_minute": scopes.requests_per_minute,
            "tokens_per_minute": scopes.tokens_per_minute,
            "spend": {
                "session": usd(scopes.spend.session),
                "day": usd(scopes.spend.day),
                "month": usd(scopes.spend.month),
                "total": usd(scopes.spend.total),
            },
        },
        "created_at_ms": record.created_at_ms,
        "expires_at_ms": record.expires_at_ms,
        "revoked_at_ms": record.revoked_at_ms,
        "replaces": record.replaces.as_ref().map(KeyId::as_str),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_or_named() {
        let texts = [
            "model=gpt-5.5,model=claude-*",
            "rpm=5",
            "spend-day=1.5",
            "ip=10.0.0.0/8",
        ];
        let (scopes, kind) = read_scopes(&texts.map(str::to_owned)).unwrap();
        assert_eq!(scopes.models, ["gpt-5.5", "claude-*"]);
        assert_eq!(scopes.requests_per_minute, Some(5));
        assert_eq!(scopes.spend.day, Some(MicroUsd::new(1_500_000)));
        assert_eq!(kind, KeyKind::Spend);
        assert_eq!(
            read_scopes(&["read-only".into()]).unwrap().1,
            KeyKind::ReadOnly
        );
        for wrong in [
            "rpm",
            "rpm=x",
            "everything",
            "spend-day=-1",
            "ip=10.0.0.0/99",
        ] {
            assert_eq!(read_scopes(&[wrong.into()]), Err(ScopeError(wrong.into())));
        }
    }
}
