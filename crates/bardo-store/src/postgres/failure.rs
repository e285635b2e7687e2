//! What an error of the database means.

use bardo_ledger::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// The reaction to an error.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PostgresFailure {
    /// The connection is gone or of no use; another one may work. What was asked may have been
    /// done.
    Lost(StoreError),
    /// Two transactions got in each other's way; nothing was done, the same may work now.
    Again(StoreError),
    /// Nothing was done, and trying at once would not help.
    Refused(StoreError),
}

impl PostgresFailure {
    pub(super) fn into_error(self) -> StoreError {
        match self {
            Self::Lost(error) | Self::Again(error) | Self::Refused(error) => error,
        }
    }
}

/// Why there is no connection with an up-to-date schema.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Unprepared {
    /// The database refuses: it does not exist, its password or its rights do not fit, or its schema
    /// is one that this version does not know. Another try fails too, until somebody changes it.
    #[error("{}", inner(.0))]
    Refused(StoreError),
    /// The database does not answer. Another try may work.
    #[error("{}", inner(.0))]
    Unreachable(StoreError),
}

impl Unprepared {
    /// The failure of an attempt to connect or to bring the schema up to date.
    pub(super) fn of(error: &Error) -> Self {
        let code = error.as_db_error().map(|answer| answer.code().code());
        let is_final = code.and_then(|code| code.get(..2)).is_some_and(|class| {
            // Authorization, the name of the database, rights and names within it.
            matches!(class, "28" | "3D" | "42")
        });
        match classify(error) {
            PostgresFailure::Refused(error @ StoreError::Damaged(_)) => Self::Refused(error),
            failure if is_final => Self::Refused(failure.into_error()),
            failure => Self::Unreachable(failure.into_error()),
        }
    }

    pub(super) fn error(&self) -> &StoreError {
        match self {
            Self::Refused(error) | Self::Unreachable(error) => error,
        }
    }
}

impl From<Unprepared> for StoreError {
    fn from(unprepared: Unprepared) -> Self {
        match unprepared {
            Unprepared::Refused(error) | Unprepared::Unreachable(error) => error,
        }
    }
}

/// The text of an error without its kind.
fn inner(error: &StoreError) -> &str {
    match error {
        StoreError::Unavailable(text) | StoreError::Damaged(text) => text,
    }
}

pub(super) fn classify(error: &Error) -> PostgresFailure {
    let Some(answer) = error.as_db_error() else {
        return PostgresFailure::Lost(StoreError::Unavailable(describe(error)));
    };
    let text = answer.message().to_owned();
    let unavailable = StoreError::Unavailable(text.clone());
    let code = answer.code();
    if [
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
    ]
    .contains(code)
    {
        return PostgresFailure::Again(unavailable);
    }
    match code.code().get(..2) {
        // Connection exceptions; operator intervention but for a query that took too long; a
        // server that became a replica, which another address may not be.
        Some("08" | "25") => PostgresFailure::Lost(unavailable),
        Some("57") if *code != SqlState::QUERY_CANCELED => PostgresFailure::Lost(unavailable),
        // Lack of rights, of the database, of resources, of time, of locks; system errors.
        Some("28" | "3D" | "53" | "55" | "57" | "58") => PostgresFailure::Refused(unavailable),
        _ if *code == SqlState::INSUFFICIENT_PRIVILEGE => PostgresFailure::Refused(unavailable),
        // A check that failed, a value out of range: our code or the data are wrong.
        _ => PostgresFailure::Refused(StoreError::Damaged(text)),
    }
}

/// The error with its causes: the driver's own text leaves them out.
fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
