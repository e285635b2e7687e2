//! Why a request would go where it would go, without asking anybody (`POST /v1/route/explain`).

use bardo_profile::{Applied, Wanted};
use bardo_router::Explanation;
use bardo_types::Degradation;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::header_lists::degraded_list;
use crate::received::Received;
use crate::routing::carry_citations;
use crate::shape::{Decoded, shape};

/// A decision and all that led to it.
#[derive(Debug)]
pub struct Explained {
    /// The model as the caller named it.
    pub model: String,
    /// Who was looked at, and what came out.
    pub explanation: Explanation,
    /// How the model is to be set up.
    pub wanted: Option<Wanted>,
    /// What of it the chosen model takes.
    pub applied: Option<Applied>,
    /// What the answer would be said to lack.
    pub degraded: Vec<Degradation>,
    /// The same as the header would show it.
    pub degraded_list: String,
    /// Why the chosen backend could not be sent the request after all.
    pub refused: Option<EngineError>,
}

impl Engine {
    /// Decides as for an answer, and asks, holds and charges nothing.
    ///
    /// # Errors
    /// When the body is malformed. That nobody may answer is part of the explanation.
    pub fn explain(&self, received: Received) -> Result<Explained, EngineError> {
        let world = self.world();
        let again = Received {
            forward: received.forward.clone(),
            hints: received.hints.clone(),
            principal: received.principal.clone(),
            client_request_id: None,
            body: received.body.clone(),
            request_id: received.request_id.clone(),
            task: received.task,
            dialect: received.dialect,
        };
        let read = self.read(received, &world)?;
        let neutral = read.neutral();
        let mut explanation = self.explain_route(&read.question(&world, neutral.as_ref()));
        if let Ok(route) = &mut explanation.outcome
            && route.automatic
        {
            // As for an answer: so many are asked at most.
            route.keep(world.max_attempts);
        }
        let mut explained = Explained {
            model: read.model.clone(),
            explanation,
            wanted: None,
            applied: None,
            degraded: Vec::new(),
            degraded_list: String::new(),
            refused: None,
        };
        match self.admit(again) {
            Ok(admitted) => {
                explained.wanted = admitted
                    .routed
                    .as_ref()
                    .and_then(|routed| routed.wanted.clone());
                if let (Some(wanted), Ok(route)) =
                    (&explained.wanted, &mut explained.explanation.outcome)
                {
                    carry_citations(wanted, &mut route.choices);
                }
                let first = admitted.candidates.first();
                let shaped = first
                    .map(|first| shape(&admitted, first, &mut Decoded::default(), &self.memory));
                match shaped {
                    Some(Ok(shaped)) => {
                        explained.applied = shaped.setup.map(|setup| setup.applied);
                        explained.degraded_list = degraded_list(&shaped.degraded);
                        explained.degraded = shaped.degraded;
                    }
                    Some(Err(error)) => explained.refused = Some(error),
                    None => {}
                }
            }
            Err(error) => explained.refused = Some(error),
        }
        Ok(explained)
    }
}
