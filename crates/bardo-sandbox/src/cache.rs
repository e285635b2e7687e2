//! Provider-side prompt caching: which prefix was seen, and for how long it is remembered.

use std::collections::HashMap;
use std::sync::Mutex;

use sha2::{Digest, Sha256};

use crate::world::locked;

/// The digest of a prompt prefix.
pub(crate) type PrefixHash = [u8; 32];

/// Prefixes that were written, with the lifetime of each.
#[derive(Debug, Default)]
pub(crate) struct PromptCache {
    held: Mutex<HashMap<PrefixHash, Lifetime>>,
}

#[derive(Debug, Clone, Copy)]
struct Lifetime {
    ttl_ms: u64,
    forget_at_ms: u64,
}

/// What an automatic cache did with a prompt, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CacheUse {
    pub(crate) read: u64,
    pub(crate) written: u64,
}

/// The rules of an automatic prefix cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Automatic {
    /// Shortest prefix that is kept, in tokens.
    pub(crate) min_tokens: usize,
    /// Prefixes are kept at multiples of this many tokens.
    pub(crate) step_tokens: usize,
    pub(crate) ttl_ms: u64,
}

/// The rule of most services: from 1024 tokens in steps of 128, for five minutes or so.
pub(crate) const COMMON: Automatic = Automatic {
    min_tokens: 1024,
    step_tokens: 128,
    ttl_ms: 10 * 60_000,
};

impl PromptCache {
    /// Whether a prefix is remembered. A hit begins the lifetime anew that it was written with; a mark
    /// of another lifetime changes nothing of it.
    pub(crate) fn hit(&self, prefix: &PrefixHash, now_ms: u64) -> bool {
        let mut held = locked(&self.held);
        match held.get_mut(prefix) {
            Some(lifetime) if lifetime.forget_at_ms > now_ms => {
                lifetime.forget_at_ms = now_ms + lifetime.ttl_ms;
                true
            }
            _ => false,
        }
    }

    /// Remembers a prefix.
    pub(crate) fn write(&self, prefix: PrefixHash, now_ms: u64, ttl_ms: u64) {
        let mut held = locked(&self.held);
        if held.len() > 200_000 {
            held.retain(|_, lifetime| lifetime.forget_at_ms > now_ms);
        }
        let forget_at_ms = now_ms + ttl_ms;
        held.insert(
            prefix,
            Lifetime {
                ttl_ms,
                forget_at_ms,
            },
        );
    }

    /// Plays an automatic cache over a rendered prompt.
    pub(crate) fn automatic(
        &self,
        rules: Automatic,
        scope: &str,
        prompt: &str,
        now_ms: u64,
    ) -> CacheUse {
        let bytes = prompt.as_bytes();
        let steps: Vec<usize> = (rules.min_tokens..=bytes.len() / 4)
            .step_by(rules.step_tokens.max(1))
            .collect();
        let hashes = prefixes(scope, bytes, steps.iter().map(|tokens| tokens * 4));
        let mut used = CacheUse::default();
        for (tokens, hash) in steps.iter().zip(&hashes) {
            if self.hit(hash, now_ms) {
                used.read = *tokens as u64;
            } else {
                self.write(*hash, now_ms, rules.ttl_ms);
                used.written = *tokens as u64;
            }
        }
        used.written = used.written.saturating_sub(used.read);
        used
    }

    pub(crate) fn clear(&self) {
        locked(&self.held).clear();
    }
}

/// The hash of each prefix that ends at one of `ends` (ascending byte offsets).
pub(crate) fn prefixes(
    scope: &str,
    bytes: &[u8],
    ends: impl Iterator<Item = usize>,
) -> Vec<PrefixHash> {
    let mut hash = Sha256::new();
    hash.update((scope.len() as u64).to_be_bytes());
    hash.update(scope);
    let mut from = 0;
    ends.map(|end| {
        hash.update(&bytes[from..end]);
        from = end;
        hash.clone().finalize().into()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_prefix_is_read_in_steps_of_128_tokens() {
        let cache = PromptCache::default();
        let prompt = "abcd".repeat(1_300);
        let first = cache.automatic(COMMON, "m", &prompt, 0);
        assert_eq!(
            first,
            CacheUse {
                read: 0,
                written: 1_280
            }
        );
        let longer = format!("{prompt}{}", "tail".repeat(200));
        let second = cache.automatic(COMMON, "m", &longer, 1);
        assert_eq!(
            second,
            CacheUse {
                read: 1_280,
                written: 128
            }
        );
        assert_eq!(cache.automatic(COMMON, "other", &prompt, 1).read, 0);
    }

    #[test]
    fn short_prompts_and_forgotten_prefixes_miss() {
        let cache = PromptCache::default();
        assert_eq!(
            cache.automatic(COMMON, "m", "short", 0),
            CacheUse::default()
        );
        let prompt = "abcd".repeat(1_024);
        cache.automatic(COMMON, "m", &prompt, 0);
        assert_eq!(cache.automatic(COMMON, "m", &prompt, COMMON.ttl_ms).read, 0);
    }

    #[test]
    fn a_hit_begins_the_lifetime_of_the_write_anew() {
        let (cache, prefix) = (PromptCache::default(), [1; 32]);
        cache.write(prefix, 0, 300);
        assert!(cache.hit(&prefix, 299));
        assert!(cache.hit(&prefix, 598));
        assert!(!cache.hit(&prefix, 898));
    }
}
