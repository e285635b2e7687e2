//! The requests of the benchmark as training for profile-guided optimization.
//!
//! How often each kind is sent says what the compiler makes quick: small requests first, because the
//! fixed part of all others is in them.

use std::path::Path;

use anyhow::{Context, Result};

use super::{
    cpu::Prepared,
    process,
    subject::{Lab, Setup, Subject},
    workload::{CacheUse, Case, Shape},
};
use crate::load::{self, drive};

/// Small chats of each kind. Code that one kind alone runs must be hot: more than the count at the limit
/// of `deploy/build.sh`, which `llvm-profdata show --detailed-summary` tells.
const CHATS: u64 = 60_000;
const CONNECTIONS: usize = 8;

/// Serves all kinds of requests with this gateway, which ends in time to write what it counted.
pub(crate) fn serve(gateway: &Path) -> Result<()> {
    process::allow_many_files()?;
    let lab = Lab::open(Some(gateway.to_owned()), None, true)?;
    load::runtime()?.block_on(drive::local(all(&lab)))
}

async fn all(lab: &Lab) -> Result<()> {
    let usual = lab.candidate().context("start the gateway")?;
    for case in Case::all() {
        send(&usual, case, CacheUse::Silent, requests(case.shape)).await?;
    }
    for cache in [CacheUse::Misses, CacheUse::Hits] {
        send(&usual, Case::CHAT, cache, CHATS).await?;
    }
    usual.end()?;
    let traced = lab.candidate_as(Setup::TracedSome)?;
    send(&traced, Case::CHAT, CacheUse::Silent, CHATS / 3).await?;
    traced.end()
}

/// A long request has loops over its many parts, which must not make all else look rare.
fn requests(shape: Shape) -> u64 {
    match shape {
        Shape::Chat => CHATS,
        Shape::Stream => CHATS / 60,
        Shape::Agent => CHATS / 120,
        Shape::AgentStream => CHATS / 240,
    }
}

async fn send(subject: &Subject, case: Case, cache: CacheUse, requests: u64) -> Result<()> {
    println!("sending {requests} x {}", case.name());
    let mut prepared = Prepared::using(subject, case, cache, CONNECTIONS).await?;
    prepared.send(requests).await?;
    Ok(())
}
