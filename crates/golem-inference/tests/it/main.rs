//! The crate over real sockets: its client against a stub, and a Golem's day against a stub that
//! behaves as a gateway does.

mod bankr;
mod client;
mod day;
mod stub;
