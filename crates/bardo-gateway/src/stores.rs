//! Where money, keys and receipts are kept, opened as the configuration says.

use std::num::NonZeroU32;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bardo_access::{KeyStore, LimitStore, LocalLimits};
use bardo_ledger::{Ledger, StoreError};
use bardo_store::postgres::{PostgresOptions, PostgresStore};
use bardo_store::redis::{RedisLimits, RedisOptions};
use bardo_store::sqlite::{self, SqliteStore};
use bardo_types::clock::SystemClock;
use bardo_types::secret::Secret;

use crate::cli::{Common, ServeArgs, environment};
use crate::config::{self, Durability, LimitsConfig, StoreConfig};
use crate::control;
use crate::operator::{Operator, OperatorError};
use crate::serve::runtime;

/// The file of the SQLite store, in the data folder.
const FILE: &str = "bardo.db";

/// The stores of a process.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) keys: Arc<dyn KeyStore>,
    /// What another process pokes after a change; with Postgres the database tells by itself.
    pub(crate) sqlite: Option<Arc<SqliteStore>>,
    postgres: Option<Arc<PostgresStore>>,
}

/// What the process does with its stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It answers callers, alone on SQLite.
    Serve,
    /// It makes a change beside a server, and ends.
    Tool,
}

impl Stores {
    /// Opens what `config` names; SQLite in `folder`.
    pub(crate) fn open(
        config: &StoreConfig,
        folder: &Path,
        purpose: Purpose,
    ) -> Result<Self, String> {
        match config.url.expose() {
            "" | "sqlite" => Self::open_sqlite(config, folder, purpose),
            url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Self::open_postgres(&config.url)
            }
            _ => Err("`store.url` must be \"sqlite\" or begin with postgres://".to_owned()),
        }
    }

    fn open_sqlite(config: &StoreConfig, folder: &Path, purpose: Purpose) -> Result<Self, String> {
        make_folder(folder)?;
        let mode = match purpose {
            Purpose::Serve => sqlite::Mode::Serve,
            Purpose::Tool => sqlite::Mode::Tool,
        };
        let options = sqlite::Options {
            durability: match config.durability {
                Durability::Normal => sqlite::Durability::Process,
                Durability::Full => sqlite::Durability::Power,
            },
            ..sqlite::Options::default()
        };
        let store = SqliteStore::open_with(folder.join(FILE), mode, &options)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let store = Arc::new(store);
        Ok(Self {
            ledger: Arc::clone(&store) as Arc<dyn Ledger>,
            keys: Arc::clone(&store) as Arc<dyn KeyStore>,
            sqlite: Some(store),
            postgres: None,
        })
    }

    /// Connects in the background, and again whenever the database was away.
    fn open_postgres(url: &Secret) -> Result<Self, String> {
        let store = PostgresStore::new(&PostgresOptions::new(url.clone()))
            .map_err(|error| format!("`store.url`: {error}"))?;
        let store = Arc::new(store);
        Ok(Self {
            ledger: Arc::clone(&store) as Arc<dyn Ledger>,
            keys: Arc::clone(&store) as Arc<dyn KeyStore>,
            sqlite: None,
            postgres: Some(store),
        })
    }

    /// Deletes receipts from before `before_ms`; answers how many.
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

    /// What acts on these stores.
    pub(crate) fn operator(&self) -> Operator {
        Operator {
            ledger: Arc::clone(&self.ledger),
            keys: Arc::clone(&self.keys),
            clock: Arc::new(SystemClock),
        }
    }
}

/// Where requests and tokens per minute are counted: in this process, or in Redis for several.
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

/// Makes the data folder, for its owner's eyes alone.
fn make_folder(folder: &Path) -> Result<(), String> {
    let refuse = |error: std::io::Error| format!("{}: {error}", folder.display());
    if !folder.exists() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(refuse)?;
    }
    let mode = std::fs::metadata(folder)
        .map_err(refuse)?
        .permissions()
        .mode();
    if mode & 0o007 != 0 {
        tracing::debug!(folder = %folder.display(), "others on this machine can look into the data folder");
    }
    Ok(())
}

