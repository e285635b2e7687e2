//! Features that have a member of their own among the capabilities, and how both agree.

use super::{Capabilities, ToolFormat};
use crate::feature::{Feature, FeatureSet};

impl Capabilities {
    /// The features that follow from the members themselves: tools, images, documents, sound,
    /// schemas.
    fn features_by_member(&self) -> FeatureSet {
        FeatureSet::EMPTY
            .with_if(self.tool_format != ToolFormat::Unsupported, Feature::Tools)
            .with_if(self.images, Feature::Vision)
            .with_if(self.documents, Feature::Documents)
            .with_if(self.audio, Feature::Audio)
            .with_if(self.structured_output, Feature::StructuredOutputs)
    }

    /// Lets `features` agree with the other members: what has a member of its own is there exactly
    /// where the member says so, and a model that does not think shows no thoughts.
    pub fn settle_features(&mut self) {
        const BY_MEMBER: FeatureSet = FeatureSet::EMPTY
            .with(Feature::Tools)
            .with(Feature::Vision)
            .with(Feature::Documents)
            .with(Feature::Audio)
            .with(Feature::StructuredOutputs);
        const THOUGHTS: FeatureSet = FeatureSet::EMPTY
            .with(Feature::VisibleThinking)
            .with(Feature::VisibleThinkingSummary)
            .with(Feature::InterleavedThinking)
            .with(Feature::AdaptiveThinking);
        self.features = self
            .features
            .minus(BY_MEMBER)
            .union(self.features_by_member());
        if !self.thinking.any() {
            self.features = self.features.minus(THOUGHTS);
        }
    }

    /// Adds features and takes away others, with the members that stand for them.
    pub fn change_features(&mut self, with: FeatureSet, without: FeatureSet) {
        let change = |member: &mut bool, feature: Feature| {
            *member = (*member || with.has(feature)) && !without.has(feature);
        };
        change(&mut self.images, Feature::Vision);
        change(&mut self.documents, Feature::Documents);
        change(&mut self.audio, Feature::Audio);
        change(&mut self.structured_output, Feature::StructuredOutputs);
        if without.has(Feature::Tools) {
            self.tool_format = ToolFormat::Unsupported;
        } else if with.has(Feature::Tools) && self.tool_format == ToolFormat::Unsupported {
            self.tool_format = ToolFormat::Native;
        }
        if with.has(Feature::VisibleThinking) && !self.thinking.any() {
            self.thinking.by_default = true;
        }
        self.features = self.features.union(with).minus(without);
        self.settle_features();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_agree_with_the_members_that_stand_for_them() {
        let mut capabilities = Capabilities {
            images: false,
            features: [
                Feature::Vision,
                Feature::VisibleThinking,
                Feature::Citations,
            ]
            .into_iter()
            .collect(),
            ..Capabilities::default()
        };
        capabilities.settle_features();
        assert!(!capabilities.features.has(Feature::Vision));
        assert!(!capabilities.features.has(Feature::VisibleThinking));
        assert!(capabilities.features.has(Feature::Citations));
        assert!(capabilities.features.has(Feature::Tools));
        let set = |features: &[Feature]| features.iter().copied().collect();
        capabilities.change_features(
            set(&[Feature::Vision, Feature::VisibleThinking]),
            set(&[Feature::Tools, Feature::Citations]),
        );
        assert!(capabilities.images && capabilities.features.has(Feature::Vision));
        assert!(capabilities.features.has(Feature::VisibleThinking));
        assert!(!capabilities.features.has(Feature::Tools));
        assert!(!capabilities.features.has(Feature::Citations));
        assert_eq!(capabilities.tool_format, ToolFormat::Unsupported);
    }
}
