//! The sandbox over real sockets: routing, faults on the wire, the journal.

mod faults;
mod journal;
mod routing;
mod world;
