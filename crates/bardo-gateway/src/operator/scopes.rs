//! Scopes of keys as the command line and the admin API write them.

use bardo_access::{
    Allowance, Amendment, CachePermission, CapRange, KeyKind, KeyState, Network, Scopes,
};
use bardo_router::Subsystems;
use bardo_types::money::MicroUsd;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::keys::key_json;
use super::{Operator, OperatorError};

/// Begin of the name of a cap per day of a subsystem.
const OF_SUBSYSTEM: &str = "spend-day:";

/// An invalid scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}. Scopes are read-only, model=NAME, backend=NAME, ip=NETWORK, rpm=N, tpm=N, \
     allowance=TOKENS, overage=bill or overage=block, spend-session=USD, spend-day=USD, \
     spend-month=USD, spend-total=USD, spend-day:SUBSYSTEM=USD, spend-day-range=MIN..MAX, spend-month-range=MIN..MAX, \
     cache=off, cache=default or cache=semantic",
    problem(.0)
)]
pub(crate) struct ScopeError(String);

/// Names the fault in the text of a scope.
fn problem(text: &str) -> String {
    let (name, _) = split(text);
    let needs = match name.as_str() {
        "model" | "models" | "backend" | "backends" | "provider" => "a name",
        "ip" | "cidr" | "network" => "a network such as 10.0.0.0/8",
        "read-only" | "readonly" | "read" => "no value",
        name => match limit_needs(name) {
            Some(needs) => needs,
            None => return format!("unknown scope `{text}`"),
        },
    };
    format!("invalid scope `{text}`: `{name}` needs {needs}")
}

/// The kind of value that a limit needs; `None` for a name that is not a limit.
fn limit_needs(name: &str) -> Option<&'static str> {
    Some(match name {
        "rpm" | "requests-per-minute" | "tpm" | "tokens-per-minute" => "a whole number",
        "allowance" | "allowance-tokens" => "a whole number of tokens",
        "overage" => "`bill` or `block`, after an `allowance`",
        "cache" => "`off`, `default` or `semantic`",
        "spend-session" | "spend-day" | "spend-month" | "spend-total" | "spend" => {
            "an amount in USD such as 2.50"
        }
        name if name.starts_with(OF_SUBSYSTEM) => {
            "a known subsystem or group such as dream_rem or dream, and an amount in USD such as 0.25"
        }
        "spend-day-range" | "spend-month-range" => "two amounts in USD such as 0.50..5",
        _ => return None,
    })
}

/// Parts of scope texts: several in one text are separated by commas.
fn parts(texts: &[String]) -> impl Iterator<Item = &str> {
    let parts = texts.iter().flat_map(|text| text.split(','));
    parts.map(str::trim).filter(|text| !text.is_empty())
}

/// Name and value of a scope; the value is empty without `=`.
fn split(text: &str) -> (String, &str) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (name.trim().replace('_', "-"), value.trim())
}

/// Reads the scopes of a new key.
pub(crate) fn read_scopes(texts: &[String]) -> Result<(Scopes, KeyKind), ScopeError> {
    let mut scopes = Scopes::default();
    let mut kind = KeyKind::Spend;
    for text in parts(texts) {
        let wrong = || ScopeError(text.to_owned());
        if text.chars().any(char::is_control) {
            return Err(wrong());
        }
        let (name, value) = split(text);
        match (name.as_str(), value.is_empty()) {
            ("read-only" | "readonly" | "read", true) => kind = KeyKind::ReadOnly,
            ("model" | "models", false) => scopes.models.push(value.to_owned()),
            ("backend" | "backends" | "provider", false) => scopes.backends.push(value.to_owned()),
            ("ip" | "cidr" | "network", false) => {
                scopes
                    .networks
                    .push(value.parse::<Network>().map_err(|_| wrong())?);
            }
            (name, false) if value != "none" => {
                set_limit(&mut scopes, name, value).ok_or_else(wrong)?;
            }
            _ => return Err(wrong()),
        }
    }
    Ok((scopes, kind))
}

