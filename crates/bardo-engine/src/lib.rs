//! The life of one request, from parsed head to settled receipt. Knows no HTTP server.
//!
//! [`Engine::answer`] is the straight line; each stage is a file of its own. The engine reads one
//! [`World`] per request, so a reload never changes anything in mid-flight.

mod account;
mod admitted;
mod afterwards;
mod answer;
mod arriving;
mod aside;
mod attempt;
mod breaker;
mod cache_key;
mod count;
mod dispatch;
mod downgrade;
mod embed;
mod engine;
mod entitle;
mod error;
mod explain;
mod facts;
mod failure;
mod fit;
mod head;
mod header_lists;
mod hints;
mod idempotency;
mod lifecycle;
mod memory;
mod meter;
mod observed;
mod once;
mod read;
mod received;
mod relay;
mod repair;
mod reserve;
mod respond;
mod retry;
mod retry_after;
mod routed;
mod routing;
mod run;
mod schema;
mod scrub;
mod search;
mod searches;
mod seed;
mod seeds;
mod services;
mod settlement;
mod settler;
mod setup;
mod shape;
mod size;
mod source;
mod status;
mod steps;
mod tab;
mod tally;
mod tokenizer;
mod transform;
mod unseen;
mod window;
mod world;

pub use admitted::Admitted;
pub use answer::{Answer, AnswerBody};
pub use bardo_access::DefaultLimits;
pub use breaker::{Breaker, CircuitHealth, CircuitState};
pub use cache_key::EpochEvents;
pub use engine::Engine;
pub use error::{EngineError, UpstreamFailure, code_of};
pub use explain::Explained;
pub use head::{AnswerHead, Figures};
pub use hints::{Hints, hints_schema};
pub use idempotency::{Claim, Claimed, Idempotency, Kept, Recorder, Running};
pub use meter::{Meter, prompt_tokens};
pub use observed::{
    BackendHealth, BackendState, Observation, Percentiles, ProbeHealth, SAMPLES_MIN, STREAK_DOWN,
    Statistics,
};
pub use received::{Payer, Principal, Received, Task};
pub use relay::{HEARTBEAT, ReplyStream};
pub use seeds::{SeedSpent, Seeds};
pub use services::{EventSink, Services, Unlimited};
pub use world::{Billing, Deadlines, Resilience, SetupPolicy, Unpriced, World};
