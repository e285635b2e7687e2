//! Money from end to end: keys, deposits, charges and what is told of them, on the built binary.

mod account;
mod admin;
mod alerts;
mod bounds;
mod charging;
mod drain;
mod dreams;
mod figures;
mod leaving;
mod limits;
mod maker;
mod new_keys;
mod openrouter;
mod own_bill;
mod play_money;
mod provider_funds;
mod provider_payment;
mod refusals;
mod spend;
pub(crate) mod till;
mod unknown;
mod verbs;
mod wallet;
