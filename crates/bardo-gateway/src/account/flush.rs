//! What a caller removes of the stored answers of its account.

use bardo_cache::scope::Scope;
use bardo_cache::store::Flush;
use bardo_engine::Principal;

use crate::caches::FlushOrder;
use crate::error::Problem;
use crate::usage::{BadParameter, Parameters};

/// The parameters, for errors.
const KNOWN: &str = "`agent`, `domain`, `token`, `pool`, `playbook` or `market=true`, or no parameter \
    for all answers of the account";

/// Why a body is refused.
pub(crate) const NO_BODY: &str = "this request has no body; name what to remove in the query, such as `DELETE /v1/cache?domain=docs`";

/// What `DELETE /v1/cache` removes: all that the account paid for, or what `agent`, `domain`,
/// `token`, `pool`, `playbook` or `market` narrow it to. `scope` is that of the cache.
///
/// # Errors
/// When a parameter is unknown, empty or there twice, or removes nothing by its nature.
pub(crate) fn flush_order(
    query: Option<&str>,
    principal: &Principal,
    scope: Scope,
) -> Result<Flush, Problem> {
    let order = order(query).map_err(|error| Problem::bad_parameter(&error))?;
    let order = order.of(&principal.account).read(scope);
    order.map_err(|error| Problem::bad_flush(error.to_string()))
}

/// A mistake must not remove more than was meant, so nothing is passed over.
fn order(query: Option<&str>) -> Result<FlushOrder, BadParameter> {
    let mut pairs = query.unwrap_or_default().split('&');
    let empty = pairs.find_map(|pair| match pair.split_once('=') {
        Some((name, "")) => Some(name),
        Some(_) => None,
        None => Some(pair).filter(|name| !name.is_empty()),
    });
    if let Some(name) = empty {
        let message = format!("the parameter `{name}` has no value; use {KNOWN}");
        return Err(BadParameter::new(name, message));
    }
    let mut given = Parameters::read(query)?;
    let market = match given.take("market").as_deref() {
        None => false,
        Some("true") => true,
        Some(_) => {
            let message = format!("`market` must be `true`; use {KNOWN}");
            return Err(BadParameter::new("market", message));
        }
    };
    let order = FlushOrder {
        agent: given.take("agent"),
        domain: given.take("domain"),
        token: given.take("token"),
        pool: given.take("pool"),
        playbook: given.take("playbook"),
        market,
        ..FlushOrder::default()
    };
    given.finish(KNOWN)?;
    Ok(order)
}

#[cfg(test)]
mod tests {
    use bardo_cache::scope::Namespace;

    use super::*;

    fn read(query: Option<&str>) -> Result<Flush, Problem> {
        let own = Principal::owner("own").expect("an id");
        flush_order(query, &own, Scope::Agent)
    }

    #[test]
    fn a_mistake_in_a_parameter_removes_nothing() {
        for (query, word) in [
            ("agnet=g1", "`agnet`"),
            ("market=false", "`market`"),
            ("market=yes", "`market`"),
            ("market", "`market`"),
            ("agent=", "`agent`"),
            ("agent=%20", "empty"),
            ("all=false", "`all`"),
            ("all=true", "`all`"),
            ("account=other", "`account`"),
            ("agent=a&agent=b", "`agent`"),
            ("agent=a&agent=", "`agent`"),
            ("agent=a&domain=docs", "one of"),
            ("=x", "unknown parameter"),
        ] {
            let refused = read(Some(query)).expect_err(query);
            assert!(
                refused.fault.message.contains(word),
                "{query}: {}",
                refused.fault.message
            );
            assert!(refused.fault.message.contains("`playbook`") || word != "`agnet`");
        }
    }

    #[test]
    fn an_agent_is_read_as_its_hint_is_and_nothing_at_all_means_the_account() {
        let own = Principal::owner("own").expect("an id").account;
        for none in [None, Some(""), Some("&")] {
            assert_eq!(
                read(none).expect("it is understood"),
                Flush::Tenant(own.clone())
            );
        }
        let of = |agent: &str| Flush::Namespace(own.clone(), Namespace::agent(&own, agent));
        let read = |query: &str| read(Some(query)).expect("it is understood");
        assert_eq!(read("agent=%20g1+"), of("g1"));
        let long = "a".repeat(129);
        let kept = bardo_engine::bounded_name(&long).expect("a name");
        assert_eq!(read(&format!("agent={long}")), of(&kept));
        assert_eq!(read("market=true"), Flush::Market(Some(own.clone())));
    }

    #[test]
    fn an_agent_is_refused_where_answers_belong_to_no_agent() {
        let own = Principal::owner("own").expect("an id");
        let refused = flush_order(Some("agent=g1"), &own, Scope::Tenant).expect_err("no agent");
        assert!(
            refused.fault.message.contains("cache.scope"),
            "{}",
            refused.fault.message
        );
        assert!(flush_order(None, &own, Scope::Tenant).is_ok());
    }
}
