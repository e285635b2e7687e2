-- Everything lives in a schema of its own, so that it can share a database.
-- Amounts are 10⁻⁶ USD, times are Unix milliseconds.

-- `spent` + `held` never exceeds `deposited`, whatever any process does.
CREATE TABLE bardo.accounts (
    id text PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 128),
    deposited bigint NOT NULL DEFAULT 0 CHECK (deposited >= 0),
    spent bigint NOT NULL DEFAULT 0 CHECK (spent >= 0),
    held bigint NOT NULL DEFAULT 0 CHECK (held >= 0),
    CHECK (deposited - spent - held >= 0)
) WITH (fillfactor = 50);

-- Every hold that was ever made: one request is held once, and its end is known for ever.
-- `cap_*` name the counters that it weighs on, sorted as they are locked.
CREATE TABLE bardo.holds (
    account text NOT NULL,
    request text NOT NULL CHECK (length(request) BETWEEN 1 AND 128),
    -- The call that made it, so that the same call sent twice is told from another.
    attempt bigint NOT NULL DEFAULT 0,
    key_id text,
    amount bigint NOT NULL CHECK (amount >= 0),
    state text NOT NULL CHECK (state IN ('open', 'unknown', 'expired', 'captured', 'released')),
    cap_scopes text[] NOT NULL DEFAULT '{}',
    cap_spans text[] NOT NULL DEFAULT '{}',
    cap_starts bigint[] NOT NULL DEFAULT '{}',
    cap_limits bigint[] NOT NULL DEFAULT '{}',
    -- Where the caller named each, for refusals.
    cap_places bigint[] NOT NULL DEFAULT '{}',
    created_at_ms bigint NOT NULL CHECK (created_at_ms >= 0),
    expires_at_ms bigint NOT NULL CHECK (expires_at_ms >= 0),
    ended_at_ms bigint,
    charged bigint NOT NULL DEFAULT 0 CHECK (charged >= 0),
    shortfall bigint NOT NULL DEFAULT 0 CHECK (shortfall >= 0),
    PRIMARY KEY (account, request)
) WITH (fillfactor = 80);
CREATE INDEX holds_by_expiry ON bardo.holds (expires_at_ms, account) WHERE state = 'open';
CREATE INDEX holds_alive ON bardo.holds (account) WHERE state IN ('open', 'unknown');

-- What is spent and held in each window of each cap.
CREATE TABLE bardo.cap_counters (
    scope text NOT NULL,
    span text NOT NULL CHECK (span IN ('day', 'month', 'total')),
    start_ms bigint NOT NULL CHECK (start_ms >= 0),
    spent bigint NOT NULL DEFAULT 0 CHECK (spent >= 0),
    held bigint NOT NULL DEFAULT 0 CHECK (held >= 0),
    PRIMARY KEY (scope, span, start_ms)
) WITH (fillfactor = 50);

-- Double entry: one row is one transfer with all its lines, which add up to zero.
-- `postings` below shows them one by one.
CREATE TABLE bardo.transfers (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms bigint NOT NULL CHECK (at_ms >= 0),
    kind text NOT NULL CHECK (kind IN ('deposit', 'charge')),
    account text NOT NULL REFERENCES bardo.accounts (id),
    reference text NOT NULL CHECK (length(reference) >= 1),
    -- `funding:<source>` or `provider:<backend>`.
    counterparty text NOT NULL CHECK (length(counterparty) >= 1),
    customer_amount bigint NOT NULL,
    counterparty_amount bigint NOT NULL,
    spread_amount bigint NOT NULL CHECK (spread_amount >= 0),
    -- What the account owed beyond what it had: no line, because nobody paid it.
    shortfall bigint NOT NULL DEFAULT 0 CHECK (shortfall >= 0),
    CHECK (customer_amount + counterparty_amount + spread_amount = 0),
    CHECK (
        CASE kind
            WHEN 'deposit' THEN customer_amount >= 0 AND spread_amount = 0 AND shortfall = 0
            ELSE customer_amount <= 0 AND counterparty_amount >= 0
        END
    )
);
-- No request is charged twice and no deposit counted twice, whatever any process does.
CREATE UNIQUE INDEX transfers_by_reference ON bardo.transfers (account, kind, reference);
CREATE INDEX transfers_by_account ON bardo.transfers (account, no);

