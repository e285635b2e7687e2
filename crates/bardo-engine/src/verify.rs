//! A decision about risks is asked of a second model, of another maker at another backend, before
//! the caller gets it, where the owner wants that.
//!
//! Both requests are paid for before either is sent, each has a receipt, and the answer that
//! recommends more caution is the caller's. Where there is no second decision there is no answer,
//! unless the caller takes a degraded one.

use std::sync::Arc;

use bardo_types::Degradation;
use bardo_types::ids::RequestId;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::{DecisionVerification, VerificationResult};

use crate::answer::{Answer, BOOKS_WAIT, Delivering};
use crate::call::Call;
use crate::claims::BackendClaim;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::plan::{Plan, Planned};
use crate::reserve::Funded;
use crate::two_plans::{lead, takes_part, unavailable};

/// The name of what an unverified answer lacks.
const FEATURE: &str = "verification";
/// The name of a quality that is not reached.
const QUALITY: &str = "quality";
/// Behind the id of the first request, this makes the id of the second one.
const SECOND: &str = "_verify";

impl Engine {
    /// Answers a request whose decision is to be verified.
    ///
    /// # Errors
    /// As for any request; when no second model can be asked or paid for, and when it gives no
    /// decision, unless the caller takes a degraded answer.
    pub(crate) async fn answer_verified(
        self: &Arc<Self>,
        planned: Planned,
    ) -> Result<Answer, EngineError> {
        let (limited, plan) = planned.into_parts();
        let accepts = accepts_degraded(limited.call());
        let (plan, second) = match self.second(limited.call(), &plan).await {
            Ok((shared, second)) => (shared.unwrap_or(plan), second),
            Err(error) if accepts => {
                let first = self.reserve(Planned::new(limited, plan)).await?;
                return self.unverified(first, &error).await;
            }
            Err(error) => return Err(error),
        };
        let call = limited.call();
        let plan = plan.with_only(|leg| takes_part(leg.endpoint.service) && leg.holds_back(call));
        let (of_first, of_second) = BackendClaim::pair();
        let first = Planned::new(limited, plan.beside(of_first));
        let second = second.beside(of_second);
        match self.reserve_both(first, second).await? {
            (first, Ok(second)) => self.both(first, second, accepts).await,
            (first, Err(error)) if accepts => self.unverified(first, &error).await,
            // What is held for the first is given back.
            (_, Err(error)) => Err(error),
        }
    }

    /// The second request with its plan: the same question to a model of another maker, at another
    /// backend than the first one's. Before it, the plan of the first request within its part of a
    /// limit of costs, where it has to change for that.
    async fn second(
        &self,
        call: &Call,
        plan: &Plan,
    ) -> Result<(Option<Plan>, Planned), EngineError> {
        lead(call, plan)?;
        let id = format!("{}{SECOND}", call.request_id());
        let id =
            RequestId::parse(&id).map_err(|_| unavailable("the id of the request is too long"))?;
        let mut limited = self.limit(call.again_as(id)).await?;
        let (first, plan) = self.plans_of_both(limited.call(), plan)?;
        let (plan, seed) = self.take_seed(limited.call(), plan)?;
        limited.draw_on(seed, None);
        limited.planned(plan.legs());
        Ok((first, Planned::new(limited, plan)))
    }

    /// Asks the first model alone. Its answer says that it is not verified.
    async fn unverified(
        self: &Arc<Self>,
        mut first: Funded,
        error: &EngineError,
    ) -> Result<Answer, EngineError> {
        first.degrade(lost(error));
        let mut delivering = self.dispatch(first).await?;
        delivering.note(|record| record.verified(alone()));
        Ok(self.relay(delivering).await?)
    }

    /// Asks both models at the same time.
    async fn both(
        self: &Arc<Self>,
        first: Funded,
        second: Funded,
        accepts: bool,
    ) -> Result<Answer, EngineError> {
        let (first, second) = tokio::join!(
            Box::pin(self.dispatch(first)),
            Box::pin(self.dispatch(second)),
        );
        match (first, second) {
            (Ok(first), Ok(second)) => self.compared(first, second, accepts).await,
            (Ok(only), Err(error)) => self.only(only, false, &error, accepts).await,
            (Err(error), Ok(only)) => self.only(only, true, &error, accepts).await,
            (Err(error), Err(_)) => Err(error),
        }
    }

