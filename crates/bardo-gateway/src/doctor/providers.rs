//! Whether each provider answers and takes its key, by requests that cost nothing; and the clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bardo_providers::Endpoint;
use bardo_providers::transport::Transport;
use bardo_types::model::Service;
use bardo_types::money::MicroUsd;
use http::StatusCode;
use http::header::DATE;

use super::{DoctorFinding, FindingList, FindingState, http_date};
use crate::assemble;
use crate::config::{Config, RawPaymentScheme};
use crate::refresh::{self, NoList};
use crate::sale::WalletBalance;
use crate::wallet;

/// The time limit for a provider.
const PATIENCE: Duration = Duration::from_secs(10);
/// Clocks differ by this much at most, in seconds: tokens and receipts have times.
const SKEW_MAX: i64 = 30;

/// The answer of a provider.
struct ProviderAnswer {
    outcome: Result<StatusCode, NoList>,
    /// Seconds by which the clock of this machine is ahead.
    ahead: Option<i64>,
}

/// Checks all backends at the same time.
pub(super) async fn check(config: &Config, offline: bool) -> Vec<DoctorFinding> {
    let mut findings = FindingList::of("provider");
    let wallet = check_wallet(config, &mut findings);
    let backends = assemble::backends(config).unwrap_or_default();
    if offline {
        for backend in &backends {
            findings.add(
                FindingState::Unknown,
                &backend.endpoint.name,
                "not called, because of --offline",
            );
        }
        return findings.list;
    }
    let transport = Transport::new(config.upstream.connect_timeout.0);
    if let Some(wallet) = wallet {
        check_balance(config, &transport, wallet, &mut findings).await;
    }
    let seen = backends
        .iter()
        .map(|backend| look(&transport, &backend.endpoint));
    let seen = futures_util::future::join_all(seen).await;
    for (backend, seen) in backends.iter().zip(&seen) {
        tell(&backend.endpoint, seen, &mut findings);
    }
    let ahead: Vec<i64> = seen.iter().filter_map(|seen| seen.ahead).collect();
    findings.list.push(clock(ahead));
    findings.list
}

/// Whether something pays BlockRun, which sells per call where it has no key. Answers the wallet's
/// address and its largest payment.
fn check_wallet(config: &Config, findings: &mut FindingList) -> Option<(String, MicroUsd)> {
    let blockrun = config.providers.blockrun.as_ref()?;
    let has_key = blockrun.api_key.as_ref().is_some_and(|key| !key.is_empty());
    match wallet::open(Some(blockrun), None) {
        Ok(Some(wallet)) => {
            let (address, caps) = (wallet.address(), wallet.caps());
            let text = format!(
                "{address} pays each call: at most {} USD for one and {} USD in a day",
                caps.call, caps.day
            );
            findings.add(FindingState::Ok, "the wallet of blockrun", text);
            return Some((address, caps.call));
        }
        Ok(None) if !has_key => {
            let text = "it has neither a key nor a wallet, so every call ends in 402";
            findings.add(FindingState::Problem, "blockrun", text);
            findings.mend("set `providers.blockrun.wallet_key` or `providers.blockrun.api_key`");
        }
        Ok(None) => {}
        Err(reason) => findings.add(FindingState::Problem, "the wallet of blockrun", reason),
    }
    None
}

/// Whether the wallet has as much as one call can cost.
async fn check_balance(
    config: &Config,
    transport: &Transport,
    (address, call): (String, MicroUsd),
    findings: &mut FindingList,
) {
    const NAME: &str = "balance of the wallet";
    let balance = WalletBalance::open(config, transport, &address);
    let pays_ceilings = config
        .providers
        .blockrun
        .as_ref()
        .is_some_and(|blockrun| matches!(blockrun.wallet_scheme, Some(RawPaymentScheme::Upto)));
    if pays_ceilings && let Ok(balance) = &balance {
        check_permit2(balance, call, findings).await;
    }
    let read = match &balance {
        Ok(balance) => balance.read().await,
        Err(reason) => Err(reason.clone()),
    };
    match read {
        Ok(amount) if amount < call => {
            let text = format!(
                "{address} has {amount} USDC, less than the {call} USD that one call can cost"
            );
            findings.add(FindingState::Warning, NAME, text);
            findings.mend("send USDC on the network of `providers.blockrun.wallet_network` to it");
        }
        Ok(amount) => findings.add(FindingState::Ok, NAME, format!("{amount} USDC")),
        Err(reason) => {
            findings.add(FindingState::Unknown, NAME, reason);
            findings.mend("set `payments.rpc_urls` to JSON-RPC endpoints of the wallet's network");
        }
    }
}

/// Whether Permit2 may move a ceiling as large as one call can cost; if not, the wallet cannot pay by
/// `upto`.
async fn check_permit2(balance: &WalletBalance, call: MicroUsd, findings: &mut FindingList) {
    const NAME: &str = "Permit2 of the wallet";
    match balance.permit2().await {
        Ok(allowed) if allowed < call => {
            let text = format!(
                "it may move {allowed} USD, less than the {call} USD that one call can cost, so `upto` fails"
            );
            findings.add(FindingState::Warning, NAME, text);
            findings.mend("approve Permit2 on the network of the wallet, or set `providers.blockrun.wallet_scheme: exact`");
        }
        Ok(_) => findings.add(FindingState::Ok, NAME, "it may move what one call can cost"),
        Err(reason) => findings.add(FindingState::Unknown, NAME, reason),
    }
}

