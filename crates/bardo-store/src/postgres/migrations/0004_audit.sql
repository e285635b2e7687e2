-- What does not add up, in words; nothing when all does. Everything is looked at in one snapshot.
CREATE FUNCTION bardo.problems() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    WITH posted AS (
        SELECT account,
            coalesce(sum(customer_amount) FILTER (WHERE kind = 'deposit'), 0) AS deposited,
            coalesce(-sum(customer_amount) FILTER (WHERE kind = 'charge'), 0) AS spent
        FROM bardo.transfers GROUP BY account
    ), held AS (
        SELECT account, sum(amount) AS amount FROM bardo.holds
        WHERE state IN ('open', 'unknown') GROUP BY account
    ), counted AS (
        SELECT u.scope, u.span, u.start_ms,
            sum(CASE WHEN h.state IN ('open', 'unknown') THEN h.amount ELSE 0 END) AS held,
            sum(h.charged) AS spent
        FROM bardo.holds AS h, unnest(h.cap_scopes, h.cap_spans, h.cap_starts)
            AS u (scope, span, start_ms)
        GROUP BY u.scope, u.span, u.start_ms
    )
    SELECT format('`%s`: %s is deposited and %s posted', a.id, a.deposited, p.deposited)
    FROM bardo.accounts AS a LEFT JOIN posted AS p ON p.account = a.id
    WHERE a.deposited <> coalesce(p.deposited, 0)
    UNION ALL
    SELECT format('`%s`: %s is spent and %s posted', a.id, a.spent, p.spent)
    FROM bardo.accounts AS a LEFT JOIN posted AS p ON p.account = a.id
    WHERE a.spent <> coalesce(p.spent, 0)
    UNION ALL
    SELECT format('`%s`: the holds are %s, the sum says %s', coalesce(a.id, h.account),
        coalesce(h.amount, 0), coalesce(a.held, 0))
    FROM bardo.accounts AS a FULL JOIN held AS h ON h.account = a.id
    WHERE coalesce(a.held, 0) <> coalesce(h.amount, 0)
    UNION ALL
    SELECT format('the cap %s by %s from %s: %s is held and %s spent, the counter says %s and %s',
        coalesce(k.scope, c.scope), coalesce(k.span, c.span), coalesce(k.start_ms, c.start_ms),
        coalesce(c.held, 0), coalesce(c.spent, 0), coalesce(k.held, 0), coalesce(k.spent, 0))
    FROM bardo.cap_counters AS k
    FULL JOIN counted AS c ON (c.scope, c.span, c.start_ms) = (k.scope, k.span, k.start_ms)
    WHERE coalesce(k.held, 0) <> coalesce(c.held, 0)
        OR coalesce(k.spent, 0) <> coalesce(c.spent, 0)
    UNION ALL
    SELECT format('the request `%s` of `%s`: its hold ended at %s, %s is posted',
        coalesce(h.request, t.reference), coalesce(h.account, t.account), coalesce(h.charged, 0),
        -coalesce(t.customer_amount, 0))
    FROM (SELECT * FROM bardo.holds WHERE charged > 0) AS h
    FULL JOIN (SELECT * FROM bardo.transfers WHERE kind = 'charge') AS t
        ON t.account = h.account AND t.reference = h.request
    WHERE coalesce(h.charged, 0) <> -coalesce(t.customer_amount, 0)
    LIMIT 1000;
$$;

-- Keeps several receipts, as `keep_receipt` does one.
CREATE FUNCTION bardo.keep_receipts(p_count bigint, p_texts text[], p_numbers bigint[])
RETURNS void LANGUAGE sql AS $$
    SELECT bardo.keep_receipt(
        p_texts[(i - 1) * 8 + 1 : i * 8], p_numbers[(i - 1) * 6 + 1 : i * 6]
    ) FROM generate_series(1, p_count::integer) AS i;
$$;
