//! Features that were wanted and are missing.

use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::intent::Intent;

/// Missing features: required ones, then preferred ones, each once; then privacy, if a floor of
/// protection was not met.
pub(crate) fn degraded(intent: &Intent, features: FeatureSet, is_kept: bool) -> Vec<Feature> {
    let mut missing: Vec<Feature> = Vec::new();
    let unmet = (!is_kept).then_some(&Feature::Privacy);
    for feature in intent.require.iter().chain(&intent.prefer).chain(unmet) {
        if !features.has(*feature) && !missing.contains(feature) {
            missing.push(*feature);
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_come_first_and_nothing_that_is_there_or_named_twice() {
        let intent = Intent {
            require: vec![Feature::VisibleThinking, Feature::Citations],
            prefer: vec![
                Feature::Compaction,
                Feature::VisibleThinking,
                Feature::Privacy,
            ],
            ..Intent::default()
        };
        let features = FeatureSet::EMPTY.with(Feature::Citations);
        assert_eq!(
            degraded(&intent, features, true),
            [
                Feature::VisibleThinking,
                Feature::Compaction,
                Feature::Privacy
            ]
        );
        assert_eq!(degraded(&intent, features, false).len(), 3);
        assert_eq!(
            degraded(&Intent::default(), features, false),
            [Feature::Privacy]
        );
        assert_eq!(degraded(&Intent::default(), features, true), []);
    }
}
