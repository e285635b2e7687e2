//! The stores of money, keys and receipts, opened as the configuration says.

mod folder;
mod had_keys;
mod kind;

use std::io::IsTerminal as _;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bardo_access::{KeyRecord, KeyStore, LimitStore, LocalLimits};
use bardo_cache::second::SecondLevel;
use bardo_cache::shared::SharedValues;
use bardo_ledger::claims::ClaimStore;
use bardo_ledger::{Ledger, StoreError};
use bardo_store::postgres::{PostgresOptions, PostgresStore, Unprepared};
use bardo_store::redis::cache::{RedisCache, RedisCacheOptions};
use bardo_store::redis::shared::{RedisShared, RedisSharedOptions};
use bardo_store::redis::{InvalidRedis, RedisLimits, RedisOptions};
use bardo_store::sqlite::{self, SqliteStore};
use bardo_types::clock::SystemClock;

use self::folder::make_folder;
pub(crate) use self::folder::{DataFolder, data_folder};
pub(crate) use self::kind::DataFolderKind;
use crate::alerts::AlertBoard;
use crate::cli::{CliFailure, Common, ServeArgs, environment, note};
use crate::config::{self, CacheConfig, LimitsConfig, RawDurability, SharedConfig, StoreConfig};
use crate::control;
use crate::funds::FundsBoard;
use crate::operator::{Operator, OperatorError};
use crate::series::SeriesSpans;
use crate::serve::runtime;
use crate::simulation;

/// The file of the SQLite store, in the data folder.
const FILE: &str = "bardo.db";

/// The stores of a process.
#[derive(Clone)]
pub(crate) struct ProcessStores {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) keys: Arc<dyn KeyStore>,
    /// Claims on signed payments.
    pub(crate) claims: Arc<dyn ClaimStore>,
    /// Other processes poke it after a change; Postgres notifies by itself.
    pub(crate) sqlite: Option<Arc<SqliteStore>>,
    postgres: Option<Arc<PostgresStore>>,
    /// Time for which series are stored.
    pub(crate) series: SeriesSpans,
    /// The alerts of this process.
    alerts: Arc<AlertBoard>,
    /// What pays the providers.
    funds: Arc<FundsBoard>,
    /// Whether the store has answered since the process started.
    pub(crate) reached: Arc<AtomicBool>,
}

/// The purpose of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The process serves clients. On SQLite, it is the only server.
    Serve,
    /// The process changes the store beside a running server, and ends.
    Tool,
}

