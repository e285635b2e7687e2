-- Cost and length of each session.
SELECT
    account,
    session,
    min(received_at) AS begun,
    max(received_at) AS last,
    count() AS requests,
    sum(cost_micro_usd) AS cost_micro_usd,
    countIf(outcome != 'finished') AS not_finished
FROM bardo_receipts FINAL
WHERE session != ''
GROUP BY account, session
ORDER BY cost_micro_usd DESC, account, session;
