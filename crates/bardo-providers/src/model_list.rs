//! How each service lists its models. Rows that make no sense are left out and counted, never
//! guessed at; prices are read as exact decimals or not at all.

mod anthropic;
mod bankr;
mod blockrun;
mod google;
mod openrouter;
mod pricing;
mod venice;

use std::sync::Arc;

use bardo_router::{Catalog, Vendor};
use bardo_types::json::RawJson;
use bardo_types::model::ModelEntry;
use serde::Deserialize;

pub(crate) use self::anthropic::anthropic_rows;
pub(crate) use self::bankr::bankr_rows;
pub(crate) use self::blockrun::blockrun_rows;
pub(crate) use self::google::google_rows;
pub(crate) use self::openrouter::openrouter_rows;
pub(crate) use self::venice::venice_rows;

/// Why a list of models was refused.
#[derive(Debug, thiserror::Error)]
#[error("the list of models is malformed: {0}")]
pub struct ListError(#[from] serde_json::Error);

/// The models that a service lists.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelList {
    /// The rows that make sense.
    pub models: Vec<ModelEntry>,
    /// The rows that do not, each with why.
    pub quarantined: Vec<Quarantined>,
}

/// A row that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// Which model it is about, as far as it says so.
    pub model: String,
    /// The fault of the list, in words.
    pub reason: &'static str,
}

/// The result of reading one row.
type RowResult = Result<Option<ModelEntry>, &'static str>;

#[derive(Deserialize)]
struct Data {
    data: Vec<RawJson>,
}

/// Reads `{"data":[…]}`, each row on its own.
fn data<T: for<'a> Deserialize<'a>>(
    body: &[u8],
    read: impl Fn(T) -> RowResult,
) -> Result<ModelList, ListError> {
    let list: Data = serde_json::from_slice(body)?;
    Ok(each(&list.data, read))
}

/// Reads rows: an entry, one that is none of our business, or one that makes no sense.
fn each<T: for<'a> Deserialize<'a>>(rows: &[RawJson], read: impl Fn(T) -> RowResult) -> ModelList {
    let mut list = ModelList::default();
    for raw in rows {
        let entry = match raw.read::<T>() {
            Ok(row) => read(row),
            Err(_) => Err("its members are not the members of a model"),
        };
        match entry {
            Ok(None) => {}
            Ok(Some(entry)) if entry.upstream_id.trim().is_empty() => {
                list.quarantined.push(quarantined(raw, "it has no id"));
            }
            Ok(Some(mut entry)) => {
                Arc::make_mut(&mut entry.capabilities).settle_features();
                list.models.push(entry);
            }
            Err(reason) => list.quarantined.push(quarantined(raw, reason)),
        }
    }
    list
}

fn quarantined(raw: &RawJson, reason: &'static str) -> Quarantined {
    #[derive(Deserialize)]
    struct NamedRow {
        id: Option<RawJson>,
        name: Option<RawJson>,
    }
    let name = raw
        .read::<NamedRow>()
        .ok()
        .and_then(|row| row.id.or(row.name));
    let model = name.map_or_else(String::new, |name| {
        name.as_str().trim_matches('"').chars().take(100).collect()
    });
    Quarantined { model, reason }
}

/// The catalog's entry for `upstream`, under the catalog's name where it has one.
fn entry(catalog: &Catalog, upstream: &str) -> ModelEntry {
    catalog.describe(upstream).entry(upstream)
}

pub(crate) fn openai_rows(body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
    #[derive(Deserialize)]
    struct OpenAiRow {
        id: String,
        created: Option<u64>,
    }
    data(body, |row: OpenAiRow| {
        let known = entry(catalog, &row.id);
        Ok(Some(ModelEntry {
            created: row.created.unwrap_or(known.created),
            ..known
        }))
    })
}

/// The rows of a vendor in OpenAI format: `{"data":[…]}` or the bare array, with a size and a price
/// where it says them. A price of the catalog holds for models of the vendor's own alone.
pub(crate) fn compatible_rows(
    body: &[u8],
    catalog: &Catalog,
    vendor: Option<&Vendor>,
) -> Result<ModelList, ListError> {
    #[derive(Deserialize)]
    struct CompatibleRow {
        id: String,
        created: Option<u64>,
        #[serde(rename = "type")]
        kind: Option<String>,
        context_window: Option<u64>,
        context_length: Option<u64>,
        max_context_length: Option<u64>,
        max_completion_tokens: Option<u64>,
    }
    let maker = vendor.and_then(|vendor| vendor.maker.as_deref());
    let read = |row: CompatibleRow| {
        let of_text = ["chat", "language", "code", "embedding", "base", "model"];
        if let Some(kind) = row.kind.as_deref()
            && !of_text.contains(&kind)
        {
            return Ok(None);
        }
        let mut entry = entry(catalog, &row.id);
        entry.created = row.created.unwrap_or(entry.created);
        entry.embeddings |= row.kind.as_deref() == Some("embedding");
        if maker.is_none_or(|maker| !catalog.is_made_by(&entry.vendor, maker)) {
            entry.price = None;
        }
        let size = row.context_window.or(row.context_length);
        let size = size.or(row.max_context_length).filter(|size| *size > 0);
        let capabilities = Arc::make_mut(&mut entry.capabilities);
        capabilities.context_tokens = size.unwrap_or(capabilities.context_tokens);
        capabilities.max_output_tokens = row
            .max_completion_tokens
            .unwrap_or(capabilities.max_output_tokens);
        Ok(Some(entry))
    };
    if body.trim_ascii_start().starts_with(b"[") {
        let rows: Vec<RawJson> = serde_json::from_slice(body)?;
        return Ok(each(&rows, read));
    }
    data(body, read)
}

#[cfg(test)]
mod tests;
