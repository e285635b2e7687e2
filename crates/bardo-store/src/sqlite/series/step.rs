//! One step of rolling receipts up: read by a reader, written by the writer.

use std::collections::BTreeMap;

use bardo_ledger::series::{
    GolemSeen, ReceiptColumns, Resolution, RolledUp, SeriesFigures, SeriesKeep, SeriesPlace,
};
use bardo_ledger::{PromptCacheFigures, ReceiptRecord};
use bardo_types::money::{MicroUsd, SignedMicroUsd};
use hashbrown::HashMap;
use rusqlite::{Connection, Row, params};

use super::places::{BLOCK, Places};
use super::rows;
use super::sums::{PlaceChanges, StepSums};

/// What a step writes.
pub(in crate::sqlite) struct SeriesStep {
    /// The state that the step read; with another one it writes nothing.
    generation: i64,
    done: i64,
    back: i64,
    /// The last change of a receipt that was taken in.
    changes: i64,
    rows: Vec<(SeriesPlace, SeriesFigures)>,
    golems: Vec<GolemSeen>,
    places: BTreeMap<(i64, i64, String), PlaceChanges>,
    spans: HashMap<i64, (u64, u64)>,
    keep: SeriesKeep,
    pub(in crate::sqlite) result: RolledUp,
}

impl SeriesStep {
    /// A step from the state that was read to the one after these receipts.
    pub(super) fn new(
        state: &SeriesState,
        (done, back): (i64, i64),
        sums: StepSums,
        keep: SeriesKeep,
    ) -> Self {
        Self {
            generation: state.generation,
            done,
            back,
            changes: 0,
            rows: sums.rows(keep),
            golems: sums.golems(),
            places: sums.places(),
            keep,
            result: RolledUp {
                receipts: sums.count(),
                has_more: false,
            },
            spans: sums.into_spans(),
        }
    }
}

/// How far receipts are in the series.
pub(super) struct SeriesState {
    pub(super) generation: i64,
    pub(super) done: i64,
    pub(super) back: i64,
}

impl SeriesState {
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        connection
            .prepare_cached("SELECT generation, done, back FROM series_state")?
            .query_row([], |row| {
                Ok(Self {
                    generation: row.get(0)?,
                    done: row.get(1)?,
                    back: row.get(2)?,
                })
            })
    }
}

/// Receipts as far as a step has read them.
#[derive(Default)]
struct StepReader {
    sums: StepSums,
    /// Number of receipts at which no more are read; `None` while changes are taken in.
    room: Option<u64>,
}

impl StepReader {
    fn is_full(&self) -> bool {
        self.room.is_some_and(|room| self.sums.is_full(room))
    }
}

/// Columns that [`receipt`] reads, of receipts `r`, their accounts `a` and their texts `t`.
const STEP_COLUMNS: &str = "a.id, r.key, r.at_ms, r.model, r.provider, r.outcome, r.input_tokens, \
     r.output_tokens, CASE WHEN NOT r.cost_unknown THEN r.provider_cost END, r.charge, r.savings, \
     r.subsystem, r.session, r.cache_read_tokens, r.cache_written_tokens, r.cache_saved, t.json, \
     r.no";

/// Number and columns of a receipt of [`STEP_COLUMNS`].
fn receipt<'a>(row: &'a Row<'_>) -> rusqlite::Result<(i64, ReceiptColumns<'a>)> {
    let text = |column: usize| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str()?);
    let name = |column: usize| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str_or_null()?);
    let cost: Option<u64> = row.get(8)?;
    let columns = ReceiptColumns {
        account: text(0)?,
        key: name(1)?,
        at_ms: row.get(2)?,
        model: text(3)?,
        backend: text(4)?,
        outcome: ReceiptRecord::outcome_named(text(5)?),
        input_tokens: row.get(6)?,
        output_tokens: row.get(7)?,
        provider_cost: cost.map(MicroUsd::new),
        charge: MicroUsd::new(row.get(9)?),
        savings: MicroUsd::new(row.get(10)?),
        subsystem: name(11)?,
        session: name(12)?,
        prompt_cache: PromptCacheFigures {
            read_tokens: row.get(13)?,
            written_tokens: row.get(14)?,
            saved: SignedMicroUsd::new(row.get(15)?),
        },
        text: text(16)?,
        details: None,
    };
    Ok((row.get(17)?, columns))
}