    /// Hands over the more cautious of two answers. Both are charged.
    async fn compared(
        self: &Arc<Self>,
        first: Delivering,
        second: Delivering,
        accepts: bool,
    ) -> Result<Answer, EngineError> {
        let decision = |answer: &Delivering| answer.record().decision();
        let compared = decision(&first).zip(decision(&second));
        let seen = compared.map(|(first, second)| first.compare(second));
        let result = seen.map_or(VerificationResult::Unavailable, |seen| seen.result);
        let second_wins = seen.is_some_and(|seen| seen.second_wins);
        let is_verified = result != VerificationResult::Unavailable;
        let delivers = is_verified || accepts;
        let about = |other: &Delivering, is_second: bool| {
            let receipt = other.record().receipt();
            DecisionVerification {
                // The cost of either is known once it is settled.
                other_cost: None,
                result,
                other: Some(receipt.request_id.clone()),
                other_model: Some(Arc::clone(&receipt.model)),
                is_second,
                delivered: delivers && is_second == second_wins,
            }
        };
        let (of_first, of_second) = (about(&second, false), about(&first, true));
        let (mut winner, of_winner, mut loser, of_loser) = match second_wins {
            true => (second, of_second, first, of_first),
            false => (first, of_first, second, of_second),
        };
        let is_lower = |answer: &Delivering| {
            let degraded = &answer.record().receipt().degraded;
            degraded.iter().any(|lost| lost.feature == QUALITY)
        };
        if is_verified && is_lower(&loser) && !is_lower(&winner) {
            let detail = "the other model of the verification is of a lower tier than requested";
            winner.note(|record| record.degrade(Degradation::new(QUALITY, detail)));
        }
        loser.note(|record| record.verified(of_loser));
        let other_cost = settle_unseen(loser).await;
        winner.note(|record| {
            record.verified(DecisionVerification {
                other_cost,
                ..of_winner
            });
        });
        let reason = "the answers have no two decisions to compare";
        if !delivers {
            settle_unseen(winner).await;
            return Err(EngineError::Unverified {
                reason: reason.to_owned(),
                is_sent: true,
            });
        }
        if !is_verified {
            winner.note(|record| record.degrade(Degradation::new(FEATURE, reason)));
        }
        Ok(self.relay(winner).await?)
    }

    /// What becomes of the one answer where the other model failed.
    async fn only(
        self: &Arc<Self>,
        mut only: Delivering,
        is_second: bool,
        error: &EngineError,
        accepts: bool,
    ) -> Result<Answer, EngineError> {
        only.note(|record| {
            record.verified(DecisionVerification {
                is_second,
                delivered: accepts,
                ..alone()
            });
        });
        if accepts {
            only.note(|record| record.degrade(lost(error)));
            return Ok(self.relay(only).await?);
        }
        settle_unseen(only).await;
        Err(EngineError::Unverified {
            reason: reason(error),
            is_sent: true,
        })
    }
}

/// Settles an answer that the caller does not get. What its provider bills is charged. Answers its
/// cost where that is known.
async fn settle_unseen(answer: Delivering) -> Option<MicroUsd> {
    match answer {
        Delivering::Whole(whole) => {
            let settled = match whole.ended.at_once() {
                Ok(settled) => Some(settled),
                Err(ended) => ended.within(BOOKS_WAIT).await.ok(),
            };
            settled?.record().receipt().cost()
        }
        // All of it is there already.
        Delivering::Stream(mut stream) => {
            while std::future::poll_fn(|cx| stream.poll_next(cx))
                .await
                .is_some()
            {}
            stream.figures()?.cost
        }
    }
}

fn accepts_degraded(call: &Call) -> bool {
    let hints = call.hints().route.as_deref();
    hints.is_some_and(|hints| hints.accept_degraded == Some(true))
}

/// No second request was answered.
fn alone() -> DecisionVerification {
    DecisionVerification {
        result: VerificationResult::Unavailable,
        other: None,
        other_model: None,
        other_cost: None,
        is_second: false,
        delivered: true,
    }
}

/// Why there is no second decision, without the words of a provider.
fn reason(error: &EngineError) -> String {
    match error {
        EngineError::Unverified { reason, .. } => reason.clone(),
        EngineError::Upstream(failure) => {
            format!(
                "`{}` failed ({})",
                failure.backend,
                failure.fault.class.as_str()
            )
        }
        other => other.to_string(),
    }
}

fn lost(error: &EngineError) -> Degradation {
    Degradation {
        feature: FEATURE.into(),
        detail: reason(error).into(),
    }
}
