-- Figures of receipts per minute, hour and day. Steps add receipts and move the watermark in one
-- transaction; of several gateways that try the same step one succeeds.

-- Receipts are numbered as they are kept. Earlier ones have no number, so that a large table is not
-- written anew; they are found by their time.
CREATE SEQUENCE bardo.receipts_no_seq;
ALTER TABLE bardo.receipts ADD COLUMN no bigint;
ALTER TABLE bardo.receipts ALTER COLUMN no SET DEFAULT nextval('bardo.receipts_no_seq');
CREATE INDEX receipts_by_no ON bardo.receipts (no) WHERE no IS NOT NULL;

-- Receipts up to number `done` are added. Numbers are given before their transactions end, in no
-- particular order: receipts up to `barrier_no` may be added when each transaction that ran as the
-- barrier was set has ended, which `barrier_xid` tells. `back_*` is the oldest receipt without a
-- number that is added; null before the first. `generation` rises with each step and with each
-- receipt that changes, so that no step is written that did not read the last state.
CREATE TABLE bardo.series_state (
    is_one_row boolean PRIMARY KEY DEFAULT true CHECK (is_one_row),
    generation bigint NOT NULL DEFAULT 0,
    done bigint NOT NULL DEFAULT 0,
    barrier_no bigint NOT NULL DEFAULT 0,
    barrier_xid bigint NOT NULL DEFAULT 0,
    is_back_filled boolean NOT NULL,
    back_at_ms bigint,
    back_request text,
    back_account text
);
INSERT INTO bardo.series_state (is_back_filled)
SELECT NOT EXISTS (SELECT 1 FROM bardo.receipts);

-- `kind` is 0 for receipts without a name, 1 for those of `name`, 2 for the rest. `account` is empty
-- for all accounts together.
CREATE TABLE bardo.series (
    resolution bigint NOT NULL,
    starts_at_ms bigint NOT NULL,
    dimension bigint NOT NULL,
    account text NOT NULL,
    kind bigint NOT NULL,
    name text NOT NULL,
    figures bigint[] NOT NULL,
    PRIMARY KEY (resolution, starts_at_ms, dimension, account, kind, name)
) WITH (fillfactor = 70);

CREATE TABLE bardo.golems_seen (
    account text NOT NULL,
    golem text NOT NULL,
    first_seen_ms bigint NOT NULL,
    last_seen_ms bigint NOT NULL,
    phase text,
    vitality text,
    sustainability text,
    PRIMARY KEY (account, golem)
);

-- Receipts that changed after they were added, as they were, to be taken out again.
CREATE TABLE bardo.receipts_before (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account text NOT NULL,
    request text NOT NULL,
    client_request text,
    key_id text,
    at_ms bigint NOT NULL,
    model text NOT NULL,
    provider text NOT NULL,
    outcome text NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    provider_cost bigint,
    charge bigint NOT NULL,
    savings bigint NOT NULL,
    subsystem text,
    session text,
    cache_read_tokens bigint NOT NULL,
    cache_written_tokens bigint NOT NULL,
    cache_saved bigint NOT NULL,
    json text NOT NULL,
    spread bigint,
    shortfall bigint,
    balance bigint
);

CREATE FUNCTION bardo.receipt_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    s bardo.series_state%ROWTYPE;
BEGIN
    -- The row stays locked, so that a step either has read this change or is not written.
    UPDATE bardo.series_state SET generation = generation + 1 RETURNING * INTO s;
    IF old.no <= s.done OR (old.no IS NULL AND (s.is_back_filled OR (
        s.back_at_ms IS NOT NULL
        AND (old.at_ms, old.request COLLATE "C", old.account COLLATE "C")
            >= (s.back_at_ms, s.back_request, s.back_account)
    ))) THEN
        INSERT INTO bardo.receipts_before (account, request, client_request, key_id, at_ms, model,
            provider, outcome, input_tokens, output_tokens, provider_cost, charge, savings,
            subsystem, session, cache_read_tokens, cache_written_tokens, cache_saved, json, spread,
            shortfall, balance)
        VALUES (old.account, old.request, old.client_request, old.key_id, old.at_ms, old.model,
            old.provider, old.outcome, old.input_tokens, old.output_tokens, old.provider_cost,
            old.charge, old.savings, old.subsystem, old.session, old.cache_read_tokens,
            old.cache_written_tokens, old.cache_saved, old.json, old.spread, old.shortfall,
            old.balance);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER receipts_that_change_are_counted_again AFTER UPDATE ON bardo.receipts
