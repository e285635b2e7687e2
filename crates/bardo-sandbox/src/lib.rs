//! Simulated providers: the real wire formats of the services that a gateway talks to.
//!
//! One listener serves every service under its own path prefix. The sandbox is three things at
//! once: a demo that needs no key, a test double whose answers a request can script, and a strict
//! validator that refuses what the real service refuses, with that service's own error shape.
//! It shares no code with the gateway, so a mistake in one cannot hide the same mistake in the
//! other.
//!
//! A request travels in one direction: `server` records it, a service module turns it into a
//! transport-neutral `reply::Reply` without any I/O, `fault` bends that reply if a fault was
//! asked for, and `player` puts the outcome on the wire.

mod server;
mod wire;

mod player;
mod recorded;
mod reply;
mod world;

mod control;
mod fault;
mod journal;
mod services;

mod answer_book;
mod asked;
mod cache;
mod chat;
mod dialect;
mod price;
mod prose;
mod schema;
mod script;
mod seal;
mod tokens;
mod unscripted;
mod work;

mod anthropic;
mod bankr;
mod blockrun;
mod deepseek;
mod facilitator;
mod google;
mod local;
mod openai;
mod openrouter;
mod venice;
mod x402;

pub use answer_book::AnswerBook;
pub use server::{Sandbox, SandboxConfig};
