//! The keys under which the calls of an agent share a provider's prompt cache. A provider learns
//! neither the agent's name nor which keys belong to one account.

use bardo_types::hints::RouteHints;
use bardo_types::secret::Secret;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Letters of a key behind its prefix.
const LENGTH: usize = 26;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Which changes of an agent begin a new session epoch, beside that of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEvents {
    /// Its phase changes.
    pub phase: bool,
    /// A cycle of its dreams begins.
    pub cycle: bool,
}

impl Default for EpochEvents {
    fn default() -> Self {
        Self {
            phase: true,
            cycle: true,
        }
    }
}

/// The values from which the prompt-cache key of a request is computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheKey<'a> {
    /// The first part of the key, as the owner chose it.
    pub(crate) prefix: &'a str,
    /// Those whose prompts are cached together: an account or a delegation.
    pub(crate) prompts_of: &'a str,
    /// The agent and its part, as the profile names them.
    pub(crate) name: &'a str,
    /// The session, phase and cycle of the agent: its session epoch. A new one makes a new key.
    pub(crate) hints: Option<&'a RouteHints>,
    /// The members of `hints` that start a new key when they change.
    pub(crate) epoch: EpochEvents,
}

impl CacheKey<'_> {
    /// The key that is sent; `None` without a secret, because a digest that anybody can compute
    /// would show the agent's name.
    pub(crate) fn sealed(&self, secret: &Secret) -> Option<String> {
        if secret.is_empty() {
            return None;
        }
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes())
            .expect("HMAC takes keys of any length");
        let hints = self.hints;
        let session = hints.and_then(|hints| hints.session.as_deref());
        let phase = hints.and_then(|hints| hints.phase);
        let phase = phase.filter(|_| self.epoch.phase);
        let cycle = hints.and_then(|hints| hints.cycle);
        let cycle = cycle.filter(|_| self.epoch.cycle);
        for part in [
            self.prompts_of,
            self.name,
            session.unwrap_or_default(),
            phase.map_or("", |phase| phase.as_str()),
            &cycle.map_or_else(String::new, |cycle| cycle.to_string()),
        ] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        let digest = mac.finalize().into_bytes();
        Some(format!("{}-{}", self.prefix, letters(&digest)))
    }
}

/// The first letters of a digest in base32.
fn letters(digest: &[u8]) -> String {
    let bit = |index: usize| digest[index / 8] >> (7 - index % 8) & 1;
    let letter = |place: usize| {
        let value = (0..5).fold(0, |value, offset| value << 1 | bit(place * 5 + offset));
        char::from(ALPHABET[usize::from(value)])
    };
    (0..LENGTH).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bardo_types::phase::Phase;

    fn key(prompts_of: &str, name: &str, hints: &RouteHints, secret: &str) -> String {
        let key = CacheKey {
            prefix: "golem",
            prompts_of,
            name,
            hints: Some(hints),
            epoch: EpochEvents::default(),
        };
        key.sealed(&Secret::new(secret.into())).unwrap()
    }

    #[test]
    fn a_key_is_the_same_within_an_epoch_and_another_in_any_other() {
        let now = RouteHints {
            session: Some("s1".into()),
            phase: Phase::parse("thriving"),
            cycle: Some(1),
            ..RouteHints::default()
        };
        let first = key("a", "golem-g1-dream_rem", &now, "secret");
        assert_eq!(first, key("a", "golem-g1-dream_rem", &now, "secret"));
        assert_eq!(first.len(), "golem-".len() + LENGTH);
        let of = |change: fn(&mut RouteHints)| {
            let mut hints = now.clone();
            change(&mut hints);
            key("a", "golem-g1-dream_rem", &hints, "secret")
        };
        let mut all = vec![
            first,
            key("a", "golem-g1-dream_rem", &now, "another"),
            key("b", "golem-g1-dream_rem", &now, "secret"),
            key("a", "golem-g2-dream_rem", &now, "secret"),
            // The parts do not run into each other.
            key("agolem", "-g1-dream_rem", &now, "secret"),
            of(|hints| hints.session = Some("s2".into())),
            of(|hints| hints.phase = Phase::parse("declining")),
            of(|hints| hints.cycle = Some(2)),
        ];
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|key| !key.contains("g1")));
    }

    #[test]
    fn an_owner_chooses_what_begins_an_epoch() {
        let hints = |phase, cycle| RouteHints {
            phase: Phase::parse(phase),
            cycle: Some(cycle),
            ..RouteHints::default()
        };
        let key = |phase, cycle, epoch| {
            let key = CacheKey {
                prefix: "golem",
                prompts_of: "a",
                name: "golem-g1-dream_rem",
                hints: Some(&hints(phase, cycle)),
                epoch,
            };
            key.sealed(&Secret::new("secret".into())).unwrap()
        };
        let only_cycles = EpochEvents {
            phase: false,
            cycle: true,
        };
        let first = key("stable", 1, only_cycles);
        assert_eq!(first, key("terminal", 1, only_cycles));
        assert_ne!(first, key("stable", 2, only_cycles));
        let only_phases = EpochEvents {
            phase: true,
            cycle: false,
        };
        let first = key("stable", 1, only_phases);
        assert_eq!(first, key("stable", 2, only_phases));
        assert_ne!(first, key("terminal", 1, only_phases));
    }

    #[test]
    fn without_a_secret_there_is_no_key() {
        let key = CacheKey {
            prefix: "golem",
            prompts_of: "a",
            name: "golem-g1-risk",
            hints: None,
            epoch: EpochEvents::default(),
        };
        assert_eq!(key.sealed(&Secret::new(String::new())), None);
    }

    #[test]
    fn letters_are_base32() {
        let digest: Vec<u8> = b"foobar".iter().copied().cycle().take(32).collect();
        // `foobar` five times over, in base32 as RFC 4648 has it.
        assert!(letters(&digest).starts_with("mzxw6ytboj"));
    }
}
