//! The stage that changes what is asked, before anything is planned or held.

use std::sync::Arc;

use crate::call::Call;
use crate::engine::Engine;
use crate::limit::Limited;
use crate::ports::Prompt;
use crate::receipt_builder::Passed;
use crate::request_body::RequestBody;
use crate::screen::Screened;

/// A request as it is to be planned: no later stage changes what is asked.
pub(crate) struct Prepared(Limited);

impl Prepared {
    /// The request, for the stage that plans it.
    pub(crate) fn into_limited(self) -> Limited {
        self.0
    }
}

impl Engine {
    /// Lets each preparer that covers the caller change the request. Without one nothing is decoded;
    /// a request that cannot be read stays as it is.
    pub(crate) async fn prepare(&self, screened: Screened) -> Prepared {
        let mut limited = screened.into_limited();
        if limited.call().snapshot().stages.preparers.is_empty() {
            limited.skipped(Passed::Preparers);
            return Prepared(limited);
        }
        let snapshot = Arc::clone(limited.call().snapshot());
        for preparer in &snapshot.stages.preparers {
            let call = limited.call();
            if !preparer.covers(call.principal()) {
                continue;
            }
            let Some(request) = call.request_body().neutral(&self.memory) else {
                continue;
            };
            let prompt = Prompt {
                principal: call.principal(),
                dialect: call.dialect(),
                request,
            };
            if let Some(changed) = preparer.prepare(prompt).await {
                let replaced = |body: RequestBody| body.replaced(changed);
                limited = limited.with_call(|call: Call| call.with_body(replaced));
            }
        }
        limited.passed(Passed::Preparers);
        Prepared(limited)
    }
}