impl ProcessStores {
    /// Opens the store that `config` names; SQLite in `folder`. The folder is of `kind`, or is
    /// refused.
    fn open(
        config: &StoreConfig,
        folder: &Path,
        kind: DataFolderKind,
        purpose: Purpose,
    ) -> Result<Self, CliFailure> {
        if is_sqlite(config) {
            make_folder(folder)?;
            kind.claim(folder)?;
            return Ok(Self::open_sqlite(config, folder, purpose)?);
        }
        kind.check(folder)?;
        match config.url.expose() {
            url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Ok(Self::open_postgres(config)?)
            }
            _ => Err(CliFailure::config(
                "`store.url` must be \"sqlite\" or begin with postgres://",
            )),
        }
    }

    fn open_sqlite(config: &StoreConfig, folder: &Path, purpose: Purpose) -> Result<Self, String> {
        let mode = match purpose {
            Purpose::Serve => sqlite::OpenMode::Serve,
            Purpose::Tool => sqlite::OpenMode::Tool,
        };
        let options = sqlite::Options {
            durability: match config.durability {
                RawDurability::Normal => sqlite::Durability::Process,
                RawDurability::Full => sqlite::Durability::Power,
            },
            ..sqlite::Options::default()
        };
        let store = SqliteStore::open_with(folder.join(FILE), mode, &options)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let store = Arc::new(store);
        Ok(Self {
            ledger: Arc::clone(&store) as Arc<dyn Ledger>,
            keys: Arc::clone(&store) as Arc<dyn KeyStore>,
            claims: Arc::clone(&store) as Arc<dyn ClaimStore>,
            sqlite: Some(store),
            postgres: None,
            series: spans(config),
            alerts: Arc::default(),
            funds: Arc::default(),
            reached: Arc::new(AtomicBool::new(true)),
        })
    }

    /// Connects in the background, and reconnects after each loss of the connection.
    fn open_postgres(config: &StoreConfig) -> Result<Self, String> {
        let store = PostgresStore::new(&PostgresOptions::new(config.url.clone()))
            .map_err(|error| format!("`store.url`: {error}"))?;
        let store = Arc::new(store);
        Ok(Self {
            ledger: Arc::clone(&store) as Arc<dyn Ledger>,
            keys: Arc::clone(&store) as Arc<dyn KeyStore>,
            claims: Arc::clone(&store) as Arc<dyn ClaimStore>,
            sqlite: None,
            postgres: Some(store),
            series: spans(config),
            alerts: Arc::default(),
            funds: Arc::default(),
            reached: Arc::default(),
        })
    }

    /// Ends the start of a server whose store refuses it for good. An unavailable store may come
    /// back; until then the server serves all but the callers that need it.
    fn prepare(&self) -> Result<(), CliFailure> {
        let Some(postgres) = &self.postgres else {
            return Ok(());
        };
        match runtime()?.block_on(postgres.prepare()) {
            Ok(()) => self.reached.store(true, Ordering::Relaxed),
            Err(reason @ Unprepared::Refused(_)) => {
                return Err(CliFailure::new(
                    "store_refused",
                    format!("`store.url`: the database cannot be used: {reason}"),
                ));
            }
            Err(Unprepared::Unreachable(error)) => tell_unavailable(&error),
        }
        Ok(())
    }

    /// Deletes receipts from before `before_ms`. Returns their number.
    pub(crate) async fn prune(&self, before_ms: u64) -> Result<u64, StoreError> {
        let mut count = 0;
        if let Some(sqlite) = &self.sqlite {
            count += sqlite.prune(before_ms).await?;
        }
        if let Some(postgres) = &self.postgres {
            count += postgres.prune(before_ms).await?;
        }
        Ok(count)
    }

    /// Deletes claims that have ended and whose payments expired before this Unix second.
    pub(crate) async fn prune_claims(&self, before_s: u64) -> Result<u64, StoreError> {
        self.claims.prune_claims(before_s).await
    }

    /// Deletes the marks of proofs of agents that ended before this Unix second.
    pub(crate) async fn prune_proofs(&self, before_s: u64) -> Result<u64, StoreError> {
        self.claims.prune_proofs(before_s).await
    }

    /// The operations of the command line and the admin API on these stores.
    pub(crate) fn operator(&self) -> Operator {
        Operator {
            ledger: Arc::clone(&self.ledger),
            keys: Arc::clone(&self.keys),
            claims: Arc::clone(&self.claims),
            clock: Arc::new(SystemClock),
            series: self.series,
            alerts: Arc::clone(&self.alerts),
            funds: Arc::clone(&self.funds),
        }
    }
}

fn spans(config: &StoreConfig) -> SeriesSpans {
    SeriesSpans {
        minutes: config.keep_minutes.0,
        hours: config.keep_hours.0,
    }
}

/// Says once what does not work while the store is unavailable.
pub(crate) fn tell_unavailable(error: &StoreError) {
    tracing::error!(
        %error,
        "until the store answers, requests with keys of `keys create` get 503 and no request is billed"
    );
}

/// Refuses a URL that `serve` would refuse. Connects to nothing.
pub(crate) fn check(config: &StoreConfig) -> Result<(), String> {
    if is_sqlite(config) {
        return Ok(());
    }
    let checked = PostgresOptions::new(config.url.clone()).check();
    checked.map_err(|error| format!("`store.url`: {error}"))
}

