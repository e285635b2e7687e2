//! The stage that refuses requests for what they say, before anything is planned or held.

use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::limit::Limited;
use crate::ports::Prompt;
use crate::receipt_builder::Passed;

/// A request that every screen lets pass.
pub(crate) struct Screened(Limited);

impl Screened {
    /// The request, for the stage that prepares it.
    pub(crate) fn into_limited(self) -> Limited {
        self.0
    }
}

impl Engine {
    /// Shows the request to each screen that covers its caller. Without one nothing is decoded.
    ///
    /// # Errors
    /// When a screen refuses the request, or cannot read it.
    pub(crate) async fn screen(&self, mut limited: Limited) -> Result<Screened, EngineError> {
        self.check_screens(limited.call()).await?;
        match limited.call().snapshot().stages.screens.is_empty() {
            true => limited.skipped(Passed::Screens),
            false => limited.passed(Passed::Screens),
        }
        Ok(Screened(limited))
    }

    async fn check_screens(&self, call: &Call) -> Result<(), EngineError> {
        let principal = call.principal();
        let screens = &call.snapshot().stages.screens;
        for screen in screens.iter().filter(|screen| screen.covers(principal)) {
            let prompt = Prompt {
                principal,
                dialect: call.dialect(),
                request: call.request_body().readable(&self.memory)?,
            };
            screen
                .check(prompt)
                .await
                .map_err(|refusal| EngineError::Screened {
                    param: refusal.param,
                    message: refusal.message,
                })?;
        }
        Ok(())
    }
}
