//! Which of `OpenRouter`'s variants of a model a request is best served by.

use bardo_types::model::Service;

/// A way in which `OpenRouter` orders the providers of one model; its documentation names them as
/// suffixes of model ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The quickest provider first.
    Nitro,
    /// The cheapest provider first.
    Floor,
}

impl Variant {
    /// The value of OpenRouter's `provider.sort` for this variant, for a translated body. The name
    /// of the model stays unchanged, so that its prices and answers are found.
    #[must_use]
    pub const fn sort(self) -> &'static str {
        match self {
            Self::Nitro => "throughput",
            Self::Floor => "price",
        }
    }
}

/// Facts that decide about the variant.
#[derive(Debug, Clone, Copy, Default)]
pub struct VariantFacts<'a> {
    /// The model by `OpenRouter`'s name for it.
    pub model: &'a str,
    /// The group of the subsystem that asks, where one does.
    pub group: Option<&'a str>,
    /// A person waits for the answer.
    pub interactive: bool,
    /// The caller chose a variant, or an order of providers, itself.
    pub chosen: bool,
}

/// Groups of subsystems whose answers nobody waits for.
const PATIENT: [&str; 2] = ["dream", "batch_dream"];

/// The variant that serves the request best; `None`: the model as it is. What the caller chose is
/// never overridden.
#[must_use]
pub fn variant(service: Service, facts: &VariantFacts<'_>) -> Option<Variant> {
    // Routers and aliases stand for other models, and take no further word.
    let is_plain = facts.model.contains('/')
        && !facts.model.contains(':')
        && !facts.model.starts_with('~')
        && !facts.model.starts_with("openrouter/");
    if service != Service::OpenRouter || facts.chosen || !is_plain {
        return None;
    }
    if facts.interactive {
        return Some(Variant::Nitro);
    }
    let is_patient = facts.group.is_some_and(|group| PATIENT.contains(&group));
    is_patient.then_some(Variant::Floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "anthropic/claude-haiku-5.5";

    fn facts() -> VariantFacts<'static> {
        VariantFacts {
            model: MODEL,
            ..VariantFacts::default()
        }
    }

    #[test]
    fn every_kind_of_request_gets_its_variant() {
        let dream = VariantFacts {
            group: Some("dream"),
            ..facts()
        };
        let rows = [
            (facts(), None),
            (
                VariantFacts {
                    group: Some("heartbeat"),
                    ..facts()
                },
                None,
            ),
            (
                VariantFacts {
                    interactive: true,
                    ..facts()
                },
                Some(Variant::Nitro),
            ),
            (
                VariantFacts {
                    interactive: true,
                    ..dream
                },
                Some(Variant::Nitro),
            ),
            (dream, Some(Variant::Floor)),
            (
                VariantFacts {
                    group: Some("batch_dream"),
                    ..facts()
                },
                Some(Variant::Floor),
            ),
            // What the caller chose stays.
            (
                VariantFacts {
                    chosen: true,
                    ..dream
                },
                None,
            ),
            (
                VariantFacts {
                    model: "anthropic/claude-haiku-5.5:thinking",
                    ..dream
                },
                None,
            ),
            (
                VariantFacts {
                    model: "openrouter/auto",
                    ..dream
                },
                None,
            ),
            (
                VariantFacts {
                    model: "~anthropic/claude-latest",
                    ..dream
                },
                None,
            ),
            (
                VariantFacts {
                    model: "claude-haiku-5.5",
                    ..dream
                },
                None,
            ),
        ];
        for (facts, expected) in rows {
            assert_eq!(variant(Service::OpenRouter, &facts), expected, "{facts:?}");
            for other in [
                Service::Venice,
                Service::Anthropic,
                Service::BlockRun,
                Service::Local,
            ] {
                assert_eq!(variant(other, &facts), None, "{other:?} {facts:?}");
            }
        }
    }

    #[test]
    fn a_variant_is_an_order_of_providers() {
        let all = [Variant::Nitro, Variant::Floor];
        assert_eq!(all.map(Variant::sort), ["throughput", "price"]);
    }
}
