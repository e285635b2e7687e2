//! The verbs `keys create`, `keys list`, `keys show`, `keys set`, `keys revoke` and `keys rotate`.

use std::time::Duration;

use bardo_types::calendar::rfc3339;
use bardo_types::money::MicroUsd;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{CliFailure, Common, check, say, show, table, text};
use crate::operator::{KeyChange, KeySpec, Unseen};
use crate::stores::{self, DataFolderKind};
use crate::unbilled;

#[derive(Subcommand)]
pub(super) enum KeysVerb {
    /// Create a key. Its text is shown once and not stored.
    Create(Create),
    /// List keys, without their secrets.
    List(List),
    /// Show one key, without its secret.
    Show(Show),
    /// Change the limits of a key. The key itself stays the same.
    Set(Set),
    /// Revoke a key at once.
    Revoke(Revoke),
    /// Replace a key. The old key keeps working for a grace period.
    Rotate(RotateArgs),
}

#[derive(Args)]
pub(super) struct Create {
    #[command(flatten)]
    common: Common,
    /// Label for listings.
    #[arg(long, default_value = "")]
    name: String,
    /// Account that pays for the key's requests, or the id of one of its keys [default: a new
    /// account].
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Create the account that --account names if it does not exist.
    #[arg(long, requires = "account")]
    create_account: bool,
    /// Restriction of the key: read-only, model=NAME, backend=NAME, ip=NETWORK, or one of the
    /// limits below, such as rpm=N, tpm=N, allowance=TOKENS or spend-day=USD. Repeat for several.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    #[command(flatten)]
    rights: RightArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Tier: free, pro or golem.
    #[arg(long)]
    tier: Option<String>,
    /// Amount to deposit into the account.
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = super::usd)]
    deposit_usd: Option<MicroUsd>,
    /// Lifetime of the key, such as 30days [default: unlimited].
    #[arg(long, value_name = "DURATION", value_parser = super::duration)]
    expires: Option<Duration>,
}

/// Rights of a key, which never change.
#[derive(Args)]
struct RightArgs {
    /// The key reads its own usage and balance, and makes no requests to models.
    #[arg(long)]
    read_only: bool,
    /// Model that the key may use, such as gpt-5.5 or claude-*. Repeat for several.
    #[arg(long = "model", value_name = "NAME")]
    models: Vec<String>,
    /// Backend that the key may use. Repeat for several.
    #[arg(long = "backend", value_name = "NAME")]
    backends: Vec<String>,
    /// Network from which the key may be used, such as 10.0.0.0/8. Repeat for several.
    #[arg(long = "ip", value_name = "NETWORK")]
    networks: Vec<String>,
}

impl RightArgs {
    /// The rights as scopes.
    fn scopes(self) -> impl Iterator<Item = String> {
        let named = |name: &'static str, values: Vec<String>| {
            let values = values.into_iter();
            values.map(move |value| format!("{name}={value}"))
        };
        let read_only = self.read_only.then(|| "read-only".to_owned());
        read_only
            .into_iter()
            .chain(named("model", self.models))
            .chain(named("backend", self.backends))
            .chain(named("ip", self.networks))
    }
}

/// Limits of a key.
#[derive(Args)]
struct LimitArgs {
    /// Requests per minute.
    #[arg(long, value_name = "N")]
    rpm: Option<String>,
    /// Tokens per minute.
    #[arg(long, value_name = "N")]
    tpm: Option<String>,
    /// Allowance: tokens per hour (UTC). All requests are charged; it limits only with `--overage
    /// block`.
    #[arg(long, value_name = "TOKENS")]
    allowance_tokens: Option<String>,
    /// After the allowance is used up: continue (bill), or refuse requests until the hour ends (block).
    #[arg(long, value_name = "bill|block")]
    overage: Option<String>,
    /// Spending cap per session.
    #[arg(long, value_name = "USD")]
    spend_session: Option<String>,
    /// Spending cap per day (UTC).
    #[arg(long, value_name = "USD")]
    spend_day: Option<String>,
    /// Spending cap per month (UTC).
    #[arg(long, value_name = "USD")]
    spend_month: Option<String>,
    /// Spending cap in total.
    #[arg(long, value_name = "USD")]
    spend_total: Option<String>,
    /// Spending cap per day (UTC) of a subsystem or a group of subsystems, such as dream_rem=0.25.
    /// Repeat for several.
    #[arg(long = "spend-subsystem", value_name = "NAME=USD")]
    spend_subsystems: Vec<String>,
    /// Range in which the key may change its own cap per day, such as 0.50..5.
    #[arg(long, value_name = "MIN..MAX")]
    spend_day_range: Option<String>,
    /// Range in which the key may change its own cap per month.
    #[arg(long, value_name = "MIN..MAX")]
    spend_month_range: Option<String>,
    /// Stored answers for the key's requests: off, default (to identical requests), or semantic
    /// (also to the same question in other words).
    #[arg(long, value_name = "off|default|semantic")]
    cache: Option<String>,
}

