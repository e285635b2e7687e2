//! Stand-in for the venice service until it is written.

use serde_json::json;

use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::world::World;

pub(crate) fn handle(request: &Recorded, _world: &World) -> Reply {
    refuse(501, request)
}

pub(crate) fn refuse(status: u16, _request: &Recorded) -> Reply {
    Reply::json(
        status,
        &json!({ "error": { "message": "not simulated yet" } }),
    )
}
