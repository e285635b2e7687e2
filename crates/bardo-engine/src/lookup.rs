//! The two look-ups for an answer that is there already: by a hash of the request before anything is
//! screened, and by its meaning once the plan says what class it has. An answer that is found is
//! served in place of a provider's, with a receipt of its own.

use std::sync::Arc;

use bardo_ledger::StoreError;
use bardo_types::chat::{Assembler, ChatRequest, StreamEvent};
use bardo_types::model::{Capabilities, Service};
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_wire::codec::{DecodeContext, ReplyContext, Target};
use bardo_wire::table;
use bytes::Bytes;

use crate::answer::{Answer, Delivering, Whole};
use crate::answer_stages::AnswerStages;
use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::lifecycle::{Admitted, Lifecycle};
use crate::limit::Limited;
use crate::plan::Planned;
use crate::receipt_builder::{Passed, Served};
use crate::relay::{Conversion, Passthrough, ReplyStream, Transcode};
use crate::shape::{Translation, unix_now};
use crate::source::AnswerSource;
use crate::stores::{AnswerStore, Asked, StoredAnswer, StoredBody};
use crate::usage_figures::UsageFigures;

/// What a look-up came to.
pub(crate) enum Lookup<T> {
    /// The answer is there; no provider is called.
    Hit(Box<Hit>),
    /// No answer was found; the request goes on.
    Miss(T),
}

/// A stored answer to a request.
pub(crate) struct Hit {
    call: Box<Call>,
    life: Lifecycle<Admitted>,
    answer: StoredAnswer,
    layer: &'static str,
    class: SecurityClass,
    charge: MicroUsd,
}

impl Engine {
    /// Looks for an answer to the identical request. The limits of the caller were checked before.
    pub(crate) async fn hash_lookup(&self, mut limited: Limited) -> Lookup<Limited> {
        let asked = Asked {
            call: limited.call(),
            class: SecurityClass::default(),
        };
        let found = find(&self.stores.by_hash, asked).await;
        limited.passed(Passed::HashLookup);
        match found {
            Some(found) => Lookup::Hit(Box::new(found.hit(limited, "hash"))),
            None => Lookup::Miss(limited),
        }
    }

    /// Looks for an answer to a request of the same meaning.
    pub(crate) async fn semantic_lookup(&self, mut planned: Planned) -> Lookup<Planned> {
        let asked = Asked {
            call: planned.call(),
            class: planned.class(),
        };
        let found = find(&self.stores.by_meaning, asked).await;
        planned.passed(Passed::SemanticLookup);
        match found {
            Some(found) => {
                let (limited, _) = planned.into_parts();
                Lookup::Hit(Box::new(found.hit(limited, "semantic")))
            }
            None => Lookup::Miss(planned),
        }
    }

    /// Serves a stored answer: holds its charge, where there is any, and hands it over as any other
    /// answer, with a receipt that names the look-up and no backend.
    ///
    /// # Errors
    /// When the caller cannot pay the charge, or the answer cannot be written in its dialect.
    pub(crate) async fn serve(&self, hit: Hit) -> Result<Answer, EngineError> {
        let Hit {
            call,
            mut life,
            answer,
            layer,
            class,
            charge,
        } = hit;
        let replay = match answer.body {
            StoredBody::Bytes(bytes) => Replay::Bytes(bytes),
            StoredBody::Events(events) => {
                let request = call.request_body().request(&self.memory)?;
                let translation = translation(&call, request, &answer.model, class);
                Replay::Events(events, Box::new(translation))
            }
        };
        // What cannot be handed over costs nothing.
        let ready = match call.stream() {
            true => Ready::Stream(replay.streamed(&call)),
            false => Ready::Whole(replay.whole(&call)?),
        };
        self.hold_charge(&call, &mut life, charge).await?;
        let served = Served {
            layer,
            model: answer.model.as_str().into(),
            usage: answer.usage,
            degraded: answer.degraded,
            charge,
        };
        let flowing = life.served(&call, &served);
        let delivering = match ready {
            Ready::Stream((source, conversion)) => Delivering::Stream(Box::new(ReplyStream::kept(
                source, conversion, &call, flowing,
            ))),
            Ready::Whole(body) => Delivering::Whole(Whole {
                ended: flowing.finished(),
                figures: UsageFigures::of(&call),
                body,
            }),
        };
        Ok(self.relay(delivering).await?)
    }
}

/// A stored answer with its charge.
struct Found {
    answer: StoredAnswer,
    class: SecurityClass,
    charge: MicroUsd,
}

impl Found {
    fn hit(self, limited: Limited, layer: &'static str) -> Hit {
        let (call, life) = limited.into_parts();
        Hit {
            call,
            life,
            answer: self.answer,
            layer,
            class: self.class,
            charge: self.charge,
        }
    }
}

async fn find(stores: &[Box<dyn AnswerStore>], asked: Asked<'_>) -> Option<Found> {
    for store in stores {
        if let Some(answer) = store.find(asked).await {
            return Some(Found {
                charge: store.charge(asked, &answer),
                class: asked.class,
                answer,
            });
        }
    }
    None
}

/// What the encoder of the caller's dialect has to know.
fn translation(
    call: &Call,
    request: Arc<ChatRequest>,
    model: &str,
    class: SecurityClass,
) -> Translation {
    let id_seed = call.request_id().as_str().trim_start_matches("req_");
    Translation {
        decode: DecodeContext {
            target: Target {
                model: model.to_owned(),
                service: Service::Local,
                capabilities: Arc::new(Capabilities::default()),
            },
            request: Arc::clone(&request),
            renamed_tools: Vec::new(),
            id_seed: id_seed.to_owned(),
        },
        reply: ReplyContext {
            request,
            id_seed: id_seed.to_owned(),
            created: unix_now(),
            model: model.to_owned(),
        },
        textual: false,
        lift: None,
        schema: None,
        class,
    }
}

/// A stored answer as it is handed over.
enum Ready {
    Whole(Bytes),
    Stream((AnswerSource, Conversion)),
}

/// A stored answer on its way back.
enum Replay {
    /// Bytes of the caller's dialect.
    Bytes(Bytes),
    /// Events for the encoder of the caller's dialect.
    Events(Vec<StreamEvent>, Box<Translation>),
}

impl Replay {
    fn streamed(self, call: &Call) -> (AnswerSource, Conversion) {
        let (dialect, figures) = (call.dialect(), UsageFigures::of(call));
        match self {
            Self::Bytes(bytes) => {
                let choices = call.size().choices;
                let pass = Passthrough::new(dialect, Service::Local, choices, false, figures);
                let source = AnswerSource::of_bytes([bytes]);
                (source, Conversion::Passthrough(Box::new(pass)))
            }
            Self::Events(events, translation) => {
                let stages = AnswerStages::default();
                let written = Transcode::new(dialect, dialect, &translation, stages, figures);
                let source = AnswerSource::of_events(events);
                (source, Conversion::Transcode(Box::new(written)))
            }
        }
    }

    fn whole(self, call: &Call) -> Result<Bytes, StoreError> {
        Ok(match self {
            Self::Bytes(bytes) => bytes,
            Self::Events(events, translation) => {
                let mut assembler = Assembler::default();
                events.into_iter().for_each(|event| assembler.push(event));
                let response = assembler.finish().map_err(|fault| {
                    StoreError::Damaged(format!("a stored answer: {}", fault.message))
                })?;
                table::encode_response(call.dialect(), &response, &translation.reply).into()
            }
        })
    }
}
