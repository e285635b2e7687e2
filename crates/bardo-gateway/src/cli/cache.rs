//! `cache`: the stored answers of a running server.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use bardo_cache::scope::Scope;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::route::{self, DryRun};
use super::{CliFailure, Common, environment, number_of, say};
use crate::caches::{FlushOrder, InvalidateOrder, prompt_cache_words, stats_words};
use crate::stores::data_folder;
use crate::{config, control};

#[derive(Subcommand)]
pub(super) enum CacheVerb {
    /// Show the entries, hits, misses and savings of the running server.
    Stats(StatsArgs),
    /// Remove stored answers from the running server.
    Flush(FlushArgs),
    /// Show which stored answer a request would get, or why none. This is a dry run: it calls no
    /// backend and costs nothing.
    Explain(CacheExplainArgs),
}

#[derive(Args)]
pub(super) struct StatsArgs {
    #[command(flatten)]
    common: Common,
    /// Show the figures of this account alone, or of the account of this key.
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
}

#[derive(Args)]
pub(super) struct FlushArgs {
    #[command(flatten)]
    common: Common,
    /// Remove the answers of all accounts.
    #[arg(long, conflicts_with = "account")]
    all: bool,
    /// Remove only answers that this account, or the account of this key, paid for.
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Remove only answers to this agent of the account.
    #[arg(long, value_name = "NAME", requires = "account")]
    agent: Option<String>,
    /// Remove only answers of this domain, such as defi. Repeat for several.
    #[arg(long = "domain", value_name = "NAME")]
    domains: Vec<String>,
    /// Remove only answers to prompts that name this token, such as ETH. Repeat for several.
    #[arg(long = "token", value_name = "TICKER")]
    tokens: Vec<String>,
    /// Remove only answers to prompts that name this pool or contract. Repeat for several.
    #[arg(long = "pool", value_name = "ADDRESS")]
    pools: Vec<String>,
    /// Remove only answers to prompts that carry the playbook of this digest, which `cache explain`
    /// shows. Repeat for several.
    #[arg(long = "playbook", value_name = "DIGEST")]
    playbooks: Vec<String>,
    /// Remove only answers about a market.
    #[arg(long)]
    market: bool,
    /// Set the regime of requests that name none: calm, normal, volatile, crisis or none. A change
    /// removes answers about a market.
    #[arg(long, value_name = "REGIME", conflicts_with_all = ["all", "account"])]
    regime: Option<String>,
    /// Remove answers to prompts that name this contract, pool or position. Repeat for several.
    #[arg(long = "address", value_name = "ADDRESS", conflicts_with = "all")]
    addresses: Vec<String>,
    /// Chain of the addresses, for the log.
    #[arg(long, value_name = "NAME", requires = "addresses")]
    chain: Option<String>,
}

impl FlushArgs {
    /// Refuses an option that has no name in it.
    fn check_names(&self) -> Result<(), CliFailure> {
        let one = |name: &Option<String>| name.iter().cloned().collect::<Vec<_>>();
        let options = [
            ("account", &one(&self.account)),
            ("agent", &one(&self.agent)),
            ("domain", &self.domains),
            ("token", &self.tokens),
            ("pool", &self.pools),
            ("playbook", &self.playbooks),
            ("address", &self.addresses),
        ];
        let is_empty = |names: &Vec<String>| names.iter().any(|name| name.trim().is_empty());
        match options.into_iter().find(|(_, names)| is_empty(names)) {
            None => Ok(()),
            Some((option, _)) => {
                let told = format!("--{option} is empty; name what to remove");
                Err(CliFailure::new("usage", told))
            }
        }
    }

    /// An event that answers of several kinds depend on; `None` for a plain flush.
    fn event(&self) -> Option<InvalidateOrder> {
        let lists = [&self.domains, &self.tokens, &self.pools, &self.playbooks];
        let names: usize = lists.iter().map(|list| list.len()).sum();
        if self.regime.is_none() && self.addresses.is_empty() && names < 2 {
            return None;
        }
        Some(InvalidateOrder {
            account: self.account.clone(),
            chain: self.chain.clone(),
            addresses: [self.addresses.clone(), self.pools.clone()].concat(),
            tokens: self.tokens.clone(),
            domains: self.domains.clone(),
            playbooks: self.playbooks.clone(),
            market: self.market,
            regime: self.regime.clone(),
        })
    }
}

