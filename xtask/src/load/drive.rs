//! Sending: closed loop and open loop.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    net::SocketAddr,
    rc::Rc,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, bail};
use tokio::{
    sync::Semaphore,
    task::{JoinSet, LocalSet},
};

use super::{
    connection::Client,
    request::{Expect, Template},
};
use crate::latencies::Latencies;

/// Runs a future that starts tasks on this thread.
pub(crate) async fn local<T>(future: impl Future<Output = T>) -> T {
    LocalSet::new().run_until(future).await
}

/// A server that hangs must show as errors, not as a load that never ends.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A number no earlier request carried, in this run or one before it.
pub(crate) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if NEXT.load(Ordering::Relaxed) == 0 {
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let start = u64::try_from(since.as_micros() % 1_000_000_000_000).unwrap_or(1);
        // Losing the race means another thread has set a start just as good.
        let _ = NEXT.compare_exchange(0, start.max(1), Ordering::Relaxed, Ordering::Relaxed);
    }
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// How much a closed loop sends.
#[derive(Clone, Copy)]
pub(crate) enum Amount {
    Requests(u64),
    For(Duration),
}

/// What came back.
#[derive(Default)]
pub(crate) struct Tally {
    /// Of good answers, from the moment the request was due.
    pub(crate) latencies: Latencies,
    pub(crate) errors: u64,
    pub(crate) first_error: Option<String>,
    pub(crate) elapsed: Duration,
}

impl Tally {
    fn record(&mut self, took: Duration, outcome: Result<()>) {
        match outcome {
            Ok(()) => self.latencies.record(took),
            Err(error) => {
                self.errors += 1;
                self.first_error.get_or_insert_with(|| format!("{error:#}"));
            }
        }
    }

    /// Refuses a tally in which anything went wrong.
    pub(crate) fn clean(self) -> Result<Self> {
        match &self.first_error {
            None => Ok(self),
            Some(first) => bail!("{} failed requests, the first: {first}", self.errors),
        }
    }
}

/// Connections to one server that outlive a run, so that later runs are warm.
pub(crate) struct Fleet {
    clients: Vec<Client>,
}

impl Fleet {
    pub(crate) fn new(address: SocketAddr, connections: usize) -> Self {
        let clients = (0..connections.max(1))
            .map(|_| Client::new(address))
            .collect();
        Self { clients }
    }

    /// Each connection sends its next request when it has the last answer.
    pub(crate) async fn closed_loop(
        &mut self,
        template: &Template,
        expect: &Expect,
        amount: Amount,
    ) -> Tally {
        let started = Instant::now();
        let left = Rc::new(Cell::new(match amount {
            Amount::Requests(count) => count,
            Amount::For(_) => u64::MAX,
        }));
        let until = match amount {
            Amount::Requests(_) => None,
            Amount::For(length) => Some(started + length),
        };
        let tally = Rc::new(RefCell::new(Tally::default()));
        let mut tasks = JoinSet::new();
        for mut client in self.clients.drain(..) {
            let (mut template, expect) = (template.clone(), expect.clone());
            let (left, tally) = (Rc::clone(&left), Rc::clone(&tally));
            tasks.spawn_local(async move {
                while left.get() > 0 && until.is_none_or(|until| Instant::now() < until) {
                    left.set(left.get() - 1);
                    let due = Instant::now();
                    let outcome = once(&mut client, &mut template, &expect).await;
                    tally.borrow_mut().record(due.elapsed(), outcome);
                }
                client
            });
        }
        self.clients = tasks.join_all().await;
        finish(&tally, started)
    }

    /// Requests start on a schedule; one that finds every connection busy
    /// waits, and its latency counts the wait.
    pub(crate) async fn open_loop(
        &mut self,
        template: &Template,
        expect: &Expect,
        rate: f64,
        length: Duration,
    ) -> Tally {
        let started = Instant::now();
        let free = Rc::new(Semaphore::new(self.clients.len()));
        let idle = Rc::new(RefCell::new(std::mem::take(&mut self.clients)));
        let tally = Rc::new(RefCell::new(Tally::default()));
        let mut tasks = JoinSet::new();
        for number in 0_u64.. {
            let due = Duration::from_secs_f64(number as f64 / rate);
            if due >= length {
                break;
            }
            tokio::time::sleep_until((started + due).into()).await;
            // The timer is coarse (1 ms); its lateness is not the server's.
            let due = Instant::now();
            let (mut template, expect) = (template.clone(), expect.clone());
            let (free, idle, tally) = (Rc::clone(&free), Rc::clone(&idle), Rc::clone(&tally));
            tasks.spawn_local(async move {
                let Ok(_permit) = free.acquire().await else {
                    return;
                };
                let Some(mut client) = idle.borrow_mut().pop() else {
                    return;
                };
                let outcome = once(&mut client, &mut template, &expect).await;
                tally.borrow_mut().record(due.elapsed(), outcome);
                idle.borrow_mut().push(client);
            });
            while tasks.try_join_next().is_some() {}
        }
        tasks.join_all().await;
        self.clients = idle.take();
        finish(&tally, started)
    }
}

async fn once(client: &mut Client, template: &mut Template, expect: &Expect) -> Result<()> {
    let exchange = client.exchange(template.stamped(next_number()));
    let (status, body) = tokio::time::timeout(ANSWER_WITHIN, exchange)
        .await
        .with_context(|| format!("no answer within {ANSWER_WITHIN:?}"))??;
    expect.check(status, body)
}

fn finish(tally: &RefCell<Tally>, started: Instant) -> Tally {
    let mut tally = tally.take();
    tally.elapsed = started.elapsed();
    tally
}
