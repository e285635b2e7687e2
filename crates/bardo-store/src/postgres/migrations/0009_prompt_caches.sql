-- Tokens that providers read from and wrote to their prompt caches, and the saving in 10^-6 USD, which
-- is below zero where the premium of writes was higher. Earlier receipts have zeros.
ALTER TABLE bardo.receipts
    ADD COLUMN cache_read_tokens bigint NOT NULL DEFAULT 0 CHECK (cache_read_tokens >= 0),
    ADD COLUMN cache_written_tokens bigint NOT NULL DEFAULT 0 CHECK (cache_written_tokens >= 0),
    ADD COLUMN cache_saved bigint NOT NULL DEFAULT 0;

-- Keeps a receipt: `p_texts` are account, request, the caller's id, key, model, provider, outcome,
-- JSON, subsystem, session, and as decimal texts the tokens of the prompt cache read and written and
-- the saving; `p_numbers` are time, tokens in and out, cost, charge, savings, and, where they are
-- known, spread, shortfall and balance. A gateway of an earlier version sends the first eight or ten
-- texts.
CREATE OR REPLACE FUNCTION bardo.keep_receipt(p_texts text[], p_numbers bigint[])
RETURNS void LANGUAGE sql AS $$
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
