//! Members that make an answer dearer than the price list says. A caller that pays by the list gets
//! its answer without them.

use bardo_types::Degradation;
use bardo_types::chat::ChatRequest;
use bardo_types::receipt::PaymentMode;
use bardo_wire::json::TopLevel;

use crate::call::Call;
use crate::leg::Leg;

/// Classes of service that cost what the list says, or less.
const LISTED_TIERS: [&str; 5] = ["auto", "default", "flex", "standard", "standard_only"];

/// The members that a request loses at a backend: `service_tier` for a dearer class, and Anthropic's
/// `speed`.
pub(crate) fn dear_members(call: &Call, leg: &Leg) -> Vec<&'static str> {
    let mode = call.principal().payment_mode(leg.endpoint.direct);
    if mode != PaymentMode::Prepaid {
        return Vec::new();
    }
    let top = call.top();
    let is_dear = |member: &str, listed: &[&str]| match text(&top, member) {
        TierWord::Absent => false,
        TierWord::Text(value) => !listed.contains(&value.as_str()),
        TierWord::Other => true,
    };
    let members = [
        ("service_tier", &LISTED_TIERS[..]),
        ("speed", &["standard"][..]),
    ];
    let dear = members
        .into_iter()
        .filter(|(name, listed)| is_dear(name, listed));
    dear.map(|(name, _)| name).collect()
}

/// The loss of a member, as the answer tells it.
pub(crate) fn lost(member: &'static str) -> Degradation {
    Degradation::new(
        member,
        "this value costs more than the price list says; the usual one is used",
    )
}

/// The request without these members.
pub(crate) fn without(request: &mut ChatRequest, members: &[&'static str]) {
    if members.contains(&"service_tier") {
        request.service_tier = None;
    }
    request
        .extra
        .retain(|(name, _)| !members.contains(&name.as_str()));
}

/// The value of a member.
enum TierWord {
    Absent,
    Text(String),
    Other,
}

fn text(top: &TopLevel<'_>, name: &str) -> TierWord {
    match top.get(name) {
        None | Some("null") => TierWord::Absent,
        Some(_) => top.string(name).map_or(TierWord::Other, TierWord::Text),
    }
}
