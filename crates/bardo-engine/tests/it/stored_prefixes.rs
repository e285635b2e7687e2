//! Prefixes that Gemini stores, on simulated time: when they are stored, used and paid for.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bardo_cache::prefix::KeepaliveLimits;
use bardo_cache::store::Flush;
use bardo_engine::{
    Engine, EventSink, FlushCause, Hints, Principal, Services, Snapshot, StoredPrefixCall,
    StoredPrefixPolicy, Task,
};
use bardo_providers::BaseUrl;
use bardo_providers::transport::{Origin, Transport};
use bardo_sandbox::{Sandbox, SandboxConfig};
use bardo_types::clock::Clock;
use bardo_types::fault::Fault;
use bardo_types::ids::AccountId;
use bardo_types::model::{Dialect, Price};
use bardo_types::money::{MicroUsd, PricePerMillion};
use bardo_types::receipt::{PaymentMode, Receipt, STORED_PREFIX_ACCOUNT};
use bytes::Bytes;
use http::Method;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::caching;
use crate::prompt_cache::CACHED;
use crate::world::{Call, prompt, read, received, world};

const MINUTE: u64 = 60_000;
const GAP: u64 = 12 * MINUTE;
const MODEL: &str = "gemini-3-flash";
/// As [`CACHED`] has it for input and for reads; an hour of storage for half of the read price.
const HOUR: u64 = 500_000;

#[derive(Clone)]
struct Time(Arc<AtomicU64>);

impl Clock for Time {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Clone, PartialEq)]
struct ToldCall {
    account: String,
    result: &'static str,
    cost: Option<MicroUsd>,
}

#[derive(Default)]
struct Told {
    receipts: Mutex<Vec<Receipt>>,
    calls: Mutex<Vec<ToldCall>>,
    news: Notify,
}

impl EventSink for Told {
    fn settled(&self, receipt: &Receipt) {
        let mut all = self.receipts.lock().expect("no thread panics");
        all.push(receipt.clone());
    }

    fn attempt_failed(&self, _: &str, _: &str, _: &Fault) {}

    fn prefix_stored(&self, call: &StoredPrefixCall<'_>) {
        let told = ToldCall {
            account: call.account.as_str().to_owned(),
            result: call.result,
            cost: call.cost,
        };
        self.calls.lock().expect("no thread panics").push(told);
        self.news.notify_one();
    }
}

pub(crate) struct Day {
    pub(crate) engine: Arc<Engine>,
    pub(crate) sandbox: SocketAddr,
    time: Arc<AtomicU64>,
    told: Arc<Told>,
}

pub(crate) fn policy() -> StoredPrefixPolicy {
    StoredPrefixPolicy {
        hour: PricePerMillion::from_micro(HOUR),
        limits: KeepaliveLimits {
            prefix_calls: 48,
            prefix_usd: MicroUsd::new(10_000_000),
            calls: 500,
            usd: MicroUsd::new(10_000_000),
        },
    }
}

pub(crate) fn configured(sandbox: SocketAddr, policy: Option<StoredPrefixPolicy>) -> Snapshot {
    let mut world = world(sandbox, false, Some(CACHED));
    world.setup.stored_prefixes = policy;
    world.cache = caching::policy();
    world
}

impl Day {
    pub(crate) fn start(policy: Option<StoredPrefixPolicy>) -> Self {
        let time = Arc::new(AtomicU64::new(1_699_920_000_000));
        let sandbox = Sandbox::bind(SandboxConfig {
            clock: Some(Arc::clone(&time)),
            ..SandboxConfig::default()
        });
        let sandbox = sandbox.expect("a free port");
        let address = sandbox.local_addr();
        tokio::spawn(sandbox.run(std::future::pending()));
        let told = Arc::new(Told::default());
        let services = Services {
            clock: Arc::new(Time(Arc::clone(&time))),
            ..Services::without_money(Arc::clone(&told) as Arc<dyn EventSink>)
        };
        let world = configured(address, policy);
        let transport = Transport::new(Duration::from_secs(5));
        let engine = Arc::new(Engine::new(world, transport, services).in_simulated_time());
        engine.start_settler(&tokio::runtime::Handle::current());
        Self {
            engine,
            sandbox: address,
            time,
            told,
        }
    }

