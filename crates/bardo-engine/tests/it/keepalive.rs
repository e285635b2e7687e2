//! Keepalive calls on simulated time: that a prompt stays in the cache of its provider, and what
//! that costs and saves.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bardo_cache::prefix::KeepaliveLimits;
use bardo_cache::store::Flush;
use bardo_engine::{
    Engine, EventSink, FlushCause, Hints, KeepaliveCall, KeepalivePolicy, Principal, Services, Task,
};
use bardo_providers::transport::Transport;
use bardo_sandbox::{Sandbox, SandboxConfig};
use bardo_types::clock::Clock;
use bardo_types::fault::Fault;
use bardo_types::ids::AccountId;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::{KEEPALIVE_ACCOUNT, PaymentMode, Receipt};
use serde_json::{Value, json};

use crate::prompt_cache::CACHED;
use crate::world::{Call, prompt, read, received, world};

const MINUTE: u64 = 60_000;
const BEAT: u64 = 72 * MINUTE;
const MODEL: &str = "claude-sonnet-5-5";

#[derive(Clone)]
struct Time(Arc<AtomicU64>);

impl Clock for Time {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Account, result, tokens that were read, and cost of a keepalive call.
type ToldCall = (String, &'static str, u64, Option<MicroUsd>);

#[derive(Default)]
struct Told {
    receipts: Mutex<Vec<Receipt>>,
    calls: Mutex<Vec<ToldCall>>,
}

impl EventSink for Told {
    fn settled(&self, receipt: &Receipt) {
        self.receipts
            .lock()
            .expect("no thread panics")
            .push(receipt.clone());
    }

    fn attempt_failed(&self, _: &str, _: &str, _: &Fault) {}

    fn kept_warm(&self, call: &KeepaliveCall<'_>) {
        let account = call.account.as_str().to_owned();
        let told = (account, call.result, call.tokens_read, call.cost);
        self.calls.lock().expect("no thread panics").push(told);
    }
}

/// An engine and its providers on one clock, which the test moves.
struct Day {
    engine: Arc<Engine>,
    time: Arc<AtomicU64>,
    told: Arc<Told>,
}

fn policy() -> KeepalivePolicy {
    KeepalivePolicy {
        in_row: 5,
        limits: KeepaliveLimits {
            prefix_calls: 48,
            prefix_usd: MicroUsd::new(10_000_000),
            calls: 500,
            usd: MicroUsd::new(10_000_000),
        },
    }
}

impl Day {
    fn start(policy: Option<KeepalivePolicy>) -> Self {
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
        let mut world = world(address, false, Some(CACHED));
        world.setup.keepalive = policy;
        let transport = Transport::new(Duration::from_secs(5));
        let engine = Arc::new(Engine::new(world, transport, services).in_simulated_time());
        engine.start_settler(&tokio::runtime::Handle::current());
        Self { engine, time, told }
    }

    fn forward(&self, ms: u64) {
        self.time.fetch_add(ms, Ordering::Relaxed);
    }

    /// Lets time pass as the process lives it: what is due is looked for each ten seconds.
    async fn pass(&self, ms: u64) -> usize {
        let mut made = 0;
        for _ in 0..ms / 10_000 {
            self.forward(10_000);
            made += self.engine.keep_warm().await;
        }
        made
    }

    async fn call(&self, text: &str, bardo: Value) {
        self.send(&self.body(text, bardo)).await;
    }

    fn body(&self, text: &str, bardo: Value) -> Value {
        let mut body = prompt(Dialect::Chat, MODEL, text);
        let rules = "Follow these rules closely. ".repeat(2_000);
        let messages = body["messages"].as_array_mut().expect("a list");
        messages.insert(0, json!({ "role": "system", "content": rules }));
        body["max_tokens"] = json!(100);
        body["bardo"] = bardo;
        body
    }

    async fn send(&self, body: &Value) {
        let call = self.engine.read(received(Call {
            task: Task::Generate,
            dialect: Dialect::Chat,
            body,
            principal: Principal::owner("agent").expect("an id"),
            hints: Hints::default(),
        }));
        let call = call.expect("it is well formed");
        let answer = Arc::clone(&self.engine).answer(call).await;
        read(answer.expect("an answer")).await.expect("a body");
    }

    /// A heartbeat each 72 minutes. Answers how many keepalive calls were made.
    async fn beats(&self, count: u32) -> usize {
        let mut made = 0;
        for beat in 0..count {
            self.call(&format!("Beat {beat}"), json!({ "golem_id": "g" }))
                .await;
            made += self.pass(BEAT).await;
        }
        made
    }

    fn receipts(&self, account: &str) -> Vec<Receipt> {
        let all = self.told.receipts.lock().expect("no thread panics");
        let own = all.iter().filter(|one| one.account.as_str() == account);
        own.cloned().collect()
    }
}

fn cost(receipts: &[Receipt]) -> u64 {
    let costs = receipts.iter().map(|one| one.amounts.provider_cost);
    costs.map(|cost| cost.expect("a price").get()).sum()
}

#[tokio::test]
async fn a_heartbeat_each_72_minutes_is_read_from_the_cache_and_costs_less_all_in_all() {
    let kept = Day::start(Some(policy()));
    let made = kept.beats(12).await;
    assert_eq!(made, 8, "one behind each call from the fifth on");
    let beats = kept.receipts("agent");
    assert_eq!(beats.len(), 12);
    let read = |receipt: &Receipt| receipt.usage.as_ref().expect("usage").cache_read;
    assert!(beats[..5].iter().all(|beat| read(beat) == 0));
    assert!(beats[5..].iter().all(|beat| read(beat) > 5_000));

    let calls = kept.receipts(KEEPALIVE_ACCOUNT);
    assert_eq!(calls.len(), 8);
    for call in &calls {
        let usage = call.usage.as_ref().expect("usage");
        assert!(
            usage.cache_read > 5_000 && usage.cache_write() == 0,
            "{usage:?}"
        );
        assert!(usage.fresh_input < 40 && usage.output <= 1, "{usage:?}");
        assert_eq!(call.mode, PaymentMode::Owner);
        assert_eq!(call.amounts.charge, MicroUsd::ZERO);
        let saved = call.amounts.cache_savings.expect("a price");
        let cost = call.amounts.provider_cost.expect("a price");
        assert!(cost > MicroUsd::ZERO && saved.gain() == MicroUsd::ZERO && saved.loss() == cost);
        assert_eq!(call.amounts.savings(), None, "no caller saved anything");
    }
    let told = kept.told.calls.lock().expect("no thread panics").clone();
    for ((account, result, tokens, paid), call) in told.iter().zip(&calls) {
        assert_eq!((account.as_str(), *result), ("agent", "warm"));
        assert_eq!(*tokens, read(call));
        assert_eq!(*paid, call.amounts.provider_cost);
    }

    let plain = Day::start(None);
    assert_eq!(plain.beats(12).await, 0);
    let without = cost(&plain.receipts("agent")[4..]);
    let with = cost(&beats[4..]) + cost(&calls);
    // One write at twice the price, then a read and a keepalive call at a tenth each.
    assert!(with * 2 < without, "{with} {without}");
}

#[tokio::test]
async fn an_agent_that_leaves_gets_no_more_calls_than_pay() {
    let day = Day::start(Some(policy()));
    assert_eq!(day.beats(6).await, 2);
    assert_eq!(day.pass(24 * 60 * MINUTE).await, 0);
    assert_eq!(day.engine.prompts_kept(), 0);
}

#[tokio::test]
async fn an_entry_that_the_provider_lost_is_given_up_and_told() {
    let day = Day::start(Some(policy()));
    for beat in 0..5 {
        day.call(&format!("Beat {beat}"), json!({})).await;
        if beat < 4 {
            day.pass(BEAT).await;
        }
    }
    assert_eq!(day.engine.prompts_kept(), 1);
    // The process slept: the entry has expired, and a call would write it.
    day.forward(60 * MINUTE);
    assert_eq!(day.engine.keep_warm().await, 0);
    assert_eq!(day.engine.prompts_kept(), 0);
}

#[tokio::test]
async fn a_prompt_whose_answers_are_removed_gets_no_more_calls() {
    let day = Day::start(Some(policy()));
    day.beats(4).await;
    day.call("Beat 4", json!({ "golem_id": "g" })).await;
    let tenant = |name| Flush::Tenant(AccountId::parse(name).expect("an id"));
    let flush = async |flush: Flush| {
        day.engine.invalidate(&[flush], FlushCause::Account).await;
        day.engine.prompts_kept()
    };
    assert_eq!(flush(tenant("another")).await, 1);
    assert_eq!(flush(tenant("agent")).await, 0);
    assert_eq!(day.pass(BEAT).await, 0);
}

#[tokio::test]
async fn private_prompts_and_a_process_that_ends_get_no_keepalive_calls() {
    let private = Day::start(Some(policy()));
    let off = Day::start(Some(policy()));
    for beat in 0..7 {
        let text = format!("Beat {beat}");
        let hints = json!({ "subsystem": "dream_rem", "accept_degraded": true });
        private.call(&text, hints).await;
        assert_eq!(private.pass(BEAT).await, 0);
        off.call(&text, json!({})).await;
        if beat == 5 {
            assert_eq!(off.engine.prompts_kept(), 1);
            off.engine.stop_keepalive();
        }
        let made = off.pass(BEAT).await;
        assert_eq!(made, usize::from(beat == 4), "beat {beat}");
    }
}

#[tokio::test]
async fn the_money_of_a_day_ends_the_calls_and_the_marks_that_rely_on_them() {
    let free = Day::start(Some(policy()));
    free.beats(5).await;
    let one = cost(&free.receipts(KEEPALIVE_ACCOUNT)[..1]);
    let (limits, one_and_a_half) = (policy().limits, MicroUsd::new(one * 3 / 2));
    for limits in [
        KeepaliveLimits { calls: 1, ..limits },
        KeepaliveLimits {
            usd: one_and_a_half,
            ..limits
        },
        KeepaliveLimits {
            prefix_usd: one_and_a_half,
            ..limits
        },
    ] {
        let day = Day::start(Some(KeepalivePolicy { limits, ..policy() }));
        assert_eq!(day.beats(8).await, 1);
        let beats = day.receipts("agent");
        let usage = |beat: usize| beats[beat].usage.clone().expect("usage");
        assert!(usage(4).cache_write() > 0 && usage(5).cache_read > 0);
        for beat in [6, 7] {
            assert_eq!(
                usage(beat).cache_write(),
                0,
                "no mark is set that nobody keeps"
            );
        }
        assert_eq!(day.receipts(KEEPALIVE_ACCOUNT).len(), 1);
    }
}

#[tokio::test]
async fn a_prompt_that_no_keepalive_call_can_have_gets_no_mark_for_one() {
    let day = Day::start(Some(policy()));
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name } });
    for beat in 0..8 {
        let mut body = day.body(&format!("Beat {beat}"), json!({}));
        body["tools"] = json!([tool("f"), tool("g")]);
        let allowed = json!({ "mode": "auto", "tools": [tool("f")] });
        body["tool_choice"] = json!({ "type": "allowed_tools", "allowed_tools": allowed });
        day.send(&body).await;
        assert_eq!(day.pass(BEAT).await, 0);
    }
    let usage = |beat: &Receipt| beat.usage.clone().expect("usage");
    let beats = day.receipts("agent");
    assert!(beats[1..].iter().all(|beat| usage(beat).cache_write() == 0));
}
