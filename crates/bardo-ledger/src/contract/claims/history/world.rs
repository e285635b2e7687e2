//! Requests, settlers and the chain, one thing after the other.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bardo_types::ids::RequestId;
use bardo_types::money::MicroUsd;

use super::super::super::rig::NOW_MS;
use super::ClaimHistory;
use super::chain::{ClaimDice, SimulatedChain, transaction};
use super::crash::CrashingClaims;
use crate::claims::{
    AuthorizationKey, ChainAddress, ChainHash, ClaimAnswer, ClaimBook, ClaimOrder, ClaimQuery,
    ClaimRecord, ClaimRefusal, ClaimScheme, ClaimStage, ClaimStep, ClaimStore, DebtEnd,
    ExposureTerms, NewClaim, ServiceStage, StepBy, StepRefusal, WalletId, WalletRecord,
    audit_claims,
};
use crate::command::{Charge, End, Settle};
use crate::port::{Ledger, StoreError};

/// Wallets of a history.
const WALLETS: u64 = 3;
const TERMS: ExposureTerms = ExposureTerms {
    cap: MicroUsd::new(2_000),
    first_cap: MicroUsd::new(500),
    raise: MicroUsd::new(100),
    open_max: 6,
    admits_debtors: false,
};

/// The store failed; whoever asked is taken for dead.
struct Died;

impl From<StoreError> for Died {
    fn from(_: StoreError) -> Self {
        Self
    }
}

/// The stores of the process that lives now.
struct ClaimWorldStores {
    /// Claims, in a store that fails.
    book: ClaimBook,
    claims: Arc<dyn ClaimStore>,
    ledger: Arc<dyn Ledger>,
}

pub(super) struct ClaimWorld {
    pub(super) dice: ClaimDice,
    failures: u64,
    chain: SimulatedChain,
    now_ms: u64,
    stores: Option<ClaimWorldStores>,
    commands: Vec<NewClaim>,
    /// Answers that were begun, by authorization.
    served: HashMap<AuthorizationKey, u32>,
    /// Authorizations that the chain has paid and the ledger has booked: final, as far as the
    /// gateway's confirmations go.
    is_final: HashSet<AuthorizationKey>,
    wallets: Vec<WalletId>,
    requests: u64,
    name: u64,
}

impl ClaimWorld {
    pub(super) fn new(history: &ClaimHistory) -> Self {
        let wallet = |number: u64| {
            let mut address = [0; 20];
            address[..8].copy_from_slice(&history.seed.to_be_bytes());
            address[8..16].copy_from_slice(&number.to_be_bytes());
            WalletId {
                chain_id: 8_453,
                address: ChainAddress(address),
            }
        };
        Self {
            dice: ClaimDice::new(history.seed),
            failures: history.failures,
            chain: SimulatedChain::default(),
            now_ms: NOW_MS,
            stores: None,
            commands: Vec::new(),
            served: HashMap::new(),
            is_final: HashSet::new(),
            wallets: (0..WALLETS).map(wallet).collect(),
            requests: 0,
            name: history.seed,
        }
    }

    pub(super) fn open(&mut self, claims: Arc<dyn ClaimStore>, ledger: Arc<dyn Ledger>) {
        let seed = self.dice.next();
        let crashing = CrashingClaims::new(Arc::clone(&claims), seed, self.failures);
        self.stores = Some(ClaimWorldStores {
            book: ClaimBook::new(Arc::new(crashing)),
            claims,
            ledger,
        });
    }

    /// Lets go of the store, so that it can be opened anew.
    pub(super) fn close(&mut self) {
        self.stores = None;
    }

    fn book(&self) -> ClaimBook {
        self.stores.as_ref().expect("it is open").book.clone()
    }

    fn ledger(&self) -> Arc<dyn Ledger> {
        Arc::clone(&self.stores.as_ref().expect("it is open").ledger)
    }

