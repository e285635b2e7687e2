//! Settings of LiteLLM that are not converted, and why.

use serde_json::Value;

use super::ImportFindings;

/// (section, setting, whether it changes or is omitted, reason).
const KNOWN: &[(&str, &str, bool, &str)] = &[
    (
        "router_settings",
        "routing_strategy",
        true,
        "backends are tried in an order (`inference.provider_order`); only `bardo/auto` compares price and latency",
    ),
    (
        "router_settings",
        "routing_strategy_args",
        false,
        "there is no such strategy",
    ),
    (
        "router_settings",
        "enable_pre_call_checks",
        true,
        "requirements of a request are always checked before a backend is chosen",
    ),
    (
        "router_settings",
        "retry_policy",
        false,
        "what may be retried is fixed, so that no request is billed twice",
    ),
    (
        "router_settings",
        "model_group_retry_policy",
        false,
        "what may be retried is fixed, so that no request is billed twice",
    ),
    (
        "router_settings",
        "retry_after",
        false,
        "the gateway obeys `Retry-After` of providers",
    ),
    (
        "router_settings",
        "cache_responses",
        true,
        "`cache` stores answers to identical requests",
    ),
    (
        "router_settings",
        "optional_pre_call_checks",
        false,
        "there is no counterpart",
    ),
    (
        "router_settings",
        "tag_filtering",
        false,
        "requests choose no backend by tags; use `backend=NAME` scopes of keys",
    ),
    (
        "router_settings",
        "enable_tag_filtering",
        false,
        "requests choose no backend by tags; use `backend=NAME` scopes of keys",
    ),
    (
        "router_settings",
        "provider_budget_config",
        false,
        "budgets belong to keys: `keys create --spend-day USD`",
    ),
    (
        "litellm_settings",
        "drop_params",
        true,
        "a translation always removes parameters that a model refuses, and names them in `x-bardo-degraded`; a relay removes nothing",
    ),
    (
        "litellm_settings",
        "modify_params",
        true,
        "requests are changed only as docs/relay.md and docs/translation.md say",
    ),
    (
        "litellm_settings",
        "set_verbose",
        false,
        "set RUST_LOG=info,bardo::requests=debug",
    ),
    (
        "litellm_settings",
        "json_logs",
        false,
        "logs are lines of text",
    ),
    (
        "litellm_settings",
        "turn_off_message_logging",
        true,
        "prompts are never logged",
    ),
    (
        "litellm_settings",
        "redact_user_api_key_info",
        true,
        "keys are never logged",
    ),
    (
        "litellm_settings",
        "max_budget",
        false,
        "there is no budget for the whole gateway; set one for each key: `keys create --spend-month USD`",
    ),
    (
        "litellm_settings",
        "budget_duration",
        false,
        "a cap is per day or per month: `keys create --spend-day USD`",
    ),
    (
        "litellm_settings",
        "max_internal_user_budget",
        false,
        "budgets belong to keys: `keys create --spend-month USD`",
    ),
    (
        "litellm_settings",
        "internal_user_budget_duration",
        false,
        "budgets belong to keys: `keys create --spend-month USD`",
    ),
    (
        "litellm_settings",
        "default_team_settings",
        false,
        "a team is an account with several keys",
    ),
    (
        "litellm_settings",
        "default_internal_user_params",
        false,
        "a user is an account with keys",
    ),
    (
        "litellm_settings",
        "upperbound_key_generate_params",
        false,
        "only operators create keys",
    ),
    (
        "litellm_settings",
        "guardrails",
        false,
        "`screening.refused_phrases` refuses phrases; there are no other guardrails",
    ),
    (
        "litellm_settings",
        "ssl_verify",
        false,
        "certificates are always verified",
    ),
    (
        "litellm_settings",
        "force_ipv4",
        false,
        "there is no counterpart",
    ),
    (
        "litellm_settings",
        "allowed_fails",
        true,
        "it is `upstream.breaker.failures`; set it in `router_settings` to import it",
    ),
    (
        "litellm_settings",
        "enable_json_schema_validation",
        true,
        "answers with a schema are always validated",
    ),
    (
        "general_settings",
        "database_connection_pool_limit",
        false,
        "the number of connections is fixed",
    ),
    (
        "general_settings",
        "database_connection_timeout",
        false,
        "the time limit is fixed",
    ),
    (
        "general_settings",
        "store_model_in_db",
        false,
        "models are in the file, which is read again when it changes",
    ),
    (
        "general_settings",
        "store_prompts_in_spend_logs",
        false,
        "prompts are never stored in receipts",
    ),
    (
        "general_settings",
        "disable_spend_logs",
        false,
        "every request has a receipt; `store.keep_receipts` says for how long",
    ),
    (
        "general_settings",
        "maximum_spend_logs_retention_period",
        true,
        "it is `store.keep_receipts`",
    ),
    (
        "general_settings",
        "alerting",
        false,
        "alerts are sent to webhooks, Slack's too: `alerts: { webhooks: [{ url: \"env:SLACK_WEBHOOK_URL\" }] }`, docs/alerts.md",
    ),
    (
        "general_settings",
        "alerting_threshold",
        false,
        "the thresholds are `alerts.low_balance_usd` and others: docs/alerts.md",
    ),
    (
        "general_settings",
        "alerting_args",
        false,
        "the thresholds are `alerts.low_balance_usd` and others: docs/alerts.md",
    ),
    (
        "general_settings",
        "max_parallel_requests",
        false,
        "the number of parallel requests is not limited; `server.max_bodies` limits their memory",
    ),
    (
        "general_settings",
        "global_max_parallel_requests",
        false,
        "the number of parallel requests is not limited; `server.max_bodies` limits their memory",
    ),
    (
        "general_settings",
        "background_health_checks",
        true,
        "idle backends are always probed (`upstream.probe_every`)",
    ),
    (
        "general_settings",
        "allowed_ips",
        false,
        "networks belong to keys: `keys create --ip NETWORK`",
    ),
    (
        "general_settings",
        "custom_auth",
        false,
        "keys come from `auth.keys` and `keys create`, or from Privy (`auth.privy`)",
    ),
    (
        "general_settings",
        "enable_jwt_auth",
        false,
        "tokens are accepted from Privy alone (`auth.privy`)",
    ),
    (
        "general_settings",
        "litellm_key_header_name",
        false,
        "keys are sent as `Authorization: Bearer` or `x-api-key`",
    ),
    (
        "general_settings",
        "pass_through_endpoints",
        false,
        "there are no pass-through endpoints",
    ),
    (
        "general_settings",
        "proxy_batch_write_at",
        false,
        "charges are always on disk before an answer ends",
    ),
    (
        "general_settings",
        "proxy_budget_rescheduler_min_time",
        false,
        "caps renew at midnight UTC",
    ),
    (
        "general_settings",
        "proxy_budget_rescheduler_max_time",
        false,
        "caps renew at midnight UTC",
    ),
    (
        "general_settings",
        "use_redis_transaction_buffer",
        false,
        "charges are decided by the store",
    ),
    (
        "general_settings",
        "key_management_system",
        false,
        "secrets come from variables (`env:NAME`) and files (`file:PATH`)",
    ),
    (
        "general_settings",
        "key_management_settings",
        false,
        "secrets come from variables (`env:NAME`) and files (`file:PATH`)",
    ),
    (
        "general_settings",
        "ui_access_mode",
        false,
        "the admin listener has one token for operators",
    ),
];

/// Names a setting that is not taken over.
pub(super) fn explain(section: &str, name: &str, value: &Value, found: &mut ImportFindings) {
    let place = format!("{section}.{name}");
    let known = KNOWN
        .iter()
        .find(|(of, known, ..)| *of == section && *known == name);
    match known {
        Some((_, _, true, reason)) => found.changed(place, *reason),
        Some((_, _, false, reason)) => found.omitted(place, *reason),
        None if matches!(value, Value::Bool(false)) => {}
        None => found.omitted(place, "there is no counterpart"),
    }
}
