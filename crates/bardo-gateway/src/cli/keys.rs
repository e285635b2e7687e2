//! `keys create|list|revoke|rotate`.

use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::{Common, say};
use crate::config::units::Span;
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
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// A restriction; may be repeated: read-only, model=NAME, backend=NAME, ip=NETWORK, rpm=N, tpm=N,
    /// spend-session=USD, spend-day=USD, spend-month=USD, spend-total=USD.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// free, pro or golem.
    #[arg(long)]
    tier: Option<String>,
    /// Put so much into its account at once.
    #[arg(long, value_name = "USD")]
    deposit_usd: Option<String>,
    /// It ends after this time, e.g. 30days.
    #[arg(long, value_name = "DURATION")]
    expires: Option<String>,
}

#[derive(Args)]
pub(super) struct List {
    #[command(flatten)]
    common: Common,
    /// Of one account alone.
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
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
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    overlap: String,
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
            let overlap = duration(&args.overlap)?;
            let fresh = stores::with_operator(&args.common, async |operator| {
                operator.change_key(&id, KeyChange::Rotate(overlap)).await
            })?;
            show(&args.common, &fresh, |key| {
                format!(
                    "{}\n\nIt takes the place of {}, which is taken for another {}.",
                    created(key),
                    text(key, "replaces"),
                    args.overlap
                )
            });
            Ok(())
        }
    }
}

fn create(args: Create) -> Result<(), String> {
    let amount =
        |usd: &String| MicroUsd::from_usd(usd).map_err(|error| format!("--deposit-usd: {error}"));
    let account =
        |name: &String| AccountId::parse(name).map_err(|error| format!("--account: {error}"));
    let spec = KeySpec {
        name: args.name,
        account: args.account.as_ref().map(account).transpose()?,
        scopes: args.scopes,
        tier: args.tier,
        deposit: args.deposit_usd.as_ref().map(amount).transpose()?,
        expires_in: args.expires.as_deref().map(duration).transpose()?,
    };
    let key = stores::with_operator(&args.common, async |operator| {
        operator.create_key(spec).await
    })?;
    show(&args.common, &key, created);
    Ok(())
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
    let account = match &args.account {
        Some(name) => Some(AccountId::parse(name).map_err(|error| format!("--account: {error}"))?),
        None => None,
    };
    let keys = stores::with_operator(&args.common, async |operator| {
        operator.list_keys(account.as_ref()).await
    })?;
    if keys.is_empty() && !args.common.json {
        say("no keys; `bardo-gateway keys create` makes one");
    }
    for key in &keys {
        show(&args.common, key, |key| {
            format!(
                "{:<16} {:<8} {:<10} {:<6} {:<40} {}",
                text(key, "id"),
                text(key, "state"),
                text(key, "kind"),
                text(key, "tier"),
                text(key, "account"),
                text(key, "name")
            )
        });
    }
    Ok(())
}

fn duration(text: &str) -> Result<std::time::Duration, String> {
    text.parse::<Span>().map(|span| span.0)
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
