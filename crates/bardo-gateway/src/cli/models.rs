//! `models list` and `models refresh`.

use std::sync::Arc;

use bardo_providers::transport::Transport;
use bardo_router::{Candidate, Catalog};
use bardo_types::money::MicroUsd;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{CliFailure, Common, environment, load, route, say, table};
use crate::config::{self, Loaded};
use crate::stores::{DataFolderKind, data_folder};
use crate::{assemble, control, last_lists, refresh, serve, simulation};

#[derive(Subcommand)]
pub(super) enum ModelsVerb {
    /// List the models of the configured backends, from their last lists and the catalog in this
    /// binary.
    List(ListArgs),
    /// Fetch the list of models of each backend now, and store it. A running server fetches its lists
    /// too.
    Refresh(RefreshArgs),
}

#[derive(Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    common: Common,
    /// List only models without a known price.
    #[arg(long)]
    unpriced: bool,
    /// List the models of the simulated providers. Needs no configuration.
    #[arg(long, conflicts_with = "config")]
    sandbox: bool,
}

#[derive(Args)]
pub(super) struct RefreshArgs {
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(verb: ModelsVerb) -> Result<(), CliFailure> {
    match verb {
        ModelsVerb::List(args) => list(&args),
        ModelsVerb::Refresh(args) => refresh_lists(&args.common),
    }
}

fn refuse(loaded: &Loaded, reason: &str) -> CliFailure {
    CliFailure::from(loaded.refuse(reason))
}

fn list(args: &ListArgs) -> Result<(), CliFailure> {
    let common = &args.common;
    let catalog = Arc::new(Catalog::embedded());
    let (loaded, backends, lists) = if args.sandbox {
        serve::runtime()?.block_on(async {
            // The simulated providers run only until their lists are read.
            let providers = simulation::start(true)?;
            let loaded = config::embedded("sandbox", simulation::configuration(providers))?;
            let backends =
                assemble::backends(&loaded.config).map_err(|reason| refuse(&loaded, &reason))?;
            let lists = route::simulated(&backends, &catalog).await;
            Ok::<_, CliFailure>((loaded, backends, lists))
        })?
    } else {
        let loaded = load(common, false)?;
        let backends =
            assemble::backends(&loaded.config).map_err(|reason| refuse(&loaded, &reason))?;
        let folder = data_folder(common.data_dir.as_deref());
        let lists = match folder {
            Ok(folder) if loaded.config.catalog.live => {
                last_lists::load(&folder, &backends, &catalog)
            }
            _ => assemble::LiveLists::new(),
        };
        (loaded, backends, lists)
    };
    let snapshot = assemble::snapshot(&loaded.config, &backends, &catalog, &lists, args.sandbox);
    let roster = snapshot.roster();
    for entry in roster.shown() {
        let served = roster.resolve(&entry.id).unwrap_or_default();
        let price_of = |candidate: &Candidate| candidate.entry.price;
        let is_shown = |candidate: &&Candidate| !args.unpriced || price_of(candidate).is_none();
        let by: Vec<&str> = served
            .iter()
            .filter(is_shown)
            .map(|candidate| snapshot.endpoints[candidate.backend].name.as_str())
            .collect();
        if args.unpriced && by.is_empty() {
            continue;
        }
        if common.json {
            let price = served.iter().find_map(price_of);
            let per_million = price.map(|price| {
                let usd = |micro| MicroUsd::new(micro).to_string();
                json!({ "input": usd(price.input.micro()), "output": usd(price.output.micro()) })
            });
            say(json!({
                "id": entry.id, "vendor": entry.vendor, "providers": by,
                "context_tokens": entry.capabilities.context_tokens,
                "usd_per_million": per_million.filter(|_| !args.unpriced),
            })
            .to_string());
        } else {
            say(format!("{:<32} {}", entry.id, by.join(", ")));
        }
    }
    Ok(())
}

/// Fetches and stores the lists, and has a running server fetch its own. Fails if any backend did not
/// answer with its list.
fn refresh_lists(common: &Common) -> Result<(), CliFailure> {
    let folder = data_folder(common.data_dir.as_deref())?;
    DataFolderKind::Real.check(&folder)?;
    let loaded = config::load(common.config.as_deref(), &environment())?;
    if !loaded.config.has_providers() {
        return Err(serve::no_provider(&loaded));
    }
    let backends = assemble::backends(&loaded.config).map_err(|reason| refuse(&loaded, &reason))?;
    let catalog = Catalog::embedded();
    let transport = Transport::new(loaded.config.upstream.connect_timeout.0);
    let rows: Vec<Value> = serve::runtime()?.block_on(async {
        let fetched = backends.iter().map(|backend| async {
            let endpoint = &backend.endpoint;
            if !endpoint.provider().lists() {
                return json!({ "provider": endpoint.name, "models": null,
                    "note": "it has no list; its models are in the catalog of this program" });
            }
            match refresh::read(&transport, endpoint, &catalog).await {
                Ok((list, body)) => {
                    last_lists::keep(&folder, endpoint, &body);
                    let priced = list.models.iter().filter(|model| model.price.is_some());
                    json!({ "provider": endpoint.name, "models": list.models.len(),
                        "priced": priced.count(), "quarantined": list.quarantined.len() })
                }
                Err(reason) => {
                    json!({ "provider": endpoint.name, "models": null, "error": reason.to_string() })
                }
            }
        });
        futures_util::future::join_all(fetched).await
    });
    let server = control::refresh_lists(&folder);
    show(common, &rows, server);
    let failed = rows.iter().filter(|row| !row["error"].is_null()).count();
    match failed {
        0 => Ok(()),
        failed => Err(CliFailure::new(
            "refused",
            format!(
                "{failed} of {} backends did not answer with their list",
                rows.len()
            ),
        )),
    }
}

fn show(common: &Common, rows: &[Value], server: bool) {
    if common.json {
        rows.iter().for_each(|row| say(row.to_string()));
        say(json!({ "server_told": server }).to_string());
        return;
    }
    let cell = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let heading = ["BACKEND", "MODELS", "WITH PRICE", "INVALID", ""].map(str::to_owned);
    let mut lines = vec![heading];
    lines.extend(rows.iter().map(|row| {
        let remark = if row["error"].is_null() {
            &row["note"]
        } else {
            &row["error"]
        };
        let remark = remark.as_str().unwrap_or_default().to_owned();
        [
            cell(&row["provider"]),
            cell(&row["models"]),
            cell(&row["priced"]),
            cell(&row["quarantined"]),
            remark,
        ]
    }));
    table(&lines).iter().for_each(say);
    say(match server {
        true => "The running server fetches its lists now.",
        false => "No server runs on this data folder; the next start uses these lists.",
    });
}
