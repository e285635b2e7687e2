//! One thread for one model, its queue, and what a caller is told.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::encoder::{EncodedText, Encoder};
use crate::model::SentenceModel;
use crate::spec::{ModelSpec, Source};
use crate::vector::Vector;

/// Pause after a crash or a failed load; it doubles each time, up to [`PAUSE_MAX`].
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_mins(5);

/// Why there is no vector. None of them is a reason to fail a request that can go on without.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Skip {
    /// The program was built without a model.
    #[error("this build carries no model")]
    NoModel,
    /// The model is not loaded yet; a later try finds it.
    #[error("the model is being loaded")]
    Loading,
    /// The queue is full.
    #[error("the embedder's queue is full")]
    Busy,
    /// The deadline passed first.
    #[error("the embedder did not answer in time")]
    Late,
    /// The model cannot be loaded or cannot run.
    #[error("{0}")]
    Failed(Arc<str>),
    /// The thread of the model crashed; a new one starts after a pause.
    #[error("the embedder crashed")]
    Crashed,
}

impl Skip {
    /// One word for metrics and explanations.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::NoModel => "no_model",
            Self::Loading => "loading",
            Self::Busy => "busy",
            Self::Late => "late",
            Self::Failed(_) => "failed",
            Self::Crashed => "crashed",
        }
    }
}

/// The vector of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// Vector of length one.
    pub vector: Vector,
    /// Tokens that the model read, with the two at the ends.
    pub tokens: usize,
    /// True where the text goes on behind what was read.
    pub cut: bool,
    /// Engine, model, dimension, content and limit of tokens. Vectors of two namespaces are never
    /// compared.
    pub namespace: Arc<str>,
}

/// State of an embedder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmbedderStatus {
    /// Nothing needed the model so far.
    Cold,
    /// The thread loads the model.
    Loading,
    /// The model is in memory.
    Ready,
    /// No vectors until the pause ends.
    Resting(Skip),
}

/// A model, loaded on first need, behind a bounded queue.
pub struct Embedder {
    spec: ModelSpec,
    load: Load,
    queue_max: usize,
    door: Mutex<Option<SyncSender<EmbedJob>>>,
    health: Arc<Mutex<Health>>,
}

type Load = Arc<dyn Fn() -> Result<Box<dyn Encoder>, String> + Send + Sync>;

struct Health {
    status: EmbedderStatus,
    rests_until: Option<Instant>,
    pause: Duration,
}

struct EmbedJob {
    text: String,
    tokens_max: usize,
    deadline: Instant,
    answer: oneshot::Sender<Result<Embedded, Skip>>,
}

impl Embedder {
    /// An embedder whose queue holds `queue_max` texts. Nothing is loaded yet.
    #[must_use]
    pub fn new(spec: ModelSpec, queue_max: usize) -> Self {
        let wanted = spec.clone();
        let load: Load = Arc::new(move || {
            let model = SentenceModel::load(&wanted)?;
            Ok(Box::new(model) as Box<dyn Encoder>)
        });
        Self::with(spec, queue_max, load)
    }

    fn with(spec: ModelSpec, queue_max: usize, load: Load) -> Self {
        Self {
            spec,
            load,
            queue_max,
            door: Mutex::default(),
            health: Arc::new(Mutex::new(Health {
                status: EmbedderStatus::Cold,
                rests_until: None,
                pause: PAUSE_FIRST,
            })),
        }
    }

    /// The model that this embedder runs.
    #[must_use]
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// State at this moment.
    #[must_use]
    pub fn status(&self) -> EmbedderStatus {
        lock(&self.health).status.clone()
    }

    /// Starts to load the model, without a text.
    pub fn warm(&self) {
        let _ = self.sender();
    }

