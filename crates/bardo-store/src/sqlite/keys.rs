//! Keys as rows.

use bardo_access::{Amendment, KeyKind, KeyRecord, KeyTier, Scopes};
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::BasisPoints;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::rows::{self, AuditRow};

/// A change of a key.
#[derive(Debug)]
pub(super) enum Write {
    New,
    Amended(Box<Amendment>),
}

const COLUMNS: &str = "id, account, kind, name, hash, scopes, tier, spread, created_at_ms, \
     expires_at_ms, revoked_at_ms, replaces";

/// The result of writing a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyWrite {
    /// The key has the requested state.
    Done,
    /// There is such a key already.
    Exists,
    /// There is no such key.
    Unknown,
    /// The scopes of the key have changed since the change was decided.
    Overtaken,
}

pub(super) fn find(connection: &Connection, id: &str) -> rusqlite::Result<Option<KeyRecord>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM keys WHERE id = ?1"))?
        .query_row([id], read)
        .optional()
}

pub(super) fn list(
    connection: &Connection,
    account: Option<&str>,
) -> rusqlite::Result<Vec<KeyRecord>> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM keys WHERE ?1 IS NULL OR account = ?1 ORDER BY no"
    ))?;
    select.query_map([account], read)?.collect()
}

pub(super) fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM keys)", [], |row| {
        row.get(0)
    })
}

fn insert(connection: &Connection, record: &KeyRecord) -> rusqlite::Result<KeyWrite> {
    let written = connection
        .prepare_cached(&format!(
            "INSERT INTO keys ({COLUMNS}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
             ON CONFLICT (id) DO NOTHING"
        ))?
        .execute(params![
            record.id.as_str(),
            record.account.as_str(),
            record.kind.as_str(),
            record.name,
            record.hash,
            record.scopes.to_json(),
            record.tier.map(KeyTier::as_str),
            record.spread.map(BasisPoints::get),
            record.created_at_ms,
            record.expires_at_ms,
            record.revoked_at_ms,
            record.replaces.as_ref().map(KeyId::as_str),
        ])?;
    Ok(if written == 1 {
        KeyWrite::Done
    } else {
        KeyWrite::Exists
    })
}

/// Changes what may change. A revocation is never taken back.
fn update(connection: &Connection, record: &KeyRecord) -> rusqlite::Result<KeyWrite> {
    let written = connection
        .prepare_cached(
            "UPDATE keys SET name = ?2, scopes = ?3, tier = ?4, spread = ?5, expires_at_ms = ?6, \
             revoked_at_ms = coalesce(min(revoked_at_ms, ?7), revoked_at_ms, ?7) WHERE id = ?1",
        )?
        .execute(params![
            record.id.as_str(),
            record.name,
            record.scopes.to_json(),
            record.tier.map(KeyTier::as_str),
            record.spread.map(BasisPoints::get),
            record.expires_at_ms,
            record.revoked_at_ms,
        ])?;
    Ok(if written == 1 {
        KeyWrite::Done
    } else {
        KeyWrite::Unknown
    })
}

/// Inserts or changes a key, and says so in the audit log.
pub(super) fn write(
    connection: &Connection,
    record: &KeyRecord,
    write: &Write,
    actor: &str,
    now_ms: u64,
) -> rusqlite::Result<KeyWrite> {
    let subject = format!("account {}, name {:?}", record.account, record.name);
    let (written, action, detail) = match write {
        Write::New => (insert(connection, record)?, "key.created", subject),
        Write::Amended(how) => {
            let found = match &how.from {
                Some(_) => find(connection, record.id.as_str())?,
                None => None,
            };
            if found.is_some_and(|found| how.from.as_ref() != Some(&found.scopes)) {
                return Ok(KeyWrite::Overtaken);
            }
            let action = match record.revoked_at_ms {
                Some(_) => "key.revoked",
                None => "key.changed",
            };
            let detail = format!("{subject}: {}", how.note);
            (update(connection, record)?, action, detail)
        }
    };
    if written == KeyWrite::Done {
        let row = AuditRow {
            at_ms: now_ms,
            actor,
            action,
            subject: record.id.as_str(),
            detail,
        };
        rows::audit(connection, &row)?;
    }
    Ok(written)
}

fn read(row: &Row<'_>) -> rusqlite::Result<KeyRecord> {
    let text = |at: usize| row.get_ref(at)?.as_str().map_err(rusqlite::Error::from);
    let optional = |at: usize| {
        row.get_ref(at)?
            .as_str_or_null()
            .map_err(rusqlite::Error::from)
    };
    Ok(KeyRecord {
        id: KeyId::parse(text(0)?).map_err(|e| damaged(0, e))?,
        account: AccountId::parse(text(1)?).map_err(|e| damaged(1, e))?,
        kind: KeyKind::named(text(2)?),
        name: row.get(3)?,
        hash: row.get(4)?,
        scopes: Scopes::from_json(text(5)?).map_err(|e| damaged(5, e))?,
        tier: match optional(6)? {
            None => None,
            Some(name) => Some(KeyTier::named(name).ok_or_else(|| damaged(6, Unreadable))?),
        },
        spread: match row.get::<_, Option<u32>>(7)? {
            None => None,
            Some(points) => Some(BasisPoints::new(points).ok_or_else(|| damaged(7, Unreadable))?),
        },
        created_at_ms: row.get(8)?,
        expires_at_ms: row.get(9)?,
        revoked_at_ms: row.get(10)?,
        replaces: match optional(11)? {
            None => None,
            Some(id) => Some(KeyId::parse(id).map_err(|e| damaged(11, e))?),
        },
    })
}

/// The scopes of a key are not readable, so it has no rights.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the restrictions of a key")]
struct Unreadable;

fn damaged(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
}