/// Options of `cache explain`.
#[derive(Args)]
pub(super) struct CacheExplainArgs {
    #[command(flatten)]
    common: Common,
    /// File with a request body in any dialect; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Address of the running server [default: that of the server on the data folder, or
    /// `server.listen` of the configuration].
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// API key for that server [default: the variable BARDO_KEY or BARDO_API_KEY].
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) fn run(verb: CacheVerb) -> Result<(), CliFailure> {
    if let CacheVerb::Flush(args) = &verb {
        args.check_names()?;
    }
    let (common, order) = match verb {
        CacheVerb::Explain(args) => {
            let body = route::read(&args.file)?;
            let url = match args.url {
                Some(url) => url,
                None => format!("http://{}", listener(&args.common)?),
            };
            let asked = DryRun {
                url: &url,
                path: "cache/explain",
                key: args.key.as_deref(),
                json: args.common.json,
            };
            say(asked.ask(&body)?.trim_end());
            return Ok(());
        }
        CacheVerb::Stats(args) => (args.common, json!({ "stats": { "account": args.account } })),
        CacheVerb::Flush(args) if args.event().is_some() => {
            if args.agent.is_some() || args.all {
                let told =
                    "name `--agent` or `--all` without several names, `--address` and `--regime`";
                return Err(CliFailure::new("usage", told.to_owned()));
            }
            let order = args.event().unwrap_or_default();
            order
                .check()
                .map_err(|error| CliFailure::new("usage", error))?;
            (args.common, json!({ "invalidate": order }))
        }
        CacheVerb::Flush(args) => {
            let order = FlushOrder {
                all: args.all,
                account: args.account,
                agent: args.agent,
                domain: args.domains.into_iter().next(),
                token: args.tokens.into_iter().next(),
                pool: args.pools.into_iter().next(),
                playbook: args.playbooks.into_iter().next(),
                market: args.market,
            };
            if order == FlushOrder::default() {
                return Err(CliFailure::new("usage", nothing_named()));
            }
            order
                // The server knows the scope of its cache.
                .read(Scope::Agent)
                .map_err(|error| CliFailure::new("usage", error.to_string()))?;
            (args.common, json!({ "flush": order }))
        }
    };
    let folder = data_folder(common.data_dir.as_deref())?;
    let answer = control::ask_cache(&folder, &order).ok_or_else(|| {
        CliFailure::new(
            "unavailable",
            format!(
                "no server runs on the data folder {}. Stored answers are in the memory of a server. Start the server with --data-dir FOLDER (also a sandbox), and give this verb the same --data-dir",
                folder.display()
            ),
        )
    })?;
    if let Some(error) = answer["error"].as_str() {
        return Err(CliFailure::new("invalid", error.to_owned()));
    }
    match common.json {
        true => say(answer.to_string()),
        false => words(&answer).iter().for_each(say),
    }
    Ok(())
}

/// The address of the server that the options mean, for a client on the same machine. A
/// configuration that is named without a data folder says it; else a server on the data folder does.
fn listener(common: &Common) -> Result<SocketAddr, CliFailure> {
    let is_by_folder = common.data_dir.is_some() || common.config.is_none();
    let folder = data_folder(common.data_dir.as_deref()).ok();
    let running = folder.filter(|_| is_by_folder);
    let mut address = match running.and_then(|folder| control::address(&folder)) {
        Some(address) => address,
        None => config::listener(common.config.as_deref(), &environment())?,
    };
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    Ok(address)
}

/// The error of a flush that names nothing: all options that name something, as the help has them.
fn nothing_named() -> String {
    let command = FlushArgs::augment_args(clap::Command::new("flush"));
    let own = Common::augment_args(clap::Command::new("flush"));
    let known: Vec<&str> = own
        .get_arguments()
        .filter_map(|one| one.get_long())
        .collect();
    let options = command.get_arguments().filter_map(|one| one.get_long());
    // The chain of an address is only for the log.
    let options = options.filter(|name| !known.contains(name) && *name != "chain");
    let options: Vec<String> = options.map(|name| format!("--{name}")).collect();
    format!("say what to remove: {}", options.join(", "))
}

