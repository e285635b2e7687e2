//! The models of OpenAI.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::openai::error::Problem;
use crate::reply::Reply;

/// What the simulation knows about a model.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Card {
    pub(crate) id: String,
    created: u64,
    owned_by: String,
    shutdown_date: Option<String>,
    #[serde(default)]
    pub(crate) reasoning: bool,
    /// Cache writes are reported and explicit breakpoints work.
    #[serde(default)]
    pub(crate) cache_writes: bool,
    pub(crate) max_output: Option<u64>,
    /// Set for embedding models.
    pub(crate) dimensions: Option<usize>,
}

static CARDS: LazyLock<Vec<Card>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/openai.json")).expect("checked by a test")
});

/// The card of a model, or the service's 404.
pub(crate) fn find(id: &str) -> Result<Card, Problem> {
    CARDS
        .iter()
        .find(|card| card.id == id)
        .cloned()
        .ok_or_else(|| {
            Problem::new(
                404,
                &format!("The model `{id}` does not exist or you do not have access to it."),
            )
            .code("model_not_found")
        })
}

/// Answers `GET /v1/models`.
pub(crate) fn list() -> Reply {
    let data: Vec<Value> = CARDS.iter().map(Card::shown).collect();
    Reply::json(200, &json!({ "object": "list", "data": data }))
}

/// Answers `GET /v1/models/{id}`.
pub(crate) fn one(id: &str) -> Result<Reply, Problem> {
    find(id).map(|card| Reply::json(200, &card.shown()))
}

impl Card {
    fn shown(&self) -> Value {
        let mut row = json!({
            "id": self.id, "object": "model", "created": self.created, "owned_by": self.owned_by,
        });
        if let Some(date) = &self.shutdown_date {
            row["shutdown_date"] = json!(date);
        }
        row
    }
}
