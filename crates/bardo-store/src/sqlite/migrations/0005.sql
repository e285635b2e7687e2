-- Figures of receipts per minute, hour and day, added by steps that move the watermark `done` in the
-- same transaction. Receipts of higher numbers, and those up to `back`, which were kept before there
-- were series, wait. `generation` rises with each step and with each receipt that changes, so that no
-- step is written that did not read the last state.
CREATE TABLE series_state (
    no INTEGER PRIMARY KEY CHECK (no = 1),
    generation INTEGER NOT NULL,
    done INTEGER NOT NULL,
    back INTEGER NOT NULL
) STRICT;
INSERT INTO series_state (no, generation, done, back)
SELECT 1, 0, last, last FROM (SELECT coalesce(max(no), 0) AS last FROM receipts);

-- `kind` is 0 for receipts without a name, 1 for those of `name`, 2 for the rest. `account` is empty
-- for all accounts together.
CREATE TABLE series (
    resolution INTEGER NOT NULL,
    starts_at_ms INTEGER NOT NULL,
    dimension INTEGER NOT NULL,
    account TEXT NOT NULL,
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    figures BLOB NOT NULL,
    PRIMARY KEY (resolution, starts_at_ms, dimension, account, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE golems_seen (
    account TEXT NOT NULL,
    golem TEXT NOT NULL,
    first_seen_ms INTEGER NOT NULL,
    last_seen_ms INTEGER NOT NULL,
    phase TEXT,
    vitality TEXT,
    sustainability TEXT,
    PRIMARY KEY (account, golem)
) STRICT, WITHOUT ROWID;

-- For searches: in each block of 4,096 receipts, the places of those with a name, and the span of
-- their times. Written by the same steps.
CREATE TABLE receipt_places (
    block INTEGER NOT NULL,
    facet INTEGER NOT NULL,
    name TEXT NOT NULL,
    places BLOB NOT NULL,
    PRIMARY KEY (block, facet, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE receipt_spans (
    block INTEGER PRIMARY KEY,
    first_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL
) STRICT;

-- Receipts that changed after they were added, as they were, to be taken out again.
CREATE TABLE receipts_before (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    no INTEGER NOT NULL,
    account INTEGER NOT NULL,
    request TEXT NOT NULL,
    client_request TEXT,
    key TEXT,
    at_ms INTEGER NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    outcome TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    provider_cost INTEGER NOT NULL,
    charge INTEGER NOT NULL,
    savings INTEGER NOT NULL,
    subsystem TEXT,
    session TEXT,
    cost_unknown INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_written_tokens INTEGER NOT NULL,
    cache_saved INTEGER NOT NULL,
    json TEXT NOT NULL
) STRICT;
CREATE TRIGGER receipts_that_change_are_counted_again BEFORE UPDATE ON receipts
BEGIN
    INSERT INTO receipts_before (no, account, request, client_request, key, at_ms, model, provider,
        outcome, input_tokens, output_tokens, provider_cost, charge, savings, subsystem, session,
        cost_unknown, cache_read_tokens, cache_written_tokens, cache_saved, json)
    SELECT old.no, old.account, old.request, old.client_request, old.key, old.at_ms, old.model,
        old.provider, old.outcome, old.input_tokens, old.output_tokens, old.provider_cost,
        old.charge, old.savings, old.subsystem, old.session, old.cost_unknown,
        old.cache_read_tokens, old.cache_written_tokens, old.cache_saved, t.json
    FROM series_state s, receipt_texts t
    WHERE t.no = old.no AND old.no > s.back AND old.no <= s.done;
    UPDATE series_state SET generation = generation + 1;
END;

-- A number may be given again after the highest one was deleted: the watermark goes back with it.
CREATE TRIGGER receipts_that_go_take_the_watermark_along AFTER DELETE ON receipts
WHEN old.no > (SELECT coalesce(max(no), 0) FROM receipts)
BEGIN
    UPDATE series_state SET generation = generation + 1,
        done = min(done, (SELECT coalesce(max(no), 0) FROM receipts)),
        back = min(back, (SELECT coalesce(max(no), 0) FROM receipts));
END;

-- What accounts owed beyond their balance is added up without reading all transfers.
CREATE INDEX transfers_with_shortfall ON transfers (account, shortfall) WHERE shortfall > 0;
