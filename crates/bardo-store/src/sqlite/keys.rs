//! Keys as rows.

use bardo_access::{KeyKind, KeyRecord, Network, Scopes, Tier};
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::{BasisPoints, MicroUsd};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Map, Value};

use super::rows::{self, AuditRow};

pub(super) const CREATED: &str = "key.created";
pub(super) const CHANGED: &str = "key.changed";

const COLUMNS: &str = "id, account, kind, name, hash, scopes, tier, spread, created_at_ms, \
     expires_at_ms, revoked_at_ms, replaces";

/// What a write of a key came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// The key has the requested state.
    Done,
    /// There is such a key already.
    Exists,
    /// There is no such key.
    Unknown,
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

fn insert(connection: &Connection, record: &KeyRecord) -> rusqlite::Result<Written> {
    let written = connection
        .prepare_cached(&format!(
            "INSERT INTO keys ({COLUMNS}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
             ON CONFLICT (id) DO NOTHING"
        ))?
        .execute(params![
            record.id.as_str(),
            record.account.as_str(),
            kind_name(record.kind),
            record.name,
            record.hash,
            scopes_text(&record.scopes),
            record.tier.map(tier_name),
            record.spread.map(BasisPoints::get),
            record.created_at_ms,
            record.expires_at_ms,
            record.revoked_at_ms,
            record.replaces.as_ref().map(KeyId::as_str),
        ])?;
    Ok(if written == 1 {
        Written::Done
    } else {
        Written::Exists
    })
}

/// Changes what may change. A revocation is never taken back.
fn update(connection: &Connection, record: &KeyRecord) -> rusqlite::Result<Written> {
    let written = connection
        .prepare_cached(
            "UPDATE keys SET name = ?2, scopes = ?3, tier = ?4, spread = ?5, expires_at_ms = ?6, \
             revoked_at_ms = coalesce(min(revoked_at_ms, ?7), revoked_at_ms, ?7) WHERE id = ?1",
        )?
        .execute(params![
            record.id.as_str(),
            record.name,
            scopes_text(&record.scopes),
            record.tier.map(tier_name),
            record.spread.map(BasisPoints::get),
            record.expires_at_ms,
            record.revoked_at_ms,
        ])?;
    Ok(if written == 1 {
        Written::Done
    } else {
        Written::Unknown
    })
}

/// Inserts or changes a key, and says so in the audit log.
pub(super) fn write(
    connection: &Connection,
    record: &KeyRecord,
    action: &'static str,
    actor: &str,
    now_ms: u64,
) -> rusqlite::Result<Written> {
    let (written, action) = if action == CREATED {
        (insert(connection, record)?, action)
    } else if record.revoked_at_ms.is_some() {
        (update(connection, record)?, "key.revoked")
    } else {
        (update(connection, record)?, action)
    };
    if written == Written::Done {
        let row = AuditRow {
            at_ms: now_ms,
            actor,
            action,
            subject: record.id.as_str(),
            detail: format!("account {}, name {:?}", record.account, record.name),
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
        kind: match text(2)? {
            "spend" => KeyKind::Spend,
            _ => KeyKind::ReadOnly,
        },
        name: row.get(3)?,
        hash: row.get(4)?,
        scopes: scopes_from(text(5)?).ok_or_else(|| damaged(5, Unreadable))?,
        tier: match optional(6)? {
            None => None,
            Some(name) => Some(tier_named(name).ok_or_else(|| damaged(6, Unreadable))?),
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

/// What a key may do is not readable: it may do nothing then.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the restrictions of a key")]
struct Unreadable;

fn damaged(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
}

const fn kind_name(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Spend => "spend",
        KeyKind::ReadOnly => "read_only",
    }
}

const fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Free => "free",
        Tier::Pro => "pro",
        Tier::Golem => "golem",
    }
}

fn tier_named(name: &str) -> Option<Tier> {
    [Tier::Free, Tier::Pro, Tier::Golem]
        .into_iter()
        .find(|tier| tier_name(*tier) == name)
}

fn scopes_text(scopes: &Scopes) -> String {
    let networks = scopes
        .networks
        .iter()
        .map(|network| format!("{}/{}", network.address, network.bits));
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()) {
            members.insert(name.to_owned(), value);
        }
    };
    put("models", scopes.models.clone().into());
    put("backends", scopes.backends.clone().into());
    put("networks", networks.collect::<Vec<_>>().into());
    put("requests_per_minute", scopes.requests_per_minute.into());
    put("tokens_per_minute", scopes.tokens_per_minute.into());
    let spend = &scopes.spend;
    put("spend_session", spend.session.map(MicroUsd::get).into());
    put("spend_day", spend.day.map(MicroUsd::get).into());
    put("spend_month", spend.month.map(MicroUsd::get).into());
    put("spend_total", spend.total.map(MicroUsd::get).into());
    Value::Object(members).to_string()
}

/// Reads scopes back; `None` where any of it is not understood, because a restriction that is not
/// understood is not to be dropped.
fn scopes_from(text: &str) -> Option<Scopes> {
    let Value::Object(members) = serde_json::from_str(text).ok()? else {
        return None;
    };
    let mut scopes = Scopes::default();
    for (name, value) in members {
        let amount = || value.as_u64().map(MicroUsd::new);
        match name.as_str() {
            "models" => scopes.models = texts(&value)?,
            "backends" => scopes.backends = texts(&value)?,
            "networks" => {
                scopes.networks = texts(&value)?
                    .iter()
                    .map(|text| network_from(text))
                    .collect::<Option<_>>()?;
            }
            "requests_per_minute" => {
                scopes.requests_per_minute = Some(u32::try_from(value.as_u64()?).ok()?);
            }
            "tokens_per_minute" => scopes.tokens_per_minute = Some(value.as_u64()?),
            "spend_session" => scopes.spend.session = Some(amount()?),
            "spend_day" => scopes.spend.day = Some(amount()?),
            "spend_month" => scopes.spend.month = Some(amount()?),
            "spend_total" => scopes.spend.total = Some(amount()?),
            _ => return None,
        }
    }
    Some(scopes)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let list = value.as_array()?.iter();
    list.map(|item| item.as_str().map(str::to_owned)).collect()
}

fn network_from(text: &str) -> Option<Network> {
    let (address, bits) = text.split_once('/')?;
    Some(Network {
        address: address.parse().ok()?,
        bits: bits.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use bardo_access::SpendCaps;

    use super::*;

    #[test]
    fn scopes_survive_as_text_and_what_is_not_understood_is_refused() {
        let scopes = Scopes {
            models: vec!["claude-*".to_owned()],
            backends: vec!["openrouter".to_owned()],
            networks: vec![network_from("2001:db8::/32").unwrap()],
            requests_per_minute: Some(u32::MAX),
            tokens_per_minute: Some(u64::MAX),
            spend: SpendCaps {
                session: Some(MicroUsd::ZERO),
                day: Some(MicroUsd::new(1)),
                month: Some(MicroUsd::new(2)),
                total: Some(MicroUsd::MAX),
            },
        };
        assert_eq!(scopes_from(&scopes_text(&scopes)), Some(scopes));
        assert_eq!(scopes_text(&Scopes::default()), "{}");
        assert_eq!(scopes_from("{}"), Some(Scopes::default()));
        for bad in [
            "",
            "[]",
            "{\"moon\":1}",
            "{\"models\":[1]}",
            "{\"spend_day\":-1}",
        ] {
            assert_eq!(scopes_from(bad), None, "{bad}");
        }
    }
}
