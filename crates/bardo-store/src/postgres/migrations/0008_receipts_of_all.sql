-- What operators sum and filter by. A cost that nobody knows is null; earlier receipts stay as they
-- are.
ALTER TABLE bardo.receipts
    ADD COLUMN subsystem text,
    ADD COLUMN session text,
    ALTER COLUMN provider_cost DROP NOT NULL;

-- The newest receipts of all accounts, and all of a time. It finds old ones as well. Over very many
-- receipts an operator can make it beforehand, while an earlier version serves.
CREATE INDEX IF NOT EXISTS receipts_by_moment ON bardo.receipts (at_ms);
DROP INDEX bardo.receipts_by_age;

-- Keeps a receipt: `p_texts` are account, request, the caller's id, key, model, provider, outcome,
-- JSON, subsystem and session; `p_numbers` are time, tokens in and out, cost, charge, savings, and,
-- where they are known, spread, shortfall and balance. A gateway of an earlier version sends the
-- first eight texts.
CREATE OR REPLACE FUNCTION bardo.keep_receipt(p_texts text[], p_numbers bigint[])
RETURNS void LANGUAGE sql AS $$
    INSERT INTO bardo.receipts (
        account, request, client_request, key_id, model, provider, outcome, json,
        subsystem, session,
        at_ms, input_tokens, output_tokens, provider_cost, charge, savings,
        spread, shortfall, balance
    ) VALUES (
        p_texts[1], p_texts[2], p_texts[3], p_texts[4], p_texts[5], p_texts[6], p_texts[7],
        p_texts[8], p_texts[9], p_texts[10],
        p_numbers[1], p_numbers[2], p_numbers[3], p_numbers[4], p_numbers[5],
        p_numbers[6], p_numbers[7], p_numbers[8], p_numbers[9]
    ) ON CONFLICT (account, request) DO UPDATE SET
        client_request = excluded.client_request, key_id = excluded.key_id,
        model = excluded.model, provider = excluded.provider, outcome = excluded.outcome,
        json = excluded.json, subsystem = excluded.subsystem, session = excluded.session,
        at_ms = excluded.at_ms, input_tokens = excluded.input_tokens,
        output_tokens = excluded.output_tokens, provider_cost = excluded.provider_cost,
        charge = excluded.charge, savings = excluded.savings, spread = excluded.spread,
        shortfall = excluded.shortfall, balance = excluded.balance;
$$;

-- Keeps several: each has the same number of texts, and of numbers.
CREATE OR REPLACE FUNCTION bardo.keep_receipts(p_count bigint, p_texts text[], p_numbers bigint[])
RETURNS void LANGUAGE sql AS $$
    SELECT bardo.keep_receipt(
        p_texts[(i - 1) * w.texts + 1 : i * w.texts],
        p_numbers[(i - 1) * w.numbers + 1 : i * w.numbers]
    ) FROM (
        SELECT (cardinality(p_texts) / p_count)::integer AS texts,
            (cardinality(p_numbers) / p_count)::integer AS numbers
    ) AS w CROSS JOIN generate_series(1, p_count::integer) AS i;
$$;
