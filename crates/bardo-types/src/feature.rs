//! What a caller can need of an answer and a backend can offer, as a closed vocabulary.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Something that a request can require or prefer and a model at a backend has or has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Feature {
    /// Nothing of the request is kept by whoever runs the model.
    Privacy,
    /// The model runs in attested hardware.
    Tee,
    /// Only the enclave can read the request.
    E2ee,
    /// The whole reasoning can be read (R1 and its like).
    VisibleThinking,
    /// A summary of the reasoning can be read.
    VisibleThinkingSummary,
    /// The model thinks between its tool calls.
    InterleavedThinking,
    /// The model decides how long to think.
    AdaptiveThinking,
    /// Answers cite the documents they rest on.
    Citations,
    /// Answers can be held to a JSON schema.
    StructuredOutputs,
    /// A likely answer can be handed in, to be faster.
    PredictedOutputs,
    /// The provider compacts long conversations itself.
    Compaction,
    /// Caches with a name and a lifetime of their own (Gemini).
    ExplicitCaching,
    /// Prompt prefixes are cached.
    PromptCaching,
    /// Batches of requests at a discount, answered within a day.
    BatchApi,
    /// Conversations that the provider keeps (OpenAI Responses).
    ResponsesApi,
    /// The caller's bytes reach the provider unchanged on the owner's own key.
    DirectPassthrough,
    /// The provider searches the web.
    WebSearch,
    /// Tools can be called.
    Tools,
    /// Images can be read.
    Vision,
    /// PDF documents can be read.
    Documents,
    /// Sound can be heard.
    Audio,
    /// The earnings of the agent pay for it.
    SelfFunding,
}

/// Names, and the other spellings under which callers and the seeds know them.
const NAMES: &[(Feature, &[&str])] = &[
    (
        Feature::Privacy,
        &[
            "privacy",
            "private",
            "no_log",
            "no_logs",
            "zero_retention",
            "zdr",
        ],
    ),
    (Feature::Tee, &["tee", "tee_attested", "attested"]),
    (Feature::E2ee, &["e2ee", "e2e"]),
    (
        Feature::VisibleThinking,
        &["visible_thinking", "visible_thinking_full"],
    ),
    (
        Feature::VisibleThinkingSummary,
        &["visible_thinking_summary"],
    ),
    (Feature::InterleavedThinking, &["interleaved_thinking"]),
    (Feature::AdaptiveThinking, &["adaptive_thinking"]),
    (Feature::Citations, &["citations"]),
    (
        Feature::StructuredOutputs,
        &[
            "structured_outputs",
            "structured_output",
            "response_schema",
            "json_schema",
        ],
    ),
    (
        Feature::PredictedOutputs,
        &["predicted_outputs", "predicted_output", "prediction"],
    ),
    (Feature::Compaction, &["compaction"]),
    (Feature::ExplicitCaching, &["explicit_caching"]),
    (Feature::PromptCaching, &["prompt_caching"]),
    (Feature::BatchApi, &["batch_api", "batch"]),
    (Feature::ResponsesApi, &["responses_api"]),
    (
        Feature::DirectPassthrough,
        &["direct_passthrough", "native_api"],
    ),
    (Feature::WebSearch, &["web_search"]),
    (
        Feature::Tools,
        &["tools", "tool_calling", "function_calling"],
    ),
    (Feature::Vision, &["vision", "images"]),
    (Feature::Documents, &["documents", "pdf"]),
    (Feature::Audio, &["audio"]),
    (Feature::SelfFunding, &["self_funding"]),
];

impl Feature {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(feature, _)| *feature)
    }

    /// The one name that we write.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        NAMES
            .iter()
            .find(|(feature, _)| *feature == self)
            .map_or("", |(_, names)| names[0])
    }

    /// Reads a name in any of its spellings; hyphens, spaces and case do not matter.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let same = |known: &str| {
            known.len() == name.len()
                && known.bytes().zip(name.bytes()).all(|(known, given)| {
                    known == given.to_ascii_lowercase()
                        || known == b'_' && matches!(given, b'-' | b' ')
                })
        };
        NAMES
            .iter()
            .find(|(_, names)| names.iter().any(|known| same(known)))
            .map(|(feature, _)| *feature)
    }

    /// Whether its loss may never be traded for an answer: privacy and attestation bind whatever
    /// the caller says of degraded answers, and so does what the request itself uses.
    #[must_use]
    pub const fn is_relaxable(self) -> bool {
        !matches!(
            self,
            Self::Privacy
                | Self::Tee
                | Self::E2ee
                | Self::Tools
                | Self::Vision
                | Self::Documents
                | Self::Audio
                | Self::DirectPassthrough
        )
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Feature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Feature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&name)
            .ok_or_else(|| serde::de::Error::custom(format!("`{name}` is not a known feature")))
    }
}

/// Several features; order does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FeatureSet(u32);

impl FeatureSet {
    /// The set without features.
    pub const EMPTY: Self = Self(0);

    const fn bit(feature: Feature) -> u32 {
        1 << feature as u8
    }

    /// With one more.
    #[must_use]
    pub const fn with(self, feature: Feature) -> Self {
        Self(self.0 | Self::bit(feature))
    }

    /// This set without one feature.
    #[must_use]
    pub const fn without(self, feature: Feature) -> Self {
        Self(self.0 & !Self::bit(feature))
    }

    /// With one more where `condition` holds.
    #[must_use]
    pub const fn with_if(self, condition: bool, feature: Feature) -> Self {
        if condition { self.with(feature) } else { self }
    }

    /// The features that are in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The features of this set that the other one lacks.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether it is there.
    #[must_use]
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & Self::bit(feature) != 0
    }

    /// Whether all of the others are there.
    #[must_use]
    pub const fn has_all(self, others: Self) -> bool {
        others.0 & !self.0 == 0
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of features in the set.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Each of them, in the order of [`Feature`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::all().filter(move |feature| self.has(*feature))
    }
}

impl FromIterator<Feature> for FeatureSet {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        features.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl Serialize for FeatureSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for FeatureSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Feature>::deserialize(deserializer)?
            .into_iter()
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_one_name_and_its_spellings_are_its_own() {
        let mut seen = std::collections::HashSet::new();
        for (feature, names) in NAMES {
            assert_eq!(Feature::parse(feature.as_str()), Some(*feature));
            for name in *names {
                assert!(seen.insert(*name), "{name} twice");
                assert_eq!(
                    Feature::parse(&name.to_uppercase().replace('_', "-")),
                    Some(*feature)
                );
            }
        }
        assert_eq!(Feature::all().count(), Feature::SelfFunding as usize + 1);
        // An effort, not a feature.
        assert_eq!(Feature::parse("low_effort"), None);
        assert_eq!(Feature::parse(""), None);
    }

    #[test]
    fn sets_behave_as_sets() {
        let set: FeatureSet = [Feature::Audio, Feature::Privacy].into_iter().collect();
        assert!(set.has_all(FeatureSet::EMPTY.with(Feature::Audio)));
        assert!(!set.has(Feature::Tee));
        assert_eq!(
            set.iter().collect::<Vec<_>>(),
            [Feature::Privacy, Feature::Audio]
        );
        assert_eq!(set.minus(set), FeatureSet::EMPTY);
        assert_eq!(
            serde_json::to_string(&set).unwrap(),
            r#"["privacy","audio"]"#
        );
    }
}
