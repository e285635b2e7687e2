//! Caps per request, session and day.

use crate::rig::{ServedProxy, chat};
use crate::seller;

fn refused(proxy: &ServedProxy, path: &str, period: &str, flag: &str) {
    let answer = proxy.ask(path, &chat("More"));
    assert_eq!(answer.status(), 402, "{}", answer.text());
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    for part in ["cap_reached", period, flag, "0.003660"] {
        assert!(answer.text().contains(part), "{part}: {}", answer.text());
    }
}

#[test]
fn a_request_above_its_cap_is_not_paid() {
    let seller = seller::honest();
    let proxy = ServedProxy::new(&seller, &["--cap-request", "0.003659"]);
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
        refused(&proxy, path, "request cap of 0.003659", "--cap-request");
    }
    assert!(seller.payments().is_empty());
    let exact = ServedProxy::new(&seller, &["--cap-request", "0.00366"]);
    assert_eq!(exact.chat().status(), 200);
}

#[test]
fn aider_knows_a_refusal_that_no_repetition_mends() {
    let seller = seller::honest();
    let proxy = ServedProxy::new(&seller, &["--cap-request", "0"]);
    let answer = proxy.chat();
    let told = answer.json()["error"]["message"].to_string();
    let text: String = serde_json::from_str(&told).unwrap();
    // The two texts that its list of exceptions looks for.
    assert!(
        text.contains("insufficient credits") && text.contains("\"code\":402"),
        "{text}"
    );
    let other = proxy.ask("/v1/messages", &chat("Hello")).text();
    assert!(!other.contains("insufficient credits"), "{other}");
}

#[test]
fn a_session_stops_at_its_cap() {
    let seller = seller::honest();
    let proxy = ServedProxy::new(&seller, &["--cap-session", "0.008"]);
    assert_eq!(proxy.chat().status(), 200);
    assert_eq!(proxy.chat().status(), 200);
    refused(
        &proxy,
        "/v1/messages",
        "session cap of 0.008000",
        "--cap-session",
    );
    assert_eq!(seller.payments().len(), 2);
}

#[test]
fn two_proxies_of_a_user_share_the_day() {
    let seller = seller::honest();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("deep/spend.json");
    let flags = ["--cap-day", "0.008", "--state", state.to_str().unwrap()];
    let (one, other) = (
        ServedProxy::new(&seller, &flags),
        ServedProxy::new(&seller, &flags),
    );
    assert_eq!(one.chat().status(), 200);
    assert_eq!(other.chat().status(), 200);
    refused(
        &one,
        "/v1/chat/completions",
        "day cap of 0.008000",
        "--cap-day",
    );
    refused(
        &other,
        "/v1/chat/completions",
        "day cap of 0.008000",
        "--cap-day",
    );
    // A new proxy has no new budget.
    let third = ServedProxy::new(&seller, &flags);
    refused(
        &third,
        "/v1/chat/completions",
        "day cap of 0.008000",
        "--cap-day",
    );
    assert_eq!(seller.payments().len(), 2);
}

#[test]
fn many_requests_at_once_stay_within_the_day() {
    let seller = seller::honest();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("spend.json");
    let flags = ["--cap-day", "0.0366", "--state", state.to_str().unwrap()];
    let proxies = [
        ServedProxy::new(&seller, &flags),
        ServedProxy::new(&seller, &flags),
    ];
    let paid: usize = std::thread::scope(|scope| {
        let ask = |proxy: &ServedProxy, at: usize| {
            proxy.ask("/v1/chat/completions", &chat(&at.to_string()))
        };
        let threads: Vec<_> = (0..24)
            .map(|at| {
                let proxy = &proxies[at % 2];
                scope.spawn(move || ask(proxy, at).status() == 200)
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| usize::from(thread.join().unwrap()))
            .sum()
    });
    assert_eq!(paid, 10);
    assert_eq!(seller.payments().len(), 10);
}

#[test]
fn a_day_that_cannot_be_counted_is_not_spent() {
    let seller = seller::honest();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("spend.json");
    std::fs::write(&state, "not JSON").unwrap();
    let proxy = ServedProxy::new(&seller, &["--state", state.to_str().unwrap()]);
    let answer = proxy.chat();
    assert_eq!(answer.status(), 402);
    assert!(
        answer.text().contains("spending_uncounted"),
        "{}",
        answer.text()
    );
    assert!(seller.payments().is_empty());
}
