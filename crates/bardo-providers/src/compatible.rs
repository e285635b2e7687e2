//! Vendors that serve models in OpenAI format: those of `bardo_router::vendors`, each with its
//! peculiarities, and any other that the owner gives a name and an address.

use std::sync::LazyLock;

use bardo_router::{Catalog, Vendor, vendors};
use bardo_types::model::{Dialect, ModelEntry, Service};
use bardo_wire::json::TopLevel;
use bardo_wire::splice::Edit;

use crate::model_list::{ListError, ModelList, compatible_rows};
use crate::provider::{Operation, Provider, UpstreamCall, openai_path};

pub(crate) struct Compatible {
    vendor: Option<&'static Vendor>,
}

/// A vendor that nothing is known of.
pub(crate) static PLAIN: Compatible = Compatible { vendor: None };

/// The description of a vendor by its name.
pub(crate) fn compatible(name: &str) -> &'static Compatible {
    static ALL: LazyLock<Vec<Compatible>> = LazyLock::new(|| {
        let described = |vendor| Compatible {
            vendor: Some(vendor),
        };
        vendors().iter().map(described).collect()
    });
    ALL.iter()
        .find(|known| known.vendor.is_some_and(|vendor| vendor.name == name))
        .unwrap_or(&PLAIN)
}

impl Compatible {
    fn refuses(&self, member: &str) -> bool {
        self.vendor
            .is_some_and(|vendor| vendor.refuses.iter().any(|refused| refused == member))
    }
}

impl Provider for Compatible {
    fn service(&self) -> Service {
        Service::Compatible
    }

    fn dialects(&self, _: &ModelEntry) -> &'static [Dialect] {
        &[Dialect::Chat]
    }

    fn path(&self, call: &UpstreamCall<'_>) -> Option<String> {
        match call.operation {
            Operation::CountTokens => None,
            Operation::Generate { .. } | Operation::Embeddings => openai_path(call),
        }
    }

    fn peculiarities(&self, body: &TopLevel<'_>) -> Vec<Edit> {
        let Some(vendor) = self.vendor else {
            return Vec::new();
        };
        let refused = vendor.refuses.iter().filter(|key| body.get(key).is_some());
        let mut edits: Vec<Edit> = refused.map(|key| Edit::Remove { key }).collect();
        for (key, called) in &vendor.renames {
            let Some(value) = body.get(key) else {
                continue;
            };
            edits.push(Edit::Remove { key });
            if body.get(called).is_none() {
                edits.push(Edit::set(called, value));
            }
        }
        edits
    }

    fn usage_on_request(&self) -> bool {
        !self.refuses("stream_options")
    }

    fn lists(&self) -> bool {
        self.vendor.is_none_or(|vendor| vendor.lists)
    }

    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
        compatible_rows(body, catalog, self.vendor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(vendor: &str, body: &str) -> String {
        let top = bardo_wire::json::scan(body.as_bytes()).unwrap();
        let edits = compatible(vendor).peculiarities(&top);
        String::from_utf8(bardo_wire::splice::splice(&top, &edits)).unwrap()
    }

    #[test]
    fn what_a_vendor_refuses_is_left_out_and_what_it_calls_otherwise_is_renamed() {
        let body = r#"{"model":"m","max_completion_tokens":7,"seed":1,"stream_options":{"include_usage":true}}"#;
        assert_eq!(
            edited("mistral", body),
            r#"{"model":"m","max_tokens":7,"random_seed":1}"#
        );
        assert_eq!(edited("groq", body), body);
        assert_eq!(edited("never-heard-of", body), body);
        assert!(!compatible("mistral").usage_on_request());
        assert!(compatible("groq").usage_on_request());
        assert!(!compatible("perplexity").lists());
    }
}
