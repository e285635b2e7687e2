//! Answers that a profile holds to a schema are checked, and the model is asked once more where its
//! first answer does not keep it (C-097, PROFILE-14, PROFILE-35).
//!
//! Only whole answers: what was streamed is out already.

use std::sync::Arc;

use bardo_profile::{SchemaCheck, repair_request};
use bardo_types::Degradation;
use bardo_types::chat::{ChatRequest, ChatResponse, Choice};
use bardo_types::usage::Usage;
use bardo_wire::codec::{DecodeContext, Target};
use bardo_wire::table;
use bytes::Bytes;
use tokio::time::Instant;

use crate::admitted::Admitted;
use crate::arriving::{Arriving, read_whole};
use crate::engine::Engine;
use crate::schema::{plain, text};
use crate::setup::Setup;
use crate::shape::{Mode, Shaped};
use crate::tab::Tab;

/// What was asked once more, and what came of it.
struct Second {
    body: Bytes,
    usage: Option<Usage>,
    kept: bool,
}

impl Engine {
    /// Looks whether an answer keeps its schema; asks once more where it does not and the hold pays
    /// for that. What the caller gets: the answer that keeps it, else the first.
    pub(crate) async fn held_to_schema(
        self: &Arc<Self>,
        admitted: &Admitted,
        shaped: &Shaped,
        setup: &Setup,
        (upstream, body): (&Bytes, Bytes),
        tab: &mut Tab,
        started: Instant,
    ) -> Bytes {
        let Some(check) = setup.applied.schema.as_ref() else {
            return body;
        };
        let Some(answer) = decoded(admitted, shaped, setup, upstream) else {
            return body;
        };
        if answer.choices.iter().any(Choice::has_tool_calls) {
            return body;
        }
        let errors = match check.check(&text(&answer)) {
            Ok(()) => {
                tab.schema(check, Some(true), false);
                return body;
            }
            Err(errors) => errors,
        };
        let second = match tab.pays_for_another() {
            true => {
                self.again(admitted, shaped, check, (&answer, &errors), started)
                    .await
            }
            false => None,
        };
        if let Some(usage) = second.as_ref().and_then(|second| second.usage.as_ref()) {
            tab.add(usage);
        }
        match second {
            Some(second) if second.kept => {
                tab.schema(check, Some(true), true);
                second.body
            }
            asked => {
                tab.schema(check, Some(false), asked.is_some());
                tab.receipt.degraded.push(Degradation::new(
                    "response_schema",
                    "the answer does not match the schema",
                ));
                body
            }
        }
    }

    /// Asks the same model to mend its answer. A failure is no failure of the request: there is an
    /// answer already.
    async fn again(
        self: &Arc<Self>,
        admitted: &Admitted,
        shaped: &Shaped,
        check: &SchemaCheck,
        (answer, errors): (&ChatResponse, &[String]),
        started: Instant,
    ) -> Option<Second> {
        let set = shaped.setup.as_ref()?;
        let request = asked(admitted, shaped)?;
        let repaired = repair_request(&request, &text(answer), errors);
        let mut mended = crate::shape::mended(admitted, &set.candidate, repaired).ok()?;
        let left = admitted
            .world
            .deadlines
            .total
            .saturating_sub(started.elapsed());
        let response = self.attempt(admitted, &mut mended, left).await.ok()?;
        let arriving = Arriving {
            body: response.into_body(),
            started,
            framed: true,
        };
        let upstream = read_whole(arriving, admitted.world.deadlines).await.ok()?;
        let Mode::Translate(translation) = &mended.mode else {
            return None;
        };
        let mut response =
            table::decode_response(mended.dialect, &upstream, &translation.decode).ok()?;
        if let Some(lift) = &translation.lift {
            lift.whole(&mut response);
        }
        plain(&set.applied, &mut response);
        Some(Second {
            body: table::encode_response(admitted.dialect, &response, &translation.reply).into(),
            usage: response.usage.clone(),
            kept: check.check(&text(&response)).is_ok(),
        })
    }
}

/// The request as it was sent, in neutral form.
fn asked(admitted: &Admitted, shaped: &Shaped) -> Option<Arc<ChatRequest>> {
    match &shaped.mode {
        Mode::Translate(translation) => Some(Arc::clone(&translation.decode.request)),
        Mode::Relay { .. } => admitted.neutral.clone(),
    }
}

fn decoded(
    admitted: &Admitted,
    shaped: &Shaped,
    setup: &Setup,
    upstream: &[u8],
) -> Option<ChatResponse> {
    if let Mode::Translate(translation) = &shaped.mode {
        let decoded = table::decode_response(shaped.dialect, upstream, &translation.decode);
        let mut response = decoded.ok()?;
        if let Some(lift) = &translation.lift {
            lift.whole(&mut response);
        }
        return Some(response);
    }
    let entry = &setup.candidate.entry;
    let context = DecodeContext {
        target: Target {
            model: entry.upstream_id.clone(),
            service: shaped.endpoint.service,
            capabilities: Arc::new(entry.capabilities.clone()),
        },
        request: admitted.neutral.clone()?,
        renamed_tools: Vec::new(),
        id_seed: String::new(),
    };
    table::decode_response(shaped.dialect, upstream, &context).ok()
}