impl LimitArgs {
    /// The limits as scopes.
    fn scopes(self) -> impl Iterator<Item = String> {
        let subsystems = self.spend_subsystems.into_iter();
        let subsystems = subsystems.map(|text| format!("spend-day:{text}"));
        [
            ("rpm", self.rpm),
            ("tpm", self.tpm),
            ("allowance", self.allowance_tokens),
            ("overage", self.overage),
            ("spend-session", self.spend_session),
            ("spend-day", self.spend_day),
            ("spend-month", self.spend_month),
            ("spend-total", self.spend_total),
            ("spend-day-range", self.spend_day_range),
            ("spend-month-range", self.spend_month_range),
            ("cache", self.cache),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", value?)))
        .chain(subsystems)
    }
}

/// Id of a key, as an argument or as an option.
#[derive(Args)]
struct KeyIdArg {
    /// Id of the key.
    #[arg(value_name = "ID", required_unless_present = "key")]
    id: Option<String>,
    /// Id of the key.
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    key: Option<String>,
}

impl KeyIdArg {
    fn id(self) -> String {
        self.id.or(self.key).unwrap_or_default()
    }
}

#[derive(Args)]
pub(super) struct Show {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    which: KeyIdArg,
}

#[derive(Args)]
#[command(after_help = "Give `none` as the value to remove a limit: keys set ID --spend-day none")]
pub(super) struct Set {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    which: KeyIdArg,
    /// Limit as a scope, such as spend-day=2 or rpm=none. Repeat for several.
    #[arg(long = "scope", value_name = "LIMIT")]
    scopes: Vec<String>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    fixed: FixedArgs,
}

/// Properties of a key that never change. The options exist so that the refusal can name the remedy.
#[derive(Args)]
struct FixedArgs {
    /// Refused: it cannot be changed.
    #[arg(long, hide = true)]
    model: Vec<String>,
    /// Refused: it cannot be changed.
    #[arg(long, hide = true)]
    backend: Vec<String>,
    /// Refused: it cannot be changed.
    #[arg(long, hide = true)]
    ip: Vec<String>,
    /// Refused: it cannot be changed.
    #[arg(long, hide = true)]
    tier: Option<String>,
    /// Refused: it cannot be changed.
    #[arg(long, hide = true)]
    account: Option<String>,
    /// Refused: it cannot be changed.
    #[arg(long, hide = true)]
    name: Option<String>,
    /// Refused: it cannot be changed.
    #[arg(long, hide = true)]
    expires: Option<String>,
}

impl FixedArgs {
    /// # Errors
    /// If one of the options is given.
    fn refuse(&self) -> Result<(), CliFailure> {
        let given = [
            ("--model", !self.model.is_empty()),
            ("--backend", !self.backend.is_empty()),
            ("--ip", !self.ip.is_empty()),
            ("--tier", self.tier.is_some()),
            ("--account", self.account.is_some()),
            ("--name", self.name.is_some()),
            ("--expires", self.expires.is_some()),
        ];
        let given = given.iter().find(|(_, is_given)| *is_given);
        given.map_or(Ok(()), |(option, _)| {
            Err(CliFailure::new(
                "usage",
                format!("{option} cannot be changed for an existing key; create another key: bardo-gateway keys create"),
            ))
        })
    }
}

#[derive(Args)]
pub(super) struct List {
    #[command(flatten)]
    common: Common,
    /// List only the keys of this account, or of the account of this key.
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
}

#[derive(Args)]
pub(super) struct Revoke {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    which: KeyIdArg,
}

#[derive(Args)]
pub(super) struct RotateArgs {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    which: KeyIdArg,
    /// Time for which the old key still works.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = super::duration)]
    overlap: Duration,
}

pub(super) fn run(verb: KeysVerb) -> Result<(), CliFailure> {
    match verb {
        KeysVerb::Create(args) => create(args),
        KeysVerb::List(args) => list(&args),
        KeysVerb::Show(args) => {
            let id = args.which.id();
            let (key, kind) =
                stores::reading(&args.common, async |operator| operator.show_key(&id).await)?;
            show(&args.common, kind, &key, described);
            Ok(())
        }
        KeysVerb::Set(args) => {
            args.fixed.refuse()?;
            let id = args.which.id();
            let texts: Vec<String> = args
                .scopes
                .into_iter()
                .chain(args.limits.scopes())
                .collect();
            let (key, kind) = stores::with_operator(&args.common, async |operator| {
                operator.set_key(&id, &texts, None).await
            })?;
            show(&args.common, kind, &key, described);
            Ok(())
        }
        KeysVerb::Revoke(args) => {
            let id = args.which.id();
            let (revoked, kind) = stores::with_operator(&args.common, async |operator| {
                operator.change_key(&id, KeyChange::Revoke).await
            })?;
            show(&args.common, kind, &revoked, |key| {
                format!("revoked {}", text(key, "id"))
            });
            Ok(())
        }
        KeysVerb::Rotate(args) => {
            let id = args.which.id();
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
                    super::spoken(args.overlap)
                )
            });
            Ok(())
        }
    }
}

