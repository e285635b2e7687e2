//! The life of a request, stage by stage.

use std::sync::Arc;

use bardo_router::{Candidate, NoRoute};
use bardo_types::fault::Fault;
use tokio::time::Instant;

use crate::admitted::Admitted;
use crate::answer::Answer;
use crate::engine::Engine;
use crate::entitle;
use crate::error::EngineError;
use crate::read::Read;
use crate::received::{Principal, Received, Task};
use crate::scrub::for_logs;
use crate::world::World;

impl Engine {
    /// Checks a request and finds who can answer it. Does no I/O.
    ///
    /// # Errors
    /// When the body is malformed, or nobody serves the model.
    pub fn admit(&self, received: Received) -> Result<Admitted, EngineError> {
        let received_at = Instant::now();
        let world = self.world();
        let read = self.read(received, &world)?;
        let (neutral, routed, candidates) = if read.is_open() {
            let neutral = read.neutral();
            let question = read.question(&world, neutral.as_ref());
            let routed = self.told(self.route_with_fallbacks(&question))?;
            let candidates = routed.candidates();
            (neutral, Some(Box::new(routed)), candidates)
        } else {
            let candidates = self.told(by_name(&read.received.principal, &world, &read.model))?;
            (None, None, candidates)
        };
        let unfunded = routed.iter().filter_map(|routed| routed.instead());
        let unfunded = unfunded.collect();
        let received_at_ms = self.services.clock.now_ms();
        let Read {
            received,
            members,
            hints,
            model,
            stream,
            include_usage,
            size,
        } = read;
        Ok(Admitted {
            request_id: received.request_id,
            client_request_id: received.client_request_id,
            principal: received.principal,
            task: received.task,
            dialect: received.dialect,
            body: received.body,
            members,
            forward: received.forward,
            hints,
            model: model.into(),
            stream,
            include_usage,
            candidates,
            routed,
            neutral: neutral.map(Arc::new),
            world,
            received_at,
            received_at_ms,
            sliced: false,
            output_cap: None,
            unfunded,
            seed: None,
            size,
        })
    }

    /// Reads a request and refuses what is not understood of it.
    pub(crate) fn read(&self, received: Received, world: &World) -> Result<Read, EngineError> {
        let mut read = Read::of(received)?;
        read.check_subsystem(world)?;
        read.go_on(&self.memory);
        Ok(read)
    }

    /// Tells the operator of models that nobody priced.
    fn told<T>(&self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        if let Err(EngineError::Unpriced { model }) = &result {
            self.services.sink.unpriced(model);
        }
        result
    }

    /// Carries out an admitted request.
    ///
    /// # Errors
    /// See [`EngineError`]. Nothing has been sent to the caller then.
    pub async fn answer(self: Arc<Self>, mut admitted: Admitted) -> Result<Answer, EngineError> {
        let received = self.open(&admitted)?;
        let received = self.limit(received, &admitted).await?;
        match admitted.task {
            Task::Generate => {
                self.allow_search(&mut admitted);
                self.take_seed(&mut admitted)?;
                let reserved = self.reserve(received, &mut admitted).await?;
                self.dispatch(&admitted, reserved).await
            }
            Task::Embeddings => {
                let reserved = self.reserve(received, &mut admitted).await?;
                self.embed(&admitted, reserved).await
            }
            Task::CountTokens => {
                let mut answer = self.count(&admitted).await?;
                answer.head.limits.clone_from(&received.tab().admission);
                Ok(answer)
            }
        }
    }

    pub(crate) fn note_failure(&self, admitted: &Admitted, backend: &str, fault: &Fault) {
        let told = for_logs(fault, &admitted.body);
        self.services
            .sink
            .attempt_failed(admitted.request_id.as_str(), backend, &told);
    }
}

/// Who serves a model that the caller names without any hint, in the owner's order, and behind
/// them the models that the owner named for when they fail.
fn by_name(
    principal: &Principal,
    world: &World,
    model: &str,
) -> Result<Vec<Candidate>, EngineError> {
    let fallbacks = world.fallbacks_of(model);
    let mut candidates = match world.roster().resolve(model) {
        Ok(candidates) => candidates,
        // A name without any backend can still have models that answer instead.
        Err(NoRoute::UnknownModel { .. }) if serves_any(world, fallbacks) => Vec::new(),
        Err(no_route) => return Err(no_route.into()),
    };
    entitle::within_scopes(principal, world, model, &mut candidates);
    for other in fallbacks {
        let mut others = world.roster().resolve(other).unwrap_or_default();
        entitle::within_scopes(principal, world, other, &mut others);
        candidates.extend(others);
    }
    entitle::payable(principal, world, model, &mut candidates)?;
    Ok(candidates)
}

fn serves_any(world: &World, models: &[String]) -> bool {
    let mut models = models.iter();
    models.any(|model| world.roster().resolve(model).is_ok())
}
