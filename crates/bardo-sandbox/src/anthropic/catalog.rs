//! `GET /v1/models` and `GET /v1/models/{id}`.

use serde_json::{Value, json};

use super::error::ApiError;
use super::model;
use super::with_headers;
use crate::recorded::{Recorded, percent_decoded};
use crate::reply::Reply;

const PAGE: usize = 20;

/// Lists models page by page, or shows one.
pub(super) fn models(request: &Recorded, path: &str) -> Result<Reply, ApiError> {
    let body = match path.strip_prefix("/v1/models/") {
        Some(id) => {
            let id = percent_decoded(id);
            let model =
                model::find(&id).ok_or_else(|| ApiError::not_found(format!("model: {id}")))?;
            model.info()
        }
        None => list(request)?,
    };
    Ok(with_headers(Reply::json(200, &body), request))
}

fn list(request: &Recorded) -> Result<Value, ApiError> {
    let limit = match request.query_value("limit") {
        None => PAGE,
        Some(limit) => limit
            .parse()
            .ok()
            .filter(|limit| (1..=1000).contains(limit))
            .ok_or_else(|| ApiError::at("limit", "Input should be between 1 and 1000"))?,
    };
    let all = model::all();
    let place = |id: &str| all.iter().position(|model| model.id == id);
    let known =
        |id: String| place(&id).ok_or_else(|| ApiError::invalid(format!("Invalid cursor: {id}")));
    let after = request.query_value("after_id").map(known).transpose()?;
    let before = request.query_value("before_id").map(known).transpose()?;
    let (from, to) = match (after, before) {
        (_, Some(before)) => (before.saturating_sub(limit), before),
        (after, None) => {
            let from = after.map_or(0, |after| after + 1);
            (from, (from + limit).min(all.len()))
        }
    };
    let page = &all[from..to.max(from)];
    let has_more = if before.is_some() {
        from > 0
    } else {
        to < all.len()
    };
    Ok(json!({
        "data": page.iter().map(model::Model::info).collect::<Vec<_>>(),
        "has_more": has_more,
        "first_id": page.first().map(|model| &model.id),
        "last_id": page.last().map(|model| &model.id),
    }))
}
