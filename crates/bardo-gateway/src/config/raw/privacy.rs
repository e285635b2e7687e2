//! What has to be kept secret.

use std::collections::BTreeMap;

use bardo_types::privacy::SecurityClass;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};

/// What has to be kept secret.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Privacy {
    /// A request that no configured backend can keep as secret as it needs fails, instead of being
    /// answered visibly less protected.
    pub(crate) strict: bool,
    /// The least protection of a subsystem's requests, instead of the table's: `standard`,
    /// `private`, `tee` or `e2ee`.
    #[serde(default)]
    pub(crate) floors: BTreeMap<String, Class>,
}

/// A class of protection, in any of its spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Class(pub(crate) SecurityClass);

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        SecurityClass::parse(&name).map(Self).ok_or_else(|| {
            D::Error::custom(format!(
                "unknown variant `{name}`, expected one of `standard`, `private`, `tee`, `e2ee`"
            ))
        })
    }
}

impl JsonSchema for Class {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SecurityClass".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "enum": ["standard", "private", "tee", "e2ee"] })
    }
}
