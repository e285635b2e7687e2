//! Rows of series: added to, and read.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bardo_ledger::Balance;
use bardo_ledger::series::{
    AccountView, GolemSeen, RollUpLag, SeriesDimension, SeriesFigures, SeriesName, SeriesPlace,
    SeriesQuery, SeriesRow, names_max,
};
use bardo_types::ids::{AccountId, InvalidId};
use bardo_types::money::MicroUsd;
use rusqlite::types::Type;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row, params};

use super::numbers;

/// A number as SQLite can keep it.
pub(super) fn clamp(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A bucket of one dimension.
type BucketKey<'a> = (i64, u64, SeriesDimension, &'a str);

/// Adds figures to rows. A name beyond the largest number of names in its bucket is added to the
/// rest.
pub(super) fn add(
    connection: &Connection,
    rows: &[(SeriesPlace, SeriesFigures)],
) -> rusqlite::Result<()> {
    let mut statements = RowStatements::new(connection)?;
    let mut buckets = HashMap::<BucketKey<'_>, BucketNames<'_>>::new();
    for (key, figures) in rows {
        let known = statements.find(key, &key.name)?;
        if known.is_some() || !matches!(key.name, SeriesName::Named(_)) {
            statements.put(key, &key.name, known, figures)?;
            continue;
        }
        let bucket = (
            key.resolution.code(),
            key.starts_at_ms,
            key.dimension,
            key.account.as_str(),
        );
        let bucket = match buckets.entry(bucket) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(BucketNames {
                count: statements.count_names(key)?,
                rest: None,
            }),
        };
        if bucket.count < names_max(key.resolution) {
            statements.put(key, &key.name, None, figures)?;
            bucket.count += 1;
        } else {
            let (_, rest) = bucket
                .rest
                .get_or_insert_with(|| (key, SeriesFigures::default()));
            rest.add(figures);
        }
    }
    for (key, more) in buckets.into_values().filter_map(|bucket| bucket.rest) {
        let known = statements.find(key, &SeriesName::Other)?;
        statements.put(key, &SeriesName::Other, known, &more)?;
    }
    Ok(())
}

/// The names of a bucket, and the figures of those beyond their largest number.
struct BucketNames<'a> {
    count: usize,
    /// With the place of one of them.
    rest: Option<(&'a SeriesPlace, SeriesFigures)>,
}

/// The statements of which each row needs two, looked up once per step.
struct RowStatements<'c> {
    find: CachedStatement<'c>,
    put: CachedStatement<'c>,
    count_names: CachedStatement<'c>,
}

impl<'c> RowStatements<'c> {
    fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            find: connection.prepare_cached(
                "SELECT figures FROM series WHERE resolution = ?1 AND starts_at_ms = ?2 \
                 AND dimension = ?3 AND account = ?4 AND kind = ?5 AND name = ?6",
            )?,
            put: connection.prepare_cached(
                "INSERT INTO series (resolution, starts_at_ms, dimension, account, kind, name, \
                 figures) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                 ON CONFLICT (resolution, starts_at_ms, dimension, account, kind, name) \
                 DO UPDATE SET figures = ?7",
            )?,
            count_names: connection.prepare_cached(
                "SELECT count(*) FROM series WHERE resolution = ?1 AND starts_at_ms = ?2 \
                 AND dimension = ?3 AND account = ?4 AND kind = 1",
            )?,
        })
    }

    fn find(
        &mut self,
        key: &SeriesPlace,
        name: &SeriesName,
    ) -> rusqlite::Result<Option<SeriesFigures>> {
        let (kind, name) = name.stored();
        let place = params![
            key.resolution.code(),
            clamp(key.starts_at_ms),
            key.dimension.code(),
            key.account,
            kind,
            name
        ];
        let read = |row: &Row<'_>| Ok(numbers::read(row.get_ref(0)?.as_blob()?));
        self.find.query_row(place, read).optional()
    }

    fn put(
        &mut self,
        key: &SeriesPlace,
        name: &SeriesName,
        known: Option<SeriesFigures>,
        more: &SeriesFigures,
    ) -> rusqlite::Result<()> {
        let mut figures = known.unwrap_or_default();
        figures.add(more);
        let (kind, name) = name.stored();
        self.put.execute(params![
            key.resolution.code(),
            clamp(key.starts_at_ms),
            key.dimension.code(),
            key.account,
            kind,
            name,
            numbers::write(&figures)
        ])?;
        Ok(())
    }

    fn count_names(&mut self, key: &SeriesPlace) -> rusqlite::Result<usize> {
        let bucket = params![
            key.resolution.code(),
            clamp(key.starts_at_ms),
            key.dimension.code(),
            key.account
        ];
        self.count_names.query_row(bucket, |row| row.get(0))
    }
}

