//! The life of one request, from parsed head to settled receipt. Knows no HTTP server.
//!
//! [`Engine::answer`] is the straight line; each stage is a file of its own. The engine reads one
//! [`World`] per request, so a reload never changes anything in mid-flight.

mod attempt;
mod count;
mod dispatch;
mod embed;
mod error;
mod fit;
mod hints;
mod memory;
mod meter;
mod receipt;
mod received;
mod relay;
mod respond;
mod run;
mod scrub;
mod shape;
mod world;

pub use error::{EngineError, UpstreamFailure, code_of};
pub use hints::Hints;
pub use meter::{Meter, prompt_tokens};
pub use receipt::{EventSink, Outcome, Receipt};
pub use received::{Payer, Principal, Received, Task};
pub use relay::ReplyStream;
pub use respond::{Answer, AnswerBody, AnswerHead};
pub use run::{Admitted, Engine};
pub use world::{Deadlines, World};
