//! Figures of the provider's prompt cache, of one receipt or of many.

use bardo_types::money::SignedMicroUsd;

/// Tokens that a provider read from and wrote to its prompt cache, and the effect on its price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PromptCacheFigures {
    /// Prompt tokens that were read from the cache.
    pub read_tokens: u64,
    /// Prompt tokens that were written to the cache.
    pub written_tokens: u64,
    /// Saving at the prices of the backend; below zero where the premium of writes was higher. Zero
    /// where the price is unknown.
    pub saved: SignedMicroUsd,
}

impl PromptCacheFigures {
    /// Adds other figures. A sum beyond its range stays at the end of it.
    pub fn add(&mut self, other: &Self) {
        self.read_tokens = self.read_tokens.saturating_add(other.read_tokens);
        self.written_tokens = self.written_tokens.saturating_add(other.written_tokens);
        self.saved = self.saved.saturating_add(other.saved);
    }
}
