//! Models in files, as the settings describe them.

use std::sync::Arc;

use bardo_embed::{Embedder, EmbedderStatus, ModelSpec, Pooling, Source};
use bardo_engine::Engine;
use serde_json::{Value, json};

use crate::config::{RawPooling, RawVectorEngine, SemanticCacheConfig, SemanticModelConfig};
use crate::vectors;

/// Questions that wait for the thread of a configured model.
const QUEUE_MAX: usize = 32;

/// Gives an engine its models. Returns the one that the semantic cache asks: the configured one, or
/// that of the program.
pub(crate) fn share(engine: Engine, semantic: &SemanticCacheConfig) -> (Engine, Arc<Embedder>) {
    let built_in = vectors::embedder();
    let sentences = match &semantic.model {
        None => Arc::clone(&built_in),
        Some(model) => Arc::new(Embedder::new(spec(model), QUEUE_MAX)),
    };
    let engine = vectors::share(&built_in, &sentences, engine, semantic);
    (engine, sentences)
}

pub(super) fn spec(model: &SemanticModelConfig) -> ModelSpec {
    // One engine reads files; another one has to choose here.
    let RawVectorEngine::Rten = model.engine;
    let stem = model.path.file_stem().unwrap_or(model.path.as_os_str());
    ModelSpec {
        name: match &model.name {
            Some(name) => name.clone(),
            None => stem.to_string_lossy().into_owned(),
        },
        source: Source::File(model.path.clone()),
        vocabulary: model.tokenizer.clone(),
        pooling: match model.pooling {
            RawPooling::Mean => Pooling::Mean,
            RawPooling::First => Pooling::First,
        },
        prefix: model.prefix.clone(),
        dimension: model.dimension,
        tokens_max: model.max_tokens,
    }
}

/// The name and the state of a model, and why it failed, for those who watch the gateway.
pub(crate) fn state(embedder: &Embedder) -> Value {
    let name = &embedder.spec().name;
    let state = match embedder.status() {
        EmbedderStatus::Cold => "cold",
        EmbedderStatus::Loading => "loading",
        EmbedderStatus::Ready => "warm",
        EmbedderStatus::Resting(skip) => {
            return json!({ "model": name, "state": "failed", "reason": skip.to_string() });
        }
    };
    json!({ "model": name, "state": state })
}
