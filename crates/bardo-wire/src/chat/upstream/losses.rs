//! What a request loses on its way, once per feature.

use bardo_types::Degradation;

#[derive(Default)]
pub(super) struct Losses(Vec<Degradation>);

impl Losses {
    /// Notes that a feature is not, or not fully, honored.
    pub(super) fn lose(&mut self, feature: &'static str, detail: &'static str) {
        self.add(Degradation::new(feature, detail));
    }

    /// Notes the loss of a member that only this request carries.
    pub(super) fn lose_field(&mut self, field: &str, detail: &'static str) {
        self.add(Degradation::field(field, detail));
    }

    fn add(&mut self, loss: Degradation) {
        if !self.0.iter().any(|known| known.feature == loss.feature) {
            self.0.push(loss);
        }
    }

    pub(super) fn into_list(self) -> Vec<Degradation> {
        self.0
    }
}
