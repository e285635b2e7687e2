//! The price of a request that is not paid for: planned as for an answer, and offered for sale.

use bardo_ledger::hold::{self, HoldQuery, Sizing};
use bardo_types::money::MicroUsd;
use bardo_wire::codec::BadRequest;

use crate::caching::slot_of;
use crate::call::Call;
use crate::engine::Engine;
use crate::engine_future::EngineFuture;
use crate::error::{EngineError, UnpaidRequest};
use crate::offers::{Offers, PricedRequest};
use crate::plan::Plan;
use crate::received::Task;
use crate::reserve::{ask, billed, worst_case};

/// The worst case of a plan, as it is sold.
pub(crate) struct Priced {
    price: MicroUsd,
    prompt_tokens: u64,
    output_tokens: Option<u64>,
    /// Id of the model that the plan tries first.
    routed: Option<String>,
}

impl Priced {
    /// The price of a plan, whatever the account has; `None` where it is out of range.
    pub(crate) fn of(ask: &HoldQuery<'_>, plan: &Plan) -> Option<Self> {
        Some(Self {
            price: worst_case(ask)?,
            prompt_tokens: ask.prompt_tokens,
            output_tokens: ask.max_tokens,
            routed: Some(plan.first().candidate.entry.id.to_string()),
        })
    }

    /// The price of a stored answer.
    pub(crate) const fn stored(price: MicroUsd) -> Self {
        Self {
            price,
            prompt_tokens: 0,
            output_tokens: None,
            routed: None,
        }
    }
}

impl Engine {
    /// Plans a request of a caller who has not paid, and offers it for sale. Nothing is looked up,
    /// held, sent or charged; it counts as one request of the caller.
    ///
    /// The price covers the worst case of the plan. An answer whose length the caller left open gets
    /// the limit that [`Offers::ceiling`] pays for.
    ///
    /// Returns [`EngineError::Unpaid`] with the offer, or the reason why there is none.
    pub fn quote(&self, call: Call) -> EngineFuture<'_, EngineError> {
        Box::pin(self.offer(call))
    }

    async fn offer(&self, call: Call) -> EngineError {
        let priced = match self.priced(&call).await {
            Ok(priced) => priced,
            Err(error) => return error,
        };
        let refused = EngineError::Funds {
            needed: priced.price,
            available: MicroUsd::ZERO,
            fits_max_tokens: None,
            limits: None,
        };
        self.sold(&call, priced).await.unwrap_or(refused)
    }

    /// The price of a call as the stages of an answer would plan it.
    async fn priced(&self, call: &Call) -> Result<Priced, EngineError> {
        self.limit_replay(call).await?;
        let plan = self.plan_for(call, &mut bardo_router::Router::route)?;
        let billed = billed(call, &plan);
        let mut ask = ask(call, &plan, &billed);
        let out_of_range = || {
            BadRequest::new(
                "",
                "the possible cost of this request is out of range; set a lower limit of output tokens",
            )
        };
        let whole = Priced::of(&ask, &plan);
        let most = self
            .offers
            .as_deref()
            .map_or(MicroUsd::MAX, Offers::ceiling);
        if let Some(whole) = whole.filter(|whole| whole.price <= most) {
            return Ok(whole);
        }
        ask.available = most;
        match hold::size(&ask) {
            Sizing::Hold(held) => Ok(Priced {
                price: held.amount,
                prompt_tokens: ask.prompt_tokens,
                output_tokens: Some(held.output_tokens),
                routed: Some(plan.first().candidate.entry.id.to_string()),
            }),
            Sizing::Short {
                needed, max_tokens, ..
            } => Err(above(
                needed,
                most,
                max_tokens.map(|fits| fits / call.size().choices),
            )
            .into()),
            Sizing::OutOfRange => Err(out_of_range().into()),
        }
    }

    /// The offer of a priced request; `None` where it is not for sale.
    pub(crate) async fn sold(&self, call: &Call, priced: Priced) -> Option<EngineError> {
        let offers = self.offers.as_ref()?;
        let may_be_stored = || slot_of(call, &self.memory).is_ok();
        let requirement = offers.requirement(PricedRequest {
            principal: call.principal(),
            task: call.task(),
            dialect: call.dialect(),
            model: call.model(),
            price: priced.price,
            url: call.url(),
            body: call.body(),
            stream: call.stream(),
            prompt_tokens: priced.prompt_tokens,
            output_tokens: priced.output_tokens,
            routed: priced.routed.as_deref().unwrap_or(call.model()),
            cache_eligible: call.task() == Task::Generate && may_be_stored(),
        });
        Some(EngineError::Unpaid(Box::new(UnpaidRequest {
            price: priced.price,
            requirement: requirement.await?,
            limits: None,
        })))
    }
}

/// The refusal of a request that costs more than one payment may be.
fn above(needed: MicroUsd, most: MicroUsd, fits: Option<u64>) -> BadRequest {
    let remedy = match fits.filter(|&fits| fits > 0) {
        Some(fits) => format!("set at most {fits} output tokens, or use a key with a deposit"),
        None => "send a shorter prompt, or use a key with a deposit".to_owned(),
    };
    BadRequest::new(
        "",
        format!(
            "the request can cost up to {needed} USD, and one payment is at most {most} USD: {remedy}"
        ),
    )
}