/// Reads the next receipts, new ones first. `None`: there is nothing to do.
pub(in crate::sqlite) fn read(
    connection: &mut Connection,
    keep: SeriesKeep,
    limit: u32,
) -> rusqlite::Result<Option<SeriesStep>> {
    let transaction = connection.transaction()?;
    let state = SeriesState::read(&transaction)?;
    let (mut done, mut back) = (state.done, state.back);
    let mut reader = StepReader::default();
    let changes = read_changes(&transaction, &mut reader, done)?;
    reader.room = Some(reader.sums.count() + u64::from(limit.max(1)));
    if let Some(last) = read_new(&transaction, &mut reader, (done + 1, i64::MAX))? {
        done = last;
    }
    let mut has_more = reader.is_full();
    if back > 0 && !has_more {
        let first = read_back(&transaction, &mut reader, back)?;
        let is_full = reader.is_full();
        back = first.filter(|_| is_full).map_or(0, |first| first - 1);
        has_more = back > 0;
    }
    let is_same = (state.done, state.back) == (done, back);
    if reader.sums.count() == 0 && changes == 0 && is_same {
        return Ok(None);
    }
    let mut step = SeriesStep::new(&state, (done, back), reader.sums, keep);
    step.changes = changes;
    step.result.has_more = has_more;
    Ok(Some(step))
}

/// Whether receipts changed after they were added.
pub(super) fn has_changes(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM receipts_before)")?
        .query_row([], |row| row.get(0))
}

/// Takes out receipts as they were, and adds them as they are. Answers the last change; 0 for none.
fn read_changes(
    connection: &Connection,
    reader: &mut StepReader,
    done: i64,
) -> rusqlite::Result<i64> {
    let columns = STEP_COLUMNS.replace("t.json", "r.json");
    let mut select = connection.prepare_cached(&format!(
        "SELECT {columns}, r.seq FROM receipts_before r JOIN accounts a ON a.no = r.account \
         ORDER BY r.seq"
    ))?;
    let mut rows = select.query([])?;
    let mut last = 0;
    let mut seen = Vec::new();
    while let Some(row) = rows.next()? {
        let (no, before) = receipt(row)?;
        last = row.get(18)?;
        // The first of several earlier states was counted. Beyond the watermark the number belongs
        // to another receipt.
        if no <= done && !seen.contains(&no) {
            reader.sums.take_out(no, &before);
            seen.push(no);
        }
    }
    for no in seen {
        read_new(connection, reader, (no, no))?;
    }
    Ok(last)
}

/// Adds receipts in the order of their numbers. Answers the last of them.
fn read_new(
    connection: &Connection,
    reader: &mut StepReader,
    (first, last): (i64, i64),
) -> rusqlite::Result<Option<i64>> {
    let sql = select("r.no >= ?1 AND r.no <= ?2 ORDER BY r.no");
    read_each(connection, reader, &sql, params![first, last])
}

/// Adds receipts up to `back`, the newest first. Answers the oldest of them.
fn read_back(
    connection: &Connection,
    reader: &mut StepReader,
    back: i64,
) -> rusqlite::Result<Option<i64>> {
    let sql = select("r.no <= ?1 ORDER BY r.no DESC");
    read_each(connection, reader, &sql, [back])
}