/// The counters of requests and tokens per minute: in this process, or in Redis for several.
pub(crate) fn limits(config: &LimitsConfig) -> Result<Arc<dyn LimitStore>, String> {
    let local = Arc::new(LocalLimits::default());
    if config.redis_url.is_empty() {
        return Ok(local);
    }
    let options = RedisOptions {
        instances: NonZeroU32::new(config.instances).unwrap_or(NonZeroU32::MIN),
        ..RedisOptions::new(config.redis_url.clone())
    };
    let shared = RedisLimits::new(&options, local)
        .map_err(|error| format!("`limits.redis_url`: {error}"))?;
    Ok(Arc::new(shared))
}

/// The stored answers that several gateways share; `None`: this one has its own alone.
pub(crate) fn shared_answers(config: &CacheConfig) -> Result<Option<Arc<dyn SecondLevel>>, String> {
    if config.redis_url.is_empty() {
        return Ok(None);
    }
    let options = RedisCacheOptions::new(config.redis_url.clone(), config.redis_key.clone());
    let shared = RedisCache::new(&options).map_err(|error| {
        let key = match error {
            InvalidRedis::Key => "redis_key",
            InvalidRedis::Url(_) | InvalidRedis::Thread(_) => "redis_url",
        };
        format!("`cache.{key}`: {error}")
    })?;
    Ok(Some(Arc::new(shared)))
}

/// The state of requests that several gateways share; `None`: this one has its own alone.
pub(crate) fn shared_values(
    config: &SharedConfig,
) -> Result<Option<Arc<dyn SharedValues>>, String> {
    if config.redis_url.is_empty() {
        return Ok(None);
    }
    let options = RedisSharedOptions::new(config.redis_url.clone(), config.redis_key.clone());
    let shared = RedisShared::new(&options).map_err(|error| {
        let key = match error {
            InvalidRedis::Key => "redis_key",
            InvalidRedis::Url(_) | InvalidRedis::Thread(_) => "redis_url",
        };
        format!("`shared.{key}`: {error}")
    })?;
    Ok(Some(Arc::new(shared)))
}

fn is_sqlite(config: &StoreConfig) -> bool {
    matches!(config.url.expose(), "" | "sqlite")
}

/// The stores of a server, and where they are.
///
/// A private gateway has no keys and no money. It starts without a home folder to write to, and
/// beside another of its kind: if no folder is named and the default one is empty, a temporary
/// folder is enough. Two servers on one set of books are refused.
pub(crate) fn for_server(
    args: &ServeArgs,
    config: &StoreConfig,
) -> Result<(DataFolder, ProcessStores), CliFailure> {
    let kind = match args.sandbox {
        true => DataFolderKind::Sandbox,
        false => DataFolderKind::Real,
    };
    let usual = DataFolder::open(args);
    // Another folder is no way out of a refusal of this one.
    if let Ok(folder) = &usual {
        kind.check(folder.path())?;
    }
    let usual = usual.and_then(|folder| {
        let is_old = DataFolderKind::is_unmarked(folder.path())?;
        let stores = ProcessStores::open(config, folder.path(), kind, Purpose::Serve)?;
        stores.prepare()?;
        if is_old {
            warn_of_play_money(&stores)?;
        }
        if is_sqlite(config) {
            had_keys::check(&stores, folder.path())?;
        }
        Ok((folder, stores))
    });
    let reason = match usual {
        Ok(opened) => return Ok(opened),
        Err(reason) => reason,
    };
    let is_named = args.common.data_dir.is_some() || !is_sqlite(config);
    let holds_nothing = || match data_folder(None) {
        Ok(folder) => holds_nothing(config, &folder),
        Err(_) => true,
    };
    if is_named || args.sandbox || !holds_nothing() {
        return Err(reason);
    }
    tracing::warn!(
        reason = reason.message(),
        "using a temporary data folder, which is deleted at the end; name a folder with --data-dir to store keys"
    );
    let folder = DataFolder::temporary("bardo");
    let stores = ProcessStores::open(config, folder.path(), kind, Purpose::Serve)?;
    Ok((folder, stores))
}