    pub(super) async fn happen(&mut self) {
        self.now_ms += self.dice.below(20_000);
        // Whoever dies is survived by what was kept.
        let _: Result<(), Died> = match self.dice.below(12) {
            0..=4 => self.request().await,
            5 => self.replay().await,
            6 => self.reorganize().await,
            7 => self.withdraw(),
            8 => self.pay_debt().await,
            9 => self.prune().await,
            _ => self.settle_due().await,
        };
    }

    fn next_request(&mut self) -> RequestId {
        self.requests += 1;
        let text = format!("r{}-{}", self.name, self.requests);
        RequestId::parse(&text).expect("it is short")
    }

    fn command(&mut self) -> NewClaim {
        let dice = &mut self.dice;
        let wallet = self.wallets[usize::try_from(dice.below(WALLETS)).expect("small")];
        let mut nonce = [0; 32];
        nonce[..8].copy_from_slice(&dice.next().to_be_bytes());
        let is = |dice: &mut ClaimDice| dice.percent(50);
        let scheme = [ClaimScheme::Exact, ClaimScheme::Upto][usize::from(is(dice))];
        let order = [ClaimOrder::ServeFirst, ClaimOrder::SettleFirst]
            [usize::from(scheme == ClaimScheme::Exact && is(dice))];
        let ceiling = MicroUsd::new(1 + dice.below(300));
        NewClaim {
            key: AuthorizationKey {
                chain_id: wallet.chain_id,
                contract: ChainAddress([7; 20]),
                payer: wallet.address,
                nonce: ChainHash(nonce),
            },
            request: self.next_request(),
            account: wallet.account(),
            body_hash: ChainHash([1; 32]),
            quote: String::new(),
            scheme,
            order,
            ceiling,
            deadline_s: self.now_ms / 1_000 + 120,
            payload: vec![1],
            stale_at_ms: self.now_ms + 30_000,
            terms: TERMS,
            now_ms: self.now_ms,
        }
    }

    /// A caller with a new authorization. The request may die at any step.
    async fn request(&mut self) -> Result<(), Died> {
        let command = self.command();
        self.commands.push(command.clone());
        let book = self.book();
        let before = book.store().wallet(command.key.wallet()).await?;
        let answer = book.claim(&command).await?;
        let before = before.map_or((0, MicroUsd::ZERO), |wallet| {
            (wallet.settlements, wallet.debt)
        });
        match answer {
            Ok(ClaimAnswer::Claimed(_)) => assert_eq!(before.1, MicroUsd::ZERO, "a debt blocks"),
            Ok(ClaimAnswer::AlreadyClaimed { .. }) => unreachable!("the nonce is new"),
            Err(ClaimRefusal::InDebt { debt }) => {
                assert_eq!(before.1, debt);
                return Ok(());
            }
            Err(_) => return Ok(()),
        }
        let wallet = book.store().wallet(command.key.wallet()).await?;
        let raised = MicroUsd::new(500 + 100 * before.0).min(TERMS.cap);
        let exposure = wallet.map_or(MicroUsd::ZERO, |wallet| wallet.exposure);
        assert!(
            exposure <= raised,
            "{exposure} are above the cap of {raised}"
        );
        self.serve(&command).await
    }

    async fn serve(&mut self, command: &NewClaim) -> Result<(), Died> {
        let (book, by) = (self.book(), StepBy::Request(command.request.clone()));
        if self.dice.percent(10) {
            return Ok(());
        }
        if self.dice.percent(10) {
            let _ = book
                .step(&command.key, &by, &ClaimStep::Release, self.now_ms)
                .await?;
            return Ok(());
        }
        if command.order == ClaimOrder::SettleFirst {
            let step = ClaimStep::Lease {
                owner: "request".to_owned(),
                until_ms: self.now_ms + 10_000,
            };
            let leased = book.step(&command.key, &by, &step, self.now_ms).await?;
            if let Ok(Some(claim)) = leased {
                self.work(claim).await?;
            }
        }
        let serve = book
            .step(&command.key, &by, &ClaimStep::Serve, self.now_ms)
            .await?;
        if serve.is_err() {
            return Ok(());
        }
        *self.served.entry(command.key).or_default() += 1;
        if self.dice.percent(10) {
            return Ok(());
        }
        let used = self.used(command.ceiling);
        let step = ClaimStep::Served { used };
        let _ = book.step(&command.key, &by, &step, self.now_ms).await?;
        Ok(())
    }

