//! What must hold for any bytes that reach the wire codecs.
//!
//! Every target is a plain function that panics when something does not hold. The programs under
//! `fuzz/` run the functions on inputs that a fuzzer makes up; the tests of this crate run them on
//! seeds made from the fixtures, on a few thousand mutations of those, and on the inputs under
//! `fuzz/regressions/` that once failed. No product code depends on this crate.
//!
//! Start from [`TARGETS`]. An input is four bytes of [`Knobs`] and a payload.

mod answers;
mod conversion;
pub mod endless;
mod framing;
mod guard;
mod input;
mod kept;
mod mutation;
mod requests;
mod seeds;
mod settings;
mod textual;
mod world;

pub use input::Knobs;
pub use mutation::{Dice, mutate};
pub use seeds::{Seed, dictionary, regressions, seeds};

pub use answers::{anthropic_answer, chat_answer, gemini_answer, responses_answer};
pub use conversion::{request_conversion, response_conversion, stream_conversion};
pub use framing::{envelope, json_scan, splice, sse};
pub use guard::guard;
pub use kept::cache_entry;
pub use requests::{anthropic_request, chat_request, completions_request, responses_request};
pub use settings::settings;
pub use textual::textual;

/// The form of a target's inputs; decides its seeds and mutations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// A caller's request.
    Request,
    /// An event stream, a whole answer or an error body of an upstream.
    Answer,
    /// An event stream of an upstream.
    Stream,
    /// Words of a model that writes thinking and calls into its text.
    Words,
    /// An entry of the cache, as a second level holds it before encryption.
    Entry,
}

/// One fuzz target.
#[derive(Clone, Copy)]
pub struct FuzzTarget {
    /// Its name, also that of its program and its folders.
    pub name: &'static str,
    /// The form of its inputs.
    pub payload: Payload,
    /// Panics when something does not hold for the input.
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, payload: Payload, run: fn(&[u8])) -> FuzzTarget {
    FuzzTarget { name, payload, run }
}

/// All fuzz targets.
pub const TARGETS: &[FuzzTarget] = &[
    target("sse", Payload::Stream, sse),
    target("json_scan", Payload::Request, json_scan),
    target("splice", Payload::Request, splice),
    target("settings", Payload::Request, settings),
    target("envelope", Payload::Words, envelope),
    target("textual", Payload::Words, textual),
    target("guard", Payload::Words, guard),
    target("chat_request", Payload::Request, chat_request),
    target("anthropic_request", Payload::Request, anthropic_request),
    target("responses_request", Payload::Request, responses_request),
    target("completions_request", Payload::Request, completions_request),
    target("chat_answer", Payload::Answer, chat_answer),
    target("anthropic_answer", Payload::Answer, anthropic_answer),
    target("responses_answer", Payload::Answer, responses_answer),
    target("gemini_answer", Payload::Answer, gemini_answer),
    target("request_conversion", Payload::Request, request_conversion),
    target("stream_conversion", Payload::Stream, stream_conversion),
    target("response_conversion", Payload::Answer, response_conversion),
    target("cache_entry", Payload::Entry, cache_entry),
];
