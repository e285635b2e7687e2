//! The key of a request: one pass of a cryptographic hash over its neutral form.
//!
//! Every field is written with its length, and every choice with a number of its own, so that no
//! content can imitate another request. Two requests share a key only where they are equal in all
//! that can change the answer. Left out, and nothing else:
//!
//! - `stream` and `include_usage`: a stream and its whole twin carry one answer;
//! - prompt-cache marks and hints: they change what a provider charges and not what it answers;
//! - the dialect, unless the request carries members that only that dialect understands;
//! - texts that the caller declared ephemeral, see [`KeySource::ephemeral`].
//!
//! A body with members that the neutral form lacks is in its key as it came, see
//! [`KeySource::unread`].
//!
//! Texts are never normalized: not their white space, not times, not ids. The functions below take
//! every struct apart without `..`: a new member does not compile until somebody decides on it.

mod hints;
mod parts;
mod request;
mod writer;

use std::fmt;

use bardo_types::chat::ChatRequest;
use bardo_types::hints::RouteHints;
use bardo_types::privacy::SecurityClass;
use bardo_types::profile::InferenceProfile;

use crate::scope::Namespace;
use writer::KeyWriter;
pub(crate) use writer::without_declared;

/// Version of the key's layout. Entries of other versions are never found.
pub const VERSION: u16 = 2;

/// The key of one request in one namespace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key([u8; 32]);

impl Key {
    /// The digest of the request, 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key with this digest, as a second level handed it back.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

/// The first eight bytes, in hex.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8]
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// How the hints of a request reach its key.
#[derive(Debug, Clone, Copy)]
pub enum Steering<'a> {
    /// As they came: each hint that could move the model or its parameters is part of the key.
    /// Right at any time, but an agent whose vitality changes with every call never hits.
    Raw,
    /// As they were resolved: the parameters that the profile set for this call, which stand for
    /// vitality, phase, sustainability, schedules and counters of calls. Right only where the hints
    /// cannot move the model, so not for automatic choice and not with `allow_downgrade`.
    Resolved(&'a InferenceProfile),
}

/// All that a key is made of.
#[derive(Debug, Clone, Copy)]
pub struct KeySource<'a> {
    /// The request as the caller sent it, decoded.
    pub request: &'a ChatRequest,
    /// The hints that came along; the default where none came.
    pub hints: &'a RouteHints,
    /// What stands for the hints that change with every call.
    pub steering: Steering<'a>,
    /// Partition that the answer belongs to.
    pub namespace: &'a Namespace,
    /// Effective class of the request, floors and memory included.
    pub class: SecurityClass,
    /// Revision of the settings that change answers: routes, aliases, profiles. Equal settings
    /// have equal revisions in all instances that share a second level.
    pub settings: &'a [u8],
    /// Digest of what the gateway adds to the prompt (enrichment); empty where it adds nothing.
    pub enrichment: &'a [u8],
    /// The body as it came, where it has members that `request` lacks; empty where it has none. What
    /// such a member means is not known, so only a body of the same bytes has the same key.
    pub unread: &'a [u8],
    /// Texts that the caller declared ephemeral (`bardo.ephemeral`). Each is left out of system
    /// texts wherever it stands, and out of `metadata` and the end user's name where it is the
    /// whole value. Texts of users and tools are never altered.
    pub ephemeral: &'a [String],
}

/// The key of a request.
#[must_use]
pub fn key_of(asked: &KeySource<'_>) -> Key {
    let KeySource {
        request,
        hints,
        steering,
        namespace,
        class,
        settings,
        enrichment,
        unread,
        ephemeral,
    } = asked;
    let mut writer = KeyWriter::new(ephemeral);
    writer.number(u64::from(VERSION));
    writer.bytes(namespace.id());
    writer.text(class.as_str());
    writer.bytes(settings);
    writer.bytes(enrichment);
    writer.bytes(unread);
    hints::write(&mut writer, hints, steering);
    request::write(&mut writer, request);
    Key(writer.finish())
}
