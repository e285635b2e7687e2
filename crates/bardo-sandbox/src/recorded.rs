//! A request as a service module sees it: whole, immutable and already below its prefix.

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

use crate::fault::Faults;

/// One request, byte-exact.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// Position in the journal; unique per sandbox.
    pub(crate) seq: u64,
    /// The service whose prefix the path had.
    pub(crate) service: &'static str,
    pub(crate) method: Method,
    /// The path below the service's prefix, such as `/v1/messages`.
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Faults queued for this request through the control surface.
    pub(crate) faults: Faults,
}

impl Recorded {
    /// A header as text; `None` if it is absent or not ASCII.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The bearer token of `Authorization`, if any.
    pub(crate) fn bearer(&self) -> Option<&str> {
        let value = self.header("authorization")?;
        let (scheme, token) = value.split_once(' ')?;
        (scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty()).then(|| token.trim())
    }

    /// The first value of a query parameter, percent-decoded for the characters keys use.
    pub(crate) fn query_value(&self, name: &str) -> Option<String> {
        self.query.as_deref()?.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key == name).then(|| percent_decoded(value))
        })
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Result<Value, String> {
        serde_json::from_slice(&self.body).map_err(|error| error.to_string())
    }
}

/// Percent-decoding of a path segment or a query value; a broken escape stays as it is.
pub(crate) fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match escape {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(if bytes[at] == b'+' { b' ' } else { bytes[at] });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
