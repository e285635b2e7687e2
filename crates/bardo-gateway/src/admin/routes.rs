//! The routes of the operators' listener: the router finds them here, and `/openapi.json` describes
//! them from here.

use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::payments::WriteOff;
use super::{CreateKey, DepositBody, ReconcileRequest, RotateRequest, SetKey};
use crate::caches::{FlushOrder, InvalidateOrder};

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    Json,
    /// JSON, or CSV where the request asks for it.
    Table,
    /// The text format of OpenMetrics.
    Metrics,
}

/// A route, with what its readers need to know of it.
pub(crate) struct AdminRoute {
    pub(crate) operation: AdminOperation,
    /// Name of the operation, for programs that make clients of the description.
    pub(crate) name: &'static str,
    pub(crate) method: &'static str,
    /// Path; a part in braces is a name.
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    /// Names of the parameters of the query.
    pub(crate) query: &'static [&'static str],
    /// Schema of the body; `None`: there is none.
    pub(crate) body: Option<fn(&mut SchemaGenerator) -> Schema>,
    /// A body is required.
    pub(crate) needs_body: bool,
    pub(crate) answer: AnswerForm,
    /// Members that an answer always has.
    pub(crate) members: &'static [&'static str],
}

/// Declares the operations with their routes.
macro_rules! admin_routes {
    ($($operation:ident: $method:literal $path:literal, $summary:literal,
        query $query:expr, body $body:expr, $answer:ident, $members:expr;)+) => {
        /// A thing that an operator reads or does.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum AdminOperation { $($operation,)+ }

        /// All routes. Those of one path stand in the order of their methods.
        pub(crate) const ROUTES: &[AdminRoute] = &[$(AdminRoute {
            operation: AdminOperation::$operation,
            name: stringify!($operation),
            method: $method,
            path: $path,
            summary: $summary,
            query: $query,
            body: $body.0,
            needs_body: $body.1,
            answer: AnswerForm::$answer,
            members: $members,
        },)+];
    };
}

type BodySchema = (Option<fn(&mut SchemaGenerator) -> Schema>, bool);

const NONE: BodySchema = (None, false);

/// A body that may be left out.
const fn may<T: JsonSchema>() -> BodySchema {
    (Some(schema::<T>), false)
}

