//! Money from end to end: keys, deposits, charges and what is told of them, on the built binary.

mod charging;
mod leaving;
mod maker;
mod till;
mod unknown;
mod verbs;
