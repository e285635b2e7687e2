//! The embedding model of the semantic cache: which one it is, and what keeps it from working.

#[cfg(not(feature = "embedder"))]
use serde_json::{Value, json};

use crate::config::SemanticCacheConfig;

#[cfg(feature = "embedder")]
mod model;

#[cfg(feature = "embedder")]
pub(crate) use self::model::{share, state};

/// The model in `/health/ready` of a build without one.
#[cfg(not(feature = "embedder"))]
pub(crate) fn absent() -> Value {
    json!({ "model": Value::Null, "state": "not_built" })
}

/// Says why questions are not compared with these settings. Loads a configured model to see it.
#[cfg(feature = "embedder")]
pub(crate) fn notices(semantic: &SemanticCacheConfig) -> Vec<String> {
    let Some(model) = semantic.model.as_ref().filter(|_| semantic.enabled) else {
        return Vec::new();
    };
    let failed = model::spec(model).check().err();
    failed
        .map(|reason| {
            format!(
                "`cache.semantic.model` cannot be used, so no question is compared by its meaning: {reason}"
            )
        })
        .into_iter()
        .collect()
}

/// Says why questions are not compared in this build.
#[cfg(not(feature = "embedder"))]
pub(crate) fn notices(semantic: &SemanticCacheConfig) -> Vec<String> {
    let wanted = semantic.model.is_some() || semantic.warm;
    let why = if wanted {
        "`cache.semantic` asks for an embedding model, and this build has none"
    } else {
        "this build has no embedding model"
    };
    match semantic.enabled {
        true => vec![format!(
            "{why}: no question is compared by its meaning. Build with the feature `embedder`"
        )],
        false => Vec::new(),
    }
}
