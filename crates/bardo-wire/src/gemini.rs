//! The gemini dialect.
