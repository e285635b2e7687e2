//! The refusal of a request whose own limit of costs (`max_cost_usd`) pays for no model. It names the
//! least limit that pays for one.

use bardo_router::{Refusal, RefusalKind, Router};
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;

use crate::call::Call;
use crate::decision;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::plan::Plan;

/// No limit above this is looked at, in millionths of a USD.
pub(crate) const MOST: u64 = 1_000_000_000;
/// The member of hints that limits the cost.
pub(crate) const MEMBER: &str = "max_cost_usd";

/// A plan, or its error with the least limit of costs where that is what is missing.
pub(crate) fn named(
    engine: &Engine,
    call: &Call,
    planned: Result<Plan, EngineError>,
) -> Result<Plan, EngineError> {
    planned.map_err(|error| match limit(call) {
        // A verification names what both of its requests need.
        Some(most) if is_about_cost(&error) && !call.is_part() && !decision::is_verified(call) => {
            let least = least(most, |most| {
                let call = call.within_cost(Some(most));
                engine.routed_plan(&call, &mut Router::route).is_ok()
            });
            least.map_or(error, |least| too_low(call, Some(least)))
        }
        _ => error,
    })
}

/// The caller's limit of costs in millionths of a USD.
pub(crate) fn limit(call: &Call) -> Option<u64> {
    call.hints().route.as_ref()?.max_cost_micro_usd
}

/// Whether a request was refused for its limit of costs, maybe among others.
pub(crate) fn is_about_cost(error: &EngineError) -> bool {
    matches!(error, EngineError::Refused { refusal, .. } if refusal.missing.iter().any(|name| name == MEMBER))
}

/// The least limit above `refused` that pays, where whatever is above one that pays does too.
fn least(refused: u64, pays: impl Fn(u64) -> bool) -> Option<MicroUsd> {
    let mut too_low = refused;
    let mut enough = refused.max(1);
    while !pays(enough) {
        if enough >= MOST {
            return None;
        }
        too_low = enough;
        enough = (enough * 2).min(MOST);
    }
    while enough > too_low + 1 {
        let middle = too_low + (enough - too_low) / 2;
        match pays(middle) {
            true => enough = middle,
            false => too_low = middle,
        }
    }
    Some(MicroUsd::new(enough))
}

/// The refusal of a request whose limit does not pay for a prompt and a short answer.
pub(crate) fn too_low(call: &Call, least: Option<MicroUsd>) -> EngineError {
    let amount = least.map_or(String::new(), |least| format!(" to {least} USD"));
    let lower = match call.size().output {
        Some(_) => ", or lower `max_tokens`",
        None => "",
    };
    refusal(
        call,
        format!(
            "`max_cost_usd` does not pay for the prompt and a short answer at any allowed model; \
             raise it{amount}{lower}"
        ),
    )
}

/// A refusal for the limit of costs, with this advice.
pub(crate) fn refusal(call: &Call, advice: String) -> EngineError {
    EngineError::Refused {
        model: call.model().to_string(),
        refusal: Box::new(Refusal {
            kind: RefusalKind::Unsatisfiable,
            class: SecurityClass::Standard,
            missing: vec![MEMBER.to_owned()],
            lacks: Vec::new(),
            advice,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_is_found_to_the_millionth() {
        for limit in [1, 2, 3, 1_000, 40_474, 999_999_999, MOST] {
            for refused in [0, 1, limit / 2, limit - 1] {
                let found = least(refused, |most| most >= limit);
                assert_eq!(found, Some(MicroUsd::new(limit)), "{refused}");
            }
        }
        assert_eq!(least(5, |_| false), None);
    }
}
