//! Entries that leave the process: encrypted and authenticated with a key of the operator's.
//!
//! A second level learns neither prompts nor answers nor tenants: names are keyed digests, values
//! are AES-256-GCM under a key of their own. Whoever can write to the second level can make misses
//! and nothing else.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use bardo_types::ids::AccountId;
use zeroize::Zeroizing;

use crate::codec::{read_entry, read_flush, write_entry, write_flush};
use crate::entry::CachedAnswer;
use crate::key::Key;
use crate::scope::Namespace;
use crate::second::Loss;
use crate::store::Flush;
use crate::tags::CacheTag;
use crate::ttl::AnswerKind;

/// Opens every value: the maker and the version of the layout.
const MAGIC: &[u8; 4] = b"bca1";
/// Stands in for the key of an entry where an order is encrypted; keys have 32 bytes.
const FLUSH: &[u8] = b"flush";
/// Bytes of a salt. Each value has one, and a key that is derived from it.
pub const SALT_BYTES: usize = 32;

/// Encrypts and names entries for second levels.
pub struct Vault {
    names: Zeroizing<[u8; 32]>,
    values: Zeroizing<[u8; 32]>,
}

impl Vault {
    /// A vault with the operator's key: any secret of 32 bytes or more that all processes of the
    /// gateway share. `None` where it is shorter.
    #[must_use]
    pub fn new(operator_key: &[u8]) -> Option<Self> {
        let derive = |context| Zeroizing::new(blake3::derive_key(context, operator_key));
        (operator_key.len() >= 32).then(|| Self {
            names: derive("bardo-cache second level names 1"),
            values: derive("bardo-cache second level values 1"),
        })
    }

    /// The name of an entry: 64 hex digits.
    #[must_use]
    pub fn name(&self, key: &Key) -> String {
        self.digest(&[b"entry", key.as_bytes()])
    }

    /// Names of the sets that an entry belongs to, so that every flush finds it.
    #[must_use]
    pub fn sets(&self, entry: &CachedAnswer) -> Vec<String> {
        let tenant = entry.tenant.as_str().as_bytes();
        let mut sets = vec![
            self.digest(&[b"all"]),
            self.digest(&[b"tenant", tenant]),
            self.namespace_set(&entry.tenant, &entry.namespace),
        ];
        if entry.kind == AnswerKind::Market {
            sets.push(self.market_set(&entry.tenant, &entry.namespace));
        }
        if let Some(digest) = &entry.tags.playbook {
            sets.push(self.playbook_set(&entry.tenant, &entry.namespace, digest));
        }
        for owner in [b"".as_slice(), tenant] {
            if entry.kind == AnswerKind::Market {
                sets.push(self.digest(&[b"market", owner]));
            }
            sets.extend(entry.tags.each().map(|tag| self.tag_set(owner, &tag)));
        }
        sets
    }

    /// Names of the sets whose entries a flush removes.
    #[must_use]
    pub fn flushed_sets(&self, flush: &Flush) -> Vec<String> {
        let owner = flush.tenant().map_or("", AccountId::as_str).as_bytes();
        match flush {
            Flush::All => vec![self.digest(&[b"all"])],
            Flush::Tenant(_) => vec![self.digest(&[b"tenant", owner])],
            Flush::Namespace(tenant, space) => vec![self.namespace_set(tenant, space)],
            Flush::Tag(_, tag) => {
                let tags = tag.found_by();
                tags.iter().map(|tag| self.tag_set(owner, tag)).collect()
            }
            Flush::Market(_) => vec![self.digest(&[b"market", owner])],
            Flush::MarketIn(tenant, space) => vec![self.market_set(tenant, space)],
            Flush::PlaybookIn(tenant, space, digest) => {
                vec![self.playbook_set(tenant, space, digest)]
            }
        }
    }

    fn namespace_set(&self, tenant: &AccountId, space: &Namespace) -> String {
        self.digest(&[b"namespace", tenant.as_str().as_bytes(), space.id()])
    }

    fn market_set(&self, tenant: &AccountId, space: &Namespace) -> String {
        self.digest(&[b"market in", tenant.as_str().as_bytes(), space.id()])
    }

