//! Stand-in for the bankr service until it is written.

use bytes::Bytes;
use serde_json::json;

use crate::recorded::Recorded;
use crate::reply::{Part, Piece, Reply};
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

pub(crate) fn stream_error(_request: &Recorded) -> Piece {
    Piece::data(
        Part::Content,
        &json!({ "error": { "message": "not simulated yet" } }),
    )
}

pub(crate) fn ping(_request: &Recorded) -> Bytes {
    Bytes::from_static(b": ping\n\n")
}
