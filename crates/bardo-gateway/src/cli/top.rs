//! `top`: a running server in the terminal, read from its admin API.

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, SyncSender};
use std::time::Duration;

use bardo_top::{AdminAnswers, ScreenFigures};
use bardo_types::calendar::{DAY_MS, Date};
use bardo_types::clock::{Clock as _, SystemClock};
use clap::Args;
use serde_json::{Value, json};

use super::client::NoAnswer;
use super::{AdminClient, CliFailure, say};
use crate::serve;

/// Receipts that the largest screen shows.
const RECEIPTS: usize = 60;
/// Accounts whose balances are shown.
const ACCOUNTS: usize = 4;
/// Sums of the day are read again after this number of screens: they change slowly.
const SCREENS_PER_SUM: u32 = 5;
/// The size of `--once`.
const ONCE: (u16, u16) = (80, 24);

/// Options of `top`.
#[derive(Args)]
pub(super) struct TopArgs {
    /// Address of the admin listener of a running server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8403")]
    admin_url: String,
    /// Time between two screens.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = super::duration)]
    every: Duration,
    /// Print one screen of 80 columns and 24 rows, and end.
    #[arg(long)]
    once: bool,
    /// Print the figures as one JSON object, and end.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &TopArgs) -> Result<(), CliFailure> {
    let client = AdminClient::new(&args.admin_url, token().as_deref())
        .map_err(|reason| CliFailure::new("usage", reason))?;
    let mut source = AdminSource {
        client,
        answers: AdminAnswers::default(),
        screens: 0,
    };
    let runtime = serve::runtime()?;
    let first = runtime.block_on(source.look());
    if let Err(reason) = first {
        let (reason, help) = words(&reason);
        return Err(CliFailure::new(
            "unavailable",
            format!("{}: {reason}. {help}", args.admin_url),
        ));
    }
    if args.json {
        say(source.json().to_string());
        return Ok(());
    }
    let figures = ScreenFigures::read(&args.admin_url, &source.answers);
    if args.once {
        say(bardo_top::text(&figures, ONCE.0, ONCE.1));
        return Ok(());
    }
    if !std::io::stdout().is_terminal() {
        let told =
            "standard output is no terminal; add --once for one screen, or --json for the figures";
        return Err(CliFailure::new("usage", told));
    }
    let (sender, receiver) = mpsc::sync_channel(1);
    let (address, every) = (args.admin_url.clone(), args.every);
    std::thread::Builder::new()
        .name("top".into())
        .spawn(move || runtime.block_on(follow(source, &address, every, &sender)))
        .map_err(|error| error.to_string())?;
    bardo_top::run(figures, &receiver)
        .map_err(|error| format!("the terminal cannot be used: {error}").into())
}

/// The token of operators, from the environment: an option would be seen in lists of processes.
fn token() -> Option<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|token| !token.is_empty());
    set("BARDO_ADMIN_TOKEN").or_else(|| set("BARDO_SERVER__ADMIN_TOKEN"))
}

/// Why there is no screen, and what helps.
fn words(reason: &NoAnswer) -> (String, String) {
    match reason {
        NoAnswer::Refused => (
            "the server refuses the token".to_owned(),
            "Set the variable BARDO_ADMIN_TOKEN to `server.admin_token` or `server.admin_read_token`".to_owned(),
        ),
        NoAnswer::Other(reason) => (
            reason.clone(),
            "Start a server: bardo-gateway serve (or serve --sandbox); or name its admin listener: --admin-url URL"
                .to_owned(),
        ),
    }
}

/// Sends figures until the reader quits.
async fn follow(
    mut source: AdminSource,
    address: &str,
    every: Duration,
    to: &SyncSender<ScreenFigures>,
) {
    loop {
        tokio::time::sleep(every).await;
        let figures = ScreenFigures::read(address, &source.answers);
        let figures = match source.look().await {
            Ok(()) => ScreenFigures::read(address, &source.answers),
            Err(reason) => {
                let (reason, help) = words(&reason);
                figures.lost(reason, help)
            }
        };
        if to.send(figures).is_err() {
            return;
        }
    }
}

/// The last answers of a server.
struct AdminSource {
    client: AdminClient,
    answers: AdminAnswers,
    screens: u32,
}

impl AdminSource {
    /// Reads what has changed.
    async fn look(&mut self) -> Result<(), NoAnswer> {
        self.answers.status = self.client.json("/status").await?;
        let receipts = format!("/admin/receipts?limit={RECEIPTS}");
        self.answers.receipts = self.client.json(&receipts).await.unwrap_or_default();
        self.answers.cache = self.client.json("/admin/cache").await.unwrap_or_default();
        if self.screens.is_multiple_of(SCREENS_PER_SUM) {
            self.sums().await;
        }
        self.screens = self.screens.wrapping_add(1);
        Ok(())
    }

    /// Reads the sums of today, and the balances of its largest accounts.
    async fn sums(&mut self) {
        let today = Date::of_days(SystemClock.now_ms() / DAY_MS);
        let path = format!("/admin/usage?by=account&from={today}&to={today}");
        self.answers.usage = self.client.json(&path).await.unwrap_or_default();
        let rows = self.answers.usage["data"].as_array().into_iter().flatten();
        let mut accounts: Vec<(u64, String)> = rows
            .filter_map(|row| {
                Some((
                    row["requests"].as_u64()?,
                    row["account"].as_str()?.to_owned(),
                ))
            })
            .collect();
        accounts.sort_unstable_by(|a, b| b.cmp(a));
        let mut balances = Vec::new();
        for (_, account) in accounts {
            // Accounts of `auth.keys` have no balance.
            let balance = self
                .client
                .json(&format!("/admin/balances/{account}"))
                .await;
            balances.extend(balance.ok());
            if balances.len() == ACCOUNTS {
                break;
            }
        }
        self.answers.balances = balances;
    }

    fn json(&self) -> Value {
        json!({
            "status": self.answers.status,
            "today": self.answers.usage["total"],
            "cache": self.answers.cache,
            "balances": self.answers.balances,
            "requests": self.answers.receipts["data"],
        })
    }
}
