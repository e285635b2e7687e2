//! The makers of models by all their names, and the vendors that serve models in OpenAI format
//! (`data/vendors.toml`).

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VendorFile {
    makers: BTreeMap<String, Vec<String>>,
    vendors: BTreeMap<String, Vendor>,
}

/// A vendor that serves models in OpenAI format.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    /// The name in the configuration and before a model's slash.
    #[serde(skip)]
    pub name: String,
    /// The name for people.
    pub title: String,
    /// Where it is.
    pub base_url: String,
    /// The variables that its own tools read the key from.
    pub env: Vec<String>,
    /// The maker whose models it sells as its own.
    pub maker: Option<String>,
    /// Whether it answers with a list of its models.
    #[serde(default = "yes")]
    pub lists: bool,
    /// Members of a chat body that it refuses.
    #[serde(default)]
    pub refuses: Vec<String>,
    /// Members that it knows by another name.
    #[serde(default)]
    pub renames: BTreeMap<String, String>,
}

const fn yes() -> bool {
    true
}

struct Table {
    makers: HashMap<String, String>,
    vendors: Vec<Vendor>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let file: VendorFile =
        crate::data::read(include_str!("../data/vendors.toml")).expect("the table is tested");
    let mut makers = HashMap::new();
    for (maker, also) in file.makers {
        for name in also {
            makers.insert(name, maker.clone());
        }
        makers.insert(maker.clone(), maker);
    }
    let named = |(name, vendor)| Vendor { name, ..vendor };
    Table {
        makers,
        vendors: file.vendors.into_iter().map(named).collect(),
    }
});

/// The vendors, by name.
#[must_use]
pub fn vendors() -> &'static [Vendor] {
    &TABLE.vendors
}

/// The vendor of that name.
#[must_use]
pub fn vendor(name: &str) -> Option<&'static Vendor> {
    vendors().iter().find(|vendor| vendor.name == name)
}

/// The one name of a maker that may be spelled in several ways.
pub(crate) fn maker(name: &str) -> Option<&'static str> {
    let found = match TABLE.makers.get(name) {
        Some(found) => Some(found),
        None => TABLE.makers.get(&name.to_ascii_lowercase()),
    };
    found.map(String::as_str)
}

/// All names of makers.
pub(crate) fn makers() -> impl Iterator<Item = &'static str> {
    TABLE.makers.keys().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn every_vendor_has_an_address_and_a_variable_and_makers_that_are_known() {
        assert!(vendors().len() >= 10);
        for vendor in vendors() {
            assert!(vendor.base_url.starts_with("https://"), "{}", vendor.name);
            assert!(!vendor.base_url.ends_with('/'), "{}", vendor.name);
            assert!(!vendor.env.is_empty(), "{}", vendor.name);
            if let Some(makers_name) = &vendor.maker {
                assert_eq!(maker(makers_name), Some(makers_name.as_str()));
            }
        }
    }

    #[test]
    fn every_maker_in_the_catalog_is_known_and_each_spelling_means_one() {
        for known in Catalog::embedded().models() {
            assert!(maker(&known.vendor).is_some(), "{}", known.id);
        }
        assert_eq!(maker("x-ai"), maker("xai"));
        assert_eq!(maker("MistralAI"), Some("mistral"));
        assert_eq!(maker("venise"), None);
    }
}