/// A path that only a valid key reads. The lists of some services are public.
fn path(endpoint: &Endpoint) -> Option<&'static str> {
    match endpoint.service {
        Service::OpenRouter => Some("/key"),
        Service::Venice => Some("/api_keys/rate_limits"),
        _ if endpoint.provider().lists() => Some(endpoint.provider().list_path()),
        _ => None,
    }
}

async fn look(transport: &Transport, endpoint: &Endpoint) -> ProviderAnswer {
    let Some(path) = path(endpoint) else {
        return ProviderAnswer {
            outcome: Err(NoList::Other(
                "it has no free request that needs the key".to_owned(),
            )),
            ahead: None,
        };
    };
    let answer = tokio::time::timeout(PATIENCE, refresh::request(transport, endpoint, path)).await;
    match answer {
        Err(_) => ProviderAnswer {
            outcome: Err(NoList::Other("no answer within 10 seconds".to_owned())),
            ahead: None,
        },
        Ok(Err(reason)) => ProviderAnswer {
            outcome: Err(reason),
            ahead: None,
        },
        Ok(Ok(response)) => {
            let date = response
                .headers()
                .get(DATE)
                .and_then(|date| date.to_str().ok());
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            let now = i64::try_from(now.as_secs()).ok();
            let theirs = date
                .and_then(http_date::read)
                .and_then(|date| i64::try_from(date).ok());
            ProviderAnswer {
                outcome: Ok(response.status()),
                ahead: now.zip(theirs).map(|(now, theirs)| now - theirs),
            }
        }
    }
}

fn tell(endpoint: &Endpoint, seen: &ProviderAnswer, findings: &mut FindingList) {
    let name = &endpoint.name;
    let has_key = !endpoint.key.is_empty();
    let is_local = endpoint.service == Service::Local;
    match &seen.outcome {
        Ok(status) if status.is_success() => {
            let text = match has_key {
                true => "it answers and takes the key",
                false => "it answers; no key is configured",
            };
            findings.add(FindingState::Ok, name, text);
        }
        Ok(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
            let text = match has_key {
                true => "it refuses the key",
                false => "it needs a key",
            };
            findings.add(FindingState::Problem, name, text);
            findings.mend(format!(
                "set a valid `api_key` for {name}: bardo-gateway config show has its place"
            ));
        }
        Ok(StatusCode::PAYMENT_REQUIRED) => {
            findings.add(
                FindingState::Warning,
                name,
                "it answers 402: the account there has no money",
            );
            findings.mend(format!("deposit money at the provider of {name}"));
        }
        Ok(StatusCode::NOT_FOUND) => {
            findings.add(
                FindingState::Unknown,
                name,
                "it answers 404 at its free request, so the key is not checked",
            );
            findings.mend(format!("check `base_url` of {name}, if it is set"));
        }
        Ok(status) => {
            findings.add(
                FindingState::Unknown,
                name,
                format!("it answers {}, so the key is not checked", status.as_u16()),
            );
            findings.mend("try again later");
        }
        Err(NoList::Unreachable {
            address, reason, ..
        }) if is_local => {
            findings.add(
                FindingState::Problem,
                name,
                format!("nothing answers at {address}: {reason}"),
            );
            findings.mend(
                "start the local server (for Ollama: ollama serve), or remove it from `providers`",
            );
        }
        Err(NoList::Unreachable {
            address, reason, ..
        }) => {
            findings.add(
                FindingState::Unknown,
                name,
                format!("cannot reach {address}: {reason}; the key is not checked"),
            );
            findings.mend(format!("try: curl -sv https://{address}/"));
        }
        Err(reason) => findings.add(
            FindingState::Unknown,
            name,
            format!("{reason}; the key is not checked"),
        ),
    }
}

/// The clock of this machine beside those of the providers, by the median.
fn clock(mut ahead: Vec<i64>) -> DoctorFinding {
    let mut findings = FindingList::of("clock");
    ahead.sort_unstable();
    match ahead.get(ahead.len() / 2).copied() {
        None => findings.add(
            FindingState::Unknown,
            "time",
            "no provider answered with a time",
        ),
        Some(skew) if skew.abs() > SKEW_MAX => {
            let word = if skew > 0 { "ahead of" } else { "behind" };
            findings.add(
                FindingState::Problem,
                "time",
                format!(
                    "the clock is {} seconds {word} the providers' clocks",
                    skew.abs()
                ),
            );
            findings.mend("timedatectl set-ntp true");
        }
        Some(skew) => findings.add(
            FindingState::Ok,
            "time",
            format!("within {} seconds of the providers", skew.abs().max(1)),
        ),
    }
    findings.list.remove(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_judged_by_the_median_and_unknown_without_one() {
        assert_eq!(clock(vec![]).state, FindingState::Unknown);
        assert_eq!(clock(vec![0, 1, 4_000]).state, FindingState::Ok);
        let wrong = clock(vec![-3_600, -3_599, 2]);
        assert_eq!(wrong.state, FindingState::Problem);
        assert!(wrong.text.contains("behind") && wrong.mend.is_some());
    }
}
