//! Virtual keys of LiteLLM, as keys of this gateway. LiteLLM stores only hashes, so their texts are
//! made anew.

use std::time::Duration;

use bardo_types::calendar::Date;
use bardo_types::money::MicroUsd;
use serde_json::Value;

use super::decimal::shifted;
use super::{Fate, ImportDifference, text_of};

/// Deposit for a key without a budget.
const UNLIMITED: MicroUsd = MicroUsd::new(10_000_000_000);
/// Renewals of a budget that the deposit lasts for: a year of months, or of days.
const MONTHS: u64 = 12;
const DAYS: u64 = 365;

/// A key to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VirtualKey {
    /// Label: LiteLLM's alias, or the end of the key that LiteLLM shows.
    pub(crate) name: String,
    /// Scopes as `keys create` takes them.
    pub(crate) scopes: Vec<String>,
    /// First deposit of its account.
    pub(crate) deposit: MicroUsd,
    /// Time until it expires.
    pub(crate) expires_in: Option<Duration>,
}

/// Reads the answer to `GET /key/list?return_full_object=true`, a list of such keys, or the answer to
/// `GET /key/info`. `models` are the names that clients can send.
///
/// # Errors
/// If the text has no keys in full.
pub(crate) fn virtual_keys(
    text: &str,
    models: &[String],
    now_ms: u64,
) -> Result<(Vec<VirtualKey>, Vec<ImportDifference>), String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("the keys are not JSON: {error}"))?;
    let list = match (&value, value.get("keys"), value.get("info")) {
        (Value::Array(list), ..) | (_, Some(Value::Array(list)), _) => list.clone(),
        (_, _, Some(info @ Value::Object(_))) => vec![info.clone()],
        _ => {
            return Err(
                "the file of keys must have a list `keys`, as GET /key/list answers it".to_owned(),
            );
        }
    };
    if list.iter().any(Value::is_string) {
        return Err(
            "the file of keys has only hashes; save GET /key/list?return_full_object=true instead"
                .to_owned(),
        );
    }
    let mut keys = Vec::new();
    let mut differences = Vec::new();
    for (index, entry) in list.iter().enumerate() {
        let name = ["key_alias", "key_name", "token"]
            .iter()
            .find_map(|member| entry[*member].as_str().filter(|name| !name.is_empty()));
        let name = name.map_or_else(
            || format!("key {}", index + 1),
            |name| name.chars().take(100).collect(),
        );
        let mut reading = KeyReading {
            place: format!("key `{name}`"),
            entry,
            differences: &mut differences,
        };
        keys.extend(reading.key(name, models, now_ms));
    }
    Ok((keys, differences))
}

struct KeyReading<'a> {
    place: String,
    entry: &'a Value,
    differences: &'a mut Vec<ImportDifference>,
}

