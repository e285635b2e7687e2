//! The gateway's own attributes, `bardo.*`. None of them has a part of a prompt or an answer, a key,
//! a balance or a signature.

use bardo_types::receipt::{Receipt, Routing};

use crate::attributes::Attributes;

/// What the request was, how it ended and what was done for it.
pub(crate) fn of_request(receipt: &Receipt, all: &mut Attributes) {
    let routing = receipt.routing.as_deref();
    let row = routing.and_then(|routing| routing.subsystem.as_deref());
    all.text("bardo.request_id", receipt.request_id.as_str())
        .some_text(
            "bardo.client_request_id",
            receipt.client_request_id.as_deref(),
        )
        .text("bardo.account", receipt.account.as_str())
        .text("bardo.outcome", receipt.outcome.as_str())
        .text("bardo.dialect", receipt.dialect.as_str())
        .text("bardo.backend", &*receipt.backend)
        .text("bardo.model.requested", &*receipt.model_requested)
        .flag("bardo.stream", receipt.streamed)
        .text("bardo.cache", &*receipt.cache)
        .some_text("bardo.cache.reason", receipt.cache_reason.as_deref())
        .some_text("bardo.subsystem", row.or(receipt.subsystem.as_deref()))
        .count("bardo.attempts", receipt.attempts.len() as u64)
        .texts(
            "bardo.degraded",
            receipt.degraded.iter().map(|lost| lost.feature.to_string()),
        )
        .texts(
            "bardo.optimizations",
            receipt.optimizations.iter().map(ToString::to_string),
        )
        .texts(
            "bardo.passed_over",
            receipt
                .passed_over
                .iter()
                .map(|one| one.backend.to_string()),
        );
    if let Some(verification) = receipt.verification.as_deref() {
        all.text("bardo.verification", verification.result.as_str());
    }
}

/// The costs of a request: integers in 10^-6 USD, and their sum for the payer as a decimal text.
pub(crate) fn of_money(receipt: &Receipt, all: &mut Attributes) {
    let amounts = &receipt.amounts;
    all.money("bardo.cost.micro_usd", receipt.cost())
        .some_text("bardo.cost.usd", receipt.cost_text().as_deref())
        .money("bardo.cost.provider_micro_usd", amounts.provider_cost)
        .money("bardo.cost.spread_micro_usd", Some(amounts.spread))
        .money("bardo.cost.charge_micro_usd", Some(amounts.charge))
        .money("bardo.cost.savings_micro_usd", receipt.savings())
        .text("bardo.cost.mode", receipt.mode.as_str());
}

/// Why the request went where it went.
pub(crate) fn of_routing(routing: &Routing, all: &mut Attributes) {
    all.some_text("bardo.golem.id", routing.golem_id.as_deref())
        .some_text("bardo.phase", routing.phase.map(|phase| phase.as_str()))
        .flag("bardo.route.automatic", routing.automatic)
        .text("bardo.security_class", routing.security.as_str())
        .texts(
            "bardo.features.lost",
            routing.degraded.iter().map(|lost| lost.as_str().to_owned()),
        );
    if let Some(tick) = routing.tick {
        all.count("bardo.golem.tick", tick);
    }
    if let Some(row) = routing
        .profile
        .as_ref()
        .and_then(|sent| sent.row.as_deref())
    {
        all.text("bardo.profile", row);
    }
}