/// Sets one limit: a rate, the allowance, a cap of spending or its range. `none` removes it.
/// `None` where the text is no limit.
fn set_limit(scopes: &mut Scopes, name: &str, value: &str) -> Option<()> {
    let is_none = value == "none";
    let usd = || match is_none {
        true => Some(None),
        false => MicroUsd::from_usd(value).ok().map(Some),
    };
    match name {
        "rpm" | "requests-per-minute" => scopes.requests_per_minute = number(value)?,
        "tpm" | "tokens-per-minute" => scopes.tokens_per_minute = number(value)?,
        "allowance" | "allowance-tokens" => {
            let overage = scopes.allowance.is_none_or(|before| before.overage);
            let tokens: Option<u64> = number(value)?;
            scopes.allowance = tokens.map(|tokens| Allowance { tokens, overage });
        }
        "overage" => {
            scopes.allowance.as_mut()?.overage = match value {
                "bill" => true,
                "block" => false,
                _ => return None,
            };
        }
        "cache" if is_none => scopes.cache = None,
        "cache" => scopes.cache = Some(CachePermission::parse(value)?),
        "spend-session" => scopes.spend.session = usd()?,
        "spend-day" => scopes.spend.day = usd()?,
        "spend-month" => scopes.spend.month = usd()?,
        "spend-total" | "spend" => scopes.spend.total = usd()?,
        "spend-day-range" => scopes.ranges.day = range(value)?,
        "spend-month-range" => scopes.ranges.month = range(value)?,
        _ => {
            let name = subsystem(name.strip_prefix(OF_SUBSYSTEM)?)?;
            match usd()? {
                Some(cap) => scopes.subsystem_caps.insert(name, cap),
                None => scopes.subsystem_caps.remove(&name),
            };
        }
    }
    Some(())
}

/// The name of a subsystem, or of a group of them, as the table writes it.
fn subsystem(written: &str) -> Option<String> {
    let table = Subsystems::embedded();
    let plain = written.replace('-', "_").to_lowercase();
    let group = table.rows().find(|row| row.group == plain);
    let found = table.find(written).map(|row| &row.name);
    found.or(group.map(|row| &row.group)).cloned()
}

fn number<T: std::str::FromStr>(value: &str) -> Option<Option<T>> {
    match value {
        "none" => Some(None),
        number => number.parse().ok().map(Some),
    }
}

fn range(value: &str) -> Option<Option<CapRange>> {
    if value == "none" {
        return Some(None);
    }
    let (min, max) = value.split_once("..")?;
    let [min, max] = [min, max].map(|usd| MicroUsd::from_usd(usd).ok());
    CapRange::new(min?, max?).map(Some)
}

/// Refuses a cap outside its range.
pub(crate) fn check_ranges(scopes: &Scopes) -> Result<(), OperatorError> {
    let caps = [
        ("day", scopes.spend.day, scopes.ranges.day),
        ("month", scopes.spend.month, scopes.ranges.month),
    ];
    for (window, cap, range) in caps {
        if let Some(range) = range.filter(|range| !range.holds(cap)) {
            let shown = cap.map_or_else(|| "none".to_owned(), |cap| cap.to_string());
            return Err(OperatorError::Invalid(format!(
                "`spend-{window}` is {shown} and must be within {} to {} USD; to allow more, change \
                 `spend-{window}-range` in the same command",
                range.min, range.max
            )));
        }
    }
    Ok(())
}

