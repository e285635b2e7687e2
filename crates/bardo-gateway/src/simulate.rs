//! `bardo-gateway simulate`: what caches save on a workload, layer by layer, by playing it through
//! the engine against simulated providers with their prices and prompt caches. Time is simulated,
//! and a seed repeats a run to the last token.
//!
//! A workload (`workload`) is a list of calls with times. Each arm (`arm`) plays all of them: some
//! against the provider directly (`direct`), some through an engine with one more layer of caches
//! each (`layer`). `figures` turns the costs of all seeds into means and intervals, `claims`
//! compares published figures with arithmetic, `break_even` says what an agent has to earn, `table`,
//! `page` and JSON show them.

mod arm;
mod body;
mod break_even;
mod claims;
mod dice;
mod direct;
mod figures;
mod layer;
mod page;
mod rig;
mod run;
mod table;
mod tally;
mod workload;

pub(crate) use self::page::page;
pub(crate) use self::run::{StudyPlan, check_rows, study};
pub(crate) use self::table::{json, words};
pub(crate) use self::workload::WorkloadSource;

#[cfg(test)]
mod tests;
