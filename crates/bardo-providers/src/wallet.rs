//! A wallet that holds a private key and pays offers within its caps (x402).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bardo_types::money::MicroUsd;
use bardo_x402::evm::{B256, InvalidSigningKey, Signer};
use bardo_x402::payer::Permit2Approval;
use bardo_x402::wire::PaymentScheme;
use http::HeaderValue;

use crate::payment::{PaymentError, PaymentFuture, PaymentOffer, SignedPayment, Wallet};

const DAY_S: u64 = 86_400;

/// The caps of a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalletCaps {
    /// Most that one payment may be.
    pub call: MicroUsd,
    /// Most that is signed in a day (UTC).
    pub day: MicroUsd,
}

/// A private key that pays. What it has signed counts as spent, whatever becomes of the request.
pub struct KeyWallet {
    signer: Signer,
    caps: WalletCaps,
    /// Networks that it pays on, by their CAIP-2 names.
    networks: Vec<String>,
    schemes: Vec<PaymentScheme>,
    spent: Arc<Mutex<SpentDay>>,
    /// Where the count of the day is stored; `None`: in memory alone.
    file: Option<PathBuf>,
}

/// The day in days since 1970, and the amount that was signed on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SpentDay {
    day: u64,
    amount: MicroUsd,
}

impl std::fmt::Debug for KeyWallet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyWallet")
            .field("address", &self.signer.address())
            .finish_non_exhaustive()
    }
}

impl KeyWallet {
    /// A wallet with the key of 64 hex digits. The count of the day is read from `file` and kept
    /// there, so that a restart gives no new budget.
    ///
    /// # Errors
    /// When the text is no private key.
    pub fn new(
        key: &str,
        caps: WalletCaps,
        networks: Vec<String>,
        file: Option<PathBuf>,
    ) -> Result<Self, InvalidSigningKey> {
        let stored = file
            .as_ref()
            .and_then(|file| std::fs::read_to_string(file).ok());
        let spent = stored
            .and_then(|text| SpentDay::read(&text))
            .unwrap_or_default();
        Ok(Self {
            signer: Signer::from_hex(key)?,
            caps,
            networks,
            schemes: vec![PaymentScheme::Exact],
            spent: Arc::new(Mutex::new(spent)),
            file,
        })
    }

    /// Pays by these schemes, the preferred one first. Under `upto` the ceiling counts as spent, and
    /// the wallet must have approved Permit2 on its network.
    #[must_use]
    pub fn by(mut self, schemes: Vec<PaymentScheme>) -> Self {
        self.schemes = schemes;
        self
    }

    /// The address that pays.
    #[must_use]
    pub fn address(&self) -> String {
        self.signer.address().to_string()
    }

    /// The caps of the wallet.
    #[must_use]
    pub fn caps(&self) -> WalletCaps {
        self.caps
    }

    /// Counts an amount as spent today, or refuses it.
    fn spend(&self, amount: MicroUsd, now_s: u64) -> Result<SpentDay, PaymentError> {
        if amount > self.caps.call {
            let most = self.caps.call;
            return Err(PaymentError::TooDear { amount, most });
        }
        let day = now_s / DAY_S;
        let mut known = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = match known.day == day {
            true => known.amount,
            false => MicroUsd::ZERO,
        };
        let sum = spent
            .checked_add(amount)
            .filter(|sum| *sum <= self.caps.day);
        let Some(amount) = sum else {
            let cap = self.caps.day;
            return Err(PaymentError::DayCap { cap, spent, amount });
        };
        *known = SpentDay { day, amount };
        Ok(*known)
    }

    async fn store(&self) -> Result<(), PaymentError> {
        let Some(file) = self.file.clone() else {
            return Ok(());
        };
        let spent = Arc::clone(&self.spent);
        let stored = tokio::task::spawn_blocking(move || {
            // One writer at a time, with the latest count.
            let spent = spent.lock().unwrap_or_else(PoisonError::into_inner);
            let new = file.with_extension("new");
            std::fs::write(&new, spent.write())?;
            std::fs::rename(&new, &file)
        });
        match stored.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(PaymentError::Uncounted(error.to_string())),
            Err(error) => Err(PaymentError::Uncounted(error.to_string())),
        }
    }

    async fn signed(&self, offer: &PaymentOffer) -> Result<SignedPayment, PaymentError> {
        if !self
            .networks
            .iter()
            .any(|network| network == offer.network())
        {
            return Err(PaymentError::Unacceptable(
                "this wallet does not pay on the network of the offer",
            ));
        }
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_s = now_s.map_or(0, |since| since.as_secs());
        self.spend(offer.amount(), now_s)?;
        // Counted on the disk before anybody can settle it.
        self.store().await?;
        let mut nonce = [0; 32];
        getrandom::fill(&mut nonce).map_err(|error| PaymentError::Uncounted(error.to_string()))?;
        let nonce = B256::from(nonce);
        let paid = offer
            .chosen()
            .sign(&self.signer, nonce, Permit2Approval::Standing, now_s);
        let header = HeaderValue::from_str(&paid.value).map_err(|_| PaymentError::Malformed)?;
        Ok(SignedPayment {
            header,
            reference: nonce.to_string(),
        })
    }
}

