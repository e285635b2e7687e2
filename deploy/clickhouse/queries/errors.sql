-- Requests that did not finish, by backend and reason.
SELECT
    backend,
    model,
    error,
    count() AS requests,
    max(received_at) AS last
FROM bardo_receipts FINAL
WHERE outcome != 'finished'
GROUP BY backend, model, error
ORDER BY requests DESC, backend, model, error;
