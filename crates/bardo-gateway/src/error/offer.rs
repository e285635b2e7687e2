//! Requests that their callers can pay for, as HTTP.

use bardo_engine::{PaymentRequirement, UnpaidRequest};
use bardo_types::error_code::ErrorCode;
use bardo_wire::json;

use super::Problem;

impl Problem {
    /// The request is for sale, and not paid for.
    pub(super) fn unpaid(unpaid: UnpaidRequest, message: &str) -> Self {
        let message = format!(
            "{message}; nothing was sent or charged. Pay as this answer says, and send the request again"
        );
        let problem = Self::new(ErrorCode::PaymentRequired, message);
        Self {
            limits: unpaid.limits,
            requirement: Some(Box::new(unpaid.requirement)),
            ..problem.for_good()
        }
    }
}

/// The body of an error with the members of a requirement behind those of its dialect, which win.
pub(super) fn with_members(body: Vec<u8>, requirement: &PaymentRequirement) -> Vec<u8> {
    let Ok(own) = json::scan(&body) else {
        return body;
    };
    let members = requirement.members.iter();
    let added: String = members
        .filter(|(name, _)| own.get(name).is_none())
        .map(|(name, value)| format!(",{}:{value}", serde_json::Value::from(name.as_str())))
        .collect();
    let mut out = body.clone();
    // The body is an object with a member at least.
    if let Some(end) = out.iter().rposition(|&byte| byte == b'}') {
        out.truncate(end);
        out.extend_from_slice(added.as_bytes());
        out.push(b'}');
    }
    out
}
