//! The decision in an answer of the part of an agent that weighs risks, and which requests have it
//! verified by a second model.

use std::cmp::Ordering;

use bardo_types::money::MicroUsd;
use bardo_types::receipt::VerificationResult;
use serde::Deserialize;

use crate::call::Call;
use crate::received::Task;

/// The subsystem whose decisions are verified.
const SUBSYSTEM: &str = "risk";

/// A recommendation, from the boldest to the most cautious.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) enum Recommendation {
    Proceed,
    ReduceSize,
    Defer,
    Abort,
}

/// The decision in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The answer recommends this.
    Made(Recommendation),
    /// The answer calls a tool and is not final.
    Open,
    /// The answer has no recommendation that can be read.
    Missing,
}

/// What two decisions come to, and which answer the caller gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) result: VerificationResult,
    /// The second answer is the more cautious one.
    pub(crate) second_wins: bool,
}

impl Decision {
    /// Reads the member `recommendation` of a JSON object.
    pub(crate) fn read(json: &str) -> Self {
        #[derive(Deserialize)]
        struct Assessment {
            recommendation: Recommendation,
        }
        serde_json::from_str(json).map_or(Self::Missing, |read: Assessment| {
            Self::Made(read.recommendation)
        })
    }

    /// Compares the decision of a first answer with that of a second one.
    pub(crate) fn compare(self, second: Self) -> Comparison {
        let (result, second_wins) = match (self, second) {
            (Self::Open, _) => (VerificationResult::Undecided, false),
            (Self::Made(first), Self::Made(second)) => match second.cmp(&first) {
                Ordering::Equal => (VerificationResult::Agreed, false),
                Ordering::Greater => (VerificationResult::Disagreed, true),
                Ordering::Less => (VerificationResult::Disagreed, false),
            },
            (Self::Made(_) | Self::Missing, _) => (VerificationResult::Unavailable, false),
        };
        Comparison {
            result,
            second_wins,
        }
    }
}

/// Whether the decision that a request asks for is to be verified: it is one of the subsystem that
/// weighs risks, and more is at stake than the owner's limit.
pub(crate) fn is_verified(call: &Call) -> bool {
    let snapshot = call.snapshot();
    let (Some(limit), Some(hints), Task::Generate) = (
        snapshot.setup.verify_above,
        call.hints().route.as_deref(),
        call.task(),
    ) else {
        return false;
    };
    let at_stake = hints.stakes_micro_usd.map(MicroUsd::new);
    let row = hints.subsystem.as_deref();
    let row = row.and_then(|name| snapshot.router.subsystem(name));
    at_stake.is_some_and(|stakes| stakes > limit) && row.is_some_and(|row| row.name == SUBSYSTEM)
}

#[cfg(test)]
mod tests {
    use VerificationResult::{Agreed, Disagreed, Unavailable, Undecided};

    use super::*;

    #[test]
    fn the_more_cautious_of_two_decisions_wins_whichever_comes_first() {
        use Recommendation::{Abort, Defer, Proceed, ReduceSize};
        let rising = [Proceed, ReduceSize, Defer, Abort];
        for (bold, one) in rising.into_iter().enumerate() {
            for (cautious, other) in rising.into_iter().enumerate() {
                let seen = Decision::Made(one).compare(Decision::Made(other));
                let result = if bold == cautious { Agreed } else { Disagreed };
                assert_eq!(seen.result, result, "{one:?} {other:?}");
                assert_eq!(seen.second_wins, cautious > bold, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_decision_without_a_second_one_is_not_verified() {
        let made = Decision::Made(Recommendation::Proceed);
        for (first, second, result) in [
            (Decision::Open, made, Undecided),
            (Decision::Open, Decision::Open, Undecided),
            (made, Decision::Open, Unavailable),
            (made, Decision::Missing, Unavailable),
            (Decision::Missing, made, Unavailable),
        ] {
            let seen = first.compare(second);
            assert_eq!((seen.result, seen.second_wins), (result, false));
        }
    }

    #[test]
    fn a_recommendation_is_read_by_its_exact_name() {
        let read = Decision::read(r#"{"overall":1,"recommendation":"ReduceSize"}"#);
        assert_eq!(read, Decision::Made(Recommendation::ReduceSize));
        for json in ["", "[]", "{}", r#"{"recommendation":"proceed"}"#] {
            assert_eq!(Decision::read(json), Decision::Missing, "{json}");
        }
    }
}
