//! The screens that the configuration switches on: checks of what a request says, made before
//! anything is planned, held or sent.

mod refused_phrases;

use std::sync::Arc;

use bardo_engine::Stages;

use self::refused_phrases::RefusedPhrases;
use crate::config::Config;

/// The stages of a configuration. Add a screen here, in the order in which screens look.
pub(crate) fn stages(config: &Config) -> Stages {
    let mut stages = Stages::default();
    if let Some(screen) = RefusedPhrases::of(&config.screening.refused_phrases) {
        stages.screens.push(Arc::new(screen));
    }
    stages
}