    /// A day whose prefix Gemini stored, and then lost.
    pub(crate) async fn with_lost_prefix() -> Self {
        let day = Self::start(Some(policy()));
        day.beats("agent", 5).await;
        assert_eq!(day.results(1).await, ["created"]);
        let name = day.stored().await.remove(0);
        let path = format!("/google/v1beta/{name}");
        day.control(Method::DELETE, &path, json!({})).await;
        day
    }

    pub(crate) fn forward(&self, ms: u64) {
        self.time.fetch_add(ms, Ordering::Relaxed);
    }

    pub(crate) async fn call(&self, account: &str, stream: bool, bardo: Value) -> String {
        let mut body = prompt(Dialect::Chat, MODEL, "Beat");
        // Gemini's own cache would read the prompt of another account.
        let own = if account == "two" || bardo["golem_id"] == "two" {
            "You are two. "
        } else {
            ""
        };
        let rules = format!("{own}{}", "Follow these rules closely. ".repeat(2_000));
        let messages = body["messages"].as_array_mut().expect("a list");
        messages.insert(0, json!({ "role": "system", "content": rules }));
        body["tools"] = json!([{ "type": "function", "function": {
            "name": "look", "parameters": { "type": "object", "properties": {} } } }]);
        body["max_tokens"] = json!(100);
        body["stream"] = json!(stream);
        body["bardo"] = bardo;
        let call = self.engine.read(received(Call {
            task: Task::Generate,
            dialect: Dialect::Chat,
            body: &body,
            principal: Principal::owner(account).expect("an id"),
            hints: Hints::default(),
        }));
        let call = call.expect("it is well formed");
        let answer = Arc::clone(&self.engine).answer(call).await;
        read(answer.expect("an answer")).await.expect("a body").text
    }

    /// Makes `count` calls, each twelve minutes after the one before.
    pub(crate) async fn beats(&self, account: &str, count: u32) {
        for _ in 0..count {
            self.call(account, false, json!({})).await;
            self.forward(GAP);
        }
    }

    /// Waits until so many things were told, and answers them.
    async fn told(&self, count: usize) -> Vec<ToldCall> {
        loop {
            let told = self.told.calls.lock().expect("no thread panics").clone();
            if told.len() >= count {
                return told;
            }
            self.told.news.notified().await;
        }
    }

    pub(crate) async fn results(&self, count: usize) -> Vec<&'static str> {
        self.told(count)
            .await
            .iter()
            .map(|one| one.result)
            .collect()
    }

    fn receipts(&self, account: &str) -> Vec<Receipt> {
        let all = self.told.receipts.lock().expect("no thread panics");
        let own = all.iter().filter(|one| one.account.as_str() == account);
        own.cloned().collect()
    }

    pub(crate) async fn control(&self, method: Method, path: &str, body: Value) -> Value {
        let url = format!("http://{}", self.sandbox);
        let origin = Origin::new(&BaseUrl::parse(&url).expect("an address"), true);
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", self.sandbox.to_string())
            .header("x-goog-api-key", "sandbox-key")
            .body(Full::new(Bytes::from(body.to_string())))
            .expect("a request");
        let transport = Transport::new(Duration::from_secs(5));
        let answer = transport.send(&origin, request).await.expect("an answer");
        let body = answer.into_body().collect().await.expect("a body");
        serde_json::from_slice(&body.to_bytes()).unwrap_or_default()
    }

    /// What Gemini stores, by name.
    pub(crate) async fn stored(&self) -> Vec<String> {
        let listed = self
            .control(Method::GET, "/google/v1beta/cachedContents", json!({}))
            .await;
        let all = listed["cachedContents"].as_array().into_iter().flatten();
        all.map(|one| one["name"].as_str().expect("a name").to_owned())
            .collect()
    }

    /// The requests about stored prefixes of a method that reached Gemini.
    pub(crate) async fn orders(&self, method: &str) -> Vec<Value> {
        let journal = self
            .control(Method::GET, "/_sandbox/journal", json!({}))
            .await;
        let entries = journal["entries"].as_array().expect("a list").iter();
        let is_order = |entry: &&Value| {
            let path = entry["path"].as_str().expect("a path");
            path.contains("cachedContents") && entry["method"] == method
        };
        entries.filter(is_order).cloned().collect()
    }

    /// Lets the next requests to a path fail.
    pub(crate) async fn fails(&self, path: &str, status: u16, times: u32) {
        let fault = json!({ "kind": "status", "status": status });
        let order = json!({ "service": "google", "times": times, "path": path, "fault": fault });
        self.control(Method::POST, "/_sandbox/faults", order).await;
    }

    /// Lets time pass until so many things were told.
    pub(crate) async fn told_in_time(&self, count: usize) -> Vec<&'static str> {
        for _ in 0..200 {
            self.engine.keep_warm().await;
            self.orders("DELETE").await;
            if self.told.calls.lock().expect("no thread panics").len() >= count {
                break;
            }
            self.forward(10_000);
        }
        self.results(count).await
    }

    /// The last body of a request for an answer that reached Gemini.
    async fn last_body(&self) -> Value {
        let journal = self
            .control(Method::GET, "/_sandbox/journal", json!({}))
            .await;
        let entries = journal["entries"].as_array().expect("a list");
        let bodies = entries.iter().filter_map(|entry| entry["body"].as_str());
        let bodies = bodies.filter_map(|body| serde_json::from_str::<Value>(body).ok());
        let mut asked = bodies.filter(|body| body.get("contents").is_some());
        asked.next_back().expect("a request")
    }
}