/// Earlier versions let `serve --sandbox` add keys with play money to a real folder. Says which keys
/// look like it, when such a folder is opened for the first time.
fn warn_of_play_money(stores: &ProcessStores) -> Result<(), CliFailure> {
    let operator = stores.operator();
    let runtime = runtime()?;
    let now_ms = operator.clock.now_ms();
    let keys = runtime.block_on(stores.keys.list(None)).unwrap_or_default();
    let suspects = keys.iter().filter(|key| {
        key.name == simulation::KEY_NAME && key.state(now_ms) == bardo_access::KeyState::Active
    });
    for key in suspects {
        let balance = runtime.block_on(stores.ledger.balance(&key.account));
        let is_play_money = balance
            .ok()
            .flatten()
            .is_some_and(|balance| balance.deposited >= simulation::PLAY_MONEY);
        if is_play_money {
            tracing::warn!(
                key = key.id.as_str(),
                account = key.account.as_str(),
                "this key looks like one of an earlier `serve --sandbox`, whose 1,000 USD are play money; \
                 if so, revoke it: bardo-gateway keys revoke {}",
                key.id.as_str()
            );
        }
    }
    Ok(())
}

/// Whether a folder has neither a key nor an account.
fn holds_nothing(config: &StoreConfig, folder: &Path) -> bool {
    if !folder.join(FILE).exists() {
        return true;
    }
    let looked = ProcessStores::open(config, folder, DataFolderKind::Real, Purpose::Tool).and_then(
        |stores| {
            let runtime = runtime()?;
            runtime.block_on(async {
                let keys = stores.keys.is_empty().await;
                let books = stores.ledger.verify().await;
                Ok(keys == Ok(true) && books.is_ok_and(|books| books.accounts == 0))
            })
        },
    );
    looked.unwrap_or(false)
}

