use bardo_types::Degradation;

/// What a request loses on its way, each feature named once.
#[derive(Debug, Default)]
pub(super) struct Lost(Vec<Degradation>);

impl Lost {
    /// Notes a loss with a fixed name.
    pub(super) fn note(&mut self, feature: &'static str, detail: &'static str) {
        self.add(Degradation::new(feature, detail));
    }

    /// Notes the loss of a field that only this request carries.
    pub(super) fn field(&mut self, name: &str, detail: &'static str) {
        self.add(Degradation::field(name, detail));
    }

    fn add(&mut self, degradation: Degradation) {
        if !self
            .0
            .iter()
            .any(|known| known.feature == degradation.feature)
        {
            self.0.push(degradation);
        }
    }

    pub(super) fn into_list(self) -> Vec<Degradation> {
        self.0
    }
}