/// The note on a key with an allowance that refuses nothing.
const NO_LIMIT: &str = "with overage=bill the allowance refuses nothing and makes nothing free: all requests are \
                        charged, and x-remaining-tokens shows the rest. --overage block refuses requests beyond it";

/// The note on a read-only key that has an account of its own.
const ALONE: &str = "the account of this read-only key is new, so the key shows no spending; --account names an \
                     existing account. For all keys: bardo-gateway usage --by key";

fn create(args: Create) -> Result<(), CliFailure> {
    let scopes: Vec<String> = args
        .scopes
        .into_iter()
        .chain(args.rights.scopes())
        .chain(args.limits.scopes())
        .collect();
    check::check_backend_scopes(args.common.config.as_deref(), &scopes)
        .map_err(|reason| CliFailure::new("invalid", reason))?;
    let is_new = args.account.is_none();
    let spec = KeySpec {
        name: args.name,
        account: args.account,
        unseen: Unseen::of(args.create_account),
        scopes,
        tier: args.tier,
        deposit: args.deposit_usd,
        expires_in: args.expires,
    };
    let (mut key, kind) = stores::with_operator(&args.common, async |operator| {
        operator.create_key(spec).await
    })?;
    let mut notices = Vec::new();
    if is_new && key["kind"] == "read_only" {
        notices.push(ALONE.to_owned());
    }
    if key["scopes"]["allowance"]["overage"] == "bill" {
        notices.push(NO_LIMIT.to_owned());
    }
    if kind == DataFolderKind::Real {
        let config = args.common.config.as_deref();
        notices.extend(check::unserved_scopes(config, &key["scopes"]["models"]));
        notices.extend(unbilled::of_key(&key, &unbilled::configured(config)));
    }
    if !notices.is_empty() {
        key["notices"] = json!(notices);
    }
    show(&args.common, kind, &key, created);
    match key["deposit_error"].as_str() {
        Some(error) => Err(CliFailure::new(
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
    let notices = key["notices"].as_array().into_iter().flatten();
    let notice: String = notices
        .filter_map(|notice| Some(format!("\nnote: {}", notice.as_str()?)))
        .collect();
    let name = text(key, "name");
    let rows = [
        ("name", if name.is_empty() { "-" } else { name }.to_owned()),
        ("scopes", scopes(&key["scopes"])),
        ("expires", moment(&key["expires_at_ms"])),
    ];
    let rows: String = rows
        .iter()
        .filter(|(_, value)| value != "-")
        .map(|(row, value)| format!("\n{row:<8} {value}"))
        .collect();
    format!(
        "key      {}\nid       {}\naccount  {}{rows}{balance}\n\nCopy the key now. It is not shown again: only its hash is stored.{notice}",
        text(key, "key"),
        text(key, "id"),
        text(key, "account"),
    )
}

fn described(key: &Value) -> String {
    format!(
        "id       {}\nname     {}\nstate    {}\nkind     {}\ntier     {}\naccount  {}\nscopes   {}",
        text(key, "id"),
        text(key, "name"),
        text(key, "state"),
        text(key, "kind"),
        text(key, "tier"),
        text(key, "account"),
        scopes(&key["scopes"]),
    )
}

fn list(args: &List) -> Result<(), CliFailure> {
    if !stores::exists(&args.common)? {
        if !args.common.json {
            let folder = stores::data_folder(args.common.data_dir.as_deref())?;
            say(format!(
                "no keys in {}; create one: bardo-gateway keys create. The keys of a gateway with a \
                 configuration file: --config FILE",
                folder.display()
            ));
        }
        return Ok(());
    }
    let (keys, kind) = stores::with_operator(&args.common, async |operator| {
        operator.list_keys(args.account.as_deref()).await
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
    let heading = [
        "ID", "STATE", "KIND", "TIER", "CREATED", "EXPIRES", "ACCOUNT", "SCOPES", "NAME",
    ];
    let mut rows = vec![heading.map(str::to_owned)];
    rows.extend(keys.iter().map(|key| {
        let cell = |member| text(key, member).to_owned();
        [
            cell("id"),
            cell("state"),
            cell("kind"),
            cell("tier"),
            moment(&key["created_at_ms"]),
            moment(&key["expires_at_ms"]),
            cell("account"),
            scopes(&key["scopes"]),
            cell("name"),
        ]
    }));
    table(&rows).iter().for_each(say);
    Ok(())
}

/// A time to the minute, in UTC; `-` for none.
fn moment(unix_ms: &Value) -> String {
    unix_ms.as_u64().map_or_else(
        || "-".to_owned(),
        |ms| {
            let whole = rfc3339(ms);
            format!("{}Z", whole.get(..16).unwrap_or(&whole))
        },
    )
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
    if let Some(tokens) = scopes["allowance"]["tokens_per_hour"].as_u64() {
        let overage = text(&scopes["allowance"], "overage");
        all.push(format!("allowance={tokens},overage={overage}"));
    }
    for window in ["session", "day", "month", "total"] {
        let cap = scopes["spend"][window].as_str();
        all.extend(cap.map(|usd| format!("spend-{window}={usd}")));
        let range = &scopes["spend_ranges"][window];
        if let (Some(min), Some(max)) = (range["min"].as_str(), range["max"].as_str()) {
            all.push(format!("spend-{window}-range={min}..{max}"));
        }
    }
    let of_subsystems = scopes["spend_day_of_subsystems"].as_object();
    for (name, cap) in of_subsystems.into_iter().flatten() {
        let usd = cap.as_str().unwrap_or_default();
        all.push(format!("spend-day:{name}={usd}"));
    }
    let cache = scopes["cache"].as_str();
    all.extend(cache.map(|cache| format!("cache={cache}")));
    if all.is_empty() {
        "-".to_owned()
    } else {
        all.join(",")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{moment, scopes};

    #[test]
    fn times_are_shown_to_the_minute() {
        assert_eq!(moment(&json!(1_795_000_000_000_u64)), "2026-11-18T11:06Z");
        assert_eq!(moment(&json!(null)), "-");
    }

    #[test]
    fn scopes_are_one_word_as_they_are_written() {
        let shown = json!({
            "models": ["m", "n-*"],
            "backends": ["openrouter"],
            "networks": ["10.0.0.0/8"],
            "requests_per_minute": 5,
            "tokens_per_minute": null,
            "allowance": { "tokens_per_hour": 700, "overage": "block" },
            "spend": { "session": null, "day": "1.500000", "month": null, "total": null },
            "spend_day_of_subsystems": { "dream_rem": "0.250000" },
            "spend_ranges": { "day": { "min": "1.000000", "max": "2.000000" }, "month": null },
            "cache": "off",
        });
        assert_eq!(
            scopes(&shown),
            "model=m,model=n-*,backend=openrouter,ip=10.0.0.0/8,rpm=5,allowance=700,overage=block,\
             spend-day=1.500000,spend-day-range=1.000000..2.000000,spend-day:dream_rem=0.250000,cache=off"
        );
        assert_eq!(scopes(&json!({})), "-");
    }
}
