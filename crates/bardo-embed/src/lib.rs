//! Vectors of sentences, computed in this process.
//!
//! An [`Embedder`] owns one thread. The thread loads its model on first need, and then turns texts
//! into vectors of length one. A caller states how long it waits at most: a full queue, a late
//! answer, a missing model and a crash of the thread each come back as a [`Skip`], and a caller
//! goes on without a vector.
//!
//! The crate carries all-MiniLM-L6-v2 (feature `minilm`, on by default; see `model/README.md`) and
//! runs its layers itself. Other BERT encoders are read from ONNX files with the feature `onnx`,
//! whose engine is slow to compile: see [`ModelSpec`].

#[cfg(feature = "minilm")]
mod bert;
mod embedder;
mod encoder;
mod model;
#[cfg(feature = "onnx")]
mod onnx;
mod spec;
mod tokenizer;
mod vector;

pub use embedder::{Embedded, Embedder, EmbedderStatus, Skip};
pub use spec::{ModelSpec, Pooling, Source};
pub use tokenizer::{Tokens, Vocabulary, VocabularyError};
pub use vector::Vector;