/// Adds the receipts of a statement as long as there is room. Answers the number of the last one.
fn read_each(
    connection: &Connection,
    reader: &mut StepReader,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Option<i64>> {
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query(parameters)?;
    let mut last = None;
    while !reader.is_full()
        && let Some(row) = rows.next()?
    {
        let (no, receipt) = receipt(row)?;
        reader.sums.add(no, &receipt);
        last = Some(no);
    }
    Ok(last)
}

/// A statement that reads receipts.
fn select(condition: &str) -> String {
    format!(
        "SELECT {STEP_COLUMNS} FROM receipts r CROSS JOIN accounts a ON a.no = r.account \
         CROSS JOIN receipt_texts t ON t.no = r.no WHERE {condition}"
    )
}

/// Writes a step within its caller's transaction. Answers whether it was written: not where another
/// step was, or a receipt changed meanwhile.
pub(in crate::sqlite) fn write(
    connection: &Connection,
    step: &SeriesStep,
) -> rusqlite::Result<bool> {
    let moved = connection
        .prepare_cached(
            "UPDATE series_state SET generation = generation + 1, done = ?2, back = ?3 \
             WHERE generation = ?1",
        )?
        .execute([step.generation, step.done, step.back])?;
    if moved == 0 {
        return Ok(false);
    }
    connection
        .prepare_cached("DELETE FROM receipts_before WHERE seq <= ?1")?
        .execute([step.changes])?;
    rows::add(connection, &step.rows)?;
    for golem in &step.golems {
        rows::put_golem(connection, golem)?;
    }
    write_places(connection, step)?;
    drop_old(connection, step.keep)?;
    Ok(true)
}

fn write_places(connection: &Connection, step: &SeriesStep) -> rusqlite::Result<()> {
    let mut find = connection.prepare_cached(
        "SELECT places FROM receipt_places WHERE block = ?1 AND facet = ?2 AND name = ?3",
    )?;
    let mut put = connection.prepare_cached(
        "INSERT INTO receipt_places (block, facet, name, places) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (block, facet, name) DO UPDATE SET places = ?4",
    )?;
    for ((block, facet, name), change) in &step.places {
        let mut found = find.query(params![block, facet, name])?;
        let mut places = match found.next()? {
            Some(row) => Places::read(row.get_ref(0)?.as_blob()?),
            None => Places::NONE,
        };
        for place in change.removed.descending() {
            places.remove(place);
        }
        places.add_all(&change.added);
        put.execute(params![block, facet, name, places.write()])?;
    }
    let mut put = connection.prepare_cached(
        "INSERT INTO receipt_spans (block, first_ms, last_ms) VALUES (?1, ?2, ?3) \
         ON CONFLICT (block) DO UPDATE SET first_ms = min(first_ms, ?2), last_ms = max(last_ms, ?3)",
    )?;
    for (block, (first, last)) in &step.spans {
        put.execute(params![block, rows::clamp(*first), rows::clamp(*last)])?;
    }
    Ok(())
}

/// Drops rows that are not kept any longer, and the places of receipts that were deleted.
fn drop_old(connection: &Connection, keep: SeriesKeep) -> rusqlite::Result<()> {
    let mut drop = connection
        .prepare_cached("DELETE FROM series WHERE resolution = ?1 AND starts_at_ms < ?2")?;
    for resolution in Resolution::ALL {
        let from_ms = rows::clamp(keep.from_ms(resolution));
        drop.execute([resolution.code(), from_ms])?;
    }
    connection
        .prepare_cached("DELETE FROM golems_seen WHERE last_seen_ms < ?1")?
        .execute([rows::clamp(keep.hours_from_ms)])?;
    let first: i64 = connection
        .prepare_cached("SELECT coalesce(min(no), 0) FROM receipts")?
        .query_row([], |row| row.get(0))?;
    for table in ["receipt_places", "receipt_spans"] {
        connection
            .prepare_cached(&format!("DELETE FROM {table} WHERE block < ?1"))?
            .execute([first / BLOCK])?;
    }
    Ok(())
}
