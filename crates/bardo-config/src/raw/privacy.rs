//! Privacy settings of the configuration.

use std::collections::BTreeMap;

use bardo_types::privacy::SecurityClass;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};

/// Privacy of requests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Privacy {
    /// Refuse a request if no configured backend meets its privacy floor, instead of answering it
    /// with less privacy and saying so.
    pub strict: bool,
    /// Lowest security class per subsystem, instead of the one of the table: `standard`, `private`,
    /// `tee` or `e2ee`.
    #[serde(default)]
    pub floors: BTreeMap<String, RawSecurityClass>,
}

/// A security class, in any of its spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawSecurityClass(pub SecurityClass);

impl<'de> Deserialize<'de> for RawSecurityClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        SecurityClass::parse(&name).map(Self).ok_or_else(|| {
            D::Error::custom(format!(
                "unknown variant `{name}`, expected one of `standard`, `private`, `tee`, `e2ee`"
            ))
        })
    }
}

impl JsonSchema for RawSecurityClass {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SecurityClass".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "enum": ["standard", "private", "tee", "e2ee"] })
    }
}