    fn used(&mut self, ceiling: MicroUsd) -> MicroUsd {
        if self.dice.percent(15) {
            return MicroUsd::ZERO;
        }
        MicroUsd::new(self.dice.below(ceiling.get() + 1))
    }

    /// A caller with an authorization that was used before.
    async fn replay(&mut self) -> Result<(), Died> {
        if self.commands.is_empty() {
            return Ok(());
        }
        let place = self.dice.below(self.commands.len() as u64);
        let mut command = self.commands[usize::try_from(place).expect("small")].clone();
        command.request = self.next_request();
        command.now_ms = self.now_ms;
        command.stale_at_ms = self.now_ms + 30_000;
        let first = self.book().store().view(&command.key).await?.claim;
        match (self.book().claim(&command).await?, first) {
            (Ok(ClaimAnswer::AlreadyClaimed { claim, .. }), Some(first)) => {
                assert_eq!(claim.request, first.request);
            }
            (Ok(ClaimAnswer::Claimed(_)), None) => {
                self.commands.push(command.clone());
                let served = self.served.get(&command.key).copied().unwrap_or(0);
                assert_eq!(served, 0, "what was served is never free again");
                self.serve(&command).await?;
            }
            (Err(_), None) => {}
            (answer, first) => unreachable!("{answer:?} where there was {first:?}"),
        }
        Ok(())
    }

    async fn settle_due(&mut self) -> Result<(), Died> {
        let until_ms = self.now_ms + 10_000;
        let due = self.book();
        let due = due
            .store()
            .lease_due("settler", self.now_ms, until_ms, 4)
            .await?;
        for claim in due {
            // Histories may share a store.
            if self.wallets.contains(&claim.key.wallet()) {
                self.work(claim).await?;
            }
        }
        Ok(())
    }

    async fn step(
        &mut self,
        claim: &ClaimRecord,
        step: &ClaimStep,
    ) -> Result<Option<ClaimRecord>, Died> {
        let by = StepBy::Lease(claim.lease_no);
        let after = self.book().step(&claim.key, &by, step, self.now_ms).await?;
        match after {
            Ok(after) => Ok(after),
            Err(StepRefusal::LeaseLost | StepRefusal::NoClaim) => Err(Died),
            Err(refusal) => unreachable!("{refusal} for {step:?} of {claim:?}"),
        }
    }

    /// A settler works on a claim that it has leased, as far as it gets.
    async fn work(&mut self, mut claim: ClaimRecord) -> Result<(), Died> {
        for _ in 0..6 {
            if self.failures > 0 && self.dice.percent(10) {
                return Err(Died);
            }
            let Some(step) = self.next_step(&claim).await? else {
                return Ok(());
            };
            let Some(after) = self.step(&claim, &step).await? else {
                return Ok(());
            };
            if let ClaimStep::Send { transaction, .. } = &step
                && self.dice.percent(80)
            {
                self.chain.send(&after, transaction.hash);
            }
            claim = after;
        }
        Ok(())
    }

