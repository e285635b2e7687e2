//! Two requests that are paid for together before either is sent. Each gets the least that it needs
//! first: its first backend and a short answer. Only then the holds grow, so neither request takes
//! the money of the other. Failover to dearer backends is part of the plans where the money pays
//! for it too.

use std::sync::Arc;

use bardo_access::PayerTerms;
use bardo_ledger::LedgerRefusal;
use bardo_ledger::hold::{self, HoldPlan, HoldQuery, Sizing};
use bardo_types::money::MicroUsd;

use super::{Funded, TRIES, ask, billed, caps, granted, out_of_range, persist, refused, room};
use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::leg::Grant;
use crate::lifecycle::{Admitted, Lifecycle};
use crate::plan::{Plan, Planned};
use crate::received::Payer;

/// One of two requests that are held for together.
struct PairedRequest {
    call: Call,
    /// The plan that the hold pays for.
    plan: Plan,
    /// The plan with all backends, where the hold does not pay for it yet.
    whole: Option<Plan>,
    held: MicroUsd,
    life: Lifecycle<Admitted>,
    terms: Arc<PayerTerms>,
    candidates: Vec<hold::HoldCandidate>,
    prompt_tokens: u64,
    range: HoldRange,
}

/// The smallest and the largest hold for a request. They are equal if the caller limits the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HoldRange {
    least: MicroUsd,
    most: MicroUsd,
}

impl HoldRange {
    fn of(ask: &HoldQuery<'_>) -> Result<Self, EngineError> {
        let within = |available| match hold::size(&HoldQuery { available, ..*ask }) {
            Sizing::Hold(plan) => Ok(plan.amount),
            Sizing::Short { needed, .. } => Ok(needed),
            Sizing::OutOfRange => Err(out_of_range()),
        };
        Ok(Self {
            least: within(MicroUsd::ZERO)?,
            most: within(MicroUsd::MAX)?,
        })
    }

    /// The part of `total` that this request may hold beside another one: what the other one
    /// cannot use, at least half, and never so much that the other one lacks its least. `total`
    /// pays for both.
    fn share(self, other: Self, total: MicroUsd) -> MicroUsd {
        let half = MicroUsd::new(total.get() / 2);
        let left = half.min(other.most).max(other.least);
        total.saturating_sub(left).max(self.least)
    }
}

impl Engine {
    /// Holds money for two requests of one caller. Each first gets the least that it needs, and the
    /// holds grow from what is left.
    ///
    /// The second result is an error if the money pays for the first request alone; its hold then
    /// grows as that of a single request.
    ///
    /// # Errors
    /// When the account or a cap of the caller does not pay for the first request.
    pub(crate) async fn reserve_both(
        &self,
        first: Planned,
        second: Planned,
    ) -> Result<(Funded, Result<Funded, EngineError>), EngineError> {
        if !is_charged(&first) || !is_charged(&second) {
            let first = self.reserve(first).await?;
            return Ok((first, self.reserve(second).await));
        }
        let (mut first, mut second) = (PairedRequest::of(first)?, PairedRequest::of(second)?);
        let both = first.range.least.checked_add(second.range.least);
        let both = both.ok_or_else(out_of_range)?;
        if let Err(told) = self.begin(&mut first).await? {
            let Some(free) = first.whole().without_billed() else {
                let fits = both_fit(&first.ask(), &second.ask(), room(&told));
                return Err(self.told(&first, told, both, fits));
            };
            first.plan = free;
            return Ok((first.unheld(), self.alone(second).await));
        }
        let left = match self.begin(&mut second).await? {
            Ok(left) => left,
            Err(told) => {
                let told = without_hold(told, first.range.least);
                let total = room(&told);
                let fits = both_fit(&first.ask(), &second.ask(), total);
                let error = self.told(&second, told, both, fits);
                let held = self.grow(&mut first, None, total).await?;
                let first = self.funded(first, &held).await?;
                let Some(free) = second.whole().without_billed() else {
                    return Ok((first, Err(error)));
                };
                second.plan = free;
                return Ok((first, Ok(second.unheld())));
            }
        };
        let total = left.checked_add(both).unwrap_or(MicroUsd::MAX);
        if least_of_all(&first)?
            .checked_add(least_of_all(&second)?)
            .is_some_and(|least| least <= total)
        {
            first.widen()?;
            second.widen()?;
        }
        let of_first = self
            .grow(&mut first, Some((second.range, second.held)), total)
            .await?;
        let rest = total.saturating_sub(of_first.amount);
        let of_second = self.grow(&mut second, None, rest).await?;
        let first = self.funded(first, &of_first).await?;
        Ok((first, Ok(self.funded(second, &of_second).await?)))
    }

    /// Holds money for one request beside another one that needs none.
    async fn alone(&self, mut side: PairedRequest) -> Result<Funded, EngineError> {
        let least = side.range.least;
        let left = self.begin(&mut side).await?;
        let left = left.map_err(|told| self.told(&side, told, least, None))?;
        let total = left.checked_add(least).unwrap_or(MicroUsd::MAX);
        let held = self.grow(&mut side, None, total).await?;
        self.funded(side, &held).await
    }

