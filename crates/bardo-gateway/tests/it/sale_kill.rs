//! `kill -9` while callers pay on a chain, and several gateways on one store: no payment is lost,
//! doubled or settled for more than was signed, and the chain, the claims and the ledger agree.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bardo_ledger::Accounts;
use bardo_ledger::claims::{ClaimQuery, ClaimRecord, ClaimStage, ClaimStore, audit_claims};
use bardo_store::postgres::{PostgresOptions, PostgresStore};
use bardo_store::servers::{ChainNode, PostgresServer};
use bardo_store::sqlite::{OpenMode, SqliteStore};
use bardo_types::secret::Secret;
use bardo_x402::evm::Signer;
use bardo_x402::wire::{PaymentScheme, X402Version};
use serde_json::{Value, json};

use crate::http::Request;
use crate::money::shop::try_send;
use crate::payer::{self, paid, sign};
use crate::rig::{Folder, Gateway, Sandbox, command, everything, pass};
use crate::sse::Caller;

const SETTLER: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const PAY_TO: &str = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const RICH: u64 = 1_000_000_000;
const CALLERS: usize = 4;
/// The leases of the dead end after ten seconds, and gaps between nonces are filled ten later.
const SETTLED: Duration = Duration::from_secs(120);

/// How often a gateway dies.
fn deaths() -> u64 {
    let is_long = std::env::var("BARDO_LONG").is_ok_and(|value| value == "1");
    if is_long { 250 } else { 26 }
}

/// A chain on which a block is made every few milliseconds, and gateways that sell.
struct Market {
    node: Arc<ChainNode>,
    sandbox: Sandbox,
    store: Option<String>,
    folder: Folder,
    over: Arc<AtomicBool>,
}

impl Drop for Market {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Market {
    fn open(store: Option<String>) -> Self {
        let node = Arc::new(ChainNode::start().expect("a node"));
        let payer = Signer::from_bytes(payer::KEY).expect("a key");
        let payer = payer.address().to_string();
        node.mint(&payer, RICH).expect("USDC");
        node.approve_permit2(&payer, RICH).expect("an allowance");
        node.mines_by_itself(false).expect("it answers");
        let over = Arc::new(AtomicBool::new(false));
        std::thread::spawn({
            let (node, over) = (Arc::clone(&node), Arc::clone(&over));
            move || {
                while !over.load(Ordering::Relaxed) {
                    std::thread::park_timeout(Duration::from_millis(60));
                    let _ = node.mine(1);
                }
            }
        });
        Self {
            node,
            sandbox: Sandbox::start(),
            store,
            folder: Folder::new(),
            over,
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.0.join("data")
    }

    fn gateway(&self) -> Gateway {
        let mut config = everything(&self.sandbox);
        config["payments"] = json!({
            "enabled": true,
            "settlement_key": SETTLER,
            "pay_to": PAY_TO,
            "rpc_urls": [self.node.url()],
            "rpc_allow_private": true,
            "confirmations": 1,
            "max_open": 100_000,
            "first_open_usd": 500,
            "max_open_usd": 500,
            "settlement_wait": "300ms",
        });
        let own = Folder::new();
        let data = match &self.store {
            Some(url) => {
                config["store"] = json!({ "url": url });
                own.0.join("data")
            }
            None => self.data(),
        };
        let file = own.write("config.yaml", &config.to_string());
        let mut serve = command(&own);
        serve.args(["serve", "--config"]).arg(file);
        serve.arg("--data-dir").arg(data);
        Gateway::run(own, serve, &[])
    }

    /// All claims, the sum of what the ledger has booked, and the contradictions between them.
    fn books(&self) -> (Vec<ClaimRecord>, Vec<String>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            match &self.store {
                Some(url) => {
                    let options = PostgresOptions::new(Secret::new(url.clone()));
                    let store = PostgresStore::new(&options).expect("a store");
                    store.prepare().await.expect("it answers");
                    read(&store, &store).await
                }
                None => {
                    let file: &Path = &self.data().join("bardo.db");
                    let store = SqliteStore::open(file, OpenMode::Tool).expect("a store");
                    read(&store, &store).await
                }
            }
        })
    }

    /// Waits until nothing is owed any more, and checks the sums.
    fn check(&self) {
        let is_over = |claim: &ClaimRecord| match claim.stage {
            ClaimStage::Owed | ClaimStage::Settling => false,
            ClaimStage::Settled => claim.booked.is_some(),
            ClaimStage::Claimed | ClaimStage::Failed | ClaimStage::Void => true,
        };
        let since = Instant::now();
        let claims = loop {
            let (claims, _) = self.books();
            let Some(open) = claims.iter().find(|claim| !is_over(claim)) else {
                break claims;
            };
            assert!(since.elapsed() < SETTLED, "{open:?} {:?}", open.reason);
            std::thread::park_timeout(Duration::from_millis(500));
        };
        let (_, problems) = self.books();
        assert!(problems.is_empty(), "{problems:?}");
        let mut moved = 0;
        let mut authorizations = HashSet::new();
        for claim in &claims {
            assert!(
                authorizations.insert(claim.key),
                "two claims of one payment"
            );
            assert_ne!(
                claim.stage,
                ClaimStage::Failed,
                "{claim:?} {:?}",
                claim.reason
            );
            let Some(settlement) = claim.settlement else {
                continue;
            };
            assert!(settlement.amount <= claim.ceiling, "{claim:?}");
            assert_eq!(claim.booked, Some(settlement.amount), "{claim:?}");
            moved += settlement.amount.get();
        }
        let settled = claims.iter().filter(|claim| claim.settlement.is_some());
        assert!(settled.count() > 0, "something was sold");
        assert_eq!(self.node.balance(PAY_TO).expect("a balance"), moved);
    }
}

