//! The life of one request, from parsed head to settled receipt. Knows no HTTP server.
//!
//! [`Engine::answer`] is the straight line; each stage is a file of its own. The engine reads one
//! [`World`] per request, so a reload never changes anything in mid-flight.

mod attempt;
mod breaker;
mod count;
mod dispatch;
mod embed;
mod error;
mod failure;
mod fit;
mod hints;
mod idempotency;
mod memory;
mod meter;
mod receipt;
mod received;
mod relay;
mod respond;
mod retry;
mod retry_after;
mod run;
mod scrub;
mod shape;
mod window;
mod world;

pub use breaker::{Breaker, CircuitHealth, CircuitState};
pub use error::{EngineError, UpstreamFailure, code_of};
pub use hints::Hints;
pub use idempotency::{Claim, Claimed, Idempotency, Kept, Recorder, Running};
pub use meter::{Meter, prompt_tokens};
pub use receipt::{EventSink, Outcome, Receipt};
pub use received::{Payer, Principal, Received, Task};
pub use relay::ReplyStream;
pub use respond::{Answer, AnswerBody, AnswerHead};
pub use run::{Admitted, Engine};
pub use world::{Deadlines, Resilience, World};
