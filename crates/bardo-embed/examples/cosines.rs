//! Adds the cosine of both texts to each pair of a file: `cargo run --release -p bardo-embed
//! --example cosines < pairs.jsonl`. A pair is a line of JSON with the texts `a` and `b`.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Duration;

use bardo_embed::{Embedder, ModelSpec};
use serde_json::Value;

/// The longest text that is read, in tokens.
const TOKENS: usize = 128;
const LONG: Duration = Duration::from_secs(120);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let embedder = Embedder::new(ModelSpec::minilm(), 4);
    for line in std::io::stdin().lines() {
        let mut pair: Value = serde_json::from_str(&line?)?;
        let mut vectors = Vec::new();
        for name in ["a", "b"] {
            let text = pair[name].as_str().unwrap_or_default().to_owned();
            let read = embedder.embed(text, TOKENS, LONG).await;
            vectors.push(read.map_err(|skip| skip.label())?.vector);
        }
        let cosine = f64::from(vectors[0].cosine(&vectors[1]));
        pair["cosine"] = Value::from((cosine * 1e4).round() / 1e4);
        println!("{pair}");
    }
    Ok(())
}