/// A short text that changes with the limits of a key.
pub(super) fn version(scopes: &Scopes) -> String {
    let digest: [u8; 32] = Sha256::digest(scopes.to_json()).into();
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

impl Operator {
    /// Changes limits of a living key; the texts are scopes such as `spend-day=2` or `rpm=none`.
    ///
    /// `seen` is the version that the change was decided on; `None`: any.
    ///
    /// # Errors
    /// [`OperatorError::Conflict`] where the limits have another version by now.
    pub(crate) async fn set_key(
        &self,
        id: &str,
        texts: &[String],
        seen: Option<&str>,
    ) -> Result<Value, OperatorError> {
        let invalid = OperatorError::Invalid;
        let mut record = self.record(id).await?;
        let now_ms = self.clock.now_ms();
        if record.state(now_ms) != KeyState::Active {
            return Err(invalid(format!(
                "the key `{}` is expired or revoked and cannot be changed. Create a key: bardo-gateway keys create",
                record.id
            )));
        }
        if seen.is_some_and(|seen| seen != version(&record.scopes)) {
            return Err(OperatorError::Conflict(format!(
                "the limits of the key `{}` were changed meanwhile",
                record.id
            )));
        }
        let before = record.scopes.clone();
        let mut is_empty = true;
        for text in parts(texts) {
            let (name, value) = split(text);
            is_empty = false;
            set_limit(&mut record.scopes, &name, value).ok_or_else(|| {
                if let Some(needs) = limit_needs(&name) {
                    return invalid(format!(
                        "invalid limit `{text}`: `{name}` needs {needs}, or `none` to remove it"
                    ));
                }
                invalid(format!(
                    "`{text}` is not a limit that can be changed. Limits are rpm, tpm, allowance, overage (with an \
                     allowance), spend-session, spend-day, spend-month, spend-total, spend-day:SUBSYSTEM, spend-day-range, \
                     spend-month-range and cache; `none` removes one. To change models, backends or networks, create \
                     another key"
                ))
            })?;
        }
        if is_empty {
            return Err(invalid(
                "name a limit to change, such as spend-day=2".to_owned(),
            ));
        }
        check_ranges(&record.scopes)?;
        let how = Amendment {
            note: format!(
                "limits set by the operator: {} -> {}",
                before.to_json(),
                record.scopes.to_json()
            ),
            from: Some(before),
        };
        self.keys.update(record.clone(), how).await?;
        Ok(key_json(&record, now_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Result<(Scopes, KeyKind), ScopeError> {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        read_scopes(&texts)
    }

    #[test]
    fn scopes_are_read_or_named() {
        let texts = [
            "model=gpt-5.5,model=claude-*",
            "rpm=5",
            "spend-day=1.5,spend-day-range=1..2",
            "ip=10.0.0.0/8",
            "allowance=700,overage=block",
            "spend-day:dream_rem=0.25,spend-day:Dream=1",
            "cache=semantic",
        ];
        let (scopes, kind) = read(&texts).unwrap();
        assert_eq!(scopes.models, ["gpt-5.5", "claude-*"]);
        assert_eq!(scopes.requests_per_minute, Some(5));
        assert_eq!(scopes.spend.day, Some(MicroUsd::new(1_500_000)));
        let range = CapRange::new(MicroUsd::new(1_000_000), MicroUsd::new(2_000_000));
        assert_eq!(scopes.ranges.day, range);
        let allowance = Allowance {
            tokens: 700,
            overage: false,
        };
        assert_eq!(scopes.allowance, Some(allowance));
        let caps = [("dream", 1_000_000), ("dream_rem", 250_000)];
        let caps = caps.map(|(name, cap)| (name.to_owned(), MicroUsd::new(cap)));
        assert_eq!(scopes.subsystem_caps, caps.into());
        assert_eq!(scopes.cache, Some(CachePermission::Semantic));
        assert_eq!(kind, KeyKind::Spend);
        assert_eq!(read(&["read-only"]).unwrap().1, KeyKind::ReadOnly);
        assert!(read(&["allowance=1"]).unwrap().0.allowance.unwrap().overage);
        for wrong in [
            "rpm",
            "rpm=x",
            "rpm=none",
            "everything",
            "spend-day=-1",
            "spend-day-range=2..1",
            "spend-day-range=2",
            "ip=10.0.0.0/99",
            "overage=bill",
            "spend-day:dream_rme=1",
            "spend-day:dream_rem=x",
            "spend-day:=1",
            "cache",
            "cache=on",
            "cache=none",
            "model=a\0b",
        ] {
            assert_eq!(read(&[wrong]), Err(ScopeError(wrong.into())));
        }
    }

    #[test]
    fn a_scope_with_a_wrong_value_says_what_it_needs() {
        let said = |text: &str| read(&[text]).unwrap_err().to_string();
        assert!(
            said("spend-month=abc").starts_with(
                "invalid scope `spend-month=abc`: `spend-month` needs an amount in USD"
            )
        );
        assert!(said("rpm").contains("needs a whole number"));
        assert_eq!(limit_needs("rpm"), Some("a whole number"));
        assert_eq!(limit_needs("model"), None);
        assert!(said("everything").starts_with("unknown scope `everything`"));
    }

    #[test]
    fn a_limit_is_changed_or_removed_and_the_others_stay() {
        let (mut scopes, _) = read(&["rpm=5,tpm=6", "allowance=7,overage=block"]).unwrap();
        for (name, value) in [("rpm", "none"), ("allowance", "8"), ("spend-month", "3")] {
            set_limit(&mut scopes, name, value).unwrap();
        }
        assert_eq!(scopes.requests_per_minute, None);
        assert_eq!(scopes.tokens_per_minute, Some(6));
        let allowance = scopes.allowance.unwrap();
        assert_eq!((allowance.tokens, allowance.overage), (8, false));
        assert_eq!(scopes.spend.month, Some(MicroUsd::new(3_000_000)));
        assert_eq!(set_limit(&mut scopes, "model", "m"), None);
        set_limit(&mut scopes, "spend-day:dream-rem", "1").unwrap();
        assert_eq!(scopes.subsystem_caps.len(), 1);
        set_limit(&mut scopes, "spend-day:dream_rem", "none").unwrap();
        assert_eq!(scopes.subsystem_caps.len(), 0);
        set_limit(&mut scopes, "cache", "off").unwrap();
        assert_eq!(scopes.cache, Some(CachePermission::Off));
        set_limit(&mut scopes, "cache", "none").unwrap();
        assert_eq!(scopes.cache, None);
    }

    #[test]
    fn a_cap_outside_its_range_is_refused() {
        let is_refused = |text: &str| check_ranges(&read(&[text]).unwrap().0).is_err();
        assert!(!is_refused("spend-day=2,spend-day-range=1..2"));
        assert!(is_refused("spend-day=2.01,spend-day-range=1..2"));
        assert!(is_refused("spend-day-range=1..2"));
        assert!(is_refused("spend-month=1,spend-month-range=2..3"));
    }
}
