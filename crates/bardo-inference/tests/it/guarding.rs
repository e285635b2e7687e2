//! Who may use the proxy.

use crate::http;
use crate::rig::ServedProxy;
use crate::seller;

#[test]
fn a_request_without_the_token_or_by_another_name_goes_nowhere() {
    let seller = seller::honest();
    let proxy = ServedProxy::new(&seller, &[]);
    let ours = format!("Bearer {}", proxy.token);
    for (headers, status, code) in [
        (vec![], 401, "wrong_token"),
        (
            vec![("authorization", "Bearer bardo-local-00")],
            401,
            "wrong_token",
        ),
        (vec![("x-api-key", "sk-ant-other")], 401, "wrong_token"),
        (
            vec![("authorization", ours.as_str()), ("host", "evil.example")],
            403,
            "foreign_host",
        ),
        (
            vec![("authorization", ours.as_str()), ("host", "127.0.0.1")],
            403,
            "foreign_host",
        ),
    ] {
        let mut stream = http::send(proxy.port, "/v1/messages", &headers, "{}");
        let answer = http::read_message(&mut stream).unwrap();
        assert_eq!(answer.status(), status, "{headers:?}");
        assert_eq!(answer.header("x-should-retry"), Some("false"));
        assert_eq!(answer.json()["type"], "error", "in the dialect of the path");
        assert!(answer.text().contains(code), "{}", answer.text());
        assert!(!answer.text().contains(&proxy.token));
    }
    assert!(seller.seen().is_empty());
}

#[test]
fn two_proxies_have_two_tokens() {
    let seller = seller::honest();
    let (one, other) = (
        ServedProxy::new(&seller, &[]),
        ServedProxy::new(&seller, &[]),
    );
    assert_ne!(one.token, other.token);
    let mut stream = http::send(
        one.port,
        "/v1/messages",
        &[("x-api-key", &other.token)],
        "{}",
    );
    assert_eq!(http::read_message(&mut stream).unwrap().status(), 401);
}
