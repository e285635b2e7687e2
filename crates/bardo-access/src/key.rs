//! How a key is written: `bardo_sk_<id>_<secret>` (decisions §2).

use bardo_types::ids::KeyId;
use bardo_types::secret::Secret;

/// What a key may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// `bardo_sk_`: spends.
    Spend,
    /// `bardo_pk_`: reads balance, usage, receipts and models, and nothing else (C-150).
    ReadOnly,
}

impl KeyKind {
    /// What its keys begin with.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Spend => "bardo_sk_",
            Self::ReadOnly => "bardo_pk_",
        }
    }
}

/// A text that claims to be a key of ours and is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key is written bardo_sk_<id>_<secret> or bardo_pk_<id>_<secret>")]
pub struct InvalidKey;

/// A key as a caller presents it.
#[derive(Debug, Clone)]
pub struct PresentedKey {
    /// What it claims to be for.
    pub kind: KeyKind,
    /// Its public part, by which it is looked up.
    pub id: KeyId,
    /// Its secret part.
    pub secret: Secret,
}

impl PresentedKey {
    /// Reads a key; `None` when it does not begin like one of ours.
    #[must_use]
    pub fn parse(text: &str) -> Option<Result<Self, InvalidKey>> {
        let kind = [KeyKind::Spend, KeyKind::ReadOnly]
            .into_iter()
            .find(|kind| text.starts_with(kind.prefix()))?;
        let rest = &text[kind.prefix().len()..];
        Some(Self::split(kind, rest))
    }

    fn split(kind: KeyKind, rest: &str) -> Result<Self, InvalidKey> {
        let (id, secret) = rest.split_once('_').ok_or(InvalidKey)?;
        if secret.is_empty()
            || secret.len() > 128
            || !secret.bytes().all(|b| b.is_ascii_alphanumeric())
        {
            return Err(InvalidKey);
        }
        Ok(Self {
            kind,
            id: KeyId::parse(id).map_err(|_| InvalidKey)?,
            secret: Secret::new(secret.to_owned()),
        })
    }
}