/// The answer of the server for people.
fn words(answer: &Value) -> Vec<String> {
    if let Some(removed) = answer["flushed"]
        .as_u64()
        .filter(|_| answer["hits"].is_null())
    {
        let mut lines = vec![format!("removed {}", number_of(removed, "stored answer"))];
        let second = &answer["second_level"];
        if let Some(shared) = second["flushed"].as_u64() {
            lines[0] = format!("{}, {shared} in Redis", lines[0]);
        }
        if let Some(error) = second["error"].as_str() {
            lines.push(format!(
                "Redis was not reached: {error}. Other gateways may still serve these answers. The gateway repeats the \
                 removal each second until Redis has it"
            ));
        }
        if let Some(regime) = answer.get("regime") {
            let is_set = regime.as_str().unwrap_or("not set");
            lines.insert(
                0,
                format!("the regime of requests that name none is {is_set}"),
            );
        }
        return lines;
    }
    let rate = answer["hit_rate"].as_f64().unwrap_or(0.0) * 100.0;
    let mut lines = vec![
        format!(
            "entries   {} ({})",
            answer["entries"],
            number_of(answer["bytes"].as_u64().unwrap_or(0), "byte")
        ),
        format!(
            "hits      {} of {} ({rate:.1} %)",
            answer["hits"],
            number_of(looked(answer), "look-up")
        ),
        format!(
            "saved     {} USD",
            answer["saved_usd"].as_str().unwrap_or("0")
        ),
        format!(
            "stored    {}, evicted {}, expired {}, flushed {}",
            answer["stored"], answer["evicted"], answer["expired"], answer["flushed"]
        ),
    ];
    let similar = answer["semantic_hits"].as_u64().unwrap_or(0);
    if similar > 0 {
        lines.push(format!(
            "semantic  {} to the same question in other words",
            number_of(similar, "answer")
        ));
    }
    lines.extend(stats_words(&answer["semantic"]));
    lines.extend(prompt_cache_words(&answer["prompt_caches"]));
    if let Some(followed) = answer["followed"].as_u64() {
        lines.push(format!(
            "shared    {} of identical requests at the same time",
            number_of(followed, "answer")
        ));
    }
    let mut is_explained = false;
    for (member, said) in [
        ("bypassed", "bypassed"),
        ("unstored", "unstored"),
        ("invalidations", "removals"),
    ] {
        for (reason, count) in answer[member].as_object().into_iter().flatten() {
            // Orders and changes are counted here, not answers.
            let times = match member {
                "invalidations" if count == 1 => " time",
                "invalidations" => " times",
                _ => "",
            };
            lines.push(format!("{said}  {count}{times} ({reason})"));
            is_explained = true;
        }
    }
    if is_explained {
        lines.push("reasons   docs/caching.md says what each word in brackets means".to_owned());
    }
    lines
}

fn looked(answer: &Value) -> u64 {
    let count = |name: &str| answer[name].as_u64().unwrap_or(0);
    count("hits") + count("misses")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_is_told_with_the_regime_that_it_set() {
        let told = |answer: Value| words(&answer).join("; ");
        assert_eq!(told(json!({ "flushed": 1 })), "removed 1 stored answer");
        assert_eq!(
            told(json!({ "flushed": 1, "second_level": { "flushed": 3 } })),
            "removed 1 stored answer, 3 in Redis"
        );
        let lost = told(json!({ "flushed": 1, "second_level": { "error": "down" } }));
        for part in [
            "removed 1 stored answer; ",
            "Redis was not reached: down.",
            "Other gateways may still serve",
            "each second",
        ] {
            assert!(lost.contains(part), "{lost}");
        }
        assert_eq!(
            told(json!({ "flushed": 0, "regime": "crisis" })),
            "the regime of requests that name none is crisis; removed 0 stored answers"
        );
        assert_eq!(
            told(json!({ "flushed": 2, "regime": null })),
            "the regime of requests that name none is not set; removed 2 stored answers"
        );
    }

    #[test]
    fn an_empty_name_is_refused_with_the_option_that_has_it() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: FlushArgs,
        }
        for (line, option) in [
            (&["--token", ""][..], "--token"),
            (&["--account", "a", "--agent", " "], "--agent"),
            (&["--domain", "a", "--domain", ""], "--domain"),
        ] {
            let line = ["flush"].iter().chain(line);
            let args = <Line as clap::Parser>::parse_from(line).args;
            let told = format!("{:?}", args.check_names().expect_err("it is empty"));
            assert!(told.contains(option), "{told}");
        }
    }
}