    /// Holds the least that a request needs. Answers what the account has left.
    async fn begin(
        &self,
        side: &mut PairedRequest,
    ) -> Result<Result<MicroUsd, LedgerRefusal>, EngineError> {
        let now_ms = self.services.clock.now_ms();
        let caps = caps(&side.terms, &side.call, &side.plan);
        let least = side.range.least;
        let command = self.reserve_command(&side.call, &side.terms, &caps, least, now_ms);
        let reserved = self.ledger()?.reserve(command).await?;
        Ok(reserved.map(|reservation| {
            let record = side.life.record_mut();
            record.bound_prompt(side.prompt_tokens);
            record.held(&reservation);
            side.held = least;
            reservation.available
        }))
    }

    /// Holds more for a request that has its least, up to its part of `total` where another request
    /// has its least too; `other` is the range and the hold of that one. A refusal makes the part
    /// smaller and is no error.
    async fn grow(
        &self,
        side: &mut PairedRequest,
        other: Option<(HoldRange, MicroUsd)>,
        mut total: MicroUsd,
    ) -> Result<HoldPlan, EngineError> {
        let held = side.held;
        let taken = other.map_or(Some(held), |(_, of_other)| held.checked_add(of_other));
        let taken = taken.ok_or_else(out_of_range)?;
        for _ in 0..TRIES {
            let available = other.map_or(total, |(other, _)| side.range.share(other, total));
            if available < side.range.least {
                break;
            }
            let plan = side.within(available)?;
            let by = plan.amount.saturating_sub(held);
            if by == MicroUsd::ZERO {
                return Ok(plan);
            }
            let (account, request) = (&side.call.principal().account, side.call.request_id());
            let now_ms = self.services.clock.now_ms();
            match self.ledger()?.extend(account, request, by, now_ms).await? {
                Ok(reservation) => {
                    side.life.record_mut().held(&reservation);
                    return Ok(plan);
                }
                Err(told) => {
                    let most = room(&told).checked_add(taken).unwrap_or(MicroUsd::MAX);
                    total = total.min(most);
                }
            }
        }
        side.narrow()?;
        side.within(held)
    }

    async fn funded(&self, side: PairedRequest, held: &HoldPlan) -> Result<Funded, EngineError> {
        let PairedRequest {
            call,
            plan,
            mut life,
            ..
        } = side;
        let expected = self.expected(&call, &plan);
        let record = life.record_mut();
        record.expect(
            expected
                .map(|expected| expected.min(held.amount))
                .or(Some(held.amount)),
        );
        persist(self.ledger()?, &call, record).await?;
        Ok(Funded {
            // Nobody follows the answer of a request that is verified.
            grant: granted(&call, held, &[]),
            life: life.reserved(),
            call,
            plan,
        })
    }

    /// The error for a refused hold.
    fn told(
        &self,
        side: &PairedRequest,
        told: LedgerRefusal,
        needed: MicroUsd,
        fits: Option<u64>,
    ) -> EngineError {
        let now_ms = self.services.clock.now_ms();
        refused(told, needed, fits, now_ms)
            .of(&side.terms, &side.call)
            .with_limits(side.life.record().admission())
    }
}

impl PairedRequest {
    fn of(planned: Planned) -> Result<Self, EngineError> {
        let Payer::Prepaid(terms) = &planned.call().principal().payer else {
            return Err(out_of_range());
        };
        let terms = Arc::clone(terms);
        let (limited, plan) = planned.into_parts();
        let (call, life) = limited.into_parts();
        let (plan, whole) = match plan.without_billed_failover() {
            Some(narrow) => (narrow, Some(plan)),
            None => (plan, None),
        };
        let candidates = billed(&call, &plan);
        let query = ask(&call, &plan, &candidates);
        Ok(Self {
            range: HoldRange::of(&query)?,
            prompt_tokens: query.prompt_tokens,
            held: MicroUsd::ZERO,
            candidates,
            terms,
            call,
            plan,
            whole,
            life,
        })
    }

    /// The plan with all backends.
    fn whole(&self) -> &Plan {
        self.whole.as_ref().unwrap_or(&self.plan)
    }

    /// Plans with all backends from now on.
    fn widen(&mut self) -> Result<(), EngineError> {
        if let Some(whole) = self.whole.take() {
            self.plan = whole;
            self.measure()?;
        }
        Ok(())
    }

    /// Plans without failover to other billed backends from now on.
    fn narrow(&mut self) -> Result<(), EngineError> {
        if let Some(narrow) = self.plan.without_billed_failover() {
            self.plan = narrow;
            self.measure()?;
        }
        Ok(())
    }

