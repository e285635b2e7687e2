//! `balance show|deposit|ledger|verify` and `reconcile`.

use bardo_types::money::MicroUsd;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::{Common, say};
use crate::operator::{Operator, OperatorError, Resolution, Unseen};
use crate::stores;

#[derive(Subcommand)]
pub(super) enum BalanceVerb {
    /// What came in, is spent, held and available.
    Show(Whose),
    /// Put money in.
    Deposit(DepositArgs),
    /// Every posting, oldest first.
    Ledger(Whose),
    /// Whether everything adds up; exits 1 where it does not.
    Verify(Common),
}

#[derive(Args)]
pub(super) struct Whose {
    #[command(flatten)]
    common: Common,
    /// A key's id, or an account.
    #[arg(long, alias = "account", value_name = "ID")]
    key: String,
}

#[derive(Args)]
pub(super) struct DepositArgs {
    #[command(flatten)]
    common: Common,
    /// A key's id, or an account that exists.
    #[arg(long, value_name = "ID", required_unless_present = "account")]
    key: Option<String>,
    /// An account, made by its first deposit where it does not exist yet.
    #[arg(long, value_name = "ACCOUNT", conflicts_with = "key")]
    account: Option<String>,
    /// How much, e.g. 10 or 0.25.
    #[arg(long, value_name = "USD", value_parser = super::usd)]
    usd: MicroUsd,
    /// Where it came from; the same reference twice is one deposit.
    #[arg(long)]
    reference: Option<String>,
}

/// `reconcile`.
#[derive(Args)]
pub(super) struct Reconcile {
    #[command(flatten)]
    common: Common,
    /// The request to decide on [default: list all whose outcome is unknown].
    #[arg(long, value_name = "REQUEST", requires = "decision")]
    request: Option<String>,
    /// The provider did not bill it.
    #[arg(long, requires = "request", group = "decision")]
    release: bool,
    /// It did: charge so much, spread included.
    #[arg(
        long,
        value_name = "USD",
        requires = "request",
        group = "decision",
        value_parser = super::usd
    )]
    charge_usd: Option<MicroUsd>,
    /// The backend that billed it.
    #[arg(long, requires = "charge_usd")]
    provider: Option<String>,
}

pub(super) fn run(verb: BalanceVerb) -> Result<(), String> {
    match verb {
        BalanceVerb::Show(whose) => {
            let balance = stores::with_operator(&whose.common, async |operator| {
                let account = operator.account(&whose.key).await?;
                operator.balance(&account).await
            })?;
            show_balance(&whose.common, &balance);
            Ok(())
        }
        BalanceVerb::Deposit(args) => {
            let (name, unseen) = match (args.account, args.key) {
                (Some(account), _) => (account, Unseen::Make),
                (None, key) => (key.unwrap_or_default(), Unseen::Refuse),
            };
            let balance = stores::with_operator(&args.common, async |operator| {
                let account = operator.payee(&name, unseen).await?;
                operator.deposit(account, args.usd, args.reference).await
            })?;
            show_balance(&args.common, &balance);
            Ok(())
        }
        BalanceVerb::Ledger(whose) => {
            let postings = stores::with_operator(&whose.common, async |operator| {
                let account = operator.account(&whose.key).await?;
                operator.postings(&account).await
            })?;
            for posting in &postings {
                show_posting(&whose.common, posting);
            }
            Ok(())
        }
        BalanceVerb::Verify(common) => {
            let (ok, found) =
                stores::with_operator(&common, async |operator| operator.verify().await)?;
            if common.json {
                say(found.to_string());
            } else {
                say(format!(
                    "{} accounts, {} postings, {} open holds: {}",
                    found["accounts"],
                    found["postings"],
                    found["holds"],
                    if ok { "all adds up" } else { "NOT ALL ADDS UP" }
                ));
                for problem in found["problems"].as_array().into_iter().flatten() {
                    say(format!("  {}", problem.as_str().unwrap_or_default()));
                }
            }
            if ok {
                Ok(())
            } else {
                Err("the books do not add up".into())
            }
        }
    }
}

pub(super) fn reconcile(args: Reconcile) -> Result<(), String> {
    let Some(request) = args.request else {
        let holds = stores::with_operator(&args.common, async |operator| operator.unknown().await)?;
        if holds.is_empty() && !args.common.json {
            say("no request has an unknown outcome");
        }
        for hold in &holds {
            if args.common.json {
                say(hold.to_string());
            } else {
                say(format!(
                    "{}  {}  {:>12} USD held  {}  {}  {}",
                    text(hold, "request_id"),
                    text(hold, "created"),
                    text(hold, "held"),
                    text(hold, "provider"),
                    text(hold, "model"),
                    text(hold, "account")
                ));
            }
        }
        return Ok(());
    };
    let resolution = args
        .charge_usd
        .map_or(Resolution::Release, Resolution::Charge);
    let settle = async |operator: &Operator| -> Result<Value, OperatorError> {
        operator
            .reconcile(&request, resolution, args.provider)
            .await
    };
    let settled = stores::with_operator(&args.common, settle)?;
    if args.common.json {
        say(settled.to_string());
    } else {
        say(format!(
            "{}: charged {} USD",
            text(&settled, "request_id"),
            text(&settled, "charged")
        ));
    }
    Ok(())
}

fn show_balance(common: &Common, balance: &Value) {
    if common.json {
        say(balance.to_string());
    } else {
        if balance["repeated"] == true {
            say("this reference was deposited before; nothing is added");
        }
        say(format!(
            "account    {}\navailable  {} USD\nheld       {} USD\nspent      {} USD\ndeposited  {} USD",
            text(balance, "account"),
            text(balance, "available"),
            text(balance, "held"),
            text(balance, "spent"),
            text(balance, "deposited")
        ));
    }
}

fn show_posting(common: &Common, posting: &Value) {
    if common.json {
        say(posting.to_string());
    } else {
        say(format!(
            "{:>8}  {:<8} {:<40} {:>16}  {}",
            posting["transfer"],
            text(posting, "kind"),
            text(posting, "book"),
            text(posting, "amount"),
            text(posting, "reference")
        ));
    }
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or("-")
}
