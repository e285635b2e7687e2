//! The public keys that an issuer publishes (RFC 7517), as far as they are of the one algorithm that
//! is taken here.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde::Deserialize;

/// An issuer has two or three.
const KEYS_MAX: usize = 32;

/// ES256 keys by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeySet(Vec<(Option<String>, [u8; 65])>);

#[derive(Deserialize)]
struct PublishedKeySet {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct PublishedKey {
    kty: String,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
}

impl KeySet {
    /// Reads a published set. Keys of other kinds are left out.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let published: PublishedKeySet = serde_json::from_slice(text)
            .map_err(|error| format!("this is not a JSON Web Key Set: {error}"))?;
        let keys: Vec<_> = published
            .keys
            .into_iter()
            .filter_map(|key| serde_json::from_value::<PublishedKey>(key).ok()?.es256())
            .take(KEYS_MAX)
            .collect();
        if keys.is_empty() {
            return Err("it has no ES256 key".into());
        }
        Ok(Self(keys))
    }

    /// The key of that name. A token that names none is taken where there is no choice.
    pub(super) fn find(&self, kid: Option<&str>) -> Option<UnparsedPublicKey<&[u8]>> {
        let point = match (kid, self.0.as_slice()) {
            (None, [(_, point)]) => Some(point),
            (None, _) => None,
            (Some(kid), keys) => keys
                .iter()
                .find(|(name, _)| name.as_deref() == Some(kid))
                .map(|(_, point)| point),
        };
        point.map(|point| UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point.as_slice()))
    }
}

impl PublishedKey {
    /// Its name and its point, uncompressed.
    fn es256(self) -> Option<(Option<String>, [u8; 65])> {
        let is_meant = self.kty == "EC"
            && self.crv.as_deref() == Some("P-256")
            && self.alg.is_none_or(|alg| alg == "ES256")
            && self.usage.is_none_or(|usage| usage == "sig");
        let coordinate = |text: Option<String>| -> Option<[u8; 32]> {
            URL_SAFE_NO_PAD.decode(text?).ok()?.try_into().ok()
        };
        let (x, y) = (coordinate(self.x)?, coordinate(self.y)?);
        let mut point = [4; 65];
        point[1..33].copy_from_slice(&x);
        point[33..].copy_from_slice(&y);
        is_meant.then_some((self.kid, point))
    }
}