impl SpentDay {
    fn write(self) -> String {
        format!("{} {}\n", self.day, self.amount.get())
    }

    fn read(text: &str) -> Option<Self> {
        let (day, amount) = text.trim().split_once(' ')?;
        Some(Self {
            day: day.parse().ok()?,
            amount: MicroUsd::new(amount.parse().ok()?),
        })
    }
}

impl Wallet for KeyWallet {
    fn schemes(&self) -> &[PaymentScheme] {
        &self.schemes
    }

    fn pay<'a>(&'a self, offer: &'a PaymentOffer) -> PaymentFuture<'a> {
        Box::pin(self.signed(offer))
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use http::HeaderMap;

    use super::*;
    use crate::payment::PAYMENT_REQUIRED;

    const KEY: &str = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
    const ADDRESS: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

    fn offer(amount: &str) -> PaymentOffer {
        let offer = serde_json::json!({ "x402Version": 2, "resource": { "url": "http://x/" },
            "accepts": [{ "scheme": "exact", "network": "eip155:8453", "amount": amount,
                "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
                "payTo": "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
                "maxTimeoutSeconds": 300, "extra": { "name": "USD Coin", "version": "2" } }] });
        let value = HeaderValue::from_str(&STANDARD.encode(offer.to_string())).unwrap();
        let headers = HeaderMap::from_iter([(PAYMENT_REQUIRED, value)]);
        PaymentOffer::of(&headers, &[PaymentScheme::Exact], MicroUsd::MAX).unwrap()
    }

    fn wallet(file: Option<PathBuf>) -> KeyWallet {
        let caps = WalletCaps {
            call: MicroUsd::new(5_000),
            day: MicroUsd::new(9_000),
        };
        KeyWallet::new(KEY, caps, vec!["eip155:8453".into()], file).unwrap()
    }

    #[tokio::test]
    async fn an_offer_is_paid_with_a_fresh_nonce_and_a_genuine_signature() {
        let wallet = wallet(None);
        assert_eq!(wallet.address(), ADDRESS);
        let first = wallet.pay(&offer("3660")).await.unwrap();
        let second = wallet.pay(&offer("3660")).await.unwrap();
        assert_ne!(first.reference, second.reference);
        let paid: serde_json::Value =
            serde_json::from_slice(&STANDARD.decode(first.header.as_bytes()).unwrap()).unwrap();
        let authorization = &paid["payload"]["authorization"];
        assert_eq!(authorization["from"], ADDRESS);
        assert_eq!(authorization["value"], "3660");
        assert_eq!(authorization["nonce"], first.reference);
    }

    #[tokio::test]
    async fn caps_hold_for_a_call_and_for_a_day_over_restarts() {
        let name = format!("bardo-wallet-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&file);
        let first = wallet(Some(file.clone()));
        let dear = first.pay(&offer("5001")).await;
        assert!(
            matches!(dear, Err(PaymentError::TooDear { .. })),
            "{dear:?}"
        );
        first.pay(&offer("5000")).await.unwrap();
        let restarted = wallet(Some(file.clone()));
        let refused = restarted.pay(&offer("4001")).await;
        let spent = MicroUsd::new(5_000);
        assert!(
            matches!(&refused, Err(PaymentError::DayCap { spent: told, .. }) if *told == spent),
            "{refused:?}"
        );
        restarted.pay(&offer("4000")).await.unwrap();
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn another_day_begins_with_nothing_spent() {
        let wallet = wallet(None);
        let amount = MicroUsd::new(5_000);
        assert!(wallet.spend(amount, DAY_S).is_ok());
        assert!(wallet.spend(amount, 2 * DAY_S - 1).is_err());
        assert!(wallet.spend(amount, 2 * DAY_S).is_ok());
    }

    #[tokio::test]
    async fn a_wallet_that_cannot_count_or_is_for_another_network_does_not_pay() {
        let lost = wallet(Some("/nonexistent/folder/spent".into()));
        let refused = lost.pay(&offer("1")).await;
        assert!(
            matches!(refused, Err(PaymentError::Uncounted(_))),
            "{refused:?}"
        );
        let caps = lost.caps;
        let other = KeyWallet::new(KEY, caps, vec!["eip155:84532".into()], None).unwrap();
        let refused = other.pay(&offer("1")).await;
        assert!(
            matches!(refused, Err(PaymentError::Unacceptable(_))),
            "{refused:?}"
        );
    }
}
