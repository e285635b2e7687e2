//! A connection to Redis on a thread of its own, whose failures are losses.

use std::sync::Arc;
use std::time::Duration;

use bardo_cache::second::Loss;
use redis::RedisResult;

use super::InvalidRedis;
use super::link::{Link, LinkFailure, LinkOptions, ScriptConnection};
use crate::thread::StoreThread;

/// The connection of one kind of shared state.
pub(super) struct RedisLevel {
    thread: StoreThread,
    link: Arc<Link>,
}

impl RedisLevel {
    /// A connection that is opened in the background, on a thread of this name.
    pub(super) fn open(
        thread: &'static str,
        options: &LinkOptions<'_>,
    ) -> Result<Self, InvalidRedis> {
        let link = Arc::new(Link::new(options)?);
        let thread = StoreThread::start(thread).map_err(InvalidRedis::Thread)?;
        thread.spawn(Arc::clone(&link).hold());
        Ok(Self { thread, link })
    }

    /// Asks Redis within a budget of time; `None`: the usual one.
    pub(super) async fn ask<T, F>(
        &self,
        budget: Option<Duration>,
        ask: impl FnOnce(ScriptConnection) -> F + Send + 'static,
    ) -> Result<T, Loss>
    where
        T: Send + 'static,
        F: Future<Output = RedisResult<T>> + Send,
    {
        if !self.link.is_up() {
            return Err(Loss::Down);
        }
        let link = Arc::clone(&self.link);
        let asked = self
            .thread
            .spawn(async move { link.ask_within(budget, ask).await });
        match asked.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(LinkFailure::Slow)) => Err(Loss::Slow),
            Ok(Err(LinkFailure::Refused)) => Err(Loss::Refused),
            // The task fails only where the thread ends, with the process.
            Ok(Err(LinkFailure::Down)) | Err(_) => Err(Loss::Down),
        }
    }

    /// Whether Redis answers: `up` or `down`.
    pub(super) fn mode(&self) -> &'static str {
        if self.link.is_up() { "up" } else { "down" }
    }
}
