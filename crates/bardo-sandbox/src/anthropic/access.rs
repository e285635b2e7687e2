//! Who is asking, and in which version of the API.

use super::error::ApiError;
use super::rules;
use crate::recorded::Recorded;
use crate::world::{KeyProblem, World};

/// The two versions that are live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    /// The version `2023-06-01`.
    V2023,
    /// `2026-10-21`, which refuses sampling parameters altogether.
    V2026,
}

/// The headers that decide how a request is read.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) version: Version,
    pub(crate) betas: Vec<String>,
    /// The organisation that the key belongs to; thinking is bound to it.
    pub(crate) organization: String,
}

/// What a reseller of the Messages API leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// Anthropic itself: a version header and a key are required.
    Anthropic,
    /// A reseller that has checked the key its own way and defaults the version.
    Reseller,
}

impl Access {
    /// Reads the headers, in the order in which the API complains about them.
    pub(crate) fn read(
        request: &Recorded,
        world: &World,
        strictness: Strictness,
    ) -> Result<Self, ApiError> {
        let key = match strictness {
            Strictness::Anthropic => checked_key(request, world)?,
            Strictness::Reseller => "",
        };
        Ok(Self {
            version: version(request.header("anthropic-version"), strictness)?,
            betas: betas(request)?,
            organization: organization(key),
        })
    }

    pub(crate) fn has_beta(&self, prefix: &str) -> bool {
        rules::unlocked(prefix, &self.betas)
    }
}

/// Both headers carry keys; when both are there the bearer one counts.
fn checked_key<'a>(request: &'a Recorded, world: &World) -> Result<&'a str, ApiError> {
    let header_key = request.header("x-api-key");
    let (key, wrong) = match request.bearer() {
        Some(token) => (Some(token), "Invalid bearer token"),
        None => (header_key, "invalid x-api-key"),
    };
    match world.check_key(key) {
        Ok(()) => Ok(key.unwrap_or_default()),
        Err(KeyProblem::Wrong) => Err(ApiError::authentication(wrong)),
        Err(KeyProblem::Missing) => Err(ApiError::authentication("x-api-key header is required")),
    }
}

/// Keys of one organisation share what stands after an `@`, so that a test can
/// bring two organisations to the same sandbox.
fn organization(key: &str) -> String {
    key.split_once('@')
        .map_or("sandbox", |(_, organization)| organization)
        .to_owned()
}

fn version(value: Option<&str>, strictness: Strictness) -> Result<Version, ApiError> {
    match (value.map(str::trim), strictness) {
        (Some("2023-06-01"), _) => Ok(Version::V2023),
        (Some("2026-10-21"), _) => Ok(Version::V2026),
        (None, Strictness::Reseller) => Ok(Version::V2023),
        (None, Strictness::Anthropic) => {
            Err(ApiError::at("anthropic-version", "header is required"))
        }
        (Some(other), _) => Err(ApiError::at(
            "anthropic-version",
            format!("\"{other}\" is not a valid version"),
        )),
    }
}

/// Reads every `anthropic-beta` header and refuses values that nobody knows.
fn betas(request: &Recorded) -> Result<Vec<String>, ApiError> {
    let headers = request.headers.get_all("anthropic-beta");
    let betas: Vec<String> = headers
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
        .collect();
    let unknown: Vec<String> = betas
        .iter()
        .filter(|value| !rules::is_beta(value))
        .map(|value| format!("`{value}`"))
        .collect();
    if unknown.is_empty() {
        return Ok(betas);
    }
    Err(ApiError::invalid(format!(
        "Unexpected value(s) {} for the `anthropic-beta` header.",
        unknown.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    type Headers = &'static [(&'static str, &'static str)];

    fn read(headers: Headers) -> Result<Access, ApiError> {
        let mut request = Recorded::test("anthropic", "/v1/messages", &json!({}));
        request.headers.clear();
        for (name, value) in headers {
            request.headers.insert(*name, value.parse().expect("ascii"));
        }
        Access::read(&request, &World::new(0, Vec::new()), Strictness::Anthropic)
    }

    #[test]
    fn takes_either_key_header_and_either_version() {
        let access = read(&[
            ("authorization", "Bearer k"),
            ("anthropic-version", "2026-10-21"),
        ]);
        assert_eq!(access.expect("accepted").version, Version::V2026);
        let access = read(&[("x-api-key", "k@acme"), ("anthropic-version", "2023-06-01")]);
        assert_eq!(access.expect("accepted").organization, "acme");
    }

    #[test]
    fn refuses_in_the_services_words() {
        let cases: [(Headers, u16, &str); 5] = [
            (
                &[("anthropic-version", "2023-06-01")],
                401,
                "x-api-key header is required",
            ),
            (&[("x-api-key", "bad1")], 401, "invalid x-api-key"),
            (
                &[("authorization", "Bearer bad")],
                401,
                "Invalid bearer token",
            ),
            (
                &[("x-api-key", "k")],
                400,
                "anthropic-version: header is required",
            ),
            (
                &[
                    ("x-api-key", "k"),
                    ("anthropic-version", "2023-06-01"),
                    ("anthropic-beta", "claude-code-20250219,nope"),
                ],
                400,
                "Unexpected value(s) `nope` for the `anthropic-beta` header.",
            ),
        ];
        for (headers, status, message) in cases {
            let error = read(headers).expect_err(message);
            assert_eq!((error.status, error.message.as_str()), (status, message));
        }
    }
}
