//! Providers in memory that say and do exactly what a script tells them, and write down what they
//! were asked, what they would bill, and when the other side left.

mod serve;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bardo_providers::transport::{Connecting, Connector, Io, Origin};
use bardo_types::model::Dialect;
use bytes::Bytes;
use tokio::time::Instant;

use crate::answer::UsageStyle;

/// What a connection holds between two ends.
const PIPE: usize = 64 << 10;

/// One step of a script, after the request has been read.
#[derive(Debug, Clone)]
pub enum Act {
    /// Nothing for a while.
    Wait(Duration),
    /// Bytes as they are, and how many output tokens have been made with them.
    Write(Bytes, u64),
    /// No more bytes from here on; what comes is still read.
    HalfClose,
    /// The connection is gone.
    Cut,
    /// Nothing ever again, until the other side leaves.
    Silence,
}

/// The treatment of one request.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// In this order.
    pub acts: Vec<Act>,
    /// The provider has taken the request on: it bills the prompt and whatever it makes.
    pub accepts: bool,
    /// The text that it means to send.
    pub text: String,
    /// Prompt tokens that it bills.
    pub input: u64,
    /// The text in pieces of one token each.
    pub pieces: Vec<String>,
    /// Where it reports what it bills.
    pub usage: UsageStyle,
}

/// The treatment of an attempt to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// The provider accepts the connection.
    Open,
    /// The port is closed.
    Refused,
    /// No answer comes.
    Hangs,
}

/// A request as a provider sees it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The number in the prompt, by which a test knows its request again.
    pub case: u64,
    /// How many requests with that number came here before.
    pub earlier: usize,
    /// The model as it is named here.
    pub model: String,
    /// Piece by piece.
    pub stream: bool,
    /// The head and the body.
    pub text: String,
}

/// A provider's record of a request.
#[derive(Debug, Clone)]
pub struct Call {
    /// The number in the prompt.
    pub case: u64,
    /// When it had been read.
    pub at: Instant,
    /// Later calls have greater ones, also those of other providers at the same moment.
    pub order: u64,
    /// The text that was meant to be sent.
    pub text: String,
    /// Prompt tokens that are billed; `None` where the request was not taken on.
    pub billed_input: Option<u64>,
    /// Output tokens that were made before the end.
    pub billed_output: u64,
    /// Output tokens of the whole answer.
    pub tokens: u64,
    /// The text in pieces of one token each.
    pub pieces: Vec<String>,
    /// Where it reports what it bills.
    pub usage: UsageStyle,
    /// When the other side left before the script was over.
    pub left_at: Option<Instant>,
    /// Nothing more will happen.
    pub over: bool,
}

impl Call {
    /// How many whole pieces a part of the text consists of.
    #[must_use]
    pub fn pieces_in(&self, text: &str) -> u64 {
        let mut length = 0;
        let whole = self.pieces.iter().take_while(|piece| {
            length += piece.len();
            length <= text.len()
        });
        whole.count() as u64
    }
}

type Plan = Box<dyn Fn(&Asked) -> Script + Send + Sync>;
type Doors = Box<dyn Fn(u64) -> Door + Send + Sync>;

/// A scripted provider.
pub struct Upstream {
    /// Its host name.
    pub host: String,
    /// The dialect of the provider.
    pub dialect: Dialect,
    plan: Plan,
    doors: Doors,
    journal: Mutex<Journal>,
}

#[derive(Default)]
struct Journal {
    calls: Vec<Call>,
    connections: u64,
    open: u64,
}

impl Upstream {
    /// A provider that answers by a plan.
    pub fn new(
        host: &str,
        dialect: Dialect,
        plan: impl Fn(&Asked) -> Script + Send + Sync + 'static,
    ) -> Self {
        Self {
            host: host.to_owned(),
            dialect,
            plan: Box::new(plan),
            doors: Box::new(|_| Door::Open),
            journal: Mutex::default(),
        }
    }

    /// This provider, with a rule for each attempt to connect. Attempts are numbered from 0.
    #[must_use]
    pub fn with_doors(mut self, doors: impl Fn(u64) -> Door + Send + Sync + 'static) -> Self {
        self.doors = Box::new(doors);
        self
    }

    /// Everything that it was asked so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.journal().calls.clone()
    }

    /// How many attempts to connect there were.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.journal().connections
    }

    /// How many connections are open.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.journal().open
    }

    fn journal(&self) -> std::sync::MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, case: u64, script: &Script) -> usize {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut journal = self.journal();
        journal.calls.push(Call {
            case,
            at: Instant::now(),
            order: NEXT.fetch_add(1, Ordering::Relaxed),
            text: script.text.clone(),
            billed_input: script.accepts.then_some(script.input),
            billed_output: 0,
            tokens: script.pieces.len() as u64,
            pieces: script.pieces.clone(),
            usage: script.usage,
            left_at: None,
            over: false,
        });
        journal.calls.len() - 1
    }

    fn change(&self, index: usize, change: impl FnOnce(&mut Call)) {
        if let Some(call) = self.journal().calls.get_mut(index) {
            change(call);
        }
    }
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.host)
    }
}

/// All providers that can be reached.
#[derive(Debug, Default)]
pub struct Network(HashMap<String, Arc<Upstream>>);

impl Network {
    /// The network of these.
    #[must_use]
    pub fn of(upstreams: &[Arc<Upstream>]) -> Arc<Self> {
        let named = |upstream: &Arc<Upstream>| (upstream.host.clone(), Arc::clone(upstream));
        Arc::new(Self(upstreams.iter().map(named).collect()))
    }
}

impl Connector for Network {
    fn connect<'a>(&'a self, origin: &'a Origin) -> Connecting<'a> {
        Box::pin(async move {
            let Some(upstream) = self.0.get(&origin.authority()) else {
                return Err(io::ErrorKind::HostUnreachable.into());
            };
            let number = {
                let mut journal = upstream.journal();
                journal.connections += 1;
                journal.connections - 1
            };
            match (upstream.doors)(number) {
                Door::Open => {}
                Door::Refused => return Err(io::ErrorKind::ConnectionRefused.into()),
                Door::Hangs => std::future::pending().await,
            }
            let (ours, theirs) = tokio::io::duplex(PIPE);
            tokio::spawn(serve::connection(Arc::clone(upstream), theirs));
            Ok(Box::new(ours) as Box<dyn Io>)
        })
    }
}