impl KeyReading<'_> {
    fn tell(&mut self, fate: Fate, reason: impl Into<String>) {
        self.differences.push(ImportDifference {
            place: self.place.clone(),
            fate,
            reason: reason.into(),
        });
    }

    fn key(&mut self, name: String, models: &[String], now_ms: u64) -> Option<VirtualKey> {
        let entry = self.entry;
        if entry["blocked"] == true {
            self.tell(Fate::Omitted, "it is blocked");
            return None;
        }
        let expires_in = match entry["expires"].as_str() {
            None => None,
            Some(text) => match unix_ms(text) {
                Some(end) if end <= now_ms => {
                    self.tell(Fate::Omitted, "it has expired");
                    return None;
                }
                Some(end) => Some(Duration::from_millis(end - now_ms)),
                None => {
                    self.tell(Fate::Omitted, format!("its end `{text}` is not a time"));
                    return None;
                }
            },
        };
        let mut scopes = self.rights(models)?;
        for (theirs, ours) in [("rpm_limit", "rpm"), ("tpm_limit", "tpm")] {
            if let Some(limit) = entry[theirs].as_u64() {
                scopes.push(format!("{ours}={limit}"));
            }
        }
        let deposit = self.budget(&mut scopes)?;
        for (member, reason) in [
            (
                "max_parallel_requests",
                "the number of parallel requests is not limited",
            ),
            (
                "soft_budget",
                "`x-bardo-balance-warning` appears below 1 USD",
            ),
            (
                "team_id",
                "its team's budget is not read; `--account` lets keys share a balance",
            ),
            ("model_max_budget", "a cap applies to all models of a key"),
            ("guardrails", "there are no guardrails for single keys"),
        ] {
            let value = &entry[member];
            let is_empty = value.as_object().is_some_and(serde_json::Map::is_empty)
                || value.as_array().is_some_and(Vec::is_empty);
            if !value.is_null() && !is_empty {
                self.tell(Fate::Omitted, format!("`{member}`: {reason}"));
            }
        }
        Some(VirtualKey {
            name,
            scopes,
            deposit,
            expires_in,
        })
    }

    /// The models of the key. A key whose models are all unknown is Omitted: without scopes it
    /// would get every model.
    fn rights(&mut self, models: &[String]) -> Option<Vec<String>> {
        let named: Vec<&str> = self.entry["models"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let is_all = |name: &&str| matches!(*name, "all-proxy-models" | "*");
        if named.is_empty() || named.iter().any(is_all) {
            return Some(Vec::new());
        }
        let mut scopes = Vec::new();
        for name in named {
            let is_pattern = name.ends_with('*');
            if is_pattern || models.iter().any(|known| known == name) {
                scopes.push(format!("model={name}"));
            } else {
                self.tell(
                    Fate::Omitted,
                    format!("`{name}` is not an imported model, so the key may not use it"),
                );
            }
        }
        if scopes.is_empty() {
            self.tell(Fate::Omitted, "none of its models was imported");
            return None;
        }
        Some(scopes)
    }

    /// The deposit of the key. Budgets that renew become caps.
    fn budget(&mut self, scopes: &mut Vec<String>) -> Option<MicroUsd> {
        let Some(budget) = self.usd("max_budget", MicroUsd::from_usd_rounded_down)? else {
            self.tell(
                Fate::Changed,
                format!("it has no budget: its account gets {UNLIMITED} USD; deposit more when it is used up"),
            );
            return Some(UNLIMITED);
        };
        let period = self.entry["budget_duration"].as_str();
        let (cap, count) = match period {
            None => ("", 1),
            Some("1d" | "24h" | "daily") => ("spend-day", DAYS),
            Some("30d" | "31d" | "1mo" | "1m" | "monthly") => ("spend-month", MONTHS),
            Some(other) => {
                self.tell(
                    Fate::Changed,
                    format!("a budget per `{other}` does not exist: it becomes {budget} USD in total, which do not renew"),
                );
                ("", 1)
            }
        };
        if !cap.is_empty() {
            scopes.push(format!("{cap}={budget}"));
            let total = budget.get().checked_mul(count).map(MicroUsd::new)?;
            self.tell(
                Fate::Changed,
                format!("its budget renews in UTC; its account gets {total} USD, enough for a year of it"),
            );
            return Some(total);
        }
        let spent = self.usd("spend", MicroUsd::from_usd_rounded_up)?;
        let spent = spent.unwrap_or(MicroUsd::ZERO);
        let left = MicroUsd::new(budget.get().saturating_sub(spent.get()));
        if spent > MicroUsd::ZERO {
            self.tell(
                Fate::Changed,
                format!("{spent} USD of its budget are spent: its account gets {left} USD"),
            );
        }
        Some(left)
    }

    /// An amount; `Some(None)` if it is absent, `None` if it is none. LiteLLM's sums have more digits
    /// than money has.
    fn usd(
        &mut self,
        member: &str,
        round: fn(&str) -> Option<MicroUsd>,
    ) -> Option<Option<MicroUsd>> {
        let Some(text) = text_of(&self.entry[member]) else {
            return Some(None);
        };
        let amount = shifted(&text, 0).and_then(|plain| round(&plain));
        if amount.is_none() {
            self.tell(Fate::Omitted, format!("`{member}` is not an amount of USD"));
        }
        amount.map(Some)
    }
}

