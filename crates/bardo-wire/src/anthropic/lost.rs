use bardo_types::{Degradation, Losses};

/// What a request loses on its way, each feature named once.
#[derive(Debug, Default)]
pub(super) struct Lost(Losses);

impl Lost {
    /// Notes a loss with a fixed name.
    pub(super) fn note(&mut self, feature: &'static str, detail: &'static str) {
        self.0.lose(feature, detail);
    }

    /// Notes the loss of a field that only this request carries.
    pub(super) fn field(&mut self, name: &str, detail: &'static str) {
        self.0.lose_field(name, detail);
    }

    pub(super) fn into_list(self) -> Vec<Degradation> {
        self.0.into_list()
    }
}
