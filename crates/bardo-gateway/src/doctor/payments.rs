//! Whether the gateway can sell requests: its account, its chain, and gas.

use std::time::{SystemTime, UNIX_EPOCH};

use bardo_providers::transport::Transport;
use bardo_x402::evm::Address;

use super::{DoctorFinding, FindingList, FindingState};
use crate::config::Config;
use crate::sale::ChainProbe;

/// Clocks of a chain and of this machine differ by this much at most, in seconds.
const SKEW_MAX: u64 = 60;

/// Checks the sale, if it is open.
pub(super) async fn check(config: &Config, offline: bool) -> Vec<DoctorFinding> {
    let mut findings = FindingList::of("payments");
    if !config.payments.enabled {
        return findings.list;
    }
    let transport = Transport::new(config.upstream.connect_timeout.0);
    let probe = match ChainProbe::open(config, &transport) {
        Ok(probe) => probe,
        Err(reason) => {
            findings.add(FindingState::Problem, "settings", reason);
            findings.mend("see docs/x402.md for the settings of an operator");
            return findings.list;
        }
    };
    if let Some(account) = probe.account() {
        let text = format!("{account} settles payments");
        findings.add(FindingState::Ok, "settlement account", text);
    }
    if offline {
        let text = "not called, because of --offline";
        findings.add(FindingState::Unknown, "chain", text);
        return findings.list;
    }
    match probe.check().await {
        Ok(Ok(())) => {
            let text = "the endpoints agree, and the contracts are there";
            findings.add(FindingState::Ok, "chain", text);
        }
        Ok(Err(reason)) => {
            findings.add(FindingState::Problem, "chain", reason);
            findings.mend("change `payments.rpc_urls` or `payments.network`");
        }
        Err(error) => {
            findings.add(FindingState::Problem, "chain", error.to_string());
            findings.mend("change `payments.rpc_urls`; a node of your own needs `payments.rpc_allow_private: true`");
            return findings.list;
        }
    }
    match probe.account() {
        Some(account) => gas(&probe, account, &mut findings).await,
        None => facilitator(&probe, &mut findings).await,
    }
    clock(&probe, &mut findings).await;
    findings.list
}

async fn facilitator(probe: &ChainProbe, findings: &mut FindingList) {
    let what = "facilitator";
    match probe.facilitator_settles().await {
        Some(true) => findings.add(FindingState::Ok, what, "it settles `exact` on the network"),
        Some(false) => {
            let text = "it does not settle `exact` on the network";
            findings.add(FindingState::Problem, what, text);
            findings.mend("change `payments.facilitator_url` or `payments.network`");
        }
        None => {
            findings.add(FindingState::Problem, what, "it does not answer");
            findings.mend("check `payments.facilitator_url` and `payments.facilitator_key`");
        }
    }
}

async fn gas(probe: &ChainProbe, account: Address, findings: &mut FindingList) {
    match probe.ether(account).await {
        Ok(0) => {
            let text = format!("{account} has no ETH, so no payment can be settled");
            findings.add(FindingState::Problem, "gas", text);
            findings.mend("send some ETH on the network of `payments.network` to that account");
        }
        Ok(wei) => {
            let micro = wei / 1_000_000_000_000;
            let text = format!("{micro} millionths of an ETH are there for gas");
            findings.add(FindingState::Ok, "gas", text);
        }
        Err(error) => findings.add(FindingState::Unknown, "gas", error.to_string()),
    }
}

async fn clock(probe: &ChainProbe, findings: &mut FindingList) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_s = now.map_or(0, |now| now.as_secs());
    match probe.time_s().await {
        Ok(time_s) if time_s.abs_diff(now_s) <= SKEW_MAX => {
            findings.add(FindingState::Ok, "clock", "it agrees with the chain");
        }
        Ok(time_s) => {
            let text = format!(
                "the newest block is {} seconds from the clock of this machine",
                time_s.abs_diff(now_s)
            );
            findings.add(FindingState::Problem, "clock", text);
            findings.mend("set the clock, or change an endpoint that is behind");
        }
        Err(error) => findings.add(FindingState::Unknown, "clock", error.to_string()),
    }
}
