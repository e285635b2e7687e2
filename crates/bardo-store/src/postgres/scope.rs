//! The counters that caps name, as the database knows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bardo_ledger::{Cap, CapScope, CapWindow};
use bardo_types::ids::{AccountId, KeyId};

use super::arguments::{Argument, short, signed};

/// The arguments that stand for caps: counters sorted as they are locked, with their limits and
/// where the caller named them. Of two caps on the same counter the lower one holds.
pub(super) fn arguments(caps: &[Cap], now_ms: u64) -> [Argument; 5] {
    let mut counters: BTreeMap<(String, &str, i64), (i64, i64)> = BTreeMap::new();
    for (place, cap) in (1..).zip(caps) {
        let start_ms = signed(cap.window.bounds(now_ms).0);
        let limit = signed(cap.limit.get());
        counters
            .entry((encode(&cap.scope), cap.window.as_str(), start_ms))
            .and_modify(|(lowest, _)| *lowest = limit.min(*lowest))
            .or_insert((limit, place));
    }
    let texts = |texts: Vec<String>| Argument::Texts(Some(texts.into_iter().map(Some).collect()));
    let numbers =
        |numbers: Vec<i64>| Argument::Numbers(Some(numbers.into_iter().map(Some).collect()));
    let keys = || counters.keys();
    let values = || counters.values();
    [
        texts(keys().map(|(scope, _, _)| scope.clone()).collect()),
        texts(keys().map(|(_, span, _)| (*span).to_owned()).collect()),
        numbers(keys().map(|(_, _, start)| *start).collect()),
        numbers(values().map(|(limit, _)| *limit).collect()),
        numbers(values().map(|(_, place)| *place).collect()),
    ]
}

/// One text per scope. The length of an account's name keeps it apart from a session's, which may
/// hold anything.
fn encode(scope: &CapScope) -> String {
    match scope {
        CapScope::Key(key) => format!("key:{key}"),
        CapScope::Account(account) => format!("account:{account}"),
        CapScope::Session(account, name) => {
            let length = account.as_str().len();
            format!("session:{length}:{account}:{}", short(name))
        }
        CapScope::Subsystem(key, name) => {
            format!("subsystem:{}:{key}:{}", key.as_str().len(), short(name))
        }
        CapScope::Delegation(name) => format!("delegation:{name}"),
    }
}

/// The scope that a text of [`encode`] stands for.
pub(super) fn decode(text: &str) -> Option<CapScope> {
    let (kind, rest) = text.split_once(':')?;
    Some(match kind {
        "key" => CapScope::Key(KeyId::parse(rest).ok()?),
        "account" => CapScope::Account(AccountId::parse(rest).ok()?),
        "delegation" => CapScope::Delegation(KeyId::parse(rest).ok()?),
        "session" => {
            let (length, rest) = rest.split_once(':')?;
            let (account, name) = rest.split_at_checked(length.parse().ok()?)?;
            let name = Arc::from(name.strip_prefix(':')?);
            CapScope::Session(AccountId::parse(account).ok()?, name)
        }
        "subsystem" => {
            let (length, rest) = rest.split_once(':')?;
            let (key, name) = rest.split_at_checked(length.parse().ok()?)?;
            let name = Arc::from(name.strip_prefix(':')?);
            CapScope::Subsystem(KeyId::parse(key).ok()?, name)
        }
        _ => return None,
    })
}

pub(super) fn window(text: &str) -> Option<CapWindow> {
    [CapWindow::Day, CapWindow::Month, CapWindow::Total]
        .into_iter()
        .find(|window| window.as_str() == text)
}

#[cfg(test)]
mod tests {
    use bardo_types::money::MicroUsd;

    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::parse(id).unwrap()
    }

    #[test]
    fn a_scope_is_one_text_and_back() {
        let sessions = [("a:1", "b:c"), ("a", "1:b:c"), ("a:1:b", "c"), ("a", "")];
        let mut seen = Vec::new();
        for (id, name) in sessions {
            let scope = CapScope::Session(account(id), Arc::from(name));
            let text = encode(&scope);
            assert_eq!(decode(&text), Some(scope));
            assert!(!seen.contains(&text), "{text}");
            seen.push(text);
        }
        for scope in [
            CapScope::Key(KeyId::parse("k:1").unwrap()),
            CapScope::Account(account("k:1")),
            CapScope::Subsystem(KeyId::parse("k:1").unwrap(), Arc::from("dream:rem")),
            CapScope::Delegation(KeyId::parse("0x1:0x2").unwrap()),
        ] {
            assert_eq!(decode(&encode(&scope)), Some(scope));
        }
        assert_eq!(decode("session:9:a:b"), None);
    }

    #[test]
    fn counters_are_sorted_and_the_lower_cap_holds() {
        let cap = |id: &str, limit| Cap {
            scope: CapScope::Key(KeyId::parse(id).unwrap()),
            window: CapWindow::Total,
            limit: MicroUsd::new(limit),
        };
        let caps = [cap("b", 5), cap("a", 7), cap("b", 3)];
        let [scopes, _, _, limits, places] = arguments(&caps, 0);
        assert_eq!(
            format!("{scopes:?}"),
            r#"Texts(Some([Some("key:a"), Some("key:b")]))"#
        );
        assert_eq!(format!("{limits:?}"), "Numbers(Some([Some(7), Some(3)]))");
        assert_eq!(format!("{places:?}"), "Numbers(Some([Some(2), Some(1)]))");
    }
}
