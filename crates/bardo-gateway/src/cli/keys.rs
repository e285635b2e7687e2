//! The verbs `keys create`, `keys list`, `keys revoke` and `keys rotate`.

use std::time::Duration;

use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::{Common, Failure, say, show, table, text};
use crate::operator::{KeyChange, KeySpec};
use crate::stores;

#[derive(Subcommand)]
pub(super) enum KeysVerb {
    /// Create a key. Its text is shown once and not stored.
    Create(Create),
    /// List keys, without their secrets.
    List(List),
    /// Revoke a key at once.
    Revoke(Revoke),
    /// Replace a key. The old key keeps working for a grace period.
    Rotate(Rotate),
}

#[derive(Args)]
pub(super) struct Create {
    #[command(flatten)]
    common: Common,
    /// Label for listings.
    #[arg(long, default_value = "")]
    name: String,
    /// Account that pays for the key's requests [default: a new account].
    #[arg(long, value_name = "ACCOUNT", value_parser = super::account)]
    account: Option<AccountId>,
    /// Restriction of the key: read-only, model=NAME, backend=NAME, ip=NETWORK, rpm=N, tpm=N,
    /// spend-session=USD, spend-day=USD, spend-month=USD or spend-total=USD. Repeat for several.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Tier: free, pro or golem.
    #[arg(long)]
    tier: Option<String>,
    /// Amount to deposit into the account.
    #[arg(long, value_name = "USD", value_parser = super::usd)]
    deposit_usd: Option<MicroUsd>,
    /// Lifetime of the key, such as 30days [default: unlimited].
    #[arg(long, value_name = "DURATION", value_parser = super::duration)]
    expires: Option<Duration>,
}

#[derive(Args)]
pub(super) struct List {
    #[command(flatten)]
    common: Common,
    /// List only the keys of this account.
    #[arg(long, value_name = "ACCOUNT", value_parser = super::account)]
    account: Option<AccountId>,
}

#[derive(Args)]
pub(super) struct Revoke {
    #[command(flatten)]
    common: Common,
    /// Id of the key.
    #[arg(value_name = "ID", required_unless_present = "key")]
    id: Option<String>,
    /// Id of the key.
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    key: Option<String>,
}

#[derive(Args)]
pub(super) struct Rotate {
    #[command(flatten)]
    common: Common,
    /// Id of the key.
    #[arg(value_name = "ID", required_unless_present = "key")]
    id: Option<String>,
    /// Id of the key.
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    key: Option<String>,
    /// How long the old key keeps working.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = super::duration)]
    overlap: Duration,
}

pub(super) fn run(verb: KeysVerb) -> Result<(), Failure> {
    match verb {
        KeysVerb::Create(args) => create(args),
        KeysVerb::List(args) => list(&args),
        KeysVerb::Revoke(args) => {
            let id = args.id.or(args.key).unwrap_or_default();
            let (revoked, kind) = stores::with_operator(&args.common, async |operator| {
                operator.change_key(&id, KeyChange::Revoke).await
            })?;
            show(&args.common, kind, &revoked, |key| {
                format!("revoked {}", text(key, "id"))
            });
            Ok(())
        }
        KeysVerb::Rotate(args) => {
            let id = args.id.or(args.key).unwrap_or_default();
            let (fresh, kind) = stores::with_operator(&args.common, async |operator| {
                operator
                    .change_key(&id, KeyChange::Rotate(args.overlap))
                    .await
            })?;
            show(&args.common, kind, &fresh, |key| {
                format!(
                    "{}\n\nThis key replaces {}, which keeps working for {}.",
                    created(key),
                    text(key, "replaces"),
                    humantime::format_duration(args.overlap)
                )
            });
            Ok(())
        }
    }
}

fn create(args: Create) -> Result<(), Failure> {
    let spec = KeySpec {
        name: args.name,
        account: args.account,
        scopes: args.scopes,
        tier: args.tier,
        deposit: args.deposit_usd,
        expires_in: args.expires,
    };
    let (key, kind) = stores::with_operator(&args.common, async |operator| {
        operator.create_key(spec).await
    })?;
    show(&args.common, kind, &key, created);
    match key["deposit_error"].as_str() {
        Some(error) => Err(Failure::new(
            "deposit_failed",
            format!(
                "the key is created, but nothing is deposited: {error}. Deposit again: bardo-gateway balance \
                 deposit --key {} --usd AMOUNT",
                text(&key, "id")
            ),
        )),
        None => Ok(()),
    }
}

fn created(key: &Value) -> String {
    let balance = key["balance"]["available"]
        .as_str()
        .map_or_else(String::new, |usd| format!("\nbalance  {usd} USD"));
    format!(
        "key      {}\nid       {}\naccount  {}{balance}\n\nCopy the key now. It is not shown again: only its hash is stored.",
        text(key, "key"),
        text(key, "id"),
        text(key, "account"),
    )
}

fn list(args: &List) -> Result<(), Failure> {
    let (keys, kind) = stores::with_operator(&args.common, async |operator| {
        operator.list_keys(args.account.as_ref()).await
    })?;
    if args.common.json {
        for key in &keys {
            show(&args.common, kind, key, |_| String::new());
        }
        return Ok(());
    }
    if keys.is_empty() {
        say("no keys; create one: bardo-gateway keys create");
        return Ok(());
    }
    let heading = ["ID", "STATE", "KIND", "TIER", "ACCOUNT", "SCOPES", "NAME"];
    let mut rows = vec![heading.map(str::to_owned)];
    rows.extend(keys.iter().map(|key| {
        let cell = |member| text(key, member).to_owned();
        [
            cell("id"),
            cell("state"),
            cell("kind"),
            cell("tier"),
            cell("account"),
            scopes(&key["scopes"]),
            cell("name"),
        ]
    }));
    table(&rows).iter().for_each(say);
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
