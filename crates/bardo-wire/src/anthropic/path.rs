use crate::codec::BadRequest;
use crate::json::told;
use crate::kit::error_path;

/// The refusal of a body that serde could not read, naming the value at fault by its path.
pub(super) fn refuse(body: &[u8], error: &serde_json::Error) -> BadRequest {
    let param = error_path::of(body, error);
    let text = told(error)
        .replace("expected u64", "expected a whole number of 0 or more")
        .replace("a boolean", "true or false");
    let message = if param.is_empty() {
        format!("the request body does not fit this endpoint: {text}")
    } else {
        format!("{param}: {text}")
    };
    BadRequest::new(param, message)
}
