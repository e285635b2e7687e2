//! Vectors of sentences, computed in this process.