/// Refuses a sandbox beside a real store: verbs without `--data-dir` would act on that store.
pub(crate) fn refuse_real_store(common: &Common) -> Result<(), CliFailure> {
    let environment = environment();
    let is_named =
        common.config.is_some() || environment.iter().any(|(name, _)| name == "BARDO_CONFIG");
    let config = match config::load_store(common.config.as_deref(), &environment) {
        Ok(config) => config,
        // A file that was only found, and that the sandbox does not read.
        Err(_) if !is_named => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if !is_sqlite(&config) {
        return Err(CliFailure::new(
            "real_store",
            "`store.url` names a real store, and `serve --sandbox` deposits play money. Unset \
             BARDO_STORE__URL, or run it in a folder without this configuration and without --config; \
             to serve with the real store, omit --sandbox",
        ));
    }
    if is_named {
        tracing::warn!("`serve --sandbox` ignores the configuration file");
    }
    Ok(())
}

/// Whether the store has any key. A store that does not exist yet has none.
pub(crate) fn any_key(common: &Common, config: &StoreConfig) -> Result<bool, CliFailure> {
    let folder = data_folder(common.data_dir.as_deref())?;
    if is_sqlite(config) && !folder.join(FILE).exists() {
        return Ok(false);
    }
    let stores = ProcessStores::open(config, &folder, DataFolderKind::Real, Purpose::Tool)?;
    let known = runtime()?.block_on(stores.keys.is_empty());
    // A store that does not answer yet accepts no key either.
    Ok(!known.unwrap_or(false))
}

/// The keys of the store, active or not; none if there is no store or it does not answer.
pub(crate) fn all_keys(common: &Common, config: &StoreConfig) -> Vec<KeyRecord> {
    let read = || {
        let folder = data_folder(common.data_dir.as_deref())?;
        if is_sqlite(config) && !folder.join(FILE).exists() {
            return Ok(Vec::new());
        }
        let stores = ProcessStores::open(config, &folder, DataFolderKind::Real, Purpose::Tool)?;
        let keys = runtime()?.block_on(stores.keys.list(None));
        Ok::<_, CliFailure>(keys.unwrap_or_default())
    };
    read().unwrap_or_default()
}

/// Whether a verb would find a store that another command made.
pub(crate) fn exists(common: &Common) -> Result<bool, CliFailure> {
    let folder = data_folder(common.data_dir.as_deref())?;
    if folder.join(FILE).exists() {
        return Ok(true);
    }
    let config = config::load_store(common.config.as_deref(), &environment())?;
    Ok(!is_sqlite(&config))
}

/// [`with_operator`] for verbs that only read: a folder without a store stays as it is.
pub(crate) fn reading<T>(
    common: &Common,
    action: impl AsyncFnOnce(&Operator) -> Result<T, OperatorError>,
) -> Result<(T, DataFolderKind), CliFailure> {
    if exists(common)? {
        return with_operator(common, action);
    }
    let folder = data_folder(common.data_dir.as_deref())?;
    Err(CliFailure::new(
        "not_found",
        format!(
            "{} has no keys and no accounts yet; `bardo-gateway keys create` makes the first, and --data-dir names \
             another folder",
            folder.display()
        ),
    ))
}

/// Opens the stores beside a running server, acts, and tells the server. Says which kind of store it
/// acted on.
pub(crate) fn with_operator<T>(
    common: &Common,
    action: impl AsyncFnOnce(&Operator) -> Result<T, OperatorError>,
) -> Result<(T, DataFolderKind), CliFailure> {
    let folder = data_folder(common.data_dir.as_deref())?;
    let found = DataFolderKind::of(&folder)?;
    // A sandbox has its store in its folder, whatever the configuration says.
    let is_sandbox = found == Some(DataFolderKind::Sandbox) && common.data_dir.is_some();
    let config = match is_sandbox {
        true => config::embedded_store()?,
        false => config::load_store(common.config.as_deref(), &environment())?,
    };
    let kind = match is_sqlite(&config) {
        true => found.unwrap_or(DataFolderKind::Real),
        false => DataFolderKind::Real,
    };
    let stores = ProcessStores::open(&config, &folder, kind, Purpose::Tool)?;
    let runtime = runtime()?;
    if let Some(sqlite) = &stores.sqlite {
        runtime.block_on(control::catch_up(&folder, sqlite));
    }
    let done = runtime.block_on(action(&stores.operator()));
    if stores.sqlite.is_some() {
        had_keys::mark(&stores, &folder)?;
    }
    drop(stores);
    control::poke(&folder);
    let place = match is_sqlite(&config) {
        true => folder.display().to_string(),
        false => format!("Postgres at {}", postgres_host(config.url.expose())),
    };
    let done = done.map_err(|error| match error {
        OperatorError::Unavailable(reason) => {
            OperatorError::Unavailable(format!("store: {place}: {reason}"))
        }
        other => other,
    })?;
    // In a script the line would stand between the answers. Play money is said in any case.
    let is_play = kind == DataFolderKind::Sandbox;
    if !common.json && (is_play || std::io::stderr().is_terminal()) {
        note(&match kind {
            DataFolderKind::Real => format!("store: {place} (real)"),
            DataFolderKind::Sandbox => format!("store: {place} (sandbox, play money)"),
        });
    }
    Ok((done, kind))
}

/// Host and port in the URL of a database, without its user, password and options. A URL of another
/// form is not shown.
fn postgres_host(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (server, path) = rest.split_at(end);
    match server.rsplit_once('@') {
        Some((_, host)) if !host.is_empty() => host,
        None if !server.is_empty() && !path.contains('@') => server,
        _ => "the address of `store.url`",
    }
}

#[cfg(test)]
mod tests {
    use super::postgres_host;

    #[test]
    fn a_database_is_named_without_its_secrets() {
        for (url, shown) in [
            (
                "postgres://bardo:secret@db.example:5432/bardo",
                "db.example:5432",
            ),
            ("postgresql://db.example?password=secret", "db.example"),
            ("postgres://u:p@ss@db:1/x", "db:1"),
            (
                "postgres://bardo:sec/ret@db/bardo",
                "the address of `store.url`",
            ),
            ("postgres:///bardo?user=u", "the address of `store.url`"),
        ] {
            assert_eq!(postgres_host(url), shown, "{url}");
        }
    }
}
