//! The wallet that pays providers per call (x402).

use std::path::Path;
use std::sync::{Arc, LazyLock};

use bardo_providers::payment::Wallet;
use bardo_providers::wallet::{KeyWallet, WalletCaps};
use bardo_types::money::MicroUsd;
use bardo_x402::wire::PaymentScheme;
use serde_json::Number;

use crate::config::{BlockRunConfig, RawPaymentScheme, usd};

/// A public test key, which no chain has money for. It pays simulated providers.
const SIMULATED: &str = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
/// Caps where the configuration has none.
const CALL: MicroUsd = MicroUsd::new(1_000_000);
const DAY: MicroUsd = MicroUsd::new(10_000_000);
/// Name of the file with the count of the day, in the data folder.
const SPENT: &str = "wallet-spent";

/// The wallet for simulated providers.
pub(crate) fn simulated() -> Arc<dyn Wallet> {
    static WALLET: LazyLock<Arc<KeyWallet>> = LazyLock::new(|| {
        let caps = WalletCaps {
            call: MicroUsd::new(100_000_000),
            day: MicroUsd::MAX,
        };
        let networks = vec!["eip155:8453".to_owned()];
        let wallet = KeyWallet::new(SIMULATED, caps, networks, None);
        Arc::new(wallet.expect("the test key is a key"))
    });
    Arc::clone(&WALLET) as Arc<dyn Wallet>
}

/// The wallet of a configuration; `None` where it has none. The count of what was spent today is in
/// the data folder.
///
/// # Errors
/// What is wrong with the settings of the wallet.
pub(crate) fn open(
    config: Option<&BlockRunConfig>,
    folder: Option<&Path>,
) -> Result<Option<Arc<KeyWallet>>, String> {
    let Some((config, key)) = config.and_then(|config| Some((config, config.wallet_key.as_ref()?)))
    else {
        return Ok(None);
    };
    if config.api_key.as_ref().is_some_and(|key| !key.is_empty()) {
        return Err(
            "`providers.blockrun` has `api_key` and `wallet_key`; keep one: the credit of an account pays, or the wallet"
                .to_owned(),
        );
    }
    let cap = |name: &str, number: Option<&Number>, usual| match number {
        None => Ok(usual),
        Some(number) => usd(&format!("providers.blockrun.{name}"), number),
    };
    let (call, day) = (
        &config.wallet_max_per_call_usd,
        &config.wallet_max_per_day_usd,
    );
    let caps = WalletCaps {
        call: cap("wallet_max_per_call_usd", call.as_ref(), CALL)?,
        day: cap("wallet_max_per_day_usd", day.as_ref(), DAY)?,
    };
    let network = config.wallet_network.unwrap_or_default().caip2().to_owned();
    let file = folder.map(|folder| folder.join(SPENT));
    let wallet = KeyWallet::new(key.expose(), caps, vec![network], file)
        .map_err(|error| format!("`providers.blockrun.wallet_key`: {error}"))?;
    let schemes = match config.wallet_scheme {
        None | Some(RawPaymentScheme::Exact) => vec![PaymentScheme::Exact],
        Some(RawPaymentScheme::Upto) => vec![PaymentScheme::Upto, PaymentScheme::Exact],
    };
    Ok(Some(Arc::new(wallet.by(schemes))))
}
