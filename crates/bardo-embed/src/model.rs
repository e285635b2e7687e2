//! A model of sentences: tokenizer, layers and pooling.

use std::borrow::Cow;
use std::path::PathBuf;

use rayon::{ThreadPool, ThreadPoolBuilder};
use sha2::{Digest as _, Sha256};

use crate::encoder::{EncodedText, Encoder};
use crate::spec::{ModelSpec, Pooling, Source};
use crate::tokenizer::Vocabulary;
use crate::vector::Vector;

/// How the model in the program runs: its library, and bytes with a scale for each token. Another
/// way to round makes other vectors, so it gets another name.
#[cfg(feature = "minilm")]
const BUILT_IN_ENGINE: &str = "rten-gemm-int8-token";

/// A model that is ready to run on the thread that loaded it.
pub(crate) struct SentenceModel {
    spec: ModelSpec,
    namespace: String,
    vocabulary: Vocabulary,
    layers: EncoderLayers,
    /// The pool that this thread is, so that its matrices are never spread over other cores.
    _alone: ThreadPool,
}

enum EncoderLayers {
    #[cfg(feature = "minilm")]
    Bert(crate::bert::Bert),
    #[cfg(feature = "onnx")]
    Onnx(crate::onnx::Onnx),
}

impl SentenceModel {
    /// Loads a model and runs it once, to see that it fits its description.
    ///
    /// # Errors
    /// A reason in words.
    pub(crate) fn load(spec: &ModelSpec) -> Result<Self, String> {
        let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        let alone = alone.build().map_err(|error| error.to_string())?;
        let (layers, engine, content) = match &spec.source {
            Source::BuiltIn => built_in()?,
            Source::File(path) => from_file(path)?,
        };
        let words = words(spec.vocabulary.as_ref())?;
        let mut model = Self {
            namespace: namespace(spec, engine, &content, &words),
            vocabulary: vocabulary(words, spec.vocabulary.as_ref())?,
            layers,
            spec: spec.clone(),
            _alone: alone,
        };
        model.encode("a first sentence", model.spec.tokens_max)?;
        Ok(model)
    }

    /// Reads a text of the largest length, 512 tokens at most: graphs fail there first.
    pub(crate) fn read_long(&mut self) -> Result<(), String> {
        let tokens_max = self.spec.tokens_max.min(512);
        self.encode(&"word ".repeat(tokens_max), tokens_max)
            .map(drop)
    }

    fn states(&mut self, ids: &[u32]) -> Result<(Vec<f32>, usize), String> {
        match &mut self.layers {
            #[cfg(feature = "minilm")]
            EncoderLayers::Bert(bert) => Ok((bert.states(ids)?, self.spec.dimension)),
            #[cfg(feature = "onnx")]
            EncoderLayers::Onnx(onnx) => onnx.states(ids),
        }
    }
}

impl Encoder for SentenceModel {
    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn encode(&mut self, text: &str, tokens_max: usize) -> Result<EncodedText, String> {
        let text = match self.spec.prefix.as_str() {
            "" => Cow::Borrowed(text),
            prefix => Cow::Owned([prefix, text].concat()),
        };
        let max = tokens_max.min(self.spec.tokens_max);
        let tokens = self.vocabulary.encode(&text, max);
        let states = self.states(&tokens.ids);
        let name = &self.spec.name;
        let (states, width) =
            states.map_err(|error| format!("{name} failed on a text: {error}"))?;
        if width != self.spec.dimension {
            return Err(format!(
                "{name} gives vectors of {width} numbers, and {} are configured",
                self.spec.dimension
            ));
        }
        let pooled = match self.spec.pooling {
            Pooling::First => states.into_iter().take(width).collect(),
            Pooling::Mean => mean(&states, width),
        };
        let vector = Vector::normalized(pooled);
        Ok(EncodedText {
            vector: vector.ok_or_else(|| format!("{name} gave a vector without a length"))?,
            tokens: tokens.ids.len(),
            cut: tokens.cut,
        })
    }
}

/// The mean but for its scale, which the vector has none of.
fn mean(states: &[f32], width: usize) -> Vec<f32> {
    let mut sum = vec![0.0; width];
    for row in states.chunks_exact(width) {
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += value;
        }
    }
    sum
}

/// Engine, name, dimension, and a hash of all else that decides on a vector: weights with their
/// quantization, words, prefix and pooling.
fn namespace(spec: &ModelSpec, engine: &str, content: &str, words: &str) -> String {
    let mut hash = Sha256::new();
    for part in [content, words, &spec.prefix, &format!("{:?}", spec.pooling)] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let hash = hash.finalize();
    let short: String = hash
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{engine}/{}/{}/{short}", spec.name, spec.dimension)
}

#[cfg(feature = "minilm")]
fn built_in() -> Result<(EncoderLayers, &'static str, String), String> {
    let sums = include_str!("../model/SHA256SUMS");
    let bert = crate::bert::Bert::load()?;
    Ok((EncoderLayers::Bert(bert), BUILT_IN_ENGINE, sums.to_owned()))
}

#[cfg(not(feature = "minilm"))]
fn built_in() -> Result<(EncoderLayers, &'static str, String), String> {
    Err("this build carries no model".into())
}

#[cfg(feature = "onnx")]
fn from_file(path: &std::path::Path) -> Result<(EncoderLayers, &'static str, String), String> {
    let (onnx, content) = crate::onnx::Onnx::load(path)?;
    Ok((EncoderLayers::Onnx(onnx), "rten", content))
}

#[cfg(not(feature = "onnx"))]
fn from_file(path: &std::path::Path) -> Result<(EncoderLayers, &'static str, String), String> {
    Err(format!(
        "{}: this build reads no ONNX files; build it with the feature `onnx`",
        path.display()
    ))
}

fn words(file: Option<&PathBuf>) -> Result<Cow<'static, str>, String> {
    const BERT_UNCASED: &str = include_str!("../model/vocab.txt");
    let Some(file) = file else {
        return Ok(Cow::Borrowed(BERT_UNCASED));
    };
    std::fs::read_to_string(file)
        .map(Cow::Owned)
        .map_err(|error| format!("{}: {error}", file.display()))
}

fn vocabulary(words: Cow<'static, str>, file: Option<&PathBuf>) -> Result<Vocabulary, String> {
    Vocabulary::parse(words).map_err(|error| match file {
        Some(file) => format!("{}: {error}", file.display()),
        None => error.to_string(),
    })
}
