-- Payments that callers signed for a chain. A wallet's figures are sums over its claims, kept in the
-- same transactions. Amounts are 10^-6 USD.
CREATE TABLE wallets (
    wallet TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    open_claims INTEGER NOT NULL CHECK (open_claims >= 0),
    exposure INTEGER NOT NULL CHECK (exposure >= 0),
    debt INTEGER NOT NULL CHECK (debt >= 0),
    settlements INTEGER NOT NULL CHECK (settlements >= 0),
    settled INTEGER NOT NULL CHECK (settled >= 0),
    booked INTEGER NOT NULL CHECK (booked >= 0)
) STRICT;

-- `key` is the signed authorization: nobody claims it twice, whatever any process does. What is
-- settled never exceeds what was signed.
CREATE TABLE claims (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    wallet TEXT NOT NULL REFERENCES wallets (wallet),
    version INTEGER NOT NULL,
    request TEXT NOT NULL,
    account TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    quote TEXT NOT NULL,
    scheme TEXT NOT NULL CHECK (scheme IN ('exact', 'upto')),
    first TEXT NOT NULL CHECK (first IN ('serve_first', 'settle_first')),
    ceiling INTEGER NOT NULL CHECK (ceiling >= 0),
    deadline_s INTEGER NOT NULL,
    payload TEXT NOT NULL,
    service TEXT NOT NULL CHECK (service IN ('pending', 'started', 'done')),
    stage TEXT NOT NULL
        CHECK (stage IN ('claimed', 'owed', 'settling', 'settled', 'failed', 'void')),
    used INTEGER NOT NULL CHECK (used BETWEEN 0 AND ceiling),
    amount INTEGER NOT NULL CHECK (amount BETWEEN 0 AND ceiling),
    transactions TEXT NOT NULL,
    settled_by TEXT,
    settled_amount INTEGER CHECK (settled_amount BETWEEN 0 AND ceiling),
    settled_block INTEGER,
    booked INTEGER CHECK (booked BETWEEN 0 AND ceiling),
    reason TEXT,
    debt_end TEXT,
    debt INTEGER NOT NULL CHECK (debt >= 0),
    prunable INTEGER NOT NULL,
    claimed_at_ms INTEGER NOT NULL,
    changed_at_ms INTEGER NOT NULL,
    stale_at_ms INTEGER NOT NULL,
    due_at_ms INTEGER,
    lease_owner TEXT NOT NULL,
    lease_no INTEGER NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    CHECK ((stage = 'settled') = (settled_by IS NOT NULL)),
    CHECK ((settled_by IS NULL) = (settled_amount IS NULL))
) STRICT;
CREATE INDEX claims_by_wallet ON claims (wallet, no);
CREATE INDEX claims_by_account ON claims (account, no);
CREATE INDEX claims_by_request ON claims (request);
CREATE INDEX claims_due ON claims (due_at_ms, no) WHERE due_at_ms IS NOT NULL;
CREATE INDEX claims_not_settled ON claims (stage, no) WHERE stage <> 'settled';
CREATE INDEX claims_with_debt ON claims (no) WHERE debt > 0;
CREATE INDEX claims_to_prune ON claims (deadline_s) WHERE prunable = 1;

-- Every transaction that was made to settle a claim, or that settled it.
CREATE TABLE claim_transactions (
    chain_id INTEGER NOT NULL,
    hash TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (chain_id, hash)
) STRICT, WITHOUT ROWID;

-- Transfers to the gateway's address, each log once.
CREATE TABLE chain_deposits (
    log TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    sender TEXT NOT NULL,
    account TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    block INTEGER NOT NULL,
    block_hash TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'confirmed', 'credited', 'reversed')),
    changed_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX chain_deposits_by_state ON chain_deposits (state, log);

-- How far watchers of chains are, and what gas was spent.
CREATE TABLE chain_values (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
