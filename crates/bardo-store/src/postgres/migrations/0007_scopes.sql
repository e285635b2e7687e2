-- Scopes as one text, in the form that every store has: a scope that is added later needs no
-- column. What was in columns is carried over. A gateway of an earlier version cannot read a key
-- any more, so it lets no key do more than it may.
ALTER TABLE bardo.keys ADD COLUMN scopes jsonb;
UPDATE bardo.keys SET scopes = jsonb_strip_nulls(jsonb_build_object(
    'models', CASE WHEN cardinality(models) > 0 THEN to_jsonb(models) END,
    'backends', CASE WHEN cardinality(backends) > 0 THEN to_jsonb(backends) END,
    'networks', CASE WHEN cardinality(networks) > 0 THEN to_jsonb(networks) END,
    'requests_per_minute', requests_per_minute,
    'tokens_per_minute', tokens_per_minute,
    'spend_session', session_cap,
    'spend_day', day_cap,
    'spend_month', month_cap,
    'spend_total', total_cap
));
ALTER TABLE bardo.keys
    ALTER COLUMN scopes SET NOT NULL,
    ADD CHECK (jsonb_typeof(scopes) = 'object'),
    DROP COLUMN models, DROP COLUMN backends, DROP COLUMN networks,
    DROP COLUMN requests_per_minute, DROP COLUMN tokens_per_minute,
    DROP COLUMN session_cap, DROP COLUMN day_cap, DROP COLUMN month_cap, DROP COLUMN total_cap;

DROP FUNCTION bardo.insert_key(text[], bigint[], text[], text[], text[]);
DROP FUNCTION bardo.update_key(text[], bigint[], text[], text[], text[]);

-- Stores a new key. `p_texts` are id, account, kind, name, hash, tier and the key that it replaces;
-- `p_numbers` are spread, and the times of creation, expiry and revocation. The revision is null
-- where another key has the id.
CREATE FUNCTION bardo.insert_key(
    p_texts text[], p_numbers bigint[], p_scopes text, OUT revision bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO bardo.keys (
        id, account, kind, name, hash, tier, replaces, scopes, spread,
        created_at_ms, expires_at_ms, revoked_at_ms
    ) VALUES (
        p_texts[1], p_texts[2], p_texts[3], p_texts[4], p_texts[5], p_texts[6], p_texts[7],
        p_scopes::jsonb, p_numbers[1], p_numbers[2], p_numbers[3], p_numbers[4]
    ) ON CONFLICT (id) DO NOTHING;
    IF FOUND THEN
        insert_key.revision := bardo.key_changed(p_texts[1], 'key made', 'for ' || p_texts[2]);
        RETURN;
    END IF;
    -- The same call sent twice has the same salted hash; nobody else's key has.
    SELECT r.revision INTO insert_key.revision FROM bardo.key_revision AS r
    WHERE EXISTS (SELECT FROM bardo.keys WHERE id = p_texts[1] AND hash = p_texts[5]);
END $$;

-- Changes a key; the first arguments are those above. `p_from` are the scopes that the change was
-- decided on, or null for any; `p_note` is the line of the audit log. The revision is null where
-- there is no such key and -1 where it has other scopes by now. A revocation is never taken back.
CREATE FUNCTION bardo.update_key(
    p_texts text[], p_numbers bigint[], p_scopes text, p_from text, p_note text,
    OUT revision bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_scopes jsonb;
BEGIN
    SELECT scopes INTO v_scopes FROM bardo.keys WHERE id = p_texts[1] FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- A call that is sent twice finds its own scopes.
    IF p_from IS NOT NULL AND v_scopes NOT IN (p_from::jsonb, p_scopes::jsonb) THEN
        update_key.revision := -1;
        RETURN;
    END IF;
    UPDATE bardo.keys SET
        name = p_texts[4], tier = p_texts[6], scopes = p_scopes::jsonb, spread = p_numbers[1],
        expires_at_ms = p_numbers[3], revoked_at_ms = least(revoked_at_ms, p_numbers[4])
    WHERE id = p_texts[1];
    update_key.revision := bardo.key_changed(
        p_texts[1], CASE WHEN p_numbers[4] IS NULL THEN 'key changed' ELSE 'key revoked' END, p_note
    );
END $$;
