//! A bounded number of connections, opened when they are needed and replaced when they are lost.
//!
//! A connection serves one command at a time, so that a command that waits for a lock holds up
//! nobody else. Every command may be sent twice without being done twice: where a connection is
//! lost before the answer, the command is sent again on another.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use bardo_ledger::StoreError;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::{Instant, timeout};
use tokio_postgres::{Client, Connection, Row, Socket};

use super::arguments::Statement;
use super::failure::{PostgresFailure, Unprepared, classify};
use super::migrate::migrate;
use super::options::{InvalidOptions, PostgresOptions};
use super::tls::{ConnectTarget, EncryptedStream};

/// How often a command is sent at most.
const ATTEMPTS_MAX: u32 = 4;
/// How long connecting is not tried again after it failed, so that a database that is away costs
/// callers nothing.
const PAUSE: Duration = Duration::from_millis(200);
/// How long steps of the schema may take.
const PREPARE_MAX: Duration = Duration::from_secs(90);

#[derive(Debug)]
pub(super) struct PostgresPool {
    target: ConnectTarget,
    statement_timeout: Duration,
    timeout: Duration,
    connect_timeout: Duration,
    prepared: OnceCell<()>,
    idle: Mutex<Vec<Client>>,
    connections: Semaphore,
    queue: Semaphore,
    away: Mutex<Option<(Instant, Unprepared)>>,
}

impl PostgresPool {
    pub(super) fn new(options: &PostgresOptions) -> Result<Self, InvalidOptions> {
        Ok(Self {
            target: ConnectTarget::read(options)?,
            statement_timeout: options.statement_timeout,
            timeout: options.timeout,
            connect_timeout: options.connect_timeout,
            prepared: OnceCell::new(),
            idle: Mutex::new(Vec::new()),
            connections: Semaphore::new(options.connections.max(1)),
            queue: Semaphore::new(options.queue.max(1)),
            away: Mutex::new(None),
        })
    }

    /// Connects and brings the schema up to date.
    pub(super) async fn prepare(&self) -> Result<(), Unprepared> {
        let work = async {
            let client = self.connect().await?;
            self.keep(client);
            Ok(())
        };
        timeout(PREPARE_MAX, work).await.unwrap_or(Err(late()))
    }

    /// Carries out a command within the time that commands have.
    pub(super) async fn run(&self, command: &Statement) -> Result<Vec<Row>, StoreError> {
        self.within(self.timeout, self.carry_out(command)).await
    }

    /// Carries out a command that reads everything, for which the usual time is too short.
    pub(super) async fn run_long(
        &self,
        command: &Statement,
        time: Duration,
    ) -> Result<Vec<Row>, StoreError> {
        let work = async {
            let _connection = self.connections.acquire().await.map_err(closed)?;
            let client = self.connect().await?;
            let setting = format!("SET statement_timeout = {}", time.as_millis());
            let answer = async {
                client.batch_execute(&setting).await?;
                query(&client, command).await
            };
            // The connection is not kept: its setting is not the usual one.
            answer.await.map_err(|error| classify(&error).into_error())
        };
        self.within(time, work).await
    }

    async fn within<T>(
        &self,
        time: Duration,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let Ok(_place) = self.queue.try_acquire() else {
            return Err(StoreError::Unavailable(
                "too many commands are waiting".to_owned(),
            ));
        };
        let late = || Err(StoreError::Unavailable(format!("no answer in {time:?}")));
        timeout(time, work).await.unwrap_or_else(|_| late())
    }

    async fn carry_out(&self, command: &Statement) -> Result<Vec<Row>, StoreError> {
        let _connection = self.connections.acquire().await.map_err(closed)?;
        let mut attempt = 1;
        loop {
            let client = match self.take() {
                Some(client) => client,
                None => self.connect().await?,
            };
            let failure = match query(&client, command).await {
                Ok(rows) => {
                    self.keep(client);
                    return Ok(rows);
                }
                Err(error) => classify(&error),
            };
            match failure {
                PostgresFailure::Lost(_) if attempt < ATTEMPTS_MAX => {
                    // Its siblings were most likely lost with it.
                    self.idle().retain(|client| !client.is_closed());
                }
                PostgresFailure::Again(_) if attempt < ATTEMPTS_MAX => self.keep(client),
                PostgresFailure::Lost(error) => return Err(error),
                PostgresFailure::Again(error) | PostgresFailure::Refused(error) => {
                    self.keep(client);
                    return Err(error);
                }
            }
            attempt += 1;
        }
    }

    /// Opens a connection, unless that failed a moment ago.
    async fn connect(&self) -> Result<Client, Unprepared> {
        if let Some((until, error)) = &*self.away()
            && Instant::now() < *until
        {
            return Err(error.clone());
        }
        let opened = timeout(self.connect_timeout, self.open()).await;
        let answer = opened.unwrap_or(Err(late()));
        self.note(answer.as_ref().err());
        let client = answer?;
        self.prepared
            .get_or_try_init(|| migrate(&client))
            .await
            .copied()?;
        Ok(client)
    }

    /// Remembers whether connecting works, and tells the operator when that changes.
    fn note(&self, failure: Option<&Unprepared>) {
        let mut away = self.away();
        match (failure, away.is_some()) {
            (Some(error), false) => {
                tracing::warn!(error = %error.error(), "the database is unavailable")
            }
            (None, true) => tracing::info!("the database is available again"),
            _ => {}
        }
        *away = failure.map(|error| (Instant::now() + PAUSE, error.clone()));
    }

    async fn open(&self) -> Result<Client, Unprepared> {
        let (client, connection) = self.open_with_connection().await?;
        tokio::spawn(async move {
            // Its error is that of the command that was under way.
            let _ = connection.await;
        });
        let settings = format!(
            "SET statement_timeout = {}; SET lock_timeout = {0}; SET client_min_messages = error;
             SET default_transaction_isolation = 'read committed'; SET search_path = bardo",
            self.statement_timeout.as_millis()
        );
        client
            .batch_execute(&settings)
            .await
            .map_err(|error| Unprepared::of(&error))?;
        Ok(client)
    }

    /// A connection that somebody else drives, to hear of notices.
    pub(super) async fn open_with_connection(
        &self,
    ) -> Result<(Client, Connection<Socket, EncryptedStream>), Unprepared> {
        self.target
            .config()
            .connect(self.target.tls())
            .await
            .map_err(|error| Unprepared::of(&error))
    }

    fn take(&self) -> Option<Client> {
        let mut idle = self.idle();
        loop {
            let client = idle.pop()?;
            if !client.is_closed() {
                return Some(client);
            }
        }
    }

    fn keep(&self, client: Client) {
        self.idle().push(client);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Client>> {
        self.idle.lock().expect("nothing panics while it is held")
    }

    fn away(&self) -> MutexGuard<'_, Option<(Instant, Unprepared)>> {
        self.away.lock().expect("nothing panics while it is held")
    }
}

async fn query(client: &Client, command: &Statement) -> Result<Vec<Row>, tokio_postgres::Error> {
    let arguments: Vec<_> = command.arguments.iter().map(|each| each.sql()).collect();
    client.query_typed(command.sql, &arguments).await
}

fn late() -> Unprepared {
    Unprepared::Unreachable(StoreError::Unavailable(
        "connecting took too long".to_owned(),
    ))
}

fn closed(_: tokio::sync::AcquireError) -> StoreError {
    StoreError::Unavailable("it is shutting down".to_owned())
}