/// The stores of a server, and where they are.
///
/// A gateway of somebody's own has no keys and no money. It shall start where there is no home to
/// write to, and beside another of its kind, so where nobody named a folder and nothing is in the
/// usual one, a folder that goes with it will do. Two servers on one set of books are refused.
pub(crate) fn for_server(
    args: &ServeArgs,
    config: &StoreConfig,
) -> Result<(DataFolder, Stores), String> {
    let usual = DataFolder::open(args).and_then(|folder| {
        let stores = Stores::open(config, folder.path(), Purpose::Serve)?;
        Ok((folder, stores))
    });
    let reason = match usual {
        Ok(opened) => return Ok(opened),
        Err(reason) => reason,
    };
    let is_named = args.common.data_dir.is_some() || !matches!(config.url.expose(), "" | "sqlite");
    let holds_nothing = || match data_folder(None) {
        Ok(folder) => holds_nothing(config, &folder),
        Err(_) => true,
    };
    if is_named || args.sandbox || !holds_nothing() {
        return Err(reason);
    }
    tracing::warn!(
        reason,
        "nothing of this run is kept; say where data lives (--data-dir) to make keys"
    );
    let folder = DataFolder::temporary("bardo");
    let stores = Stores::open(config, folder.path(), Purpose::Serve)?;
    Ok((folder, stores))
}

/// Whether there is neither a key nor an account in a folder.
fn holds_nothing(config: &StoreConfig, folder: &Path) -> bool {
    if !folder.join(FILE).exists() {
        return true;
    }
    let looked = Stores::open(config, folder, Purpose::Tool).and_then(|stores| {
        let runtime = runtime()?;
        runtime.block_on(async {
            let keys = stores.keys.is_empty().await;
            let books = stores.ledger.verify().await;
            Ok(keys == Ok(true) && books.is_ok_and(|books| books.accounts == 0))
        })
    });
    looked.unwrap_or(false)
}

/// Where the data of a server lives. A sandbox's goes with it.
pub(crate) struct DataFolder {
    path: PathBuf,
    is_temporary: bool,
}

impl DataFolder {
    /// The folder that the command line names; of a sandbox a fresh one.
    pub(crate) fn open(args: &ServeArgs) -> Result<Self, String> {
        let named = args.common.data_dir.as_deref();
        if args.sandbox && named.is_none() {
            return Ok(Self::temporary("bardo-sandbox"));
        }
        Ok(Self {
            path: data_folder(named)?,
            is_temporary: false,
        })
    }

    fn temporary(name: &str) -> Self {
        let name = format!("{name}-{}", crate::operator::fresh_name());
        Self {
            path: std::env::temp_dir().join(name),
            is_temporary: true,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        if self.is_temporary {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// The folder that a flag or variable names, or `~/.bardo`.
pub(crate) fn data_folder(named: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(folder) = named {
        return Ok(folder.to_owned());
    }
    std::env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(|home| Path::new(&home).join(".bardo"))
        .ok_or_else(|| "there is no HOME, so say where data lives: --data-dir FOLDER".to_owned())
}

/// Opens the stores beside a running server, acts, and tells the server.
pub(crate) fn with_operator<T>(
    common: &Common,
    action: impl AsyncFnOnce(&Operator) -> Result<T, OperatorError>,
) -> Result<T, String> {
    let config = config::load_store(common.config.as_deref(), &environment())
        .map_err(|error| error.to_string())?;
    let folder = data_folder(common.data_dir.as_deref())?;
    let stores = Stores::open(&config, &folder, Purpose::Tool)?;
    let runtime = runtime()?;
    if let Some(sqlite) = &stores.sqlite {
        runtime.block_on(control::catch_up(&folder, sqlite));
    }
    let done = runtime.block_on(action(&stores.operator()));
    drop(stores);
    control::poke(&folder);
    done.map_err(|error| error.to_string())
}
