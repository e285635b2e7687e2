-- What settling really came to, for the text of the receipt, which was written before; null where
-- the text says it already.
ALTER TABLE bardo.receipts
    ADD COLUMN spread bigint CHECK (spread >= 0),
    ADD COLUMN shortfall bigint CHECK (shortfall >= 0),
    ADD COLUMN balance bigint CHECK (balance >= 0);

-- Keeps a receipt: `p_texts` are account, request, the caller's id, key, model, provider, outcome
-- and JSON; `p_numbers` are time, tokens in and out, cost, charge, savings, and, where they are
-- known, spread, shortfall and balance.
CREATE OR REPLACE FUNCTION bardo.keep_receipt(p_texts text[], p_numbers bigint[])
RETURNS void LANGUAGE sql AS $$
    INSERT INTO bardo.receipts (
        account, request, client_request, key_id, model, provider, outcome, json,
        at_ms, input_tokens, output_tokens, provider_cost, charge, savings,
        spread, shortfall, balance
    ) VALUES (
        p_texts[1], p_texts[2], p_texts[3], p_texts[4], p_texts[5], p_texts[6], p_texts[7],
        p_texts[8], p_numbers[1], p_numbers[2], p_numbers[3], p_numbers[4], p_numbers[5],
        p_numbers[6], p_numbers[7], p_numbers[8], p_numbers[9]
    ) ON CONFLICT (account, request) DO UPDATE SET
        client_request = excluded.client_request, key_id = excluded.key_id,
        model = excluded.model, provider = excluded.provider, outcome = excluded.outcome,
        json = excluded.json, at_ms = excluded.at_ms, input_tokens = excluded.input_tokens,
        output_tokens = excluded.output_tokens, provider_cost = excluded.provider_cost,
        charge = excluded.charge, savings = excluded.savings, spread = excluded.spread,
        shortfall = excluded.shortfall, balance = excluded.balance;
$$;

-- Ends a hold by 'capture' or 'release', or leaves it as 'unknown'. The first end counts. What was
-- never held, or has expired, is charged from what is available.
CREATE OR REPLACE FUNCTION bardo.settle(
    p_account text, p_request text, p_end text, p_provider text, p_cost bigint, p_spread bigint,
    p_now_ms bigint, p_texts text[], p_numbers bigint[],
    OUT charged bigint, OUT shortfall bigint, OUT available bigint, OUT repeated boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    a bardo.accounts%ROWTYPE;
    h bardo.holds%ROWTYPE;
    v_known boolean;
    v_held bigint := 0;
    v_used bigint[];
    v_reach bigint;
    v_cost bigint := 0;
    v_spread bigint := 0;
BEGIN
    charged := 0;
    shortfall := 0;
    repeated := false;
    SELECT * INTO a FROM bardo.accounts WHERE id = p_account FOR UPDATE;
    available := coalesce(a.deposited - a.spent - a.held, 0);
    SELECT * INTO h FROM bardo.holds WHERE account = p_account AND request = p_request FOR UPDATE;
    v_known := FOUND;
    IF h.state IN ('captured', 'released') THEN
        charged := h.charged;
        shortfall := h.shortfall;
        repeated := true;
        RETURN;
    END IF;
    IF p_end = 'unknown' THEN
        repeated := coalesce(h.state = 'unknown', false);
        IF h.state = 'open' THEN
            UPDATE bardo.holds SET state = 'unknown'
            WHERE account = p_account AND request = p_request;
        END IF;
        IF p_texts IS NOT NULL AND NOT repeated THEN
            PERFORM bardo.keep_receipt(p_texts, p_numbers[1:6]);
        END IF;
        RETURN;
    END IF;
    IF h.state IN ('open', 'unknown') THEN
        v_held := h.amount;
    END IF;
    available := available + v_held;
    v_reach := available;
    IF cardinality(h.cap_scopes) > 0 THEN
        -- The hold's own part is within its caps already; beyond it there is what they leave.
        v_used := bardo.lock_counters(h.cap_scopes, h.cap_spans, h.cap_starts);
        FOR i IN 1..cardinality(v_used) LOOP
            v_reach := least(v_reach, greatest(h.cap_limits[i] - v_used[i], 0) + v_held);
        END LOOP;
    END IF;
    IF p_end = 'capture' THEN
        -- The backend is owed, we are not: its part comes first.
        v_cost := least(p_cost, v_reach);
        v_spread := least(p_spread, v_reach - v_cost);
        charged := v_cost + v_spread;
        shortfall := least(
            (p_cost - v_cost)::numeric + (p_spread - v_spread)::numeric, 9223372036854775807
        )::bigint;
    END IF;
    IF cardinality(h.cap_scopes) > 0 THEN
        PERFORM bardo.add_to_counters(h.cap_scopes, h.cap_spans, h.cap_starts, -v_held, charged);
    END IF;
    available := available - charged;
    IF v_held > 0 OR charged > 0 THEN
        UPDATE bardo.accounts SET held = held - v_held, spent = spent + charged
        WHERE id = p_account;
    END IF;
    IF charged > 0 THEN
        INSERT INTO bardo.transfers (
            at_ms, kind, account, reference, counterparty, customer_amount, counterparty_amount,
            spread_amount, shortfall
        ) VALUES (
            p_now_ms, 'charge', p_account, p_request, 'provider:' || p_provider, -charged, v_cost,
            v_spread, shortfall
        );
    END IF;
    IF v_known THEN
        UPDATE bardo.holds
        SET state = p_end || 'd', ended_at_ms = p_now_ms, charged = settle.charged,
            shortfall = settle.shortfall
        WHERE account = p_account AND request = p_request;
    ELSE
        INSERT INTO bardo.holds (
            account, request, amount, state, created_at_ms, expires_at_ms, ended_at_ms, charged,
            shortfall
        ) VALUES (
            p_account, p_request, 0, p_end || 'd', p_now_ms, p_now_ms, p_now_ms, settle.charged,
            settle.shortfall
        ) ON CONFLICT (account, request) DO NOTHING;
    END IF;
    IF p_texts IS NULL THEN
        RETURN;
    END IF;
    IF p_end = 'release' THEN
        PERFORM bardo.keep_receipt(p_texts, p_numbers[1:6]);
        RETURN;
    END IF;
    -- The seventh is the list price, where it is known.
    p_numbers[5] := charged;
    IF p_numbers[7] IS NOT NULL THEN
        p_numbers[6] := greatest(p_numbers[7] - charged, 0);
    END IF;
    PERFORM bardo.keep_receipt(p_texts, p_numbers[1:6] || ARRAY[v_spread, shortfall, available]);
END $$;
