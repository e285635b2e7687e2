//! Deposits by x402: a payment that is settled at once, and becomes credit of an account.

use std::time::Duration;

use bardo_engine::PaymentRequirement;
use bardo_ledger::claims::{
    AuthorizationKey, ClaimOrder, ClaimRecord, ClaimStage, ClaimStep, ExposureTerms, ServiceStage,
    StepBy,
};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use bardo_x402::quote::RequestDigest;
use bardo_x402::wire::{PaymentResource, TransferMethod};

use crate::admit::{
    AdmittedPayment, ClaimTerms, ComparedPayment, PaymentRejection, PricedItem, Seller,
};
use crate::offers::{ItemForSale, as_http};
use crate::payment::PresentedPayment;

/// A deposit that is asked for.
pub struct DepositRequest<'a> {
    /// The account that gets it; `None`: that of the wallet that pays.
    pub account: Option<&'a AccountId>,
    /// How much is paid in.
    pub amount: MicroUsd,
    /// The address that was asked.
    pub url: &'a str,
    /// The body, byte for byte.
    pub body: &'a [u8],
}

/// Seconds that a settlement needs.
const SETTLE_S: u64 = 60;
/// Milliseconds after which a request that says nothing is taken for dead.
const STALE_MS: u64 = 60_000;
/// A deposit is settled before anything is served for it, so no bound of trust applies.
const EXPOSURE: ExposureTerms = ExposureTerms {
    cap: MicroUsd::MAX,
    first_cap: MicroUsd::MAX,
    raise: MicroUsd::ZERO,
    open_max: u64::MAX,
    admits_debtors: true,
};

impl DepositRequest<'_> {
    fn digest(&self) -> RequestDigest {
        let account = self.account.map_or("", |account| account.as_str());
        RequestDigest::of("POST", &format!("deposit/{account}"), self.body)
    }
}

impl Seller {
    /// The offer of a deposit; `None` where it is too small or too large.
    #[must_use]
    pub fn deposit_offer(&self, deposit: &DepositRequest<'_>) -> Option<PaymentRequirement> {
        if deposit.amount < self.terms.deposits.least.to_usd() {
            return None;
        }
        let item = ItemForSale {
            digest: deposit.digest(),
            price: deposit.amount,
            bounds: self.terms.deposits,
            methods: &[TransferMethod::Exact],
            resource: PaymentResource {
                url: deposit.url.to_owned(),
                description: format!("a deposit of {} USD", deposit.amount),
                mime_type: "application/json".to_owned(),
            },
        };
        let now_s = self.clock.now_ms() / 1_000;
        as_http(&item.offer(&self.terms, now_s, None)?)
    }

    /// Compares a payment with our offer of a deposit, without asking a chain.
    ///
    /// # Errors
    /// For the first member that differs.
    pub fn compare_deposit(
        &self,
        payment: PresentedPayment,
        deposit: &DepositRequest<'_>,
    ) -> Result<ComparedPayment, PaymentRejection> {
        let wanted = PricedItem {
            digest: deposit.digest(),
            price: Some(deposit.amount),
            bounds: self.terms.deposits,
            least_s: SETTLE_S,
        };
        self.compared(payment, &wanted)
    }

    /// Settles a deposit, and answers its claim when the chain has decided or `wait` has passed.
    /// The ledger books it when its settlement is final.
    ///
    /// # Errors
    /// When the payment cannot be claimed, or nobody answers.
    pub async fn deposit(
        &self,
        payment: &AdmittedPayment,
        request: &RequestId,
        account: AccountId,
        wait: Duration,
    ) -> Result<ClaimRecord, PaymentRejection> {
        let terms = ClaimTerms {
            order: ClaimOrder::SettleFirst,
            exposure: EXPOSURE,
            stale_ms: STALE_MS,
        };
        let claim = match self.claimed(payment, request, account, &terms).await {
            Ok(claim) => *claim,
            // A repetition of the deposit is answered by what became of the first.
            Err(PaymentRejection::Used(first)) if payment.is_of(&first) => *first,
            Err(rejection) => return Err(rejection),
        };
        let settled = self.chain.settle(&claim.key, wait).await?;
        let claim = settled.unwrap_or(claim);
        self.end_deposit(claim).await
    }

    /// All of a deposit that is settled is credit.
    async fn end_deposit(&self, claim: ClaimRecord) -> Result<ClaimRecord, PaymentRejection> {
        let is_settled = claim.stage == ClaimStage::Settled;
        if !is_settled || claim.service != ServiceStage::Pending {
            return Ok(claim);
        }
        let (key, by): (AuthorizationKey, _) = (claim.key, StepBy::Request(claim.request.clone()));
        let used = MicroUsd::ZERO;
        let step = ClaimStep::Served { used };
        let now_ms = self.clock.now_ms();
        let after = self.claims.step(&key, &by, &step, now_ms).await?;
        Ok(after.ok().flatten().unwrap_or(claim))
    }
}
