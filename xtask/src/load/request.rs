//! What is sent again and again, and what a good answer looks like.

use std::ops::RangeInclusive;

use anyhow::{Result, bail};
use memchr::memmem;

/// Digits in a body that are replaced by a new number in every request, so
/// that no two requests are equal and no cache can answer.
pub(crate) const NONCE: &str = "nonce-000000000000";
const DIGITS: usize = 12;

/// A whole HTTP/1.1 request, head and body in one piece.
#[derive(Clone)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    digits_at: Option<usize>,
}

impl Template {
    /// A POST of `body`, or a GET when there is none.
    pub(crate) fn new(
        authority: &str,
        path: &str,
        headers: &[(String, String)],
        body: Option<&[u8]>,
    ) -> Self {
        let method = if body.is_some() { "POST" } else { "GET" };
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {authority}\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            if !headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
            {
                head.push_str("content-type: application/json\r\n");
            }
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body.unwrap_or_default());
        let digits_at = memmem::find(&bytes, NONCE.as_bytes()).map(|at| at + NONCE.len() - DIGITS);
        Self { bytes, digits_at }
    }

    /// The request as the `number`th of its kind.
    pub(crate) fn stamped(&mut self, mut number: u64) -> &[u8] {
        if let Some(at) = self.digits_at {
            for digit in self.bytes[at..at + DIGITS].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
        &self.bytes
    }
}

/// What counts as a good answer.
#[derive(Clone)]
pub(crate) struct Expect {
    status: RangeInclusive<u16>,
    body_length: RangeInclusive<usize>,
    /// Bytes that occur in the last hundred of the body.
    ending: &'static str,
}

impl Expect {
    /// Accepts any success.
    pub(crate) fn success() -> Self {
        Self {
            status: 200..=299,
            body_length: 0..=usize::MAX,
            ending: "",
        }
    }

    /// A 200 of about the size of an answer that was checked in full.
    pub(crate) fn like(body: &[u8], ending: &'static str) -> Self {
        const SLACK: usize = 128;
        Self {
            status: 200..=200,
            body_length: body.len().saturating_sub(SLACK)..=body.len() + SLACK,
            ending,
        }
    }

    pub(crate) fn check(&self, status: u16, body: &[u8]) -> Result<()> {
        if !self.status.contains(&status) {
            let shown = String::from_utf8_lossy(&body[..body.len().min(300)]);
            bail!("status {status}: {shown}");
        }
        if !self.body_length.contains(&body.len()) {
            bail!(
                "a body of {} bytes, expected {:?}",
                body.len(),
                self.body_length
            );
        }
        let end = &body[body.len().saturating_sub(100)..];
        if memmem::find(end, self.ending.as_bytes()).is_none() {
            bail!("the body does not end with `{}`", self.ending);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stamped_request_differs_in_the_digits_alone() {
        let body = format!("{{\"a\":\"{NONCE}\"}}");
        let mut template = Template::new("h:1", "/p", &[], Some(body.as_bytes()));
        let first = template.stamped(7).to_vec();
        let second = template.stamped(123_456_789_012).to_vec();
        assert_eq!(first.len(), second.len());
        assert!(
            String::from_utf8(first)
                .unwrap()
                .ends_with("{\"a\":\"nonce-000000000007\"}")
        );
        assert!(
            String::from_utf8(second)
                .unwrap()
                .ends_with("{\"a\":\"nonce-123456789012\"}")
        );
    }

    #[test]
    fn a_request_without_a_body_is_a_get() {
        let mut template = Template::new("h:1", "/p", &[("a".into(), "b".into())], None);
        assert_eq!(
            template.stamped(1),
            b"GET /p HTTP/1.1\r\nhost: h:1\r\na: b\r\n\r\n"
        );
    }

    #[test]
    fn a_bad_answer_is_noticed() {
        let good = "x".repeat(1000) + "data: [DONE]\n\n";
        let expect = Expect::like(good.as_bytes(), "[DONE]");
        assert!(expect.check(200, good.as_bytes()).is_ok());
        assert!(expect.check(500, good.as_bytes()).is_err());
        assert!(expect.check(200, &good.as_bytes()[500..]).is_err());
        assert!(expect.check(200, "x".repeat(1000).as_bytes()).is_err());
    }
}
