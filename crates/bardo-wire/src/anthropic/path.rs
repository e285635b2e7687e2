use crate::codec::BadRequest;
use crate::json::told;
use crate::kit::error_path;

/// The refusal of a body that serde could not read, naming the value at fault by its path.
pub(super) fn refuse(body: &[u8], error: &serde_json::Error) -> BadRequest {
    let param = error_path::of(body, error);
    let message = told(error, &param);
    BadRequest::new(param, message)
}
