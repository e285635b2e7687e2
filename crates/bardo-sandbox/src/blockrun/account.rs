//! The account's key and credit, as api.blockrun.ai has them.

use crate::recorded::Recorded;
use crate::world::World;

/// Status, code and message of a refusal. Nobody has published the codes; the messages are what
/// the service's own client tells its users.
type Refused = (u16, &'static str, &'static str);

/// The key of a request: every one of an account begins with `brk_`.
pub(super) fn key<'a>(request: &'a Recorded, world: &World) -> Result<&'a str, Refused> {
    let key = request.bearer().or(request.header("x-api-key"));
    if world.check_key(key).is_err() {
        return Err((401, "INVALID_API_KEY", "Invalid or missing API key"));
    }
    key.filter(|key| key.starts_with("brk_")).ok_or((
        401,
        "INVALID_API_KEY",
        "An API key starts with brk_",
    ))
}

/// Whether the account can pay for a call. One whose key ends in `_empty` cannot.
pub(super) fn credit(key: &str) -> Result<(), Refused> {
    if key.ends_with("_empty") {
        return Err((
            402,
            "INSUFFICIENT_CREDIT",
            "This account has no credit left for that call",
        ));
    }
    Ok(())
}
