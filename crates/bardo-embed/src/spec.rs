//! Which model an embedder loads, and how it reads texts.

use std::path::PathBuf;

use crate::model::SentenceModel;

/// A model of sentences and the way to use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSpec {
    /// Name in namespaces, metrics and messages.
    pub name: String,
    /// Place of the ONNX graph and its weights.
    pub source: Source,
    /// Words of the WordPiece tokenizer, one a line (`vocab.txt`); the uncased words of BERT where
    /// it is absent. Texts are always read without upper case.
    pub vocabulary: Option<PathBuf>,
    /// How the vectors of the tokens become one.
    pub pooling: Pooling,
    /// Text in front of each text, such as a task that the model was trained with.
    pub prefix: String,
    /// Numbers in a vector. A model with another count is refused when it loads.
    pub dimension: usize,
    /// Largest count of tokens that the model reads, with the two at the ends.
    pub tokens_max: usize,
}

/// Place of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// all-MiniLM-L6-v2, which is part of the program with the feature `minilm`.
    BuiltIn,
    /// An ONNX file. Weights beside it are found by the names that it holds.
    File(PathBuf),
}

/// How the vectors of the tokens become the vector of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The mean of all tokens.
    Mean,
    /// The first token.
    First,
}

impl ModelSpec {
    /// Loads the model on a thread of its own, lets it read a text of its largest length (512
    /// tokens at most), and forgets it.
    ///
    /// # Errors
    /// Why it cannot serve, in words.
    pub fn check(&self) -> Result<(), String> {
        let spec = self.clone();
        let trial = std::thread::spawn(move || SentenceModel::load(&spec)?.read_long());
        trial
            .join()
            .unwrap_or_else(|_| Err(format!("{}: the model crashed", self.name)))
    }

    /// The model in the program: 384 numbers, at most 512 tokens.
    #[must_use]
    pub fn minilm() -> Self {
        Self {
            name: "all-MiniLM-L6-v2".into(),
            source: Source::BuiltIn,
            vocabulary: None,
            pooling: Pooling::Mean,
            prefix: String::new(),
            dimension: 384,
            tokens_max: 512,
        }
    }

    /// nomic-embed-text-v1.5 from an ONNX file: 768 numbers, with the task prefix of queries.
    #[must_use]
    pub fn nomic(file: PathBuf) -> Self {
        Self {
            prefix: "search_query: ".into(),
            dimension: 768,
            tokens_max: 2048,
            ..Self::file("nomic-embed-text-v1.5", file)
        }
    }

    /// An encoder from an ONNX file, with the habits of the sentence-transformers.
    #[must_use]
    pub fn file(name: &str, file: PathBuf) -> Self {
        Self {
            name: name.into(),
            source: Source::File(file),
            ..Self::minilm()
        }
    }
}