/// Takes in a sighting of an agent.
pub(super) fn put_golem(connection: &Connection, golem: &GolemSeen) -> rusqlite::Result<()> {
    let known = connection
        .prepare_cached(&format!(
            "SELECT {GOLEM} FROM golems_seen WHERE account = ?1 AND golem = ?2"
        ))?
        .query_row([&golem.account, &golem.golem], read_golem)
        .optional()?;
    let mut merged = golem.clone();
    if let Some(mut known) = known {
        known.merge(merged);
        merged = known;
    }
    connection
        .prepare_cached(&format!(
            "INSERT INTO golems_seen ({GOLEM}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT (account, golem) DO UPDATE SET first_seen_ms = ?3, last_seen_ms = ?4, \
             phase = ?5, vitality = ?6, sustainability = ?7"
        ))?
        .execute(params![
            merged.account,
            merged.golem,
            clamp(merged.first_seen_ms),
            clamp(merged.last_seen_ms),
            merged.phase,
            merged.vitality,
            merged.sustainability
        ])?;
    Ok(())
}

const GOLEM: &str = "account, golem, first_seen_ms, last_seen_ms, phase, vitality, sustainability";

fn read_golem(row: &Row<'_>) -> rusqlite::Result<GolemSeen> {
    Ok(GolemSeen {
        account: row.get(0)?,
        golem: row.get(1)?,
        first_seen_ms: row.get(2)?,
        last_seen_ms: row.get(3)?,
        phase: row.get(4)?,
        vitality: row.get(5)?,
        sustainability: row.get(6)?,
    })
}

/// Agents that were seen from `from_ms` on, the latest first.
pub(super) fn golems(
    connection: &Connection,
    from_ms: u64,
    limit: u32,
) -> rusqlite::Result<Vec<GolemSeen>> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {GOLEM} FROM golems_seen WHERE last_seen_ms >= ?1 \
         ORDER BY last_seen_ms DESC, account, golem LIMIT ?2"
    ))?;
    let rows = select.query_map(params![clamp(from_ms), limit], read_golem)?;
    rows.collect()
}

/// Rows of a dimension, bucket by bucket.
pub(super) fn series(
    connection: &mut Connection,
    query: &SeriesQuery,
) -> rusqlite::Result<Vec<SeriesRow>> {
    let transaction = connection.transaction()?;
    let resolution = query.resolution.code();
    let (first, last): (Option<u64>, Option<u64>) = {
        let edge = |end: &str| {
            transaction
                .prepare_cached(&format!(
                    "SELECT {end}(starts_at_ms) FROM series WHERE resolution = ?1"
                ))?
                .query_row([resolution], |row| row.get(0))
        };
        (edge("min")?, edge("max")?)
    };
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(Vec::new());
    };
    let account = query.account.as_ref().map_or("", AccountId::as_str);
    let only = query.only.as_ref().map(SeriesName::stored);
    let mut select = transaction.prepare_cached(
        "SELECT kind, name, figures FROM series WHERE resolution = ?1 AND starts_at_ms = ?2 \
         AND dimension = ?3 AND account = ?4 AND (?5 IS NULL OR (kind = ?5 AND name = ?6))",
    )?;
    let mut found = Vec::new();
    for starts_at_ms in query
        .starts()
        .filter(|start| (first..=last).contains(start))
    {
        let mut rows = select.query(params![
            resolution,
            clamp(starts_at_ms),
            query.dimension.code(),
            account,
            only.map(|(kind, _)| kind),
            only.map(|(_, name)| name)
        ])?;
        while let Some(row) = rows.next()? {
            found.push(SeriesRow {
                starts_at_ms,
                name: SeriesName::read(row.get(0)?, row.get_ref(1)?.as_str()?),
                figures: numbers::read(row.get_ref(2)?.as_blob()?),
            });
        }
    }
    Ok(query.arrange(found))
}

/// Receipts that wait.
pub(super) fn lag(connection: &Connection) -> rusqlite::Result<RollUpLag> {
    connection.query_row(
        "SELECT max(0, (SELECT coalesce(max(no), 0) FROM receipts) - done), back > 0 \
         FROM series_state",
        [],
        |row| {
            Ok(RollUpLag {
                waiting: row.get(0)?,
                is_back_filling: row.get(1)?,
            })
        },
    )
}

/// Accounts in the order of their ids.
pub(super) fn accounts(
    connection: &Connection,
    after: Option<&str>,
    limit: u32,
) -> rusqlite::Result<Vec<AccountView>> {
    let mut select = connection.prepare_cached(
        "SELECT id, deposited, spent, held, (SELECT sum(min(shortfall, 1 << 50)) \
             FROM transfers WHERE account = a.no AND shortfall > 0) \
         FROM accounts a WHERE id > ?1 ORDER BY id LIMIT ?2",
    )?;
    let rows = select.query_map(params![after.unwrap_or_default(), limit], |row| {
        let bad = |error: InvalidId| {
            rusqlite::Error::FromSqlConversionFailure(0, Type::Text, error.into())
        };
        let amount = |column: usize| row.get(column).map(MicroUsd::new);
        let (deposited, spent, held) = (amount(1)?, amount(2)?, amount(3)?);
        let debt: Option<u64> = row.get(4)?;
        Ok(AccountView {
            account: AccountId::parse(row.get_ref(0)?.as_str()?).map_err(bad)?,
            balance: Balance {
                deposited,
                spent,
                held,
                available: deposited.saturating_sub(spent).saturating_sub(held),
            },
            debt: MicroUsd::new(debt.unwrap_or(0)),
        })
    })?;
    rows.collect()
}