    /// What a settler does next; `None` where nothing is to be done, or it was done here.
    async fn next_step(&mut self, claim: &ClaimRecord) -> Result<Option<ClaimStep>, Died> {
        let paid = self.chain.paid(&claim.key);
        let is_first = claim.order == ClaimOrder::SettleFirst;
        let is_stale = claim.stale_at_ms <= self.now_ms;
        Ok(match (claim.stage, paid) {
            (ClaimStage::Settled, Some(paid)) if claim.settlement == Some(paid) => {
                self.after_settling(claim, is_stale).await?
            }
            (ClaimStage::Settled, _) => {
                let settlement = claim.settlement.expect("it is settled");
                let transaction = settlement.transaction;
                Some(ClaimStep::Unsettle { transaction })
            }
            (ClaimStage::Claimed | ClaimStage::Owed | ClaimStage::Settling, Some(paid)) => {
                Some(ClaimStep::Settle {
                    settlement: paid,
                    book_at_ms: self.now_ms + 5_000,
                })
            }
            (ClaimStage::Claimed, None) => match claim.service {
                ServiceStage::Pending if is_stale => Some(ClaimStep::Release),
                ServiceStage::Pending if is_first => Some(self.send_or_fail(claim)),
                ServiceStage::Started if is_stale => {
                    let used = self.used(claim.ceiling);
                    Some(ClaimStep::Served { used })
                }
                _ => None,
            },
            (ClaimStage::Owed | ClaimStage::Settling, None) => Some(self.send_or_fail(claim)),
            (ClaimStage::Failed | ClaimStage::Void, _) => None,
        })
    }

    fn send_or_fail(&mut self, claim: &ClaimRecord) -> ClaimStep {
        if self.chain.is_withdrawn(&claim.key) {
            let reason = "withdrawn".to_owned();
            return ClaimStep::Fail { reason };
        }
        if claim.transactions.len() > 20 || self.dice.percent(20) {
            return ClaimStep::Defer {
                until_ms: self.now_ms + 3_000,
                reason: "slow".to_owned(),
            };
        }
        ClaimStep::Send {
            transaction: transaction(&mut self.dice),
            check_at_ms: self.now_ms + 5_000,
        }
    }

    async fn after_settling(
        &mut self,
        claim: &ClaimRecord,
        is_stale: bool,
    ) -> Result<Option<ClaimStep>, Died> {
        if is_stale && claim.service == ServiceStage::Pending {
            let used = MicroUsd::ZERO;
            return Ok(Some(ClaimStep::Served { used }));
        }
        if is_stale && claim.service == ServiceStage::Started {
            let used = self.used(claim.ceiling);
            return Ok(Some(ClaimStep::Served { used }));
        }
        let is_known = claim.service == ServiceStage::Done;
        if claim.booked.is_none() && (is_known || claim.order == ClaimOrder::SettleFirst) {
            self.is_final.insert(claim.key);
            self.book_settlement(claim, is_known).await?;
        }
        Ok(None)
    }

    async fn book_settlement(&self, claim: &ClaimRecord, is_known: bool) -> Result<(), Died> {
        let capture = Settle {
            account: claim.account.clone(),
            request: claim.request.clone(),
            end: End::Capture(Charge {
                provider: "sim".into(),
                provider_cost: claim.capture(),
                spread: MicroUsd::ZERO,
            }),
            record: None,
            now_ms: self.now_ms,
        };
        let ledger = self.ledger();
        let ledger: &dyn Ledger = &*ledger;
        let capture = is_known.then_some(capture);
        let _ = self
            .book()
            .book(ledger, claim, capture, self.now_ms)
            .await?;
        Ok(())
    }

