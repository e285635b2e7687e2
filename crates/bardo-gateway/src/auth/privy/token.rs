//! A signed token (RFC 7519): one algorithm, one issuer, one audience, within its time.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::key_set::KeySet;

/// Tokens are below 1 KiB; nobody is made to decode more than this.
const LENGTH_MAX: usize = 8 << 10;
/// How far the issuer's clock may be from ours.
const SKEW_S: f64 = 60.0;

/// The claims that a token must have.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    /// Expected issuer, the claim `iss`.
    pub(crate) issuer: String,
    /// `aud`, or one of them.
    pub(crate) audience: String,
}

/// The claims of a valid token.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Claims {
    /// The user, the claim `sub`.
    pub(super) subject: String,
    /// Until when it holds, skew included, in Unix milliseconds.
    pub(super) until_ms: u64,
}

/// Why a Privy token was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenError {
    /// The text is not a JSON Web Token.
    Malformed,
    /// The algorithm is not ES256, or the header has an unknown critical extension.
    Algorithm,
    /// There is no key of the name it gives. There may be one in a newer set.
    UnknownKey,
    /// The signature is not of this key and this token.
    Signature,
    /// Another issuer or audience, over or not begun, or of nobody.
    Claims,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Payload {
    iss: String,
    sub: String,
    aud: Audience,
    exp: f64,
    nbf: Option<f64>,
    iat: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

/// Verifies a token at a time. Nothing of what it says is believed before its signature.
pub(super) fn verify(
    token: &str,
    keys: &KeySet,
    expected: &Expected,
    now_ms: u64,
) -> Result<Claims, TokenError> {
    if token.len() > LENGTH_MAX || token.matches('.').count() != 2 {
        return Err(TokenError::Malformed);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
    let (header, payload) = signed.split_once('.').ok_or(TokenError::Malformed)?;
    let header: Header = decode(header)?;
    if header.alg != "ES256" || header.crit.is_some() {
        return Err(TokenError::Algorithm);
    }
    let signature = URL_SAFE_NO_PAD
        .decode(signature)
        .map_err(|_| TokenError::Malformed)?;
    let key = keys
        .find(header.kid.as_deref())
        .ok_or(TokenError::UnknownKey)?;
    key.verify(signed.as_bytes(), &signature)
        .map_err(|_| TokenError::Signature)?;
    check(decode(payload)?, expected, now_ms)
}

fn check(payload: Payload, expected: &Expected, now_ms: u64) -> Result<Claims, TokenError> {
    let audience = &expected.audience;
    let is_for_us = match &payload.aud {
        Audience::One(one) => one == audience,
        Audience::Several(several) => several.contains(audience),
    };
    let now_s = std::time::Duration::from_millis(now_ms).as_secs_f64();
    let has_begun = |time: Option<f64>| time.is_none_or(|time| time <= now_s + SKEW_S);
    let is_good = payload.iss == expected.issuer
        && is_for_us
        && now_s < payload.exp + SKEW_S
        && has_begun(payload.nbf)
        && has_begun(payload.iat)
        && !payload.sub.is_empty();
    if !is_good {
        return Err(TokenError::Claims);
    }
    let until = std::time::Duration::try_from_secs_f64(payload.exp + SKEW_S)
        .map_or(u64::MAX, |until| {
            u64::try_from(until.as_millis()).unwrap_or(u64::MAX)
        });
    Ok(Claims {
        subject: payload.sub,
        until_ms: until,
    })
}

fn decode<T: DeserializeOwned>(part: &str) -> Result<T, TokenError> {
    let bytes = URL_SAFE_NO_PAD
        .decode(part)
        .map_err(|_| TokenError::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| TokenError::Malformed)
}
