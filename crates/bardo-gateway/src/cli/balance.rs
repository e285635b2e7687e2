//! `balance show|deposit|ledger|verify` and `reconcile`.

use bardo_types::money::MicroUsd;
use clap::{ArgGroup, Args, Subcommand};
use serde_json::Value;

use super::{CliFailure, Common, counted, say, show, text};
use crate::operator::{BillResolution, Operator, OperatorError, Unseen};
use crate::stores;

#[derive(Subcommand)]
pub(super) enum BalanceVerb {
    /// Show the deposited, spent, held and available amounts of an account.
    Show(Whose),
    /// Deposit money into an account.
    Deposit(DepositArgs),
    /// List every posting of an account, oldest first.
    Ledger(Whose),
    /// Verify that all accounts add up. Exits with 1 if they do not.
    Verify(Common),
}

#[derive(Args)]
pub(super) struct Whose {
    #[command(flatten)]
    common: Common,
    /// Id of a key, or an account.
    #[arg(long, alias = "account", value_name = "ID")]
    key: String,
}

#[derive(Args)]
#[command(group(ArgGroup::new("payee").required(true).args(["key", "account"])))]
pub(super) struct DepositArgs {
    #[command(flatten)]
    common: Common,
    /// Id of a key, or an existing account.
    #[arg(long, value_name = "ID")]
    key: Option<String>,
    /// Account. Its first deposit creates it.
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Amount, such as 10 or 0.25.
    #[arg(long, value_name = "USD", value_parser = super::usd)]
    usd: MicroUsd,
    /// Reference of the payment. A second deposit with the same reference adds nothing.
    #[arg(long)]
    reference: Option<String>,
}

/// Options of `reconcile`.
#[derive(Args)]
pub(super) struct ReconcileArgs {
    #[command(flatten)]
    common: Common,
    /// Id of the request to decide on [default: list all requests with an unknown outcome].
    #[arg(long, value_name = "REQUEST", requires = "decision")]
    request: Option<String>,
    /// Release the hold: the provider did not bill the request.
    #[arg(long, requires = "request", group = "decision")]
    release: bool,
    /// Charge this amount, spread included: the provider billed the request.
    #[arg(
        long,
        value_name = "USD",
        requires = "request",
        group = "decision",
        value_parser = super::usd
    )]
    charge_usd: Option<MicroUsd>,
    /// Backend that billed it.
    #[arg(long, requires = "charge_usd")]
    provider: Option<String>,
}

pub(super) fn run(verb: BalanceVerb) -> Result<(), CliFailure> {
    match verb {
        BalanceVerb::Show(whose) => {
            let (balance, kind) = stores::reading(&whose.common, async |operator| {
                let account = operator.account(&whose.key).await?;
                operator.balance(&account).await
            })?;
            show(&whose.common, kind, &balance, stand);
            Ok(())
        }
        BalanceVerb::Deposit(args) => {
            let (name, unseen) = match (args.account, args.key) {
                (Some(account), _) => (account, Unseen::Make),
                (None, key) => (key.unwrap_or_default(), Unseen::Refuse),
            };
            let (balance, kind) = stores::with_operator(&args.common, async |operator| {
                let account = operator.payee(&name, unseen).await?;
                operator.deposit(account, args.usd, args.reference).await
            })?;
            show(&args.common, kind, &balance, stand);
            Ok(())
        }
        BalanceVerb::Ledger(whose) => {
            let (postings, kind) = stores::reading(&whose.common, async |operator| {
                let account = operator.account(&whose.key).await?;
                operator.postings(&account).await
            })?;
            for posting in &postings {
                show(&whose.common, kind, posting, |posting| {
                    format!(
                        "{:>8}  {:<8} {:<40} {:>16}  {}",
                        posting["transfer"],
                        text(posting, "kind"),
                        text(posting, "book"),
                        text(posting, "amount"),
                        text(posting, "reference")
                    )
                });
            }
            Ok(())
        }
        BalanceVerb::Verify(common) => verify(&common),
    }
}

fn verify(common: &Common) -> Result<(), CliFailure> {
    let ((ok, found), kind) = stores::reading(common, async |operator| operator.verify().await)?;
    show(common, kind, &found, |found| {
        let problems = found["problems"].as_array().into_iter().flatten();
        let problems: String = problems
            .map(|problem| format!("\n  {}", problem.as_str().unwrap_or_default()))
            .collect();
        let number = |name: &str, noun: &str| {
            let number = found[name].as_u64().unwrap_or_default();
            counted(usize::try_from(number).unwrap_or(usize::MAX), noun)
        };
        format!(
            "{}, {}, {}: {}{problems}{}",
            number("accounts", "account"),
            number("postings", "posting"),
            number("holds", "open hold"),
            if ok {
                "verified"
            } else {
                "THE BOOKS DO NOT ADD UP"
            },
            paid(&found["provider_payments"])
        )
    });
    if ok {
        Ok(())
    } else {
        Err(CliFailure::new(
            "books_do_not_add_up",
            "the books do not add up",
        ))
    }
}

/// The payments to providers in words; empty where there are none.
fn paid(payments: &Value) -> String {
    if payments["payments"] == 0 {
        return String::new();
    }
    format!(
        "\n{} payments to providers: {} USD signed, {} USD of them without an answer; providers took {} USD, and {} USD are booked as cost; the difference is {} USD",
        payments["payments"],
        text(payments, "signed"),
        text(payments, "unanswered"),
        text(payments, "taken"),
        text(payments, "booked"),
        text(payments, "difference"),
    )
}

pub(super) fn reconcile(args: ReconcileArgs) -> Result<(), CliFailure> {
    let Some(request) = args.request else {
        let (holds, kind) =
            stores::reading(&args.common, async |operator| operator.unknown().await)?;
        if holds.is_empty() && !args.common.json {
            say("no request has an unknown outcome");
        }
        for hold in &holds {
            show(&args.common, kind, hold, |hold| {
                format!(
                    "{}  {}  {:>12} USD held  {}  {}  {}",
                    text(hold, "request_id"),
                    text(hold, "created"),
                    text(hold, "held"),
                    text(hold, "provider"),
                    text(hold, "model"),
                    text(hold, "account")
                )
            });
        }
        return Ok(());
    };
    let resolution = args
        .charge_usd
        .map_or(BillResolution::Release, BillResolution::Charge);
    let settle = async |operator: &Operator| -> Result<Value, OperatorError> {
        operator
            .reconcile(&request, resolution, args.provider)
            .await
    };
    let (settled, kind) = stores::with_operator(&args.common, settle)?;
    show(&args.common, kind, &settled, |settled| {
        format!(
            "{}: charged {} USD",
            text(settled, "request_id"),
            text(settled, "charged")
        )
    });
    Ok(())
}

/// An account in words.
fn stand(balance: &Value) -> String {
    let repeated = match balance["repeated"] == true {
        true => "a deposit with this reference exists; nothing is added\n",
        false => "",
    };
    format!(
        "{repeated}account    {}\navailable  {} USD\nheld       {} USD\nspent      {} USD\ndeposited  {} USD",
        text(balance, "account"),
        text(balance, "available"),
        text(balance, "held"),
        text(balance, "spent"),
        text(balance, "deposited")
    )
}