CREATE VIEW bardo.postings AS
SELECT t.no AS transfer, l.line, t.at_ms, t.kind, t.account, l.book, l.amount, t.reference
FROM bardo.transfers AS t CROSS JOIN LATERAL (
    VALUES
        (0, 'customer:' || t.account, t.customer_amount),
        (1, t.counterparty, t.counterparty_amount),
        (2, 'spread', t.spread_amount)
) AS l (line, book, amount)
WHERE l.amount <> 0;

CREATE TABLE bardo.receipts (
    account text NOT NULL,
    request text NOT NULL CHECK (length(request) BETWEEN 1 AND 128),
    client_request text,
    key_id text,
    at_ms bigint NOT NULL CHECK (at_ms >= 0),
    model text NOT NULL,
    provider text NOT NULL,
    outcome text NOT NULL,
    input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
    output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
    provider_cost bigint NOT NULL CHECK (provider_cost >= 0),
    charge bigint NOT NULL CHECK (charge >= 0),
    savings bigint NOT NULL CHECK (savings >= 0),
    json text NOT NULL,
    PRIMARY KEY (account, request)
);
CREATE INDEX receipts_by_client_request ON bardo.receipts (account, client_request, at_ms)
WHERE client_request IS NOT NULL;
CREATE INDEX receipts_by_time ON bardo.receipts (account, at_ms);

CREATE TABLE bardo.keys (
    no bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    id text PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 128),
    account text NOT NULL CHECK (length(account) BETWEEN 1 AND 128),
    kind text NOT NULL CHECK (kind IN ('spend', 'read_only')),
    name text NOT NULL,
    hash text NOT NULL,
    models text[] NOT NULL,
    backends text[] NOT NULL,
    networks text[] NOT NULL,
    requests_per_minute bigint CHECK (requests_per_minute >= 0),
    tokens_per_minute bigint CHECK (tokens_per_minute >= 0),
    session_cap bigint CHECK (session_cap >= 0),
    day_cap bigint CHECK (day_cap >= 0),
    month_cap bigint CHECK (month_cap >= 0),
    total_cap bigint CHECK (total_cap >= 0),
    tier text CHECK (tier IN ('free', 'pro', 'golem')),
    spread bigint CHECK (spread BETWEEN 0 AND 90000),
    created_at_ms bigint NOT NULL CHECK (created_at_ms >= 0),
    expires_at_ms bigint CHECK (expires_at_ms >= 0),
    revoked_at_ms bigint CHECK (revoked_at_ms >= 0),
    replaces text
);
CREATE INDEX keys_by_account ON bardo.keys (account, no);

-- Counts the changes of keys, so that a process that missed a notice still sees that there was one.
CREATE TABLE bardo.key_revision (
    is_one_row boolean PRIMARY KEY DEFAULT true CHECK (is_one_row),
    revision bigint NOT NULL
);
INSERT INTO bardo.key_revision (revision) VALUES (1);

-- Who changed keys and deposits.
CREATE TABLE bardo.audit (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    actor text NOT NULL DEFAULT session_user,
    action text NOT NULL,
    subject text NOT NULL,
    detail text NOT NULL
);

CREATE FUNCTION bardo.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is never changed', TG_TABLE_NAME;
END $$;
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON bardo.transfers
FOR EACH STATEMENT EXECUTE FUNCTION bardo.refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON bardo.audit
FOR EACH STATEMENT EXECUTE FUNCTION bardo.refuse_change();
