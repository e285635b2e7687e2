//! Which page a path means.

use super::visit::{PageProblem, PageResult, Visit};
use super::{
    accounts, build, cache, golem, golems, keys, live, models, overview, payments, providers,
    receipt, requests, routing, search, settings, venice,
};

/// The page of a request.
pub(super) async fn show(visit: &Visit<'_>) -> PageResult {
    let steps: Vec<&str> = visit.steps.iter().map(String::as_str).collect();
    match (visit.is_post, steps.as_slice()) {
        (false, []) => overview::show(visit).await,
        (false, ["live"]) => Ok(live::feed(visit)),
        (false, ["search"]) => search::find(visit).await,
        (false, ["keys"]) => keys::list(visit).await,
        (false, ["keys.csv"]) => keys::file(visit, "csv").await,
        (false, ["keys.json"]) => keys::file(visit, "json").await,
        (false, ["keys", id]) => keys::show(visit, id).await,
        (true, ["keys"]) => keys::create(visit).await,
        (true, ["keys", id, "limits"]) => keys::change(visit, id).await,
        (true, ["keys", id, "rotate"]) => keys::rotate(visit, id).await,
        (true, ["keys", id, "revoke"]) => keys::revoke(visit, id).await,
        (false, ["requests"]) => requests::list(visit).await,
        (false, ["requests.csv"]) => requests::file(visit, "csv").await,
        (false, ["requests.json"]) => requests::file(visit, "json").await,
        (false, ["requests", id]) => match id.strip_suffix(".json") {
            Some(id) => receipt::file(visit, id).await,
            None => receipt::show(visit, id).await,
        },
        (false, ["accounts"]) => accounts::list(visit).await,
        (true, ["accounts", "verify"]) => accounts::verify(visit).await,
        (false, ["accounts", name]) => accounts::show(visit, name).await,
        (false, ["accounts", name, "ledger.csv"]) => accounts::file(visit, name, "csv").await,
        (false, ["accounts", name, "ledger.json"]) => accounts::file(visit, name, "json").await,
        (true, ["accounts", name, "deposit"]) => accounts::deposit(visit, name).await,
        (false, ["payments"]) => payments::list(visit).await,
        (false, ["payments.csv"]) => payments::file(visit, "csv").await,
        (false, ["payments.json"]) => payments::file(visit, "json").await,
        (false, ["payments", id]) => payments::show(visit, id).await,
        (true, ["payments", id, "write-off"]) => payments::write_off(visit, id).await,
        (false, ["providers"]) => Ok(providers::list(visit)),
        (false, ["providers", name]) => providers::show(visit, name),
        (false, ["models"]) => Ok(models::list(visit)),
        (false, ["models.csv"]) => Ok(models::file(visit, "csv")),
        (false, ["models.json"]) => Ok(models::file(visit, "json")),
        (true, ["models", "refresh"]) => Ok(providers::refresh(visit)),
        (false, ["cache"]) => Ok(cache::show(visit).await),
        (true, ["cache", "flush"]) => cache::flush(visit).await,
        (false, ["golems"]) => golems::list(visit).await,
        (false, ["golems.csv"]) => golems::file(visit, "csv").await,
        (false, ["golems.json"]) => golems::file(visit, "json").await,
        (false, ["golems", name]) => golem::show(visit, name).await,
        (false, ["routing"]) => routing::show(visit),
        (false, ["routing.json"]) => routing::file(visit),
        (false, ["playground"]) => Ok(build::playground(visit)),
        (false, ["connect"]) => Ok(build::connect(visit)),
        (true, ["connect"]) => build::create(visit).await,
        (false, ["venice"]) => venice::show(visit).await,
        (false, ["venice.json"]) => Ok(venice::file(visit)),
        (false, ["settings"]) => Ok(settings::show(visit)),
        _ => Err(PageProblem::NotFound("There is no such page.".to_owned())),
    }
}
