//! Series of receipts on Postgres: steps that several gateways share, and what they added.

/// A statement that reads receipts.
macro_rules! receipts {
    ($condition:literal) => {
        concat!(
            "SELECT account, request, client_request, key_id, at_ms, model, provider, outcome,
                input_tokens, output_tokens, provider_cost, charge, savings, subsystem, session,
                cache_read_tokens, cache_written_tokens, cache_saved,
                json, spread, shortfall, balance, no
             FROM bardo.receipts WHERE ",
            $condition
        )
    };
}

mod search;

use std::collections::BTreeSet;

use bardo_ledger::series::{
    AccountView, FoundReceipts, GolemSeen, ReceiptColumns, ReceiptSearch, Resolution, RollUp,
    RollUpLag, RolledUp, SeriesFigures, SeriesKeep, SeriesName, SeriesQuery, SeriesRow, names_max,
};
use bardo_ledger::{LedgerFuture, ReceiptSeries, StoreError};
use bardo_types::ids::AccountId;
use tokio_postgres::Row;

use super::PostgresStore;
use super::arguments::{Argument, number, signed, text};
use super::receipts::record;
use super::rows::{self, amount, damaged, get, number as number_of};

/// Receipts of a step at most: they come over the network, and stay in memory until its end.
const STEP_MAX: u32 = 500;

const READY: &str = "SELECT * FROM bardo.series_ready()";
const CHANGES: &str = "SELECT * FROM bardo.receipts_before ORDER BY seq";
const ADD: &str =
    "SELECT is_written FROM bardo.add_series($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
const LAG: &str =
    "SELECT greatest((CASE WHEN q.is_called THEN q.last_value ELSE 0 END) - s.done, 0)
        AS waiting, NOT s.is_back_filled AS is_back_filling
    FROM bardo.series_state s, bardo.receipts_no_seq q";
const SERIES: &str = "SELECT starts_at_ms, kind, name, figures FROM bardo.series
    WHERE resolution = $1 AND starts_at_ms = ANY ($2) AND dimension = $3 AND account = $4
        AND ($5::bigint IS NULL OR (kind = $5 AND name = $6::text))";
const GOLEMS: &str = "SELECT * FROM bardo.golems_seen WHERE last_seen_ms >= $1
    ORDER BY last_seen_ms DESC, account, golem LIMIT $2";
const ACCOUNTS: &str = "SELECT id, deposited, spent, held, (
        SELECT least(coalesce(sum(shortfall), 0), 9223372036854775807) FROM bardo.transfers t
        WHERE t.account = a.id AND shortfall > 0
    )::bigint AS debt
    FROM bardo.accounts a WHERE id COLLATE \"C\" > $1 ORDER BY id COLLATE \"C\" LIMIT $2";