    /// The chain undoes a block that is not final.
    async fn reorganize(&mut self) -> Result<(), Died> {
        let is_final = &self.is_final;
        let mut keys: Vec<_> = self.chain.all().map(|(key, _)| *key).collect();
        keys.retain(|key| !is_final.contains(key));
        keys.sort();
        if keys.is_empty() {
            return Ok(());
        }
        let key = keys[usize::try_from(self.dice.below(keys.len() as u64)).expect("small")];
        self.chain.undo(&key);
        let step = ClaimStep::Lease {
            owner: "watcher".to_owned(),
            until_ms: self.now_ms + 5_000,
        };
        // Who sees it late sees it when the claim is due.
        let leased = self
            .book()
            .step(&key, &StepBy::Operator, &step, self.now_ms)
            .await?;
        if let Ok(Some(claim)) = leased
            && claim.stage == ClaimStage::Settled
        {
            self.work(claim).await?;
        }
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "as its siblings")]
    fn withdraw(&mut self) -> Result<(), Died> {
        if !self.commands.is_empty() && self.dice.percent(50) {
            let place = self.dice.below(self.commands.len() as u64);
            let key = self.commands[usize::try_from(place).expect("small")].key;
            if self.chain.paid(&key).is_none() {
                self.chain.withdraw(key);
            }
        }
        Ok(())
    }

    async fn pay_debt(&mut self) -> Result<(), Died> {
        let book = self.book();
        for wallet in self.wallets.clone() {
            let query = ClaimQuery {
                wallet: Some(wallet),
                only_debts: true,
                limit: 1,
                ..ClaimQuery::default()
            };
            for claim in book.store().claims(query).await? {
                let reason = "operator: a test".to_owned();
                let step = ClaimStep::EndDebt(DebtEnd::WrittenOff { reason });
                let by = StepBy::Operator;
                let _ = book.step(&claim.key, &by, &step, self.now_ms).await?;
            }
        }
        Ok(())
    }

    async fn prune(&mut self) -> Result<(), Died> {
        let before_s = (self.now_ms / 1_000).saturating_sub(30);
        self.book().store().prune_claims(before_s).await?;
        Ok(())
    }

    /// No more failures and no more requests: time passes until nothing is due.
    pub(super) async fn come_to_rest(&mut self) {
        self.failures = 0;
        let stores = self.stores.take().expect("it is open");
        self.open(stores.claims, stores.ledger);
        for _ in 0..2_000 {
            self.now_ms += 20_000;
            let done = self.settle_due().await;
            if done.is_ok() && self.is_at_rest().await {
                return;
            }
        }
        unreachable!("the history comes to rest");
    }

    async fn found_wallets(&self) -> Vec<WalletRecord> {
        let mut found = Vec::new();
        for wallet in &self.wallets {
            let wallet = self.book().store().wallet(*wallet).await;
            found.extend(wallet.expect("the store works"));
        }
        found
    }

    async fn is_at_rest(&self) -> bool {
        let wallets = self.found_wallets().await;
        let is_at_rest =
            |wallet: &WalletRecord| wallet.open == 0 && wallet.settled == wallet.booked;
        wallets.iter().all(is_at_rest)
    }

    /// Compares the claims with the chain and the ledger.
    pub(super) async fn check(&self) {
        let twice = self.served.iter().find(|(_, times)| **times > 1);
        assert_eq!(twice, None, "no claim is served twice");
        let book = self.book();
        for (key, paid) in self.chain.all() {
            let view = book.store().view(key).await.expect("the store works");
            let claim = view.claim.expect("what is settled is never pruned");
            assert_eq!(claim.settlement, Some(*paid));
            assert_eq!(claim.booked, Some(paid.amount));
            assert!(paid.amount <= claim.ceiling, "{claim:?}");
        }
        let wallets = self.found_wallets().await;
        let booked: u64 = wallets.iter().map(|wallet| wallet.booked.get()).sum();
        assert_eq!(booked, self.chain.total().get());
        let mut deposited = 0;
        for wallet in &self.wallets {
            let balance = self.ledger().balance(&wallet.account()).await;
            let balance = balance.expect("the ledger works").unwrap_or_default();
            deposited += balance.deposited.get();
        }
        assert_eq!(deposited, booked, "the ledger has what the chain has");
        let ledger = self.ledger();
        let ledger: &dyn Ledger = &*ledger;
        let problems = audit_claims(book.store(), ledger).await;
        assert_eq!(problems.expect("the stores work"), Vec::<String>::new());
        self.check_replays().await;
    }

    /// Every authorization that was served or settled is still known.
    async fn check_replays(&self) {
        for command in &self.commands {
            let view = self.book().store().view(&command.key).await;
            let Some(found) = view.expect("the store works").claim else {
                continue;
            };
            let mut replay = command.clone();
            replay.request = RequestId::parse("another").expect("it is short");
            let answer = self.book().claim(&replay).await.expect("the store works");
            let Ok(ClaimAnswer::AlreadyClaimed { claim, .. }) = answer else {
                unreachable!("{answer:?}");
            };
            assert_eq!(claim.request, found.request);
        }
    }
}
