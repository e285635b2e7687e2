//! Searches of receipts: by their places in blocks, and of the newest one by one.

use bardo_ledger::ReceiptRecord;
use bardo_ledger::series::{Facet, FoundReceipts, ReceiptSearch, cost_class};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::places::{BLOCK, Places};
use super::rows::clamp;
use crate::sqlite::receipts::{self, COLUMNS, record};

/// Receipts of one beginning of an id that are looked at one by one.
const PREFIX_MAX: i64 = 2_000;

/// Receipts that the search covers, the latest first.
pub(super) fn search(
    connection: &mut Connection,
    search: &ReceiptSearch,
) -> rusqlite::Result<FoundReceipts> {
    let transaction = connection.transaction()?;
    let facets = search.facets();
    if let Some(prefix) = &search.request_prefix
        && let Some(page) = by_prefix(&transaction, search, prefix, facets.is_empty())?
    {
        return Ok(page);
    }
    if facets.is_empty() && search.min_cost.is_none() && search.request_prefix.is_none() {
        let query = bardo_ledger::ListQuery {
            filter: search.filter.clone(),
            after: search.after.clone(),
            limit: search.limit,
        };
        let records = receipts::list(&transaction, &query)?;
        return Ok(FoundReceipts {
            records,
            is_partial: false,
        });
    }
    let (done, back): (i64, i64) =
        transaction.query_row("SELECT done, back FROM series_state", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let mut finder = Finder {
        connection: &transaction,
        search,
        before: first_after(&transaction, search)?,
        found: Vec::new(),
    };
    finder.newest(done)?;
    if !finder.is_full() {
        finder.blocks(&facets, done.max(back))?;
    }
    Ok(FoundReceipts {
        is_partial: back > 0 && !finder.is_full(),
        records: finder.found,
    })
}

/// Receipts whose id begins so; `None` where there are many and names narrow the search better.
fn by_prefix(
    connection: &Connection,
    search: &ReceiptSearch,
    prefix: &str,
    is_alone: bool,
) -> rusqlite::Result<Option<FoundReceipts>> {
    // No id has a character beyond this one.
    let end = format!("{prefix}\u{10ffff}");
    let count: i64 = connection.query_row(
        "SELECT count(*) FROM (SELECT 1 FROM receipts WHERE request >= ?1 AND request < ?2 LIMIT ?3)",
        params![prefix, end, PREFIX_MAX + 1],
        |row| row.get(0),
    )?;
    let is_sorted_by_id = count > PREFIX_MAX;
    if is_sorted_by_id && (!is_alone || search.min_cost.is_some()) {
        return Ok(None);
    }
    let last = search.after.as_ref().filter(|_| is_sorted_by_id);
    let sql = select(
        "r.request >= ?1 AND r.request < ?2 AND (?3 IS NULL OR (r.request, a.id) < (?3, ?4)) \
         ORDER BY r.request DESC, a.id DESC",
    );
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(params![
        prefix,
        end,
        last.map(|last| last.request.as_str()),
        last.map(|last| last.account.as_str())
    ])?;
    let limit = usize::try_from(search.limit).unwrap_or(usize::MAX);
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        if is_sorted_by_id && records.len() >= limit {
            break;
        }
        let record = record(row)?;
        if search.covers(&record) && (is_sorted_by_id || search.is_after(&record)) {
            records.push(record);
        }
    }
    if !is_sorted_by_id {
        records.sort_by_key(|record| std::cmp::Reverse(bardo_ledger::Cursor::of(record)));
        records.truncate(limit);
    }
    Ok(Some(FoundReceipts {
        records,
        is_partial: false,
    }))
}

/// A statement that reads receipts with their numbers.
fn select(condition: &str) -> String {
    format!(
        "SELECT {COLUMNS}, r.no FROM receipts r CROSS JOIN accounts a ON a.no = r.account \
         CROSS JOIN receipt_texts t ON t.no = r.no WHERE {condition}"
    )
}

/// The number of the last receipt of the page before: later pages have lower ones.
fn first_after(connection: &Connection, search: &ReceiptSearch) -> rusqlite::Result<i64> {
    let Some(last) = &search.after else {
        return Ok(i64::MAX);
    };
    let no = connection
        .prepare_cached(
            "SELECT no FROM receipts WHERE request = ?1 \
             AND account = (SELECT no FROM accounts WHERE id = ?2)",
        )?
        .query_row([last.request.as_str(), last.account.as_str()], |row| {
            row.get(0)
        })
        .optional()?;
    // A receipt that was deleted meanwhile was older than any other.
    Ok(no.unwrap_or(0))
}