fn cached(receipt: &Receipt) -> u64 {
    receipt.usage.as_ref().expect("usage").cache_read
}

#[tokio::test]
async fn a_prefix_is_stored_once_for_fifty_calls_at_a_time_and_used_by_those_that_follow() {
    let day = Day::start(Some(policy()));
    day.beats("agent", 4).await;
    assert!(day.stored().await.is_empty(), "three gaps are too few");
    let calls = (0..50).map(|_| day.call("agent", false, json!({})));
    let answers = futures_join(calls.collect()).await;
    assert_eq!(answers, 50);
    let told = day.told(1).await;
    assert_eq!(told.len(), 1);
    assert_eq!(
        (told[0].account.as_str(), told[0].result),
        ("agent", "created")
    );
    assert_eq!(day.stored().await.len(), 1);
    assert_eq!(day.engine.prefixes_stored(), 1);

    // The owner paid the tokens once, and their storage for the lifetime.
    let orders = day.receipts(STORED_PREFIX_ACCOUNT);
    assert_eq!(orders.len(), 1);
    assert_ne!(orders[0].mode, PaymentMode::Prepaid);
    assert_eq!(orders[0].amounts.charge, MicroUsd::ZERO);
    assert!(!orders[0].estimated, "the figures are exact");
    let tokens = orders[0].usage.as_ref().expect("usage").fresh_input;
    let created = tokens * CACHED.input.micro();
    let paid = orders[0].amounts.provider_cost.expect("a price");
    assert_eq!(told[0].cost, Some(paid));
    let saved = orders[0].amounts.cache_savings.expect("a price");
    assert_eq!(
        saved.loss(),
        paid,
        "an order costs, and saves nothing itself"
    );
    let hour = (tokens * HOUR).div_ceil(1_000_000);
    assert!(paid.get() > created / 1_000_000, "{paid:?}");
    assert!(paid.get() <= created.div_ceil(1_000_000) + hour, "{paid:?}");

    for stream in [false, true] {
        let text = day.call("agent", stream, json!({})).await;
        assert!(!text.is_empty());
        let body = day.last_body().await;
        let name = body["cachedContent"].as_str().expect("a name");
        assert_eq!(vec![name.to_owned()], day.stored().await);
        for held in ["systemInstruction", "tools", "toolConfig"] {
            assert!(body.get(held).is_none(), "{body}");
        }
        let receipts = day.receipts("agent");
        let last = receipts.last().expect("a receipt");
        assert_eq!(cached(last), tokens, "all of the prefix is read");
        let usage = last.usage.as_ref().expect("usage");
        let price: Price = CACHED;
        let cost = usage.cost(&price).expect("a cost").charge();
        assert_eq!(last.amounts.provider_cost, cost);
    }

    // The process ends, and nothing stays there.
    assert_eq!(day.engine.delete_stored_prefixes().await, 1);
    assert!(day.stored().await.is_empty());
    day.call("agent", false, json!({})).await;
    assert!(day.last_body().await.get("systemInstruction").is_some());
}

