-- Each command on money is one function and so one transaction. Locks are always taken in one
-- order, first the account, then counters as their names sort, so that none waits for another in
-- a circle. Refusals are answers and not errors: nothing has changed then.

-- Locks the counters of a hold and answers what is used of each.
CREATE FUNCTION bardo.lock_counters(p_scopes text[], p_spans text[], p_starts bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_used bigint;
    v_all bigint[] := '{}';
BEGIN
    FOR i IN 1..cardinality(p_scopes) LOOP
        SELECT spent + held INTO v_used FROM bardo.cap_counters
        WHERE scope = p_scopes[i] AND span = p_spans[i] AND start_ms = p_starts[i]
        FOR UPDATE;
        IF NOT FOUND THEN
            INSERT INTO bardo.cap_counters AS c (scope, span, start_ms)
            VALUES (p_scopes[i], p_spans[i], p_starts[i])
            ON CONFLICT (scope, span, start_ms) DO UPDATE SET held = c.held
            RETURNING c.spent + c.held INTO v_used;
        END IF;
        v_all := v_all || v_used;
    END LOOP;
    RETURN v_all;
END $$;

-- Adds to the counters of a hold, which are locked.
CREATE FUNCTION bardo.add_to_counters(
    p_scopes text[], p_spans text[], p_starts bigint[], p_held bigint, p_spent bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..cardinality(p_scopes) LOOP
        UPDATE bardo.cap_counters SET held = held + p_held, spent = spent + p_spent
        WHERE scope = p_scopes[i] AND span = p_spans[i] AND start_ms = p_starts[i];
    END LOOP;
END $$;

-- Which cap the caller named first of those that `p_amount` more would exceed, counted from 1;
-- null when it fits. A cap of zero blocks also what is free.
CREATE FUNCTION bardo.exceeded(
    p_used bigint[], p_limits bigint[], p_places bigint[], p_amount bigint
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_first integer;
BEGIN
    FOR i IN 1..cardinality(p_used) LOOP
        IF (p_limits[i] = 0 OR p_amount > p_limits[i] - p_used[i])
            AND (v_first IS NULL OR p_places[i] < p_places[v_first])
        THEN
            v_first := i;
        END IF;
    END LOOP;
    RETURN v_first;
END $$;

CREATE FUNCTION bardo.reserve(
    p_account text, p_request text, p_attempt bigint, p_key text, p_amount bigint,
    p_expires_at_ms bigint, p_now_ms bigint,
    p_scopes text[], p_spans text[], p_starts bigint[], p_limits bigint[], p_places bigint[],
    OUT outcome text, OUT held bigint, OUT available bigint,
    OUT cap_scope text, OUT cap_span text, OUT cap_start bigint, OUT cap_limit bigint,
    OUT cap_used bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    a bardo.accounts%ROWTYPE;
    h bardo.holds%ROWTYPE;
    v_used bigint[];
    v_cap integer;
BEGIN
    SELECT * INTO a FROM bardo.accounts WHERE id = p_account FOR UPDATE;
    IF NOT FOUND THEN
        outcome := 'no_account';
        RETURN;
    END IF;
    available := a.deposited - a.spent - a.held;
    SELECT * INTO h FROM bardo.holds WHERE account = p_account AND request = p_request;
    IF FOUND THEN
        outcome := 'duplicate';
        IF h.attempt = p_attempt AND h.state = 'open' THEN
            outcome := 'held';
            held := h.amount;
        END IF;
        RETURN;
    END IF;
    IF p_amount > available THEN
        outcome := 'insufficient';
        RETURN;
    END IF;
    IF cardinality(p_scopes) > 0 THEN
        v_used := bardo.lock_counters(p_scopes, p_spans, p_starts);
        v_cap := bardo.exceeded(v_used, p_limits, p_places, p_amount);
        IF v_cap IS NOT NULL THEN
            outcome := 'capped';
            cap_scope := p_scopes[v_cap];
            cap_span := p_spans[v_cap];
            cap_start := p_starts[v_cap];
            cap_limit := p_limits[v_cap];
            cap_used := v_used[v_cap];
            RETURN;
        END IF;
        PERFORM bardo.add_to_counters(p_scopes, p_spans, p_starts, p_amount, 0);
    END IF;
    INSERT INTO bardo.holds (
        account, request, attempt, key_id, amount, state, created_at_ms, expires_at_ms,
        cap_scopes, cap_spans, cap_starts, cap_limits, cap_places
    ) VALUES (
        p_account, p_request, p_attempt, p_key, p_amount, 'open', p_now_ms, p_expires_at_ms,
        p_scopes, p_spans, p_starts, p_limits, p_places
    );
    UPDATE bardo.accounts SET held = held + p_amount WHERE id = p_account;
    outcome := 'held';
    held := p_amount;
    available := available - p_amount;
END $$;

-- `p_step` tells an extension sent again from another one.
CREATE FUNCTION bardo.extend(
    p_account text, p_request text, p_step bigint, p_by bigint,
    OUT outcome text, OUT held bigint, OUT available bigint,
    OUT cap_scope text, OUT cap_span text, OUT cap_start bigint, OUT cap_limit bigint,
    OUT cap_used bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    a bardo.accounts%ROWTYPE;
    h bardo.holds%ROWTYPE;
    v_used bigint[];
    v_cap integer;
BEGIN
    outcome := 'no_hold';
    SELECT * INTO a FROM bardo.accounts WHERE id = p_account FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    available := a.deposited - a.spent - a.held;
    SELECT * INTO h FROM bardo.holds WHERE account = p_account AND request = p_request;
    IF h.attempt = p_step AND h.state = 'open' THEN
        outcome := 'held';
        held := h.amount;
        RETURN;
    END IF;
    IF h.state IS DISTINCT FROM 'open' THEN
        RETURN;
    END IF;
    IF p_by > available THEN
        outcome := 'insufficient';
        RETURN;
    END IF;
    IF cardinality(h.cap_scopes) > 0 THEN
        v_used := bardo.lock_counters(h.cap_scopes, h.cap_spans, h.cap_starts);
        v_cap := bardo.exceeded(v_used, h.cap_limits, h.cap_places, p_by);
        IF v_cap IS NOT NULL THEN
            outcome := 'capped';
            cap_scope := h.cap_scopes[v_cap];
            cap_span := h.cap_spans[v_cap];
            cap_start := h.cap_starts[v_cap];
            cap_limit := h.cap_limits[v_cap];
            cap_used := v_used[v_cap];
            RETURN;
        END IF;
        PERFORM bardo.add_to_counters(h.cap_scopes, h.cap_spans, h.cap_starts, p_by, 0);
    END IF;
    UPDATE bardo.holds SET amount = amount + p_by, attempt = p_step
    WHERE account = p_account AND request = p_request;
    UPDATE bardo.accounts SET held = held + p_by WHERE id = p_account;
    outcome := 'held';
    held := h.amount + p_by;
    available := available - p_by;
END $$;

-- Keeps a receipt: `p_texts` are account, request, the caller's id, key, model, provider, outcome
-- and JSON; `p_numbers` are time, tokens in and out, cost, charge and savings.
CREATE FUNCTION bardo.keep_receipt(p_texts text[], p_numbers bigint[])
RETURNS void LANGUAGE sql AS $$
    INSERT INTO bardo.receipts (
        account, request, client_request, key_id, model, provider, outcome, json,
        at_ms, input_tokens, output_tokens, provider_cost, charge, savings
    ) VALUES (
        p_texts[1], p_texts[2], p_texts[3], p_texts[4], p_texts[5], p_texts[6], p_texts[7],
        p_texts[8], p_numbers[1], p_numbers[2], p_numbers[3], p_numbers[4], p_numbers[5],
        p_numbers[6]
    ) ON CONFLICT (account, request) DO UPDATE SET
        client_request = excluded.client_request, key_id = excluded.key_id,
        model = excluded.model, provider = excluded.provider, outcome = excluded.outcome,
        json = excluded.json, at_ms = excluded.at_ms, input_tokens = excluded.input_tokens,
        output_tokens = excluded.output_tokens, provider_cost = excluded.provider_cost,
        charge = excluded.charge, savings = excluded.savings;
$$;

-- Ends a hold by 'capture' or 'release', or leaves it as 'unknown'. The first end counts. What was
-- never held, or has expired, is charged from what is available.
CREATE FUNCTION bardo.settle(
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
            PERFORM bardo.keep_receipt(p_texts, p_numbers);
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
    IF p_texts IS NOT NULL THEN
        PERFORM bardo.keep_receipt(p_texts, p_numbers);
    END IF;
END $$;

-- Releases the holds of one account whose time is over, and says whether there are more.
CREATE FUNCTION bardo.expire(p_now_ms bigint, OUT expired bigint, OUT more boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    h bardo.holds%ROWTYPE;
    v_account text;
    v_requests text[];
BEGIN
    expired := 0;
    SELECT account INTO v_account FROM bardo.holds
    WHERE state = 'open' AND expires_at_ms <= p_now_ms ORDER BY expires_at_ms, account LIMIT 1;
    IF NOT FOUND THEN
        more := false;
        RETURN;
    END IF;
    PERFORM 1 FROM bardo.accounts WHERE id = v_account FOR UPDATE;
    SELECT array_agg(request) INTO v_requests FROM (
        SELECT request FROM bardo.holds
        WHERE account = v_account AND state = 'open' AND expires_at_ms <= p_now_ms LIMIT 256
    ) AS due;
    -- All counters at once, sorted as everywhere, and not hold by hold.
    PERFORM 1 FROM bardo.cap_counters AS c
    WHERE (c.scope, c.span, c.start_ms) IN (
        SELECT u.scope, u.span, u.start_ms
        FROM bardo.holds AS b, unnest(b.cap_scopes, b.cap_spans, b.cap_starts)
            AS u (scope, span, start_ms)
        WHERE b.account = v_account AND b.request = ANY (v_requests)
    )
    ORDER BY c.scope COLLATE "C", c.span COLLATE "C", c.start_ms
    FOR UPDATE;
    FOR h IN SELECT * FROM bardo.holds
        WHERE account = v_account AND request = ANY (v_requests)
    LOOP
        IF cardinality(h.cap_scopes) > 0 THEN
            PERFORM bardo.add_to_counters(h.cap_scopes, h.cap_spans, h.cap_starts, -h.amount, 0);
        END IF;
        UPDATE bardo.holds SET state = 'expired', ended_at_ms = p_now_ms
        WHERE account = v_account AND request = h.request;
        UPDATE bardo.accounts SET held = held - h.amount WHERE id = v_account;
        expired := expired + 1;
    END LOOP;
    more := EXISTS (
        SELECT FROM bardo.holds WHERE state = 'open' AND expires_at_ms <= p_now_ms
    );
END $$;

CREATE FUNCTION bardo.deposit(
    p_account text, p_amount bigint, p_source text, p_reference text, p_now_ms bigint,
    OUT outcome text, OUT deposited bigint, OUT spent bigint, OUT held bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    a bardo.accounts%ROWTYPE;
BEGIN
    outcome := 'deposited';
    INSERT INTO bardo.accounts (id) VALUES (p_account) ON CONFLICT (id) DO NOTHING;
    SELECT * INTO a FROM bardo.accounts WHERE id = p_account FOR UPDATE;
    deposited := a.deposited;
    spent := a.spent;
    held := a.held;
    IF EXISTS (
        SELECT FROM bardo.transfers
        WHERE account = p_account AND kind = 'deposit' AND reference = p_reference
    ) THEN
        RETURN;
    END IF;
    IF p_amount > 9223372036854775807 - a.deposited THEN
        outcome := 'overflow';
        RETURN;
    END IF;
    deposited := a.deposited + p_amount;
    UPDATE bardo.accounts SET deposited = deposit.deposited WHERE id = p_account;
    INSERT INTO bardo.transfers (
        at_ms, kind, account, reference, counterparty, customer_amount, counterparty_amount,
        spread_amount
    ) VALUES (
        p_now_ms, 'deposit', p_account, p_reference, 'funding:' || p_source, p_amount, -p_amount, 0
    );
    INSERT INTO bardo.audit (action, subject, detail)
    VALUES ('deposit', p_account, format('%s millionths of a USD by %s', p_amount, p_reference));
END $$;
