//! What a request loses on its way, once per feature.

pub(super) use bardo_types::Losses;
