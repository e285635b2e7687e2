-- Cost and tokens of each agent and day, the most expensive first.
SELECT
    toDate(received_at) AS day,
    golem,
    count() AS requests,
    sum(input_tokens) AS input_tokens,
    sum(output_tokens) AS output_tokens,
    sum(cost_micro_usd) AS cost_micro_usd,
    countIf(bardo_receipts.cost_micro_usd IS NULL) AS without_price
FROM bardo_receipts FINAL
WHERE golem != ''
GROUP BY day, golem
ORDER BY day DESC, cost_micro_usd DESC, golem;
