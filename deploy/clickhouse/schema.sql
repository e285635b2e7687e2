-- The table of settled receipts. Create the database and this table before the gateway starts:
--   clickhouse-client --multiquery < deploy/clickhouse/schema.sql
-- Amounts are whole numbers in 10^-6 USD, times whole microseconds. An empty text: the request named
-- none. NULL: not known.
CREATE TABLE IF NOT EXISTS bardo_receipts
(
    request_id              String,
    received_ms             UInt64,
    received_at             DateTime64(3, 'UTC') MATERIALIZED fromUnixTimestamp64Milli(toInt64(received_ms), 'UTC'),
    account                 String,
    golem                   String,
    subsystem               LowCardinality(String),
    session                 String,
    dialect                 LowCardinality(String),
    model_requested         String,
    model                   LowCardinality(String),
    backend                 LowCardinality(String),
    mode                    LowCardinality(String),
    outcome                 LowCardinality(String),
    error                   LowCardinality(String),
    stream                  Bool,
    cache                   LowCardinality(String),
    attempts                UInt16,
    degraded                Array(String),
    input_tokens            UInt64,
    cache_read_tokens       UInt64,
    cache_write_tokens      UInt64,
    output_tokens           UInt64,
    reasoning_tokens        UInt64,
    estimated               Bool,
    cost_micro_usd          Nullable(UInt64),
    provider_cost_micro_usd Nullable(UInt64),
    charge_micro_usd        UInt64,
    savings_micro_usd       Nullable(UInt64),
    first_content_us        Nullable(UInt64),
    duration_us             UInt64
)
-- A message that was sent twice becomes one row again.
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
ORDER BY (account, received_ms, request_id)
TTL toDateTime(received_at) + INTERVAL 400 DAY;