pub(crate) async fn futures_join<F: Future<Output = String>>(calls: Vec<F>) -> usize {
    let mut calls: Vec<_> = calls.into_iter().map(Box::pin).collect();
    let mut done = vec![false; calls.len()];
    std::future::poll_fn(move |cx| {
        for (call, done) in calls.iter_mut().zip(&mut done) {
            if !*done && call.as_mut().poll(cx).is_ready() {
                *done = true;
            }
        }
        match done.iter().all(|done| *done) {
            true => std::task::Poll::Ready(done.len()),
            false => std::task::Poll::Pending,
        }
    })
    .await
}

#[tokio::test]
async fn a_stored_prefix_is_kept_for_longer_while_calls_come_and_forgotten_at_its_end() {
    let day = Day::start(Some(policy()));
    day.beats("agent", 4).await;
    day.call("agent", false, json!({})).await;
    assert_eq!(day.results(1).await, ["created"]);
    let names = day.stored().await;
    day.forward(GAP);
    day.beats("agent", 2).await;
    day.call("agent", false, json!({})).await;
    assert_eq!(day.results(2).await, ["created", "extended"]);
    assert_eq!(day.stored().await, names, "the same one");
    let orders = day.receipts(STORED_PREFIX_ACCOUNT);
    assert_eq!(orders.len(), 2);
    let usage = orders[1].usage.as_ref().expect("usage");
    assert_eq!(usage.prompt(), 0, "the prefix is not sent again");
    let fee = orders[1].amounts.provider_cost.expect("a price");
    assert!(fee > MicroUsd::ZERO && fee < orders[0].amounts.provider_cost.expect("a price"));

    // An agent that leaves for long is answered from its plain request.
    day.forward(3 * 60 * MINUTE);
    assert_eq!(day.engine.prefixes_stored(), 0);
    day.call("agent", false, json!({})).await;
    let body = day.last_body().await;
    assert!(body.get("cachedContent").is_none() && body.get("systemInstruction").is_some());
}

#[tokio::test]
async fn a_prefix_that_gemini_lost_is_answered_from_the_plain_request() {
    let day = Day::with_lost_prefix().await;
    for _ in 0..2 {
        day.call("agent", false, json!({})).await;
        let body = day.last_body().await;
        assert!(body.get("cachedContent").is_none() && body.get("tools").is_some());
    }
    assert_eq!(day.results(2).await, ["created", "lost"]);
    let receipts = day.receipts("agent");
    let last = receipts.last().expect("a receipt");
    assert!(last.attempts.len() == 1 && last.attempts[0].failure.is_none());
}

#[tokio::test]
async fn a_refusal_that_does_not_name_the_prefix_is_tried_without_it_too() {
    for status in [400, 403, 404] {
        let day = Day::start(Some(policy()));
        day.beats("agent", 5).await;
        assert_eq!(day.results(1).await, ["created"]);
        let fault = json!({ "kind": "status", "status": status });
        let order = json!({ "service": "google", "times": 1, "fault": fault });
        day.control(Method::POST, "/_sandbox/faults", order).await;
        day.call("agent", false, json!({})).await;
        let body = day.last_body().await;
        assert!(body.get("cachedContent").is_none() && body.get("tools").is_some());
        assert_eq!(day.results(3).await, ["created", "lost", "deleted"]);
        assert!(day.stored().await.is_empty(), "{status}");
    }
}

#[tokio::test]
async fn accounts_share_nothing_and_private_requests_and_gateways_without_leave_store_nothing() {
    let day = Day::start(Some(policy()));
    day.beats("agent", 5).await;
    assert_eq!(day.results(1).await, ["created"]);
    day.call("other", false, json!({})).await;
    assert!(day.last_body().await.get("cachedContent").is_none());

    let private = Day::start(Some(policy()));
    let off = Day::start(None);
    for _ in 0..8 {
        let hints = json!({ "subsystem": "dream_rem", "accept_degraded": true });
        private.call("agent", false, hints).await;
        private.forward(GAP);
        off.call("agent", false, json!({})).await;
        off.forward(GAP);
    }
    assert_eq!(private.receipts("agent").len(), 8);
    assert_eq!(off.receipts("agent").len(), 8);
    for day in [private, off] {
        assert!(day.stored().await.is_empty());
        assert!(day.receipts(STORED_PREFIX_ACCOUNT).is_empty());
    }
}