    /// The vector of a text, read up to `tokens_max` tokens, within `at_most`.
    ///
    /// # Errors
    /// A [`Skip`]: at once for a full queue, and never later than `at_most`.
    pub async fn embed(
        &self,
        text: String,
        tokens_max: usize,
        at_most: Duration,
    ) -> Result<Embedded, Skip> {
        let (answer, answered) = oneshot::channel();
        let job = EmbedJob {
            text,
            tokens_max,
            deadline: Instant::now() + at_most,
            answer,
        };
        self.sender()?.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => self.unready().unwrap_or(Skip::Busy),
            TrySendError::Disconnected(_) => self.unready().unwrap_or(Skip::Crashed),
        })?;
        match tokio::time::timeout(at_most, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(self.unready().unwrap_or(Skip::Crashed)),
            Err(_) => Err(self.unready().unwrap_or(Skip::Late)),
        }
    }

    /// The vectors of some texts, one after the other, so that other callers get their turn
    /// between them.
    ///
    /// # Errors
    /// The first [`Skip`]; no vector is left then.
    pub async fn embed_all(
        &self,
        texts: Vec<String>,
        tokens_max: usize,
        at_most: Duration,
    ) -> Result<Vec<Embedded>, Skip> {
        let deadline = Instant::now() + at_most;
        let mut all = Vec::with_capacity(texts.len());
        for text in texts {
            let left = deadline.saturating_duration_since(Instant::now());
            all.push(self.embed(text, tokens_max, left).await?);
        }
        Ok(all)
    }

    /// Why the model is not there, if it is not.
    fn unready(&self) -> Option<Skip> {
        match self.status() {
            EmbedderStatus::Cold | EmbedderStatus::Ready => None,
            EmbedderStatus::Loading => Some(Skip::Loading),
            EmbedderStatus::Resting(skip) => Some(skip),
        }
    }

    /// The way to the thread, which is started where there is none.
    fn sender(&self) -> Result<SyncSender<EmbedJob>, Skip> {
        if cfg!(not(feature = "minilm")) && self.spec.source == Source::BuiltIn {
            return Err(Skip::NoModel);
        }
        let mut door = lock(&self.door);
        let mut health = lock(&self.health);
        match (&health.status, &*door) {
            (EmbedderStatus::Resting(skip), _)
                if health.rests_until.is_some_and(|t| Instant::now() < t) =>
            {
                Err(skip.clone())
            }
            (EmbedderStatus::Loading | EmbedderStatus::Ready, Some(sender)) => Ok(sender.clone()),
            _ => {
                let (sender, jobs) = sync_channel(self.queue_max);
                let worker = EmbedThread {
                    load: Arc::clone(&self.load),
                    health: Arc::clone(&self.health),
                    jobs,
                };
                let thread = std::thread::Builder::new().name(format!("embed {}", self.spec.name));
                match thread.spawn(move || worker.run()) {
                    Ok(_) => health.status = EmbedderStatus::Loading,
                    Err(error) => {
                        let skip = Skip::Failed(error.to_string().into());
                        health.rest(skip.clone());
                        return Err(skip);
                    }
                }
                *door = Some(sender.clone());
                Ok(sender)
            }
        }
    }
}

impl Health {
    fn rest(&mut self, skip: Skip) {
        self.rests_until = Some(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        self.status = EmbedderStatus::Resting(skip);
    }
}

struct EmbedThread {
    load: Load,
    health: Arc<Mutex<Health>>,
    jobs: Receiver<EmbedJob>,
}

impl EmbedThread {
    /// Runs until the embedder is dropped, the model cannot be loaded, or a text crashes it.
    fn run(self) {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.serve()));
        let skip = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(reason)) => Skip::Failed(reason.into()),
            Err(_) => Skip::Crashed,
        };
        lock(&self.health).rest(skip.clone());
        for job in self.jobs.try_iter() {
            let _ = job.answer.send(Err(skip.clone()));
        }
    }

    fn serve(&self) -> Result<(), String> {
        let mut encoder = (self.load)()?;
        lock(&self.health).status = EmbedderStatus::Ready;
        let base: Arc<str> = encoder.namespace().into();
        for job in &self.jobs {
            if job.deadline <= Instant::now() || job.answer.is_closed() {
                let _ = job.answer.send(Err(Skip::Late));
                continue;
            }
            let answer = match encoder.encode(&job.text, job.tokens_max) {
                Ok(encoded) => {
                    lock(&self.health).pause = PAUSE_FIRST;
                    Ok(embedded(encoded, &base, job.tokens_max))
                }
                Err(reason) => Err(Skip::Failed(reason.into())),
            };
            let _ = job.answer.send(answer);
        }
        Ok(())
    }
}

fn embedded(encoded: EncodedText, base: &str, tokens_max: usize) -> Embedded {
    Embedded {
        vector: encoded.vector,
        tokens: encoded.tokens,
        cut: encoded.cut,
        namespace: format!("{base}/{tokens_max}").into(),
    }
}

/// No code panics while it holds one of these locks, and their values are whole at each moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
