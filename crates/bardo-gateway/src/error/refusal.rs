//! Refusals of the router as HTTP: what is missing, who lacks it, and what would mend it.

use bardo_router::{NoRoute, Refusal, RefusalKind};
use bardo_types::error_code::ErrorCode;

use super::Problem;
use crate::explain::code;

/// Number of backends that are listed with the features that they lack; the rest are counted.
const SPOKEN_OF: usize = 8;

impl Problem {
    /// No second model verified the decision that the request asks for.
    pub(super) fn unverified(message: &str, is_sent: bool) -> Self {
        let cost = if is_sent {
            "No answer is delivered, and the cost of the answers that were made is charged"
        } else {
            "Nothing was sent to a provider"
        };
        let message = format!(
            "{message}. {cost}; send `accept_degraded: true` to accept an unverified answer"
        );
        Self::new(ErrorCode::VerificationUnavailable, message).for_good()
    }

    /// The model's name means nothing here.
    pub(super) fn no_route(no_route: NoRoute, message: &str) -> Self {
        let meant = |nearest: Option<String>| {
            nearest.map_or_else(String::new, |name| format!(" did you mean `{name}`?"))
        };
        let message = match no_route {
            NoRoute::UnknownModel { nearest, .. } => {
                let hint = meant(nearest);
                format!("{message};{hint} list the models with `GET /v1/models`")
            }
            NoRoute::UnknownPrefix { nearest, .. } => {
                let hint = meant(nearest);
                format!(
                    "{message};{hint} write a configured backend or the model's maker before the slash; list the models with `GET /v1/models`"
                )
            }
            NoRoute::UnknownBackend { nearest, .. } => {
                let hint = meant(nearest);
                format!("{message};{hint} remove the prefix to use any backend")
            }
        };
        Self::new(ErrorCode::ModelNotFound, message).param("model")
    }

    /// The tier of the key does not come with the class of the request.
    pub(super) fn class_beyond_tier(message: &str) -> Self {
        let message = format!(
            "{message}; keys of tier `pro` and `golem` may use private, tee and e2ee backends. Create one with \
             `bardo-gateway keys create --tier pro`"
        );
        Self::new(ErrorCode::KeyScope, message).for_good()
    }

    /// Nobody may answer the request for the model.
    pub(crate) fn refused(model: &str, refusal: &Refusal) -> Self {
        let code = code(refusal.kind);
        let missing = refusal.missing.join(", ");
        let reason = match refusal.kind {
            RefusalKind::UnknownModel => {
                format!("no configured backend serves the model `{model}`")
            }
            RefusalKind::UnknownBackend => format!("the backend of `{model}` is not configured"),
            RefusalKind::Privacy => format!(
                "class `{}` is required, and no allowed backend has it",
                refusal.class.as_str()
            ),
            RefusalKind::Unsatisfiable => format!(
                "no configured backend supports all requirements of this request; missing: {missing}"
            ),
            RefusalKind::NotAllowed => {
                format!("this key is not allowed to use any backend that serves `{model}`")
            }
        };
        let message = match refusal.kind {
            // `route explain` says which class each backend has.
            RefusalKind::Privacy => brief(&format!("{reason}; {}", refusal.advice)),
            _ => format!("{reason}{}; {}", lacks(refusal), refusal.advice),
        };
        let param = match refusal.kind {
            RefusalKind::Privacy | RefusalKind::Unsatisfiable => "bardo",
            RefusalKind::UnknownModel | RefusalKind::UnknownBackend | RefusalKind::NotAllowed => {
                "model"
            }
        };
        let problem = Self::new(code, message).for_good().param(param);
        if code == ErrorCode::ModelNotFound {
            problem
        } else {
            // Without a code of its own the dialects would say that the model is missing.
            problem.told_as(code.as_str())
        }
    }
}

/// A privacy refusal has to be read at a glance.
const BRIEF: usize = 390;

/// The text, cut where it is too long to be read.
fn brief(text: &str) -> String {
    if text.len() <= BRIEF {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(BRIEF - 3)])
}

fn lacks(refusal: &Refusal) -> String {
    if refusal.lacks.is_empty() {
        return String::new();
    }
    let each: Vec<String> = refusal
        .lacks
        .iter()
        .take(SPOKEN_OF)
        .map(|(backend, what)| format!("{backend}: {what}"))
        .collect();
    let more = refusal.lacks.len().saturating_sub(SPOKEN_OF);
    let more = match more {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!(" ({}{more})", each.join(", "))
}
