//! `keys create|list|revoke|rotate`.

use std::time::Duration;

use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::{Common, say};
use crate::operator::{KeyChange, KeySpec};
use crate::stores;

#[derive(Subcommand)]
pub(super) enum KeysVerb {
    /// Make a key; its text is shown once and kept nowhere.
    Create(Create),
    /// Every key, without its secret.
    List(List),
    /// Take a key back, from now on.
    Revoke(Revoke),
    /// Make a key that takes another's place; for a while both are taken.
    Rotate(Rotate),
}

#[derive(Args)]
pub(super) struct Create {
    #[command(flatten)]
    common: Common,
    /// A name for people.
    #[arg(long, default_value = "")]
    name: String,
    /// An account that the key shall draw on [default: a new one].
    #[arg(long, value_name = "ACCOUNT", value_parser = super::account)]
    account: Option<AccountId>,
    /// A restriction; may be repeated: read-only, model=NAME, backend=NAME, ip=NETWORK, rpm=N, tpm=N,
    /// spend-session=USD, spend-day=USD, spend-month=USD, spend-total=USD.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// free, pro or golem.
    #[arg(long)]
    tier: Option<String>,
    /// Put so much into its account at once.
    #[arg(long, value_name = "USD", value_parser = super::usd)]
    deposit_usd: Option<MicroUsd>,
    /// It ends after this time, e.g. 30days.
    #[arg(long, value_name = "DURATION", value_parser = super::duration)]
    expires: Option<Duration>,
}

#[derive(Args)]
pub(super) struct List {
    #[command(flatten)]
    common: Common,
    /// Of one account alone.
    #[arg(long, value_name = "ACCOUNT", value_parser = super::account)]
    account: Option<AccountId>,
}

#[derive(Args)]
pub(super) struct Revoke {
    #[command(flatten)]
    common: Common,
    /// The key's id.
    #[arg(value_name = "ID", required_unless_present = "key")]
    id: Option<String>,
    /// The same.
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    key: Option<String>,
}

#[derive(Args)]
pub(super) struct Rotate {
    #[command(flatten)]
    common: Common,
    /// The key's id.
    #[arg(value_name = "ID", required_unless_present = "key")]
    id: Option<String>,
    /// The same.
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    key: Option<String>,
    /// The old key is taken for so long.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = super::duration)]
    overlap: Duration,
}

pub(super) fn run(verb: KeysVerb) -> Result<(), String> {
    match verb {
        KeysVerb::Create(args) => create(args),
        KeysVerb::List(args) => list(&args),
        KeysVerb::Revoke(args) => {
            let id = args.id.or(args.key).unwrap_or_default();
            let revoked = stores::with_operator(&args.common, async |operator| {
                operator.change_key(&id, KeyChange::Revoke).await
            })?;
            show(&args.common, &revoked, |key| {
                format!("revoked {}", text(key, "id"))
            });
            Ok(())
        }
        KeysVerb::Rotate(args) => {
            let id = args.id.or(args.key).unwrap_or_default();
            let fresh = stores::with_operator(&args.common, async |operator| {
                operator
                    .change_key(&id, KeyChange::Rotate(args.overlap))
                    .await
            })?;
            show(&args.common, &fresh, |key| {
                format!(
                    "{}\n\nIt takes the place of {}, which is taken for another {}.",
                    created(key),
                    text(key, "replaces"),
                    humantime::format_duration(args.overlap)
                )
            });
            Ok(())
        }
    }
}

fn create(args: Create) -> Result<(), String> {
    let spec = KeySpec {
        name: args.name,
        account: args.account,
        scopes: args.scopes,
        tier: args.tier,
        deposit: args.deposit_usd,
        expires_in: args.expires,
    };
    let key = stores::with_operator(&args.common, async |operator| {
        operator.create_key(spec).await
    })?;
    show(&args.common, &key, created);
    match key["deposit_error"].as_str() {
        Some(error) => Err(format!(
            "the key is made, but nothing is deposited: {error}"
        )),
        None => Ok(()),
    }
}

fn created(key: &Value) -> String {
    let balance = key["balance"]["available"]
        .as_str()
        .map_or_else(String::new, |usd| format!("\nbalance  {usd} USD"));
    format!(
        "key      {}\nid       {}\naccount  {}{balance}\n\nKeep the key now: only its hash is stored.",
        text(key, "key"),
        text(key, "id"),
        text(key, "account"),
    )
}

fn list(args: &List) -> Result<(), String> {
    let keys = stores::with_operator(&args.common, async |operator| {
        operator.list_keys(args.account.as_ref()).await
    })?;
    if keys.is_empty() && !args.common.json {
        say("no keys; `bardo-gateway keys create` makes one");
    }
    for key in &keys {
        show(&args.common, key, |key| {
            format!(
                "{:<16} {:<8} {:<10} {:<6} {:<40} {:<24} {}",
                text(key, "id"),
                text(key, "state"),
                text(key, "kind"),
                text(key, "tier"),
                text(key, "account"),
                scopes(&key["scopes"]),
                text(key, "name")
            )
        });
    }
    Ok(())
}

/// Scopes as `--scope` takes them; `-` where there are none.
fn scopes(scopes: &Value) -> String {
    let mut all = Vec::new();
    let lists = [
        ("model", "models"),
        ("backend", "backends"),
        ("ip", "networks"),
    ];
    for (name, member) in lists {
        let values = scopes[member].as_array().into_iter().flatten();
        all.extend(values.filter_map(|value| Some(format!("{name}={}", value.as_str()?))));
    }
    for (name, member) in [("rpm", "requests_per_minute"), ("tpm", "tokens_per_minute")] {
        all.extend(
            scopes[member]
                .as_u64()
                .map(|limit| format!("{name}={limit}")),
        );
    }
    for window in ["session", "day", "month", "total"] {
        let cap = scopes["spend"][window].as_str();
        all.extend(cap.map(|usd| format!("spend-{window}={usd}")));
    }
    if all.is_empty() {
        "-".to_owned()
    } else {
        all.join(",")
    }
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or("-")
}

fn show(common: &Common, value: &Value, words: impl Fn(&Value) -> String) {
    if common.json {
        say(value.to_string());
    } else {
        say(words(value));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::scopes;

    #[test]
    fn scopes_are_one_word_as_they_are_written() {
        let shown = json!({
            "models": ["m", "n-*"],
            "backends": ["openrouter"],
            "networks": ["10.0.0.0/8"],
            "requests_per_minute": 5,
            "tokens_per_minute": null,
            "spend": { "session": null, "day": "1.500000", "month": null, "total": null },
        });
        assert_eq!(
            scopes(&shown),
            "model=m,model=n-*,backend=openrouter,ip=10.0.0.0/8,rpm=5,spend-day=1.500000"
        );
        assert_eq!(scopes(&json!({})), "-");
    }
}
