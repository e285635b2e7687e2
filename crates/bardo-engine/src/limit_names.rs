//! The name of the limit of output in a provider's error, as the caller wrote it.

use bardo_types::fault::Fault;
use bardo_wire::json::TopLevel;

/// Names of the limit of output in all dialects.
const NAMES: [&str; 4] = [
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "maxOutputTokens",
];

/// Puts the caller's name of the limit of output in place of the name that a provider uses for it. An
/// error that speaks of the caller's own name stays as it is.
pub(crate) fn as_the_caller_wrote(fault: &mut Fault, request: &TopLevel<'_>) {
    let Some(written) = NAMES.into_iter().find(|name| request.get(name).is_some()) else {
        return;
    };
    if fault.message.contains(written) {
        return;
    }
    for name in NAMES {
        if fault.message.contains(name) {
            fault.message = fault.message.replace(name, written).into();
        }
        if let Some(param) = fault.param.as_mut().filter(|param| *param == name) {
            written.clone_into(param);
        }
    }
}

#[cfg(test)]
mod tests {
    use bardo_types::fault::FaultClass;
    use bardo_wire::json::scan;

    use super::*;

    #[track_caller]
    fn check(request: &str, message: &'static str, param: &str, expected: (&str, &str)) {
        let mut fault = Fault::new(FaultClass::BadRequest, message);
        fault.param = Some(param.to_owned());
        as_the_caller_wrote(&mut fault, &scan(request.as_bytes()).unwrap());
        let told = (&*fault.message, fault.param.as_deref().unwrap_or(""));
        assert_eq!(told, expected);
    }

    #[test]
    fn a_limit_is_named_as_the_caller_wrote_it() {
        check(
            r#"{"max_tokens":0}"#,
            "Invalid 'max_completion_tokens': 0 is too low",
            "max_completion_tokens",
            ("Invalid 'max_tokens': 0 is too low", "max_tokens"),
        );
        let both = "'max_tokens' is not supported. Use 'max_completion_tokens'";
        check(
            r#"{"max_tokens":1}"#,
            both,
            "max_tokens",
            (both, "max_tokens"),
        );
        let other = "Invalid 'max_completion_tokens'";
        check(
            "{}",
            other,
            "max_completion_tokens",
            (other, "max_completion_tokens"),
        );
    }
}
