//! Whether claims, the figures of wallets and the ledger agree.

use std::collections::HashMap;

use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;

use super::chain_deposit::ChainDepositState;
use super::port::{ClaimQuery, ClaimStore};
use super::record::{ClaimRecord, ClaimStage, WalletRecord};
use crate::command::PostingKind;
use crate::port::{Accounts, StoreError};

/// Rows that are read at once.
const PAGE: u32 = 500;
/// How often a wallet that changes meanwhile is added up again.
const TRIES: u32 = 5;

/// Deposits of accounts by reference, as the ledger has them.
type LedgerDeposits = HashMap<AccountId, HashMap<String, MicroUsd>>;

/// Adds all claims up and compares them with the figures of their wallets and with the ledger;
/// answers the contradictions in words. A wallet that does not come to rest is left out.
///
/// # Errors
/// When a store does not answer.
pub async fn audit_claims(
    claims: &dyn ClaimStore,
    ledger: &dyn Accounts,
) -> Result<Vec<String>, StoreError> {
    let mut problems = Vec::new();
    let mut deposits = LedgerDeposits::new();
    let mut after = None;
    loop {
        let page = claims.wallets(after, PAGE).await?;
        for wallet in &page {
            let found = audit_wallet(claims, ledger, wallet, &mut deposits).await?;
            problems.extend(found);
        }
        let Some(last) = page.last() else { break };
        after = Some(last.wallet);
    }
    audit_deposits(claims, ledger, &mut deposits, &mut problems).await?;
    problems.sort();
    Ok(problems)
}

async fn audit_wallet(
    store: &dyn ClaimStore,
    ledger: &dyn Accounts,
    listed: &WalletRecord,
    deposits: &mut LedgerDeposits,
) -> Result<Vec<String>, StoreError> {
    let mut before = listed.clone();
    for _ in 0..TRIES {
        let claims = claims_of(store, &before).await?;
        let Some(now) = store.wallet(before.wallet).await? else {
            return Ok(vec![format!("`{}`: the wallet was deleted", before.wallet)]);
        };
        if now.version != before.version {
            before = now;
            continue;
        }
        let mut problems = Vec::new();
        let mut sum = WalletRecord::new(now.wallet);
        sum.version = now.version;
        for claim in &claims {
            sum = match sum.after(None, Some(claim)) {
                Some(sum) => sum,
                None => return Ok(vec![format!("`{}`: sums are out of range", now.wallet)]),
            };
            audit_claim(ledger, claim, deposits, &mut problems).await?;
        }
        if sum != now {
            problems.push(format!(
                "`{}`: the claims add up to {sum:?}, but the wallet has {now:?}",
                now.wallet
            ));
        }
        return Ok(problems);
    }
    Ok(Vec::new())
}

async fn claims_of(
    store: &dyn ClaimStore,
    wallet: &WalletRecord,
) -> Result<Vec<ClaimRecord>, StoreError> {
    let mut all = Vec::new();
    let mut query = ClaimQuery {
        wallet: Some(wallet.wallet),
        limit: PAGE,
        ..ClaimQuery::default()
    };
    loop {
        let page = store.claims(query.clone()).await?;
        let Some(last) = page.last() else {
            return Ok(all);
        };
        query.below_no = Some(last.no);
        all.extend(page);
    }
}

async fn audit_claim(
    ledger: &dyn Accounts,
    claim: &ClaimRecord,
    deposits: &mut LedgerDeposits,
    problems: &mut Vec<String>,
) -> Result<(), StoreError> {
    let key = &claim.key;
    let paid = claim.settlement.map(|settlement| settlement.amount);
    if (claim.stage == ClaimStage::Settled) != paid.is_some() {
        problems.push(format!("`{key}`: stage and settlement differ"));
    }
    let most = claim.amount.max(claim.used).max(paid.unwrap_or_default());
    if most > claim.ceiling {
        let ceiling = claim.ceiling;
        problems.push(format!(
            "`{key}`: {most} USD exceed the {ceiling} USD that were authorized"
        ));
    }
    if claim.booked.is_some() && claim.booked != paid {
        problems.push(format!(
            "`{key}`: the ledger has booked a settlement that the chain does not have"
        ));
    }
    let reference = claim.key.deposit_reference();
    let posted = posted(ledger, &claim.account, &reference, deposits).await?;
    if claim.booked.is_some() && posted != claim.booked {
        problems.push(format!(
            "`{key}`: it is booked, but the ledger has no such deposit"
        ));
    }
    if posted.is_some() && claim.booked.is_none() && paid.is_none() {
        problems.push(format!(
            "`{key}`: the ledger has a deposit for a claim that is {}",
            claim.stage.as_str()
        ));
    }
    Ok(())
}

async fn audit_deposits(
    store: &dyn ClaimStore,
    ledger: &dyn Accounts,
    deposits: &mut LedgerDeposits,
    problems: &mut Vec<String>,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let state = ChainDepositState::Credited;
        let page = store.chain_deposits(state, after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = Some(last.log);
        for deposit in &page {
            let reference = deposit.log.deposit_reference();
            let posted = posted(ledger, &deposit.account, &reference, deposits).await?;
            if posted != Some(deposit.amount) {
                problems.push(format!(
                    "`{}`: it is credited, but the ledger has no such deposit",
                    deposit.log
                ));
            }
        }
    }
}

/// The amount of the deposit of this reference. Postings of an account are read once.
async fn posted(
    ledger: &dyn Accounts,
    account: &AccountId,
    reference: &str,
    deposits: &mut LedgerDeposits,
) -> Result<Option<MicroUsd>, StoreError> {
    if !deposits.contains_key(account) {
        let found = deposits_of(ledger, account).await?;
        deposits.insert(account.clone(), found);
    }
    Ok(deposits
        .get(account)
        .and_then(|found| found.get(reference).copied()))
}

async fn deposits_of(
    ledger: &dyn Accounts,
    account: &AccountId,
) -> Result<HashMap<String, MicroUsd>, StoreError> {
    let book = format!("customer:{account}");
    let mut found = HashMap::new();
    let mut after = 0;
    loop {
        let page = ledger.postings(account, after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        after = last.transfer;
        for posting in page {
            let is_deposit = posting.kind == PostingKind::Deposit && posting.book == book;
            if let (true, Ok(amount)) = (is_deposit, u64::try_from(posting.amount)) {
                found.insert(posting.reference, MicroUsd::new(amount));
            }
        }
    }
}
