-- Everybody whose receipts are kept. The books of an account begin with its first deposit.
-- Only deltas are ever written to these rows, so that several processes can add to them.
CREATE TABLE accounts (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
    opened_at_ms INTEGER CHECK (opened_at_ms >= 0),
    deposited INTEGER NOT NULL DEFAULT 0 CHECK (deposited >= 0),
    spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
    held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
    CHECK (spent + held <= deposited),
    CHECK (opened_at_ms IS NOT NULL OR deposited = 0)
) STRICT;

-- Double entry: one row is one transfer with all its lines, which add up to zero.
-- `postings` below shows them one by one.
CREATE TABLE transfers (
    no INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL CHECK (at_ms >= 0),
    kind TEXT NOT NULL CHECK (kind IN ('deposit', 'charge')),
    account INTEGER NOT NULL REFERENCES accounts (no),
    reference TEXT NOT NULL CHECK (length(reference) BETWEEN 1 AND 512),
    -- `funding:<source>` or `provider:<backend>`.
    counterparty TEXT NOT NULL CHECK (length(counterparty) BETWEEN 1 AND 512),
    customer_amount INTEGER NOT NULL,
    counterparty_amount INTEGER NOT NULL,
    spread_amount INTEGER NOT NULL CHECK (spread_amount >= 0),
    -- What the account owed beyond what it had: no line, because nobody paid it.
    shortfall INTEGER NOT NULL DEFAULT 0 CHECK (shortfall >= 0),
    CHECK (customer_amount + counterparty_amount + spread_amount = 0),
    CHECK (
        CASE kind
            WHEN 'deposit' THEN customer_amount >= 0 AND spread_amount = 0 AND shortfall = 0
            ELSE customer_amount <= 0 AND counterparty_amount >= 0
        END
    )
) STRICT;
-- Indexes begin with what rises with time (ids of requests do), so that all that is written at
-- once lies on few pages, however many accounts there are. An account's transfers are found block
-- by block, its receipts minute by minute.
CREATE UNIQUE INDEX transfers_by_reference ON transfers (reference, account, kind);
CREATE INDEX transfers_by_account ON transfers (no / 4096, account);

CREATE VIEW postings AS
SELECT t.no AS transfer, 0 AS line, t.at_ms, t.kind, t.account, 'customer:' || a.id AS book,
    t.customer_amount AS amount, t.reference
FROM transfers t JOIN accounts a ON a.no = t.account WHERE t.customer_amount <> 0
UNION ALL
SELECT no, 1, at_ms, kind, account, counterparty, counterparty_amount, reference
FROM transfers WHERE counterparty_amount <> 0
UNION ALL
SELECT no, 2, at_ms, kind, account, 'spread', spread_amount, reference
FROM transfers WHERE spread_amount <> 0;

CREATE TRIGGER transfers_are_never_changed BEFORE UPDATE ON transfers
BEGIN SELECT RAISE(ABORT, 'transfers are never changed'); END;
CREATE TRIGGER transfers_are_never_deleted BEFORE DELETE ON transfers
BEGIN SELECT RAISE(ABORT, 'transfers are never deleted'); END;

-- Money out of reach. `caps` names the counters that the hold weighs on, as JSON.
CREATE TABLE holds (
    account INTEGER NOT NULL REFERENCES accounts (no),
    request TEXT NOT NULL CHECK (length(request) BETWEEN 1 AND 128),
    amount INTEGER NOT NULL CHECK (amount >= 0),
    state TEXT NOT NULL CHECK (state IN ('open', 'unknown')),
    caps TEXT,
    created_at_ms INTEGER NOT NULL CHECK (created_at_ms >= 0),
    expires_at_ms INTEGER NOT NULL CHECK (expires_at_ms >= 0),
    PRIMARY KEY (account, request)
) STRICT, WITHOUT ROWID;

-- What was spent under each cap, by window; what is held under it is in `holds`.
CREATE TABLE cap_counters (
    account INTEGER NOT NULL REFERENCES accounts (no),
    scope TEXT NOT NULL,
    span TEXT NOT NULL CHECK (span IN ('day', 'month', 'total')),
    starts_at_ms INTEGER NOT NULL CHECK (starts_at_ms >= 0),
    spent INTEGER NOT NULL CHECK (spent >= 0),
    PRIMARY KEY (account, scope, span, starts_at_ms)
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
    account TEXT NOT NULL CHECK (length(account) BETWEEN 1 AND 128),
    kind TEXT NOT NULL CHECK (kind IN ('spend', 'read_only')),
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    scopes TEXT NOT NULL CHECK (json_valid(scopes)),
    tier TEXT,
    spread INTEGER CHECK (spread BETWEEN 0 AND 90000),
    created_at_ms INTEGER NOT NULL CHECK (created_at_ms >= 0),
    expires_at_ms INTEGER CHECK (expires_at_ms >= 0),
    revoked_at_ms INTEGER CHECK (revoked_at_ms >= 0),
    replaces TEXT
) STRICT;
CREATE INDEX keys_by_account ON keys (account);

-- The columns that are summed; the text of a receipt is beside it, so that sums read little.
CREATE TABLE receipts (
    no INTEGER PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (no),
    request TEXT NOT NULL CHECK (length(request) BETWEEN 1 AND 128),
    client_request TEXT,
    key TEXT,
    at_ms INTEGER NOT NULL CHECK (at_ms >= 0),
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    outcome TEXT NOT NULL,
    input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
    output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
    provider_cost INTEGER NOT NULL CHECK (provider_cost >= 0),
    charge INTEGER NOT NULL CHECK (charge >= 0),
    savings INTEGER NOT NULL CHECK (savings >= 0)
) STRICT;
CREATE UNIQUE INDEX receipts_by_request ON receipts (request, account);
CREATE INDEX receipts_by_client_request ON receipts (client_request, account)
WHERE client_request IS NOT NULL;
CREATE INDEX receipts_by_minute ON receipts (at_ms / 60000, account);
CREATE TABLE receipt_texts (
    no INTEGER PRIMARY KEY,
    json TEXT NOT NULL
) STRICT;

-- One row, written to find out whether writing works again.
CREATE TABLE probe (
    no INTEGER PRIMARY KEY CHECK (no = 1),
    tries INTEGER NOT NULL
) STRICT;
INSERT INTO probe (no, tries) VALUES (1, 0);

-- What other processes did to money and keys, for the server to read.
CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('deposit', 'settle', 'keys')),
    account TEXT,
    reference TEXT
) STRICT;

-- Who changed keys and deposits.
CREATE TABLE audit (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is never changed'); END;
CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is never deleted'); END;