struct Finder<'a> {
    connection: &'a Connection,
    search: &'a ReceiptSearch,
    /// Only receipts of lower numbers are wanted.
    before: i64,
    found: Vec<ReceiptRecord>,
}

impl Finder<'_> {
    fn is_full(&self) -> bool {
        self.found.len() >= usize::try_from(self.search.limit).unwrap_or(usize::MAX)
    }

    /// Looks at receipts that have no places yet.
    fn newest(&mut self, done: i64) -> rusqlite::Result<()> {
        let sql = select("r.no > ?1 AND r.no < ?2 ORDER BY r.no DESC");
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut rows = select.query([done, self.before])?;
        while let Some(row) = rows.next()? {
            if self.is_full() {
                break;
            }
            let record = record(row)?;
            if self.search.covers(&record) {
                self.found.push(record);
            }
        }
        Ok(())
    }

    /// Looks at the blocks of the time that is searched, the latest first.
    fn blocks(&mut self, facets: &[(Facet, String)], last: i64) -> rusqlite::Result<()> {
        let filter = &self.search.filter;
        let top = Places::of(last.min(self.before.saturating_sub(1))).0;
        let mut select = self.connection.prepare_cached(
            "SELECT block FROM receipt_spans WHERE block <= ?1 AND last_ms >= ?2 \
             AND first_ms < ?3 ORDER BY block DESC",
        )?;
        let mut rows = select.query([top, clamp(filter.from_ms), clamp(filter.to_ms)])?;
        while let Some(row) = rows.next()? {
            if self.is_full() {
                break;
            }
            let block: i64 = row.get(0)?;
            if let Some(places) = self.places(block, facets)? {
                self.take(block, &places)?;
            }
        }
        Ok(())
    }

    /// Places of a block with all names; `None` where there are none.
    fn places(&self, block: i64, facets: &[(Facet, String)]) -> rusqlite::Result<Option<Places>> {
        let mut all: Option<Places> = None;
        let mut narrow = |places: Places| {
            match &mut all {
                Some(all) => all.retain(&places),
                None => all = Some(places),
            }
            all.as_ref().is_some_and(|all| !all.is_empty())
        };
        let mut select = self.connection.prepare_cached(
            "SELECT places FROM receipt_places WHERE block = ?1 AND facet = ?2 AND name = ?3",
        )?;
        for (facet, name) in facets {
            let found = select
                .query_row(params![block, facet.code(), name], |row| {
                    Ok(Places::read(row.get_ref(0)?.as_blob()?))
                })
                .optional()?;
            if !found.is_some_and(&mut narrow) {
                return Ok(None);
            }
        }
        if let Some(least) = self.search.min_cost
            && !narrow(self.costly(block, cost_class(least.get()))?)
        {
            return Ok(None);
        }
        Ok(all)
    }

    /// Places of a block whose cost is of this class or a higher one.
    fn costly(&self, block: i64, class: u32) -> rusqlite::Result<Places> {
        let mut select = self.connection.prepare_cached(
            "SELECT places FROM receipt_places WHERE block = ?1 AND facet = ?2 \
             AND CAST(name AS INTEGER) >= ?3",
        )?;
        let mut rows = select.query(params![block, Facet::Cost.code(), class])?;
        let mut all = Places::NONE;
        while let Some(row) = rows.next()? {
            all.add_all(&Places::read(row.get_ref(0)?.as_blob()?));
        }
        Ok(all)
    }

    fn take(&mut self, block: i64, places: &Places) -> rusqlite::Result<()> {
        let sql = select("r.no = ?1");
        let mut select = self.connection.prepare_cached(&sql)?;
        for place in places.descending() {
            if self.is_full() {
                break;
            }
            let no = block * BLOCK + i64::try_from(place).unwrap_or(0);
            if no >= self.before {
                continue;
            }
            let found = select.query_row([no], record).optional()?;
            if let Some(record) = found.filter(|record| self.search.covers(record)) {
                self.found.push(record);
            }
        }
        Ok(())
    }
}