async fn read(claims: &dyn ClaimStore, ledger: &dyn Accounts) -> (Vec<ClaimRecord>, Vec<String>) {
    let mut all: Vec<ClaimRecord> = Vec::new();
    loop {
        let query = ClaimQuery {
            below_no: all.last().map(|claim| claim.no),
            limit: 500,
            ..ClaimQuery::default()
        };
        let page = claims.claims(query).await.expect("it answers");
        if page.is_empty() {
            break;
        }
        all.extend(page);
    }
    let problems = audit_claims(claims, ledger).await.expect("it answers");
    (all, problems)
}

fn question(number: usize) -> Request {
    let mut body: Value = Caller::Chat.request("gpt-5.5", "Hi", number.is_multiple_of(2));
    body["max_completion_tokens"] = json!(100);
    Request::json(Caller::Chat.path(), &body)
}

/// Buys answers until it is over: the number of answers, and the last refusal.
fn buy(gateway: &Gateway, caller: usize, over: &AtomicBool) -> (usize, Option<String>) {
    let (mut bought, mut refused) = (0, None);
    for number in caller.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let request = question(number);
        let Some(offered) = try_send(&request, gateway.address) else {
            continue;
        };
        if offered.status() != 402 {
            refused = Some(offered.text());
            continue;
        }
        let scheme = match number % 3 {
            0 => PaymentScheme::Exact,
            _ => PaymentScheme::Upto,
        };
        let payment = sign(&offered, X402Version::V2, scheme);
        match try_send(&paid(&request, &payment), gateway.address) {
            Some(answer) if answer.status() == 200 => bought += 1,
            Some(answer) => refused = Some(answer.text()),
            None => {}
        }
    }
    (bought, refused)
}

#[test]
fn payments_survive_a_kill_at_any_moment_and_none_is_lost_or_doubled() {
    let market = Market::open(None);
    let (mut bought, mut refused) = (0, None);
    // Moments from before the first answer to after the first settlements; on a machine that is
    // slower than that, later ones until somebody has bought.
    let moments = (0..deaths()).map(|death| 20 + 17 * (death % 26));
    for moment in moments.chain((1..=20).map(|late| 500 * late)) {
        if moment >= 500 && bought > 0 {
            break;
        }
        let mut gateway = market.gateway();
        let over = AtomicBool::new(false);
        let (seller, ending) = (&gateway, &over);
        std::thread::scope(|scope| {
            let callers =
                (0..CALLERS).map(|caller| scope.spawn(move || buy(seller, caller, ending)));
            let callers: Vec<_> = callers.collect();
            pass(Duration::from_millis(moment));
            seller.signal("KILL");
            over.store(true, Ordering::Relaxed);
            for caller in callers {
                let (sold, why) = caller.join().expect("it ends");
                bought += sold;
                refused = why.or(refused.take());
            }
        });
        gateway.wait();
    }
    assert!(bought > 0, "{refused:?}");
    let _gateway = market.gateway();
    market.check();
}

#[test]
fn three_gateways_on_one_store_settle_each_payment_once_also_when_they_die() {
    let server = PostgresServer::start().expect("a database server");
    let market = Market::open(Some(server.database().expect("a database")));
    let mut gateways: Vec<Gateway> = (0..3).map(|_| market.gateway()).collect();
    // One payment at all of them, a hundred times.
    let request = question(1);
    let payment = sign(
        &gateways[0].send(&request),
        X402Version::V2,
        PaymentScheme::Upto,
    );
    let request = paid(&request, &payment);
    let answered: usize = std::thread::scope(|scope| {
        let sent = (0..99).map(|number| {
            let (request, gateway) = (&request, &gateways[number % 3]);
            scope.spawn(move || usize::from(gateway.send(request).status() == 200))
        });
        let sent: Vec<_> = sent.collect();
        sent.into_iter()
            .map(|one| one.join().expect("it answers"))
            .sum()
    });
    assert_eq!(answered, 1);
    for death in 0..deaths() / 4 {
        let over = AtomicBool::new(false);
        let (sellers, ending) = (&gateways, &over);
        std::thread::scope(|scope| {
            for caller in 0..CALLERS {
                scope.spawn(move || buy(&sellers[caller % 3], caller, ending));
            }
            pass(Duration::from_millis(100 + 70 * (death % 6)));
            let victim = usize::try_from(death % 3).expect("small");
            sellers[victim].signal("KILL");
            over.store(true, Ordering::Relaxed);
        });
        let victim = usize::try_from(death % 3).expect("small");
        gateways[victim].wait();
        gateways[victim] = market.gateway();
    }
    market.check();
}
