//! The key store on Postgres.

use bardo_access::{Amendment, BoxFuture, KeyError, KeyKind, KeyRecord, KeyStore, KeyTier, Scopes};
use bardo_ledger::StoreError;
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::BasisPoints;
use tokio_postgres::Row;

use super::PostgresStore;
use super::arguments::{Argument, clean, signed, text};
use super::rows::{damaged, get, number, one};

const INSERT: &str = "SELECT bardo.insert_key($1, $2, $3) AS revision";
const UPDATE: &str = "SELECT bardo.update_key($1, $2, $3, $4, $5) AS revision";
const FIND: &str = "SELECT *, scopes::text AS scopes_text FROM bardo.keys WHERE id = $1";
const LIST: &str = "SELECT *, scopes::text AS scopes_text FROM bardo.keys \
     WHERE $1::text IS NULL OR account = $1 ORDER BY no";
const IS_EMPTY: &str = "SELECT NOT EXISTS (SELECT FROM bardo.keys) AS is_empty";
/// The revision of a change that another one came before.
const CHANGED: i64 = -1;

/// The result of a change.
enum KeyUpdateOutcome {
    Done,
    Refused,
    Overtaken,
}

impl PostgresStore {
    /// Makes a change. The new revision is known here at once.
    async fn change(
        &self,
        sql: &'static str,
        arguments: Vec<Argument>,
    ) -> Result<KeyUpdateOutcome, KeyError> {
        let rows = self.run(sql, arguments).await.map_err(key_error)?;
        let revision: Option<i64> = one(&rows)
            .and_then(|row| get(row, "revision"))
            .map_err(key_error)?;
        Ok(match revision {
            None => KeyUpdateOutcome::Refused,
            Some(CHANGED) => KeyUpdateOutcome::Overtaken,
            Some(revision) => {
                self.revision.observe(revision);
                KeyUpdateOutcome::Done
            }
        })
    }
}

impl KeyStore for PostgresStore {
    fn find<'a>(&'a self, id: &'a KeyId) -> BoxFuture<'a, Result<Option<KeyRecord>, KeyError>> {
        Box::pin(async move {
            let found = self.all(FIND, vec![text(id.as_str())], record).await;
            found.map(|mut rows| rows.pop()).map_err(key_error)
        })
    }

    fn insert(&self, record: KeyRecord) -> BoxFuture<'_, Result<(), KeyError>> {
        Box::pin(async move {
            match self.change(INSERT, arguments(&record)).await? {
                KeyUpdateOutcome::Done => Ok(()),
                KeyUpdateOutcome::Refused | KeyUpdateOutcome::Overtaken => {
                    Err(KeyError::Exists(record.id))
                }
            }
        })
    }

    fn update(&self, record: KeyRecord, how: Amendment) -> BoxFuture<'_, Result<(), KeyError>> {
        Box::pin(async move {
            let mut arguments = arguments(&record);
            arguments.push(Argument::Text(how.from.as_ref().map(Scopes::to_json)));
            arguments.push(text(&how.note));
            match self.change(UPDATE, arguments).await? {
                KeyUpdateOutcome::Done => Ok(()),
                KeyUpdateOutcome::Refused => Err(KeyError::Unknown(record.id)),
                KeyUpdateOutcome::Overtaken => Err(KeyError::Changed(record.id)),
            }
        })
    }

    fn list<'a>(
        &'a self,
        account: Option<&'a AccountId>,
    ) -> BoxFuture<'a, Result<Vec<KeyRecord>, KeyError>> {
        let account = Argument::Text(account.map(ToString::to_string));
        Box::pin(async move {
            self.all(LIST, vec![account], record)
                .await
                .map_err(key_error)
        })
    }

    fn revision(&self) -> u64 {
        self.revision.get()
    }

    fn is_empty(&self) -> BoxFuture<'_, Result<bool, KeyError>> {
        Box::pin(async move {
            let rows = self.run(IS_EMPTY, Vec::new()).await.map_err(key_error)?;
            one(&rows)
                .and_then(|row| get(row, "is_empty"))
                .map_err(key_error)
        })
    }
}

/// Whatever is wrong with the store, it says nothing about a key.
fn key_error(error: StoreError) -> KeyError {
    match error {
        StoreError::Unavailable(why) => KeyError::Unavailable(why),
        StoreError::Damaged(why) => KeyError::Unavailable(format!("it is damaged: {why}")),
    }
}

fn arguments(record: &KeyRecord) -> Vec<Argument> {
    let KeyRecord {
        id,
        account,
        kind,
        name,
        hash,
        scopes,
        tier,
        spread,
        created_at_ms,
        expires_at_ms,
        revoked_at_ms,
        replaces,
    } = record;
    let numbers = [
        spread.map(|spread| spread.get().into()),
        Some(*created_at_ms),
        *expires_at_ms,
        *revoked_at_ms,
    ];
    vec![
        Argument::Texts(Some(vec![
            Some(id.to_string()),
            Some(account.to_string()),
            Some(kind.as_str().to_owned()),
            Some(clean(name)),
            Some(clean(hash)),
            tier.map(|tier| tier.as_str().to_owned()),
            replaces.as_ref().map(ToString::to_string),
        ])),
        Argument::Numbers(Some(numbers.map(|number| number.map(signed)).into())),
        text(&scopes.to_json()),
    ]
}

fn record(row: &Row) -> Result<KeyRecord, StoreError> {
    let optional = |column: &str| -> Result<Option<u64>, StoreError> {
        let number: Option<i64> = get(row, column)?;
        Ok(number.and_then(|number| u64::try_from(number).ok()))
    };
    let spread = optional("spread")?.and_then(|points| u32::try_from(points).ok());
    let replaces: Option<&str> = get(row, "replaces")?;
    let replaces = replaces.map(KeyId::parse).transpose();
    let tier =
        |name: &str| KeyTier::named(name).ok_or_else(|| damaged(&format!("the tier {name}")));
    Ok(KeyRecord {
        id: KeyId::parse(get(row, "id")?).map_err(|error| damaged(&error))?,
        account: AccountId::parse(get(row, "account")?).map_err(|error| damaged(&error))?,
        kind: KeyKind::named(get(row, "kind")?),
        name: get(row, "name")?,
        hash: get(row, "hash")?,
        // A restriction that cannot be read would widen what the key may do.
        scopes: Scopes::from_json(get(row, "scopes_text")?).map_err(|error| damaged(&error))?,
        tier: get::<Option<&str>>(row, "tier")?.map(tier).transpose()?,
        spread: spread.and_then(BasisPoints::new),
        created_at_ms: number(row, "created_at_ms")?,
        expires_at_ms: optional("expires_at_ms")?,
        revoked_at_ms: optional("revoked_at_ms")?,
        replaces: replaces.map_err(|error| damaged(&error))?,
    })
}
