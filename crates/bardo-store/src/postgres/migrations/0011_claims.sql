-- Payments that callers signed for a chain. A wallet's figures are sums over its claims, kept in the
-- same transactions. Amounts are 10⁻⁶ USD.
CREATE TABLE bardo.wallets (
    wallet text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    open_claims bigint NOT NULL CHECK (open_claims >= 0),
    exposure bigint NOT NULL CHECK (exposure >= 0),
    debt bigint NOT NULL CHECK (debt >= 0),
    settlements bigint NOT NULL CHECK (settlements >= 0),
    settled bigint NOT NULL CHECK (settled >= 0),
    booked bigint NOT NULL CHECK (booked >= 0),
    -- The call that changed it last, so that the same call sent twice is told from another.
    attempt bigint
) WITH (fillfactor = 50);

-- `key` is the signed authorization: nobody claims it twice, whatever any process does. What is
-- settled never exceeds what was signed.
CREATE SEQUENCE bardo.claims_no_seq;
CREATE TABLE bardo.claims (
    key text COLLATE "C" PRIMARY KEY,
    wallet text COLLATE "C" NOT NULL REFERENCES bardo.wallets (wallet),
    no bigint NOT NULL UNIQUE,
    version bigint NOT NULL,
    request text NOT NULL,
    account text NOT NULL,
    body_hash text NOT NULL,
    quote text NOT NULL,
    scheme text NOT NULL CHECK (scheme IN ('exact', 'upto')),
    first text NOT NULL CHECK (first IN ('serve_first', 'settle_first')),
    ceiling bigint NOT NULL CHECK (ceiling >= 0),
    deadline_s bigint NOT NULL,
    payload text NOT NULL,
    service text NOT NULL CHECK (service IN ('pending', 'started', 'done')),
    stage text NOT NULL
        CHECK (stage IN ('claimed', 'owed', 'settling', 'settled', 'failed', 'void')),
    used bigint NOT NULL CHECK (used BETWEEN 0 AND ceiling),
    amount bigint NOT NULL CHECK (amount BETWEEN 0 AND ceiling),
    transactions text NOT NULL,
    settled_by text,
    settled_amount bigint CHECK (settled_amount BETWEEN 0 AND ceiling),
    settled_block bigint,
    booked bigint CHECK (booked BETWEEN 0 AND ceiling),
    reason text,
    debt_end text,
    debt bigint NOT NULL CHECK (debt >= 0),
    prunable bigint NOT NULL,
    claimed_at_ms bigint NOT NULL,
    changed_at_ms bigint NOT NULL,
    stale_at_ms bigint NOT NULL,
    due_at_ms bigint,
    lease_owner text NOT NULL,
    lease_no bigint NOT NULL,
    lease_until_ms bigint NOT NULL,
    CHECK ((stage = 'settled') = (settled_by IS NOT NULL)),
    CHECK ((settled_by IS NULL) = (settled_amount IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX claims_by_wallet ON bardo.claims (wallet, no);
CREATE INDEX claims_by_account ON bardo.claims (account, no);
CREATE INDEX claims_by_request ON bardo.claims (request);
CREATE INDEX claims_due ON bardo.claims (due_at_ms, no) WHERE due_at_ms IS NOT NULL;
CREATE INDEX claims_not_settled ON bardo.claims (stage, no) WHERE stage <> 'settled';
CREATE INDEX claims_with_debt ON bardo.claims (no) WHERE debt > 0;
CREATE INDEX claims_to_prune ON bardo.claims (deadline_s) WHERE prunable = 1;

-- Every transaction that was made to settle a claim, or that settled it.
CREATE TABLE bardo.claim_transactions (
    chain_id bigint NOT NULL,
    hash text NOT NULL,
    key text NOT NULL,
    PRIMARY KEY (chain_id, hash)
);

-- Transfers to the gateway's address, each log once.
CREATE TABLE bardo.chain_deposits (
    log text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    sender text NOT NULL,
    account text NOT NULL,
    amount bigint NOT NULL CHECK (amount >= 0),
    block bigint NOT NULL,
    block_hash text NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'confirmed', 'credited', 'reversed')),
    changed_at_ms bigint NOT NULL
);
CREATE INDEX chain_deposits_by_state ON bardo.chain_deposits (state, log);

-- How far watchers of chains are, and what gas was spent.
CREATE TABLE bardo.chain_values (
    name text PRIMARY KEY,
    value text NOT NULL
);

-- Keeps a claim and its wallet if both have the versions that they were read with. The claim is
-- locked before the wallet, always.
CREATE FUNCTION bardo.commit_claim(
    p_wallet jsonb, p_claim jsonb, p_is_removed boolean, p_hashes text[], p_chain bigint,
    p_attempt bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    w bardo.wallets := jsonb_populate_record(NULL::bardo.wallets, p_wallet);
    c bardo.claims := jsonb_populate_record(NULL::bardo.claims, p_claim);
    found_version bigint;
BEGIN
    SELECT version INTO found_version FROM bardo.claims WHERE key = c.key FOR UPDATE;
    -- This very call was carried out, and its answer was lost.
    IF EXISTS (SELECT FROM bardo.wallets WHERE wallet = w.wallet AND attempt = p_attempt) THEN
        RETURN true;
    END IF;
    IF coalesce(found_version, 0) <> c.version THEN
        RETURN false;
    END IF;
    w.attempt := p_attempt;
    w.version := w.version + 1;
    IF w.version = 1 THEN
        INSERT INTO bardo.wallets VALUES (w.*) ON CONFLICT (wallet) DO NOTHING;
    ELSE
        UPDATE bardo.wallets SET version = w.version, open_claims = w.open_claims,
            exposure = w.exposure, debt = w.debt, settlements = w.settlements,
            settled = w.settled, booked = w.booked, attempt = w.attempt
        WHERE wallet = w.wallet AND version = w.version - 1;
    END IF;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM bardo.claims WHERE key = c.key;
    IF NOT p_is_removed THEN
        c.version := c.version + 1;
        IF c.no = 0 THEN
            c.no := nextval('bardo.claims_no_seq');
        END IF;
        INSERT INTO bardo.claims VALUES (c.*);
        INSERT INTO bardo.claim_transactions
        SELECT p_chain, hash, c.key FROM unnest(p_hashes) AS hash ON CONFLICT DO NOTHING;
    END IF;
    RETURN true;
END $$;

-- Keeps a deposit if it has the version that it was read with.
CREATE FUNCTION bardo.put_chain_deposit(p_deposit jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    d bardo.chain_deposits := jsonb_populate_record(NULL::bardo.chain_deposits, p_deposit);
BEGIN
    d.version := d.version + 1;
    IF d.version = 1 THEN
        INSERT INTO bardo.chain_deposits VALUES (d.*) ON CONFLICT (log) DO NOTHING;
    ELSE
        UPDATE bardo.chain_deposits SET version = d.version, sender = d.sender,
            account = d.account, amount = d.amount, block = d.block, block_hash = d.block_hash,
            state = d.state, changed_at_ms = d.changed_at_ms
        WHERE log = d.log AND version = d.version - 1;
    END IF;
    RETURN FOUND;
END $$;

-- Writes a value if it is still the expected one; no value is null.
CREATE FUNCTION bardo.swap_chain_value(p_name text, p_from text, p_to text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF p_from IS NULL THEN
        INSERT INTO bardo.chain_values VALUES (p_name, p_to) ON CONFLICT DO NOTHING;
    ELSE
        UPDATE bardo.chain_values SET value = p_to WHERE name = p_name AND value = p_from;
    END IF;
    RETURN FOUND;
END $$;