FOR EACH ROW WHEN (old.* IS DISTINCT FROM new.*) EXECUTE FUNCTION bardo.receipt_changed();

-- The state for a step: receipts of numbers above `done` and up to `ready` may be added.
CREATE FUNCTION bardo.series_ready(
    OUT generation bigint, OUT done bigint, OUT ready bigint, OUT is_back_filled boolean,
    OUT back_at_ms bigint, OUT back_request text, OUT back_account text, OUT is_set boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    s bardo.series_state%ROWTYPE;
    v_last bigint;
    v_snapshot txid_snapshot := txid_current_snapshot();
BEGIN
    SELECT * INTO s FROM bardo.series_state;
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO v_last FROM bardo.receipts_no_seq;
    is_set := false;
    -- A barrier beyond all transactions is that of another server, whose data was restored here.
    IF (s.barrier_no <= s.done AND v_last > s.done)
        OR s.barrier_xid > txid_snapshot_xmax(v_snapshot) THEN
        -- This transaction gets its id here: all that took a number before have lower ones.
        UPDATE bardo.series_state SET barrier_no = v_last, barrier_xid = txid_current()
        RETURNING * INTO s;
        is_set := true;
    END IF;
    generation := s.generation;
    done := s.done;
    ready := CASE
        WHEN NOT is_set AND txid_snapshot_xmin(v_snapshot) >= s.barrier_xid
            THEN greatest(s.done, s.barrier_no)
        ELSE s.done
    END;
    is_back_filled := s.is_back_filled;
    back_at_ms := s.back_at_ms;
    back_request := s.back_request;
    back_account := s.back_account;
END $$;

CREATE FUNCTION bardo.add_figures(p_one bigint[], p_other bigint[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(coalesce(one, 0) + coalesce(other, 0) ORDER BY place)
    FROM unnest(p_one, p_other) WITH ORDINALITY AS t (one, other, place);
$$;

-- Writes a step. `p_state` are the generation that it read, the new `done`, 1 where all earlier
-- receipts are added, and the time of the oldest one that is; `p_back` its request and account.
-- Rows: `p_places` are resolution, start, dimension and kind, `p_names` account and name, and
-- `p_figures` as many figures for each. `p_max` are the largest numbers of names in a bucket and
-- `p_keep` the first starts that are kept, by resolution. Agents: `p_golems` are account, id, phase,
-- vitality and sustainability, `p_seen` the first and the last time. False: another step was
-- written, or a receipt changed meanwhile.
CREATE FUNCTION bardo.add_series(
    p_state bigint[], p_back text[], p_changes bigint, p_places bigint[], p_names text[],
    p_figures bigint[], p_max bigint[], p_keep bigint[], p_golems text[], p_seen bigint[],
    OUT is_written boolean
) LANGUAGE plpgsql AS $$
DECLARE
    v_rows integer := coalesce(cardinality(p_places), 0) / 4;
    v_width integer;
    v_kind bigint;
    v_name text;
    v_new bigint[];
    v_count bigint;
BEGIN
    UPDATE bardo.series_state SET generation = generation + 1, done = p_state[2],
        is_back_filled = p_state[3] = 1, back_at_ms = p_state[4],
        back_request = p_back[1], back_account = p_back[2]
    WHERE generation = p_state[1];
    is_written := FOUND;
    IF NOT is_written THEN
        RETURN;
    END IF;
    DELETE FROM bardo.receipts_before WHERE seq <= p_changes;
    IF v_rows > 0 THEN
        v_width := cardinality(p_figures) / v_rows;
    END IF;
    FOR i IN 0..v_rows - 1 LOOP
        v_kind := p_places[i * 4 + 4];
        v_name := p_names[i * 2 + 2];
        v_new := p_figures[i * v_width + 1 : (i + 1) * v_width];
        UPDATE bardo.series SET figures = bardo.add_figures(figures, v_new)
        WHERE resolution = p_places[i * 4 + 1] AND starts_at_ms = p_places[i * 4 + 2]
            AND dimension = p_places[i * 4 + 3] AND account = p_names[i * 2 + 1]
            AND kind = v_kind AND name = v_name;
        CONTINUE WHEN FOUND;
        IF v_kind = 1 THEN
            SELECT count(*) INTO v_count FROM bardo.series
            WHERE resolution = p_places[i * 4 + 1] AND starts_at_ms = p_places[i * 4 + 2]
                AND dimension = p_places[i * 4 + 3] AND account = p_names[i * 2 + 1] AND kind = 1;
            IF v_count >= p_max[p_places[i * 4 + 1] + 1] THEN
                v_kind := 2;
                v_name := '';
            END IF;
        END IF;
        INSERT INTO bardo.series AS s (
            resolution, starts_at_ms, dimension, account, kind, name, figures
        ) VALUES (
            p_places[i * 4 + 1], p_places[i * 4 + 2], p_places[i * 4 + 3], p_names[i * 2 + 1],
            v_kind, v_name, v_new
        ) ON CONFLICT (resolution, starts_at_ms, dimension, account, kind, name)
        DO UPDATE SET figures = bardo.add_figures(s.figures, excluded.figures);
    END LOOP;
    FOR i IN 0..coalesce(cardinality(p_seen), 0) / 2 - 1 LOOP
        INSERT INTO bardo.golems_seen AS g (
            account, golem, phase, vitality, sustainability, first_seen_ms, last_seen_ms
        ) VALUES (
            p_golems[i * 5 + 1], p_golems[i * 5 + 2], p_golems[i * 5 + 3], p_golems[i * 5 + 4],
            p_golems[i * 5 + 5], p_seen[i * 2 + 1], p_seen[i * 2 + 2]
        ) ON CONFLICT (account, golem) DO UPDATE SET
            first_seen_ms = least(g.first_seen_ms, excluded.first_seen_ms),
            last_seen_ms = greatest(g.last_seen_ms, excluded.last_seen_ms),
            phase = CASE WHEN excluded.last_seen_ms >= g.last_seen_ms
                THEN coalesce(excluded.phase, g.phase)
                ELSE coalesce(g.phase, excluded.phase) END,
            vitality = CASE WHEN excluded.last_seen_ms >= g.last_seen_ms
                THEN coalesce(excluded.vitality, g.vitality)
                ELSE coalesce(g.vitality, excluded.vitality) END,
            sustainability = CASE WHEN excluded.last_seen_ms >= g.last_seen_ms
                THEN coalesce(excluded.sustainability, g.sustainability)
                ELSE coalesce(g.sustainability, excluded.sustainability) END;
    END LOOP;
    FOR i IN 1..cardinality(p_keep) LOOP
        DELETE FROM bardo.series WHERE resolution = i - 1 AND starts_at_ms < p_keep[i];
    END LOOP;
    DELETE FROM bardo.golems_seen WHERE last_seen_ms < p_keep[2];
END $$;

-- What accounts owed beyond their balance is added up without reading all transfers.
CREATE INDEX transfers_with_shortfall ON bardo.transfers (account, shortfall) WHERE shortfall > 0;

-- The transaction of a receipt has its id before the receipt has its number, so that the barrier
-- covers it. The rest is as before.
CREATE OR REPLACE FUNCTION bardo.keep_receipt(p_texts text[], p_numbers bigint[])
RETURNS void LANGUAGE sql AS $$
    SELECT txid_current();
    INSERT INTO bardo.receipts (
        account, request, client_request, key_id, model, provider, outcome, json,
        subsystem, session, cache_read_tokens, cache_written_tokens, cache_saved,
        at_ms, input_tokens, output_tokens, provider_cost, charge, savings,
        spread, shortfall, balance
    ) VALUES (
        p_texts[1], p_texts[2], p_texts[3], p_texts[4], p_texts[5], p_texts[6], p_texts[7],
        p_texts[8], p_texts[9], p_texts[10],
        coalesce(p_texts[11], '0')::bigint, coalesce(p_texts[12], '0')::bigint,
        coalesce(p_texts[13], '0')::bigint,
        p_numbers[1], p_numbers[2], p_numbers[3], p_numbers[4], p_numbers[5],
        p_numbers[6], p_numbers[7], p_numbers[8], p_numbers[9]
    ) ON CONFLICT (account, request) DO UPDATE SET
        client_request = excluded.client_request, key_id = excluded.key_id,
        model = excluded.model, provider = excluded.provider, outcome = excluded.outcome,
        json = excluded.json, subsystem = excluded.subsystem, session = excluded.session,
        cache_read_tokens = excluded.cache_read_tokens,
        cache_written_tokens = excluded.cache_written_tokens, cache_saved = excluded.cache_saved,
        at_ms = excluded.at_ms, input_tokens = excluded.input_tokens,
        output_tokens = excluded.output_tokens, provider_cost = excluded.provider_cost,
        charge = excluded.charge, savings = excluded.savings, spread = excluded.spread,
        shortfall = excluded.shortfall, balance = excluded.balance;
$$;