#[tokio::test]
async fn an_order_that_fails_leaves_requests_alone_and_is_not_repeated_on_that_day() {
    for (status, result) in [(429, "failed"), (500, "unknown")] {
        let day = Day::start(Some(policy()));
        let fault = json!({ "kind": "status", "status": status });
        let body =
            json!({ "service": "google", "times": 9, "path": "cachedContents", "fault": fault });
        day.control(Method::POST, "/_sandbox/faults", body).await;
        day.beats("agent", 5).await;
        assert_eq!(day.results(1).await, [result]);
        day.beats("agent", 3).await;
        assert_eq!(day.receipts("agent").len(), 8);
        assert_eq!(day.results(1).await, [result], "once");
    }
}

#[tokio::test]
async fn a_flush_deletes_the_stored_prefixes_of_its_account_alone() {
    let day = Day::start(Some(policy()));
    for beat in 0..5 {
        day.forward(if beat > 0 { GAP } else { 0 });
        day.call("one", false, json!({})).await;
        day.call("two", false, json!({})).await;
    }
    assert_eq!(day.results(2).await, ["created", "created"]);
    let one = Flush::Tenant(AccountId::parse("one").expect("an id"));
    day.engine.invalidate(&[one], FlushCause::Account).await;
    let told = day.told(3).await;
    assert_eq!(
        (told[2].account.as_str(), told[2].result),
        ("one", "deleted")
    );
    assert_eq!(day.stored().await.len(), 1);
    assert_eq!(day.engine.prefixes_stored(), 1);
}

#[tokio::test]
async fn a_flush_deletes_a_prefix_that_is_being_created() {
    let day = Day::start(Some(policy()));
    day.beats("one", 4).await;
    assert_eq!(day.engine.prefixes_stored(), 0);
    day.forward(GAP);
    day.call("one", false, json!({})).await;
    let all = Flush::Tenant(AccountId::parse("one").expect("an id"));
    day.engine.invalidate(&[all], FlushCause::Account).await;
    assert_eq!(day.results(2).await, ["created", "deleted"]);
    assert_eq!(day.stored().await.len(), 0, "deleted at the provider");
    assert_eq!(day.engine.prefixes_stored(), 0);
}

#[tokio::test]
async fn a_process_that_ends_deletes_a_prefix_that_is_being_created() {
    let day = Day::start(Some(policy()));
    day.beats("one", 4).await;
    day.forward(GAP);
    day.call("one", false, json!({})).await;
    assert_eq!(day.engine.prefixes_stored(), 0);
    day.engine.delete_stored_prefixes().await;
    // Both are over by now: nothing runs after it.
    let told = day.told.calls.lock().expect("no thread panics").clone();
    let results: Vec<_> = told.iter().map(|one| one.result).collect();
    assert_eq!(results, ["created", "deleted"]);
    assert!(day.stored().await.is_empty(), "deleted at the provider");
}

#[tokio::test]
async fn an_agent_whose_regime_changes_loses_its_own_stored_prefixes_alone() {
    // The cache of answers has a part in the first requests alone.
    for cache in ["no-cache", "no-store"] {
        let day = Day::start(Some(policy()));
        let ask = async |agent: &str, regime: &str| {
            let hints = json!({ "golem_id": agent, "regime": regime, "cache": cache });
            day.call("agent", false, hints).await
        };
        for beat in 0..5 {
            day.forward(if beat > 0 { GAP } else { 0 });
            ask("one", "calm").await;
            ask("two", "calm").await;
        }
        assert_eq!(day.results(2).await, ["created", "created"]);
        day.forward(GAP);
        ask("one", "crisis").await;
        assert_eq!(day.results(3).await[2], "deleted");
        assert_eq!(day.stored().await.len(), 1);
        assert_eq!(day.engine.prefixes_stored(), 1);
    }
}