const NEW: &str = receipts!("no > $1 AND no <= $2 ORDER BY no LIMIT $3");
const BACK: &str = receipts!(
    "no IS NULL AND ($1::bigint IS NULL OR at_ms <= $1) AND ($1::bigint IS NULL
        OR (at_ms, request COLLATE \"C\", account COLLATE \"C\") < ($1, $2::text, $3::text))
     ORDER BY at_ms DESC, request COLLATE \"C\" DESC, account COLLATE \"C\" DESC LIMIT $4"
);
const ONE: &str = receipts!("account = $1 AND request = $2");

/// The state that a step reads, and the state after it.
struct StepState {
    generation: i64,
    done: i64,
    ready: i64,
    is_back_filled: bool,
    back: Option<(i64, String, String)>,
    /// A barrier was set just now.
    is_set: bool,
}

impl StepState {
    fn read(row: &Row) -> Result<Self, StoreError> {
        let at_ms: Option<i64> = get(row, "back_at_ms")?;
        let back = match at_ms {
            Some(at_ms) => Some((at_ms, get(row, "back_request")?, get(row, "back_account")?)),
            None => None,
        };
        Ok(Self {
            generation: get(row, "generation")?,
            done: get(row, "done")?,
            ready: get(row, "ready")?,
            is_back_filled: get(row, "is_back_filled")?,
            back,
            is_set: get(row, "is_set")?,
        })
    }
}

impl PostgresStore {
    async fn step(&self, keep: SeriesKeep, limit: u32) -> Result<RolledUp, StoreError> {
        let rows = self.run(READY, Vec::new()).await?;
        let mut state = StepState::read(rows::one(&rows)?)?;
        let before = (state.done, state.is_back_filled);
        let mut sums = RollUp::default();
        let changes = self.changes(&mut sums).await?;
        let limit = i64::from(limit.clamp(1, STEP_MAX));
        let mut left = limit;
        let mut count = 0;
        if state.ready > state.done {
            let bounds = [state.done, state.ready, limit].map(|one| Argument::Number(Some(one)));
            let new = self.run(NEW, bounds.into()).await?;
            count += add_all(&mut sums, &new)?;
            left -= i64::try_from(new.len()).unwrap_or(limit);
            let last = new.last().filter(|_| left <= 0);
            state.done = match last {
                Some(last) => get(last, "no")?,
                None => state.ready,
            };
        }
        if !state.is_back_filled && left > 0 {
            count += self.fill_back(&mut sums, &mut state, left).await?;
        }
        let has_more = state.done < state.ready || !state.is_back_filled || state.is_set;
        if count == 0 && changes == 0 && before == (state.done, state.is_back_filled) {
            return Ok(RolledUp {
                receipts: 0,
                has_more: has_more && state.is_set,
            });
        }
        let is_written = self.write_step(keep, &state, changes, &sums).await?;
        Ok(RolledUp {
            receipts: if is_written { count } else { 0 },
            // Another gateway was first, or a receipt changed meanwhile: the next step reads again.
            has_more: has_more || !is_written,
        })
    }

    /// Takes out receipts as they were, and adds them as they are. Answers the last change.
    async fn changes(&self, sums: &mut RollUp) -> Result<i64, StoreError> {
        let rows = self.run(CHANGES, Vec::new()).await?;
        let (mut seen, mut last) = (BTreeSet::new(), 0);
        for row in &rows {
            last = get(row, "seq")?;
            let before = record(row)?;
            // The first of several earlier states was counted.
            if !seen.insert((before.account.to_string(), before.request.to_string())) {
                continue;
            }
            sums.take_out(&ReceiptColumns::of(&before));
            let named = vec![text(before.account.as_str()), text(before.request.as_str())];
            add_all(sums, &self.run(ONE, named).await?)?;
        }
        Ok(last)
    }

    /// Adds receipts that have no number, the newest first.
    async fn fill_back(
        &self,
        sums: &mut RollUp,
        state: &mut StepState,
        limit: i64,
    ) -> Result<u64, StoreError> {
        let back = state.back.as_ref();
        let arguments = vec![
            Argument::Number(back.map(|back| back.0)),
            Argument::Text(back.map(|back| back.1.clone())),
            Argument::Text(back.map(|back| back.2.clone())),
            Argument::Number(Some(limit)),
        ];
        let rows = self.run(BACK, arguments).await?;
        if let Some(last) = rows.last() {
            state.back = Some((
                get(last, "at_ms")?,
                get(last, "request")?,
                get(last, "account")?,
            ));
        }
        state.is_back_filled = i64::try_from(rows.len()).unwrap_or(limit) < limit;
        add_all(sums, &rows)
    }

    async fn write_step(
        &self,
        keep: SeriesKeep,
        state: &StepState,
        changes: i64,
        sums: &RollUp,
    ) -> Result<bool, StoreError> {
        let numbers =
            |numbers: Vec<i64>| Argument::Numbers(Some(numbers.into_iter().map(Some).collect()));
        let back = state.back.as_ref();
        let (mut places, mut names, mut figures) = (Vec::new(), Vec::new(), Vec::new());
        for (key, sum) in sums.rows(keep) {
            let (kind, name) = key.name.stored();
            let starts_at_ms = signed(key.starts_at_ms);
            places.extend([
                key.resolution.code(),
                starts_at_ms,
                key.dimension.code(),
                kind,
            ]);
            names.extend(
                [key.account.clone(), name.to_owned()]
                    .map(|name| Some(super::arguments::clean(&name))),
            );
            figures.extend_from_slice(sum.numbers());
        }
        let (mut golems, mut seen) = (Vec::new(), Vec::new());
        for golem in sums.golems() {
            let clean = |text: &String| super::arguments::clean(text);
            golems.extend([
                Some(golem.account.clone()),
                Some(clean(&golem.golem)),
                golem.phase.as_ref().map(clean),
                golem.vitality.as_ref().map(clean),
                golem.sustainability.as_ref().map(clean),
            ]);
            seen.extend([signed(golem.first_seen_ms), signed(golem.last_seen_ms)]);
        }
        let most = |one| i64::try_from(names_max(one)).unwrap_or(i64::MAX);
        let arguments = vec![
            Argument::Numbers(Some(vec![
                Some(state.generation),
                Some(state.done),
                Some(i64::from(state.is_back_filled)),
                back.map(|back| back.0),
            ])),
            Argument::Texts(Some(vec![
                back.map(|back| back.1.clone()),
                back.map(|back| back.2.clone()),
            ])),
            Argument::Number(Some(changes)),
            numbers(places),
            Argument::Texts(Some(names)),
            numbers(figures),
            numbers(Resolution::ALL.map(most).into()),
            numbers(Resolution::ALL.map(|one| signed(keep.from_ms(one))).into()),
            Argument::Texts(Some(golems)),
            numbers(seen),
        ];
        let rows = self.run(ADD, arguments).await?;
        get(rows::one(&rows)?, "is_written")
    }
}

fn add_all(sums: &mut RollUp, rows: &[Row]) -> Result<u64, StoreError> {
    for row in rows {
        sums.add(&ReceiptColumns::of(&record(row)?));
    }
    Ok(rows.len() as u64)
}

impl ReceiptSeries for PostgresStore {
    fn roll_up(
        &self,
        keep: SeriesKeep,
        limit: u32,
    ) -> LedgerFuture<'_, Result<RolledUp, StoreError>> {
        Box::pin(self.step(keep, limit))
    }

    fn lag(&self) -> LedgerFuture<'_, Result<RollUpLag, StoreError>> {
        Box::pin(async move {
            let rows = self.run(LAG, Vec::new()).await?;
            let row = rows::one(&rows)?;
            Ok(RollUpLag {
                waiting: number_of(row, "waiting")?,
                is_back_filling: get(row, "is_back_filling")?,
            })
        })
    }

    fn series(&self, query: SeriesQuery) -> LedgerFuture<'_, Result<Vec<SeriesRow>, StoreError>> {
        Box::pin(async move {
            let starts = query.starts().map(|start| Some(signed(start))).collect();
            let account = query.account.as_ref().map_or("", AccountId::as_str);
            let only = query.only.as_ref().map(SeriesName::stored);
            let arguments = vec![
                Argument::Number(Some(query.resolution.code())),
                Argument::Numbers(Some(starts)),
                Argument::Number(Some(query.dimension.code())),
                text(account),
                Argument::Number(only.map(|(kind, _)| kind)),
                Argument::Text(only.map(|(_, name)| name.to_owned())),
            ];
            let rows = self.all(SERIES, arguments, series_row).await?;
            Ok(query.arrange(rows))
        })
    }

    fn golems(
        &self,
        from_ms: u64,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<GolemSeen>, StoreError>> {
        let arguments = vec![number(from_ms), number(limit.into())];
        Box::pin(self.all(GOLEMS, arguments, golem))
    }

    fn search(&self, search: ReceiptSearch) -> LedgerFuture<'_, Result<FoundReceipts, StoreError>> {
        Box::pin(self.look_for(search))
    }

    fn accounts(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<AccountView>, StoreError>> {
        let arguments = vec![text(&after.unwrap_or_default()), number(limit.into())];
        Box::pin(self.all(ACCOUNTS, arguments, account))
    }
}

fn series_row(row: &Row) -> Result<SeriesRow, StoreError> {
    let figures: Vec<i64> = get(row, "figures")?;
    Ok(SeriesRow {
        starts_at_ms: number_of(row, "starts_at_ms")?,
        name: SeriesName::read(get(row, "kind")?, get(row, "name")?),
        figures: SeriesFigures::read(&figures),
    })
}

fn golem(row: &Row) -> Result<GolemSeen, StoreError> {
    Ok(GolemSeen {
        account: get(row, "account")?,
        golem: get(row, "golem")?,
        first_seen_ms: number_of(row, "first_seen_ms")?,
        last_seen_ms: number_of(row, "last_seen_ms")?,
        phase: get(row, "phase")?,
        vitality: get(row, "vitality")?,
        sustainability: get(row, "sustainability")?,
    })
}

fn account(row: &Row) -> Result<AccountView, StoreError> {
    Ok(AccountView {
        account: AccountId::parse(get(row, "id")?).map_err(|error| damaged(&error))?,
        balance: rows::balance(row)?,
        debt: amount(row, "debt")?,
    })
}