const fn must<T: JsonSchema>() -> BodySchema {
    (Some(schema::<T>), true)
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Parameters of reports that cover receipts.
const RECEIPTS: &[&str] = &[
    "since",
    "from",
    "to",
    "account",
    "key",
    "model",
    "backend",
    "subsystem",
    "session",
    "outcome",
    "golem",
    "cache",
    "min_cost",
    "request",
    "limit",
    "cursor",
    "format",
];
const SUMS: &[&str] = &[
    "by",
    "since",
    "from",
    "to",
    "account",
    "key",
    "model",
    "backend",
    "subsystem",
    "session",
    "outcome",
    "format",
];
const PERIOD: &[&str] = &["since", "from", "to"];
const CHART: &[&str] = &[
    "by", "step", "figures", "limit", "format", "since", "from", "to",
];
const TOP: &[&str] = &["by", "order", "limit", "format", "since", "from", "to"];
const LIST: &[&str] = &["format", "since", "from", "to"];
const PAGES: &[&str] = &["limit", "after", "format"];
const PAYMENTS: &[&str] = &[
    "stage", "wallet", "account", "since", "from", "to", "limit", "cursor", "format",
];
const DEBTS: &[&str] = &[
    "wallet", "account", "since", "from", "to", "limit", "cursor", "format",
];

admin_routes! {
    Live: "GET" "/health/live", "Whether the process answers", query &[], body NONE, Json, &["status"];
    Ready: "GET" "/health/ready", "Whether the gateway takes requests, and which backends are down", query &[], body NONE, Json, &["status", "store", "mode", "down"];
    Status: "GET" "/status", "Settings in force, backends, lists of models and circuits", query &[], body NONE, Json, &["version", "config", "backends", "lists"];
    Metrics: "GET" "/metrics", "Metrics in the text format of OpenMetrics", query &[], body NONE, Metrics, &[];
    OpenApi: "GET" "/openapi.json", "This description", query &[], body NONE, Json, &["openapi", "paths"];
    ListKeys: "GET" "/admin/keys", "List the keys, without their secrets", query &[], body NONE, Json, &["keys"];
    CreateKey: "POST" "/admin/keys", "Create a key. Its text is in this answer alone", query &[], body may::<CreateKey>(), Json, &["id", "key"];
    ShowKey: "GET" "/admin/keys/{id}", "Show a key with its limits", query &[], body NONE, Json, &["id"];
    SetKey: "PATCH" "/admin/keys/{id}", "Change the limits of a key", query &[], body must::<SetKey>(), Json, &["id"];
    DeleteKey: "DELETE" "/admin/keys/{id}", "Revoke a key", query &[], body NONE, Json, &["id"];
    RevokeKey: "POST" "/admin/keys/{id}/revoke", "Revoke a key", query &[], body NONE, Json, &["id"];
    RotateKey: "POST" "/admin/keys/{id}/rotate", "Replace a key", query &[], body may::<RotateRequest>(), Json, &["id", "key"];
    ShowBalance: "GET" "/admin/balances/{account}", "The balance of an account, or of the account of a key", query &[], body NONE, Json, &["account", "available"];
    Deposit: "POST" "/admin/balances/{account}/deposits", "Deposit money", query &[], body must::<DepositBody>(), Json, &["account", "available"];
    Postings: "GET" "/admin/balances/{account}/ledger", "The postings of an account, newest first", query &[], body NONE, Json, &["postings"];
    Usage: "GET" "/admin/usage", "Sums of receipts over all accounts", query SUMS, body NONE, Table, &["total", "data"];
    Receipts: "GET" "/admin/receipts", "Receipts of all accounts, newest first", query RECEIPTS, body NONE, Table, &["data", "next"];
    Overview: "GET" "/admin/overview", "Figures of a period and of the one before", query PERIOD, body NONE, Json, &["figures", "before"];
    Series: "GET" "/admin/series", "Figures over time, for charts", query CHART, body NONE, Table, &["starts", "data"];
    Top: "GET" "/admin/top", "The largest models, backends, keys and other dimensions", query TOP, body NONE, Table, &["data"];
    Golems: "GET" "/admin/golems", "Agents with their cost", query LIST, body NONE, Table, &["data"];
    Accounts: "GET" "/admin/accounts", "Accounts with their balances", query PAGES, body NONE, Table, &["data"];
    Payments: "GET" "/admin/payments", "Payments of callers, newest first, with sums over all", query PAYMENTS, body NONE, Table, &["data", "next", "totals"];
    PaymentWallets: "GET" "/admin/payments/wallets", "Wallets of payers with their sums", query PAGES, body NONE, Table, &["data", "next"];
    PaymentDebts: "GET" "/admin/payments/debts", "Payments that failed and are owed, newest first", query DEBTS, body NONE, Table, &["data", "next"];
    Payment: "GET" "/admin/payments/{id}", "One payment", query &[], body NONE, Json, &["id", "status"];
    WriteOff: "POST" "/admin/payments/debts/{id}/write_off", "Write off the debt of a payment", query &[], body must::<WriteOff>(), Json, &["id", "status"];
    CacheStats: "GET" "/admin/cache", "Figures of the stored answers", query &[], body NONE, Json, &["entries", "hits", "misses"];
    CacheOfAccount: "GET" "/admin/cache/{account}", "Figures of the stored answers of an account", query &[], body NONE, Json, &["account", "entries"];
    FlushCache: "POST" "/admin/cache/flush", "Remove stored answers", query &[], body must::<FlushOrder>(), Json, &["flushed"];
    InvalidateCache: "POST" "/admin/cache/invalidate", "Remove stored answers that depend on something that changed", query &[], body must::<InvalidateOrder>(), Json, &[];
    Alerts: "GET" "/admin/alerts", "Alerts and their states", query &[], body NONE, Json, &[];
    TestAlert: "POST" "/admin/alerts/test", "Send an alert to see that it arrives", query &[], body NONE, Json, &[];
    Verify: "GET" "/admin/verify", "Whether the ledger adds up", query &[], body NONE, Json, &["ok"];
    Unknown: "GET" "/admin/unknown", "Requests with an unknown outcome", query &[], body NONE, Json, &["holds"];
    Reconcile: "POST" "/admin/unknown/{request}", "Charge or release a request with an unknown outcome", query &[], body must::<ReconcileRequest>(), Json, &[];
}

/// Finds the operation of a request, and the name in its path; empty without one.
pub(crate) fn find<'p>(method: &Method, path: &'p str) -> Option<(AdminOperation, &'p str)> {
    // `HEAD` reads as `GET` does only where a page says so.
    let of_method = ROUTES
        .iter()
        .filter(|route| route.method == method.as_str());
    let mut found = of_method.filter_map(|route| Some((route, matched(route.path, path)?)));
    // A path without a name wins over one with a name: `/admin/cache/flush`.
    let first = found.next()?;
    let plain = std::iter::once(first)
        .chain(found)
        .min_by_key(|(_, name)| !name.is_empty());
    plain.map(|(route, name)| (route.operation, name))
}

/// The name in a path that has the form of a route; empty if the route has none.
fn matched<'p>(form: &str, path: &'p str) -> Option<&'p str> {
    let mut parts = path.trim_matches('/').split('/');
    let mut name = "";
    for form in form.trim_matches('/').split('/') {
        let part = parts.next()?;
        if form.starts_with('{') {
            name = Some(part).filter(|part| !part.is_empty())?;
        } else if form != part {
            return None;
        }
    }
    parts.next().is_none().then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_found_and_no_two_are_the_same() {
        for (index, route) in ROUTES.iter().enumerate() {
            let path = route.path.replace(['{', '}'], "");
            let method: Method = route.method.parse().unwrap();
            let found = find(&method, &path).map(|(operation, _)| operation);
            assert_eq!(found, Some(route.operation), "{} {path}", route.method);
            let same = ROUTES[..index]
                .iter()
                .any(|one| (one.method, one.path) == (route.method, route.path));
            assert!(!same, "{} {}", route.method, route.path);
        }
    }

    #[test]
    fn names_are_taken_from_paths_and_fixed_paths_win() {
        assert_eq!(
            find(&Method::GET, "/admin/keys/k1/"),
            Some((AdminOperation::ShowKey, "k1"))
        );
        assert_eq!(
            find(&Method::POST, "/admin/cache/flush"),
            Some((AdminOperation::FlushCache, ""))
        );
        for (method, path) in [
            (Method::GET, "/admin/keys/k1/rotate"),
            (Method::GET, "/admin"),
            (Method::PUT, "/admin/keys"),
            (Method::GET, "/admin/keys/"),
        ] {
            let found = find(&method, path);
            assert!(
                found.is_none_or(|(operation, _)| operation == AdminOperation::ListKeys),
                "{path}"
            );
        }
    }
}
