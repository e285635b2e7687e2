-- Cost, cache share and latency of each part of an agent.
SELECT
    subsystem,
    model,
    count() AS requests,
    sum(cost_micro_usd) AS cost_micro_usd,
    sum(savings_micro_usd) AS savings_micro_usd,
    if(sum(input_tokens) = 0, 0, sum(cache_read_tokens) / sum(input_tokens)) AS cache_read_share,
    quantile(0.95)(duration_us) AS duration_us_p95
FROM bardo_receipts FINAL
GROUP BY subsystem, model
ORDER BY cost_micro_usd DESC, subsystem, model;
