//! Bringing the schema up to date.

use bardo_ledger::StoreError;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::failure::Unprepared;

/// The steps from an empty database to the present schema; `bardo.schema` counts those that were
/// taken. A step that has been released is never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_tables.sql"),
    include_str!("migrations/0002_money.sql"),
    include_str!("migrations/0003_keys.sql"),
    include_str!("migrations/0004_audit.sql"),
    include_str!("migrations/0005_final_receipts.sql"),
    include_str!("migrations/0006_pruning.sql"),
    include_str!("migrations/0007_scopes.sql"),
    include_str!("migrations/0008_receipts_of_all.sql"),
    include_str!("migrations/0009_prompt_caches.sql"),
    include_str!("migrations/0010_series.sql"),
    include_str!("migrations/0011_claims.sql"),
];

/// Held while steps are taken, so that processes that start together take them once: `BRDO`.
const LOCK: i64 = 0x4252_444f;

/// Takes the steps that are missing, all or none.
pub(super) async fn migrate(client: &Client) -> Result<(), Unprepared> {
    if version(client).await? == MIGRATIONS.len() {
        return Ok(());
    }
    let run = async |sql: &str| {
        client
            .batch_execute(sql)
            .await
            .map_err(|error| Unprepared::of(&error))
    };
    // Dropped before its end, the connection takes the transaction with it.
    run(&format!(
        "BEGIN; SET LOCAL statement_timeout = '60s'; SET LOCAL lock_timeout = '60s';
         SELECT pg_advisory_xact_lock({LOCK});
         CREATE SCHEMA IF NOT EXISTS bardo;
         CREATE TABLE IF NOT EXISTS bardo.schema (
             version bigint PRIMARY KEY, taken_at timestamptz NOT NULL DEFAULT now()
         );"
    ))
    .await?;
    let taken = version(client).await?;
    for (number, step) in (1_u32..).zip(MIGRATIONS).skip(taken) {
        run(step).await?;
        run(&format!(
            "INSERT INTO bardo.schema (version) VALUES ({number})"
        ))
        .await?;
    }
    run("COMMIT").await
}

/// How many steps were taken; an error where there are more than this version knows.
async fn version(client: &Client) -> Result<usize, Unprepared> {
    let query = async |sql: &str| {
        client
            .query_typed_one(
                sql,
                &[] as &[(&(dyn tokio_postgres::types::ToSql + Sync), Type)],
            )
            .await
            .map_err(|error| Unprepared::of(&error))
    };
    let exists = query("SELECT to_regclass('bardo.schema') IS NOT NULL").await?;
    if !exists.get::<_, bool>(0) {
        return Ok(0);
    }
    let taken = query("SELECT coalesce(max(version), 0) FROM bardo.schema").await?;
    let taken = usize::try_from(taken.get::<_, i64>(0)).unwrap_or(usize::MAX);
    if taken > MIGRATIONS.len() {
        let known = MIGRATIONS.len();
        return Err(Unprepared::Refused(StoreError::Damaged(format!(
            "the schema has version {taken} and this program supports up to {known}; install a newer version of \
            bardo-gateway"
        ))));
    }
    Ok(taken)
}