/// A time such as `2026-12-31T23:59:59.000Z` or `2026-12-31T23:59:59+00:00` in milliseconds. Times
/// without a zone are UTC.
fn unix_ms(text: &str) -> Option<u64> {
    let (date, rest) = text.trim().split_at_checked(10)?;
    let day = Date::parse(date)?;
    let time = rest.trim_start_matches(['T', ' ']);
    let is_utc = |zone: &str| matches!(zone, "" | "Z" | "z" | "+00:00" | "+0000" | " UTC" | "+00");
    let end = time.find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, ':' | '.'));
    let (clock, zone) = time.split_at(end.unwrap_or(time.len()));
    if !is_utc(zone) {
        return None;
    }
    let mut parts = clock.split('.').next()?.split(':');
    let mut next = || match parts.next() {
        None | Some("") => Some(0),
        Some(part) => part.parse::<u64>().ok(),
    };
    let seconds = next()? * 3_600 + next()? * 60 + next()?;
    Some((day.days() * 86_400 + seconds) * 1_000)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_795_000_000_000;

    fn read(keys: &Value) -> (Vec<VirtualKey>, Vec<ImportDifference>) {
        let models = ["fast".to_owned(), "smart".to_owned()];
        virtual_keys(&json!({ "keys": keys }).to_string(), &models, NOW).unwrap()
    }

    #[test]
    fn budgets_become_deposits_and_caps_and_never_grow() {
        let (keys, told) = read(&json!([
            { "key_alias": "a", "max_budget": 50.0, "budget_duration": "30d", "models": ["fast"], "rpm_limit": 60 },
            { "key_alias": "b", "max_budget": 10, "spend": 2.1234567891, "models": [] },
            { "key_alias": "c", "max_budget": 7, "budget_duration": "7d", "models": ["all-proxy-models"] },
            { "key_alias": "d", "max_budget": 5, "budget_duration": "1d" },
            { "key_alias": "e", "max_budget": 1, "spend": 3 },
        ]));
        let of = |name: &str| keys.iter().find(|key| key.name == name).unwrap();
        assert_eq!(
            of("a").scopes,
            ["model=fast", "rpm=60", "spend-month=50.000000"]
        );
        assert_eq!(of("a").deposit, MicroUsd::new(600_000_000));
        assert_eq!(of("b").deposit, MicroUsd::new(7_876_543));
        assert_eq!(of("c").deposit, MicroUsd::new(7_000_000));
        assert_eq!(of("d").scopes, ["spend-day=5.000000"]);
        assert_eq!(of("e").deposit, MicroUsd::ZERO);
        assert!(
            told.iter()
                .any(|one| one.place == "key `c`" && one.reason.contains("7d"))
        );
    }

    #[test]
    fn keys_that_must_not_work_are_left_out() {
        let (keys, told) = read(&json!([
            { "key_alias": "blocked", "blocked": true },
            { "key_alias": "old", "expires": "2020-01-01T00:00:00Z" },
            { "key_alias": "strange", "expires": "soon" },
            { "key_alias": "elsewhere", "models": ["unknown"] },
            { "key_alias": "wrong", "max_budget": -1 },
        ]));
        assert_eq!(keys, []);
        assert!(told.len() >= 5, "{told:?}");
    }

    #[test]
    fn times_of_python_and_of_javascript_are_read() {
        for text in [
            "2026-12-31T23:59:59.123Z",
            "2026-12-31T23:59:59+00:00",
            "2026-12-31 23:59:59",
        ] {
            assert_eq!(unix_ms(text), Some(1_798_761_599_000), "{text}");
        }
        for text in ["2026-12-31T23:59:59+02:00", "31.12.2026", ""] {
            assert_eq!(unix_ms(text), None, "{text}");
        }
    }

    #[test]
    fn hashes_alone_are_refused_with_the_request_that_helps() {
        let refused = virtual_keys(r#"{"keys": ["abc"]}"#, &[], NOW).unwrap_err();
        assert!(refused.contains("return_full_object=true"));
    }
}
