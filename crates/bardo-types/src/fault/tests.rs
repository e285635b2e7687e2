use super::*;

const ALL: [FaultClass; 15] = [
    FaultClass::BadRequest,
    FaultClass::ContextTooLong,
    FaultClass::Authentication,
    FaultClass::Payment,
    FaultClass::Permission,
    FaultClass::NotFound,
    FaultClass::Conflict,
    FaultClass::TooLarge,
    FaultClass::Unprocessable,
    FaultClass::RateLimit,
    FaultClass::Server,
    FaultClass::Overloaded,
    FaultClass::Timeout,
    FaultClass::Connection,
    FaultClass::Malformed,
];

#[test]
fn a_name_refines_a_status_and_never_turns_it_around() {
    for status in 400..=599 {
        let by_status = FaultClass::of_status(status);
        assert_eq!(FaultClass::told(Some(status), None), Some(by_status));
        for name in ALL {
            let told = FaultClass::told(Some(status), Some(name)).expect("a status is enough");
            let both_refuse = status == 429 && told == FaultClass::Overloaded
                || name == FaultClass::ContextTooLong;
            assert!(
                both_refuse || told.is_providers() == by_status.is_providers(),
                "{status} {name:?}: {told:?}"
            );
            let vague = matches!(name, FaultClass::BadRequest | FaultClass::Server);
            assert!(!vague || told == by_status, "{status} {name:?}: {told:?}");
        }
    }
}

#[test]
fn a_name_alone_is_believed() {
    for name in ALL {
        assert_eq!(FaultClass::told(None, Some(name)), Some(name));
        assert_eq!(FaultClass::told(Some(200), Some(name)), Some(name));
    }
    assert_eq!(FaultClass::told(None, None), None);
}

#[test]
fn a_provider_cannot_speak_with_a_code_of_the_gateway() {
    let told = Fault::new(FaultClass::Payment, "no").with_code("insufficient_funds");
    assert_eq!(told.error_code(), ErrorCode::UpstreamOutOfFunds);
    let own = Fault::new(FaultClass::Payment, "no").with_own_code(ErrorCode::InsufficientFunds);
    assert_eq!(own.error_code(), ErrorCode::InsufficientFunds);
    assert_eq!(own.code.as_deref(), Some("insufficient_funds"));
}