    fn measure(&mut self) -> Result<(), EngineError> {
        self.candidates = billed(&self.call, &self.plan);
        let query = ask(&self.call, &self.plan, &self.candidates);
        (self.range, self.prompt_tokens) = (HoldRange::of(&query)?, query.prompt_tokens);
        let prompt_tokens = self.prompt_tokens;
        self.life.record_mut().bound_prompt(prompt_tokens);
        Ok(())
    }

    /// The request where its plan costs nothing.
    fn unheld(self) -> Funded {
        Funded {
            call: self.call,
            plan: self.plan,
            grant: Grant::default(),
            life: self.life.reserved(),
        }
    }

    fn ask(&self) -> HoldQuery<'_> {
        ask(&self.call, &self.plan, &self.candidates)
    }

    /// The hold for a request that may hold `available`, which is at least its least.
    fn within(&self, available: MicroUsd) -> Result<HoldPlan, EngineError> {
        match hold::size(&HoldQuery {
            available,
            ..self.ask()
        }) {
            Sizing::Hold(plan) => Ok(plan),
            Sizing::Short { .. } | Sizing::OutOfRange => Err(out_of_range()),
        }
    }
}

/// The least that a request needs with all backends of its plan.
fn least_of_all(side: &PairedRequest) -> Result<MicroUsd, EngineError> {
    let candidates = billed(&side.call, side.whole());
    Ok(HoldRange::of(&ask(&side.call, side.whole(), &candidates))?.least)
}

/// Whether the account of the caller pays for a request.
fn is_charged(planned: &Planned) -> bool {
    let is_prepaid = matches!(planned.call().principal().payer, Payer::Prepaid(_));
    let mut billed = planned.legs().iter().filter(|leg| !leg.is_free());
    is_prepaid && billed.any(|leg| leg.price.is_some())
}

/// The limit of output with which `total` pays for both requests; `None` where the callers set no
/// limit, or where the prompts alone cost more.
fn both_fit(first: &HoldQuery<'_>, second: &HoldQuery<'_>, total: MicroUsd) -> Option<u64> {
    if first.lowers || second.lowers {
        return None;
    }
    let pays = |tokens: u64| {
        let cost = |ask: &HoldQuery<'_>| {
            let ask = HoldQuery {
                max_tokens: Some(tokens),
                available: MicroUsd::MAX,
                ..*ask
            };
            match hold::size(&ask) {
                Sizing::Hold(plan) => Some(plan.amount),
                Sizing::Short { .. } | Sizing::OutOfRange => None,
            }
        };
        let both = cost(first)
            .zip(cost(second))
            .and_then(|(first, second)| first.checked_add(second));
        both.is_some_and(|both| both <= total)
    };
    let (mut fits, mut exceeds) = (0, first.max_tokens?.max(second.max_tokens?));
    while exceeds > fits + 1 {
        let middle = fits + (exceeds - fits) / 2;
        match pays(middle) {
            true => fits = middle,
            false => exceeds = middle,
        }
    }
    Some(fits).filter(|fits| *fits > 0)
}

/// A refusal as it would be without a hold of this size.
fn without_hold(refusal: LedgerRefusal, held: MicroUsd) -> LedgerRefusal {
    match refusal {
        LedgerRefusal::Insufficient { needed, available } => LedgerRefusal::Insufficient {
            needed,
            available: available.checked_add(held).unwrap_or(MicroUsd::MAX),
        },
        LedgerRefusal::Capped {
            scope,
            window,
            limit,
            used,
            needed,
            resets_at_ms,
        } => LedgerRefusal::Capped {
            scope,
            window,
            limit,
            used: used.saturating_sub(held),
            needed,
            resets_at_ms,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(least: u64, most: u64) -> HoldRange {
        HoldRange {
            least: MicroUsd::new(least),
            most: MicroUsd::new(most),
        }
    }

    #[test]
    fn the_first_request_gets_half_or_what_the_second_one_cannot_use() {
        let share = |first, second, total| {
            let (first, second): ((u64, u64), (u64, u64)) = (first, second);
            let share = range(first.0, first.1);
            let share = share.share(range(second.0, second.1), MicroUsd::new(total));
            share.get()
        };
        assert_eq!(share((10, 900), (5, 1_000), 100), 50, "half");
        assert_eq!(share((10, 900), (5, 20), 100), 80, "the rest of its most");
        assert_eq!(share((10, 900), (70, 1_000), 100), 30, "its least stays");
        assert_eq!(share((90, 900), (10, 1_000), 100), 90, "exactly both");
        assert_eq!(
            share((60, 900), (10, 1_000), 100),
            60,
            "never below its own least"
        );
    }

    #[test]
    fn whatever_pays_for_both_is_shared_so_that_each_has_its_least() {
        for first in 0..30 {
            for second in 0..30 {
                for total in first + second..100 {
                    for most in [second, second + 7, 1_000] {
                        let share = range(first, 1_000)
                            .share(range(second, most), MicroUsd::new(total))
                            .get();
                        assert!(share >= first, "{first} {second} {total}");
                        assert!(total - share >= second, "{first} {second} {total}");
                    }
                }
            }
        }
    }
}