    fn playbook_set(&self, tenant: &AccountId, space: &Namespace, digest: &str) -> String {
        let tenant = tenant.as_str().as_bytes();
        self.digest(&[b"playbook in", tenant, space.id(), digest.as_bytes()])
    }

    /// The order of a flush as a value, for other processes. `salt` comes from the system's random
    /// source, new for each value.
    ///
    /// # Errors
    /// [`Loss::Withheld`] where it cannot be encrypted.
    pub fn close_flush(&self, flush: &Flush, salt: [u8; SALT_BYTES]) -> Result<Vec<u8>, Loss> {
        let payload = Payload {
            msg: &write_flush(flush),
            aad: FLUSH,
        };
        let sealed = self.cipher(&salt).encrypt(&Nonce::default(), payload);
        let sealed = sealed.map_err(|_| Loss::Withheld)?;
        Ok([MAGIC.as_slice(), &salt, &sealed].concat())
    }

    /// The order of a flush from a value.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_flush(&self, value: &[u8]) -> Result<Flush, Loss> {
        let plain = self.opened(value, FLUSH)?;
        read_flush(&plain).map_err(|_| Loss::Corrupt)
    }

    /// The content of a value that was made for `aad`.
    fn opened(&self, value: &[u8], aad: &[u8]) -> Result<Vec<u8>, Loss> {
        let (salt, sealed) = value
            .strip_prefix(MAGIC)
            .and_then(|rest| rest.split_first_chunk::<SALT_BYTES>())
            .ok_or(Loss::Foreign)?;
        let payload = Payload { msg: sealed, aad };
        let opened = self.cipher(salt).decrypt(&Nonce::default(), payload);
        opened.map_err(|_| Loss::Foreign)
    }

    fn tag_set(&self, owner: &[u8], tag: &CacheTag) -> String {
        let (kind, name) = match tag {
            CacheTag::Domain(name) => (b"domain".as_slice(), name),
            CacheTag::Token(name) => (b"token".as_slice(), name),
            CacheTag::Pool(name) => (b"pool".as_slice(), name),
            CacheTag::Playbook(name) => (b"playbook".as_slice(), name),
        };
        self.digest(&[b"tag", owner, kind, name.as_bytes()])
    }

    fn digest(&self, parts: &[&[u8]]) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&self.names);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The entry as a value. `salt` comes from the system's random source, new for each value.
    ///
    /// # Errors
    /// [`Loss::Withheld`] for an entry that may not leave the process.
    pub fn close(&self, entry: &CachedAnswer, salt: [u8; SALT_BYTES]) -> Result<Vec<u8>, Loss> {
        if entry.class > bardo_types::privacy::SecurityClass::Standard {
            return Err(Loss::Withheld);
        }
        let plain = write_entry(entry);
        let payload = Payload {
            msg: &plain,
            aad: entry.key.as_bytes(),
        };
        let sealed = self
            .cipher(&salt)
            .encrypt(&Nonce::default(), payload)
            .map_err(|_| Loss::Withheld)?;
        Ok([MAGIC.as_slice(), &salt, &sealed].concat())
    }

    /// The entry of `key` from a value.
    ///
    /// # Errors
    /// [`Loss::Foreign`] where the value was not made with this key for this name, and
    /// [`Loss::Corrupt`] where it was and holds no entry of this version.
    pub fn open(&self, key: &Key, value: &[u8]) -> Result<CachedAnswer, Loss> {
        let plain = self.opened(value, key.as_bytes())?;
        let entry = read_entry(&plain).map_err(|_| Loss::Corrupt)?;
        if entry.key != *key {
            return Err(Loss::Corrupt);
        }
        Ok(entry)
    }

    /// Each salt has a key that encrypts one value alone, so its nonce may stand still.
    fn cipher(&self, salt: &[u8; SALT_BYTES]) -> Aes256Gcm {
        let key = Zeroizing::new(*blake3::keyed_hash(&self.values, salt).as_bytes());
        Aes256Gcm::new((&*key).into())
    }
}

mod questions;
#[cfg(test)]
mod tests;
mod values;
