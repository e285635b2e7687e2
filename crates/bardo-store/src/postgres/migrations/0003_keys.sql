-- Counts a change of a key and tells every process that listens.
CREATE FUNCTION bardo.key_changed(p_id text, p_action text, p_detail text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_revision bigint;
BEGIN
    UPDATE bardo.key_revision SET revision = revision + 1 RETURNING revision INTO v_revision;
    INSERT INTO bardo.audit (action, subject, detail) VALUES (p_action, p_id, p_detail);
    PERFORM pg_notify('bardo_keys', v_revision::text);
    RETURN v_revision;
END $$;

-- Keeps a new key. `p_texts` are id, account, kind, name, hash, tier and the key it replaces;
-- `p_numbers` are requests and tokens per minute, the caps per session, day, month and in all,
-- spread, and the times of making, expiry and revocation. The revision is null where another key
-- has the id.
CREATE FUNCTION bardo.insert_key(
    p_texts text[], p_numbers bigint[], p_models text[], p_backends text[], p_networks text[],
    OUT revision bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO bardo.keys (
        id, account, kind, name, hash, tier, replaces, models, backends, networks,
        requests_per_minute, tokens_per_minute, session_cap, day_cap, month_cap, total_cap, spread,
        created_at_ms, expires_at_ms, revoked_at_ms
    ) VALUES (
        p_texts[1], p_texts[2], p_texts[3], p_texts[4], p_texts[5], p_texts[6], p_texts[7],
        p_models, p_backends, p_networks, p_numbers[1], p_numbers[2], p_numbers[3], p_numbers[4],
        p_numbers[5], p_numbers[6], p_numbers[7], p_numbers[8], p_numbers[9], p_numbers[10]
    ) ON CONFLICT (id) DO NOTHING;
    IF FOUND THEN
        insert_key.revision := bardo.key_changed(p_texts[1], 'key made', 'for ' || p_texts[2]);
        RETURN;
    END IF;
    -- The same call sent twice has the same salted hash; nobody else's key has.
    SELECT r.revision INTO insert_key.revision FROM bardo.key_revision AS r
    WHERE EXISTS (SELECT FROM bardo.keys WHERE id = p_texts[1] AND hash = p_texts[5]);
END $$;

-- Changes a key; the arguments are those above. The revision is null where there is no such key.
CREATE FUNCTION bardo.update_key(
    p_texts text[], p_numbers bigint[], p_models text[], p_backends text[], p_networks text[],
    OUT revision bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    UPDATE bardo.keys SET
        name = p_texts[4], tier = p_texts[6], models = p_models, backends = p_backends,
        networks = p_networks, requests_per_minute = p_numbers[1],
        tokens_per_minute = p_numbers[2], session_cap = p_numbers[3], day_cap = p_numbers[4],
        month_cap = p_numbers[5], total_cap = p_numbers[6], spread = p_numbers[7],
        expires_at_ms = p_numbers[9], revoked_at_ms = p_numbers[10]
    WHERE id = p_texts[1];
    IF FOUND THEN
        update_key.revision := bardo.key_changed(
            p_texts[1], 'key changed', CASE WHEN p_numbers[10] IS NULL THEN 'in use' ELSE 'revoked' END
        );
    END IF;
END $$;
