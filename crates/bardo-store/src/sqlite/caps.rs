//! Caps as text: the names of counters, and the list that a hold's row keeps.

use std::sync::Arc;

use bardo_ledger::{Cap, CapScope, CapWindow};
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::MicroUsd;
use serde_json::Value;

/// A scope as a counter's row names it, within its account.
pub(super) fn scope_name(scope: &CapScope) -> String {
    match scope {
        CapScope::Key(key) => format!("key:{key}"),
        CapScope::Account(account) => format!("account:{account}"),
        CapScope::Session(_, session) => format!("session:{session}"),
        // The key comes last: it may have colons, and the length tells where the name ends.
        CapScope::Subsystem(key, name) => format!("subsystem:{}:{name}:{key}", name.len()),
        CapScope::Delegation(name) => format!("delegation:{name}"),
    }
}

/// The caps of a hold as its row keeps them; `None` where there are none.
pub(super) fn to_text(caps: &[Cap]) -> Option<String> {
    if caps.is_empty() {
        return None;
    }
    let rows = caps.iter().map(|cap| {
        Value::Array(vec![
            scope_name(&cap.scope).into(),
            cap.window.as_str().into(),
            cap.limit.get().into(),
        ])
    });
    Some(Value::Array(rows.collect()).to_string())
}

/// Reads them back; `None` where the text is none of ours.
pub(super) fn from_text(account: &AccountId, text: Option<&str>) -> Option<Vec<Cap>> {
    let Some(text) = text else {
        return Some(Vec::new());
    };
    let rows: Vec<(String, String, u64)> = serde_json::from_str(text).ok()?;
    rows.into_iter()
        .map(|(scope, window, limit)| {
            Some(Cap {
                scope: scope_named(account, &scope)?,
                window: window_named(&window)?,
                limit: MicroUsd::new(limit),
            })
        })
        .collect()
}

fn scope_named(account: &AccountId, name: &str) -> Option<CapScope> {
    let (kind, rest) = name.split_once(':')?;
    match kind {
        "key" => KeyId::parse(rest).ok().map(CapScope::Key),
        "account" => AccountId::parse(rest).ok().map(CapScope::Account),
        "delegation" => KeyId::parse(rest).ok().map(CapScope::Delegation),
        "session" => Some(CapScope::Session(account.clone(), Arc::from(rest))),
        "subsystem" => {
            let (length, rest) = rest.split_once(':')?;
            let (name, key) = rest.split_at_checked(length.parse().ok()?)?;
            let key = KeyId::parse(key.strip_prefix(':')?).ok()?;
            Some(CapScope::Subsystem(key, Arc::from(name)))
        }
        _ => None,
    }
}

fn window_named(name: &str) -> Option<CapWindow> {
    [CapWindow::Day, CapWindow::Month, CapWindow::Total]
        .into_iter()
        .find(|window| window.as_str() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_survive_as_text() {
        let account = AccountId::parse("acct:1").unwrap();
        let caps = [
            CapScope::Key(KeyId::parse("k:1").unwrap()),
            CapScope::Account(account.clone()),
            CapScope::Session(account.clone(), Arc::from("a \"session\": ü")),
            CapScope::Subsystem(KeyId::parse("k:1").unwrap(), Arc::from("dream:rem ü")),
            CapScope::Delegation(KeyId::parse("0x1:0x2").unwrap()),
        ]
        .into_iter()
        .zip([
            CapWindow::Day,
            CapWindow::Month,
            CapWindow::Total,
            CapWindow::Day,
            CapWindow::Total,
        ])
        .map(|(scope, window)| Cap {
            scope,
            window,
            limit: MicroUsd::MAX,
        })
        .collect::<Vec<_>>();
        let text = to_text(&caps);
        assert_eq!(from_text(&account, text.as_deref()), Some(caps));
        assert_eq!(from_text(&account, None), Some(vec![]));
        assert_eq!(from_text(&account, Some("[[\"moon:1\",\"day\",1]]")), None);
    }
}
