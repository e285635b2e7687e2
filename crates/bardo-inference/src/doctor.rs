//! Checks what a session needs, and says what mends each finding.

mod installed;

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use bardo_types::money::MicroUsd;
use bardo_x402::evm::{Address, U256};
use bardo_x402::token::PaymentToken;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde::Serialize;
use serde_json::json;

use crate::book::SpendBook;
use crate::chain::{WalletReader, decimal};
use crate::cli::FindingArgs;
use crate::payer::{self, OfferPayer, now_s};
use crate::seller::{Message, SellerLink};
use crate::settings::ProxySettings;
use crate::wallet;

/// Longest difference of clocks at which payments are still valid, in seconds.
const SKEW_MAX_S: u64 = 60;

#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum CheckResult {
    Ok,
    Warning,
    Failed,
}

#[derive(Serialize)]
struct CheckFinding {
    check: &'static str,
    result: CheckResult,
    text: String,
    /// The line that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

#[derive(Default)]
struct CheckList(Vec<CheckFinding>);

impl CheckList {
    fn ok(&mut self, check: &'static str, text: impl Into<String>) {
        self.add(check, CheckResult::Ok, text, None);
    }

    fn warn(&mut self, check: &'static str, text: impl Into<String>, mend: impl Into<String>) {
        self.add(check, CheckResult::Warning, text, Some(mend.into()));
    }

    fn fail(&mut self, check: &'static str, text: impl Into<String>, mend: impl Into<String>) {
        self.add(check, CheckResult::Failed, text, Some(mend.into()));
    }

    fn add(
        &mut self,
        check: &'static str,
        result: CheckResult,
        text: impl Into<String>,
        mend: Option<String>,
    ) {
        let text = text.into();
        self.0.push(CheckFinding {
            check,
            result,
            text,
            mend,
        });
    }

    fn text(&self) -> String {
        let line = |finding: &CheckFinding| {
            let mark = match finding.result {
                CheckResult::Ok => "ok  ",
                CheckResult::Warning => "warn",
                CheckResult::Failed => "FAIL",
            };
            let mend = finding.mend.as_ref().map(|mend| format!("      {mend}\n"));
            format!(
                "{mark}  {}: {}\n{}",
                finding.check,
                finding.text,
                mend.unwrap_or_default()
            )
        };
        self.0.iter().map(line).collect()
    }
}

/// Checks everything; the exit code is 1 where something failed.
///
/// # Errors
/// When the settings are wrong, or nothing can be printed.
pub(crate) async fn doctor(args: &FindingArgs) -> Result<u8> {
    let settings = ProxySettings::load(&args.settings)?;
    let mut list = CheckList::default();
    let account = check_wallet(&settings, &mut list);
    check_balance(&settings, account, &mut list).await;
    check_endpoint(&settings, args.model.as_deref(), &mut list).await;
    check_day(&settings, &mut list);
    installed::check(&mut list).await;
    let failed = list
        .0
        .iter()
        .any(|finding| finding.result == CheckResult::Failed);
    let text = match args.json {
        true => format!("{}\n", json!({ "ok": !failed, "findings": list.0 })),
        false => list.text(),
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .context("print the findings")?;
    Ok(u8::from(failed))
}

fn check_wallet(settings: &ProxySettings, list: &mut CheckList) -> Option<Address> {
    match wallet::open(settings) {
        Ok(signer) => {
            let address = signer.address();
            list.ok("wallet", format!("it opens; its address is {address}"));
            Some(address)
        }
        Err(error) => {
            let mend = "bardo-inference wallet new, or set BARDO_INFERENCE_PASSPHRASE_FILE";
            list.fail("wallet", format!("{error:#}"), mend);
            None
        }
    }
}

async fn check_balance(settings: &ProxySettings, account: Option<Address>, list: &mut CheckList) {
    let chain = match WalletReader::new(&settings.rpc) {
        Ok(chain) => chain,
        Err(error) => return list.fail("rpc", format!("{error:#}"), "--rpc https://…"),
    };
    let id = match chain.chain_id().await {
        Ok(id) => id,
        Err(error) => {
            let text = format!("{} does not answer: {error:#}", settings.rpc);
            return list.warn(
                "rpc",
                text,
                "--rpc with another JSON-RPC address of the network",
            );
        }
    };
    let token = settings
        .tokens
        .iter()
        .find(|token| token.network().chain_id() == id);
    let Some(token) = token else {
        let text = format!(
            "{} is on chain {id}, where this wallet does not pay",
            settings.rpc
        );
        return list.fail(
            "rpc",
            text,
            "--rpc with an address of the network, or another --network",
        );
    };
    list.ok(
        "rpc",
        format!("{} answers for {}", settings.rpc, token.network()),
    );
    let Some(account) = account else {
        return;
    };
    check_permit2(&chain, token, account, list).await;
    match chain.balance(token, account).await {
        Ok(balance) if balance < U256::from(settings.caps.request.get()) => {
            let text = format!(
                "{} USDC is less than the cap of one request",
                decimal(balance, 6)
            );
            list.warn(
                "balance",
                text,
                format!("send USDC on {} to {account}", token.network().v1_name()),
            );
        }
        Ok(balance) => list.ok("balance", format!("{} USDC", decimal(balance, 6))),
        Err(error) => list.warn(
            "balance",
            format!("{error:#}"),
            "--rpc with another JSON-RPC address",
        ),
    }
}

/// Says what Permit2 may take. Without an approval sellers that send permits can still be paid.
async fn check_permit2(
    chain: &WalletReader,
    token: &PaymentToken,
    account: Address,
    list: &mut CheckList,
) {
    match chain.permit2_allowance(token, account).await {
        Ok(U256::ZERO) => list.ok(
            "permit2",
            "no approval: `upto` is paid where the seller sends a permit",
        ),
        // Above every balance: an approval without a limit.
        Ok(allowed) if u64::try_from(allowed).is_err() => {
            list.ok("permit2", "it may take any amount for `upto`");
        }
        Ok(allowed) => list.ok(
            "permit2",
            format!("it may take {} USDC for `upto`", decimal(allowed, 6)),
        ),
        Err(error) => list.warn(
            "permit2",
            format!("{error:#}"),
            "--rpc with another JSON-RPC address",
        ),
    }
}

/// Asks the endpoint for a small answer without paying, and reads its offer.
async fn check_endpoint(settings: &ProxySettings, model: Option<&str>, list: &mut CheckList) {
    let endpoint = match settings.endpoint() {
        Ok(endpoint) => endpoint,
        Err(error) => return list.fail("endpoint", format!("{error:#}"), "--endpoint https://…"),
    };
    let host = endpoint.host.clone();
    let seller = SellerLink::new(endpoint, Duration::from_secs(30));
    let body = json!({ "model": model.unwrap_or("gpt-5.5"), "max_tokens": 16,
        "messages": [{ "role": "user", "content": "Hello" }] });
    let kind = HeaderValue::from_static("application/json");
    let message = Message {
        method: Method::POST,
        path: "/v1/chat/completions".into(),
        headers: HeaderMap::from_iter([(CONTENT_TYPE, kind)]),
        body: Bytes::from(body.to_string()),
    };
    let answer = match seller.send(&message).await {
        Ok(answer) => seller.whole(answer).await,
        Err(error) => Err(error),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            return list.fail(
                "endpoint",
                error.to_string(),
                "check --endpoint and the network",
            );
        }
    };
    check_clock(&answer.headers, list);
    let status = answer.status.as_u16();
    if answer.status.is_success() {
        return list.ok("endpoint", format!("{host} answers without payment"));
    }
    if answer.status != StatusCode::PAYMENT_REQUIRED {
        let text = format!("{host} answers {status} instead of an offer");
        return list.fail(
            "endpoint",
            text,
            "--model with a model that it sells, or another --endpoint",
        );
    }
    let Some(offers) = payer::offers(&answer.headers, &answer.body) else {
        let text = format!("{host} asks for payment, without an offer of x402");
        return list.fail("endpoint", text, "--endpoint with its address for x402");
    };
    // Only the choice is asked; nothing can be signed with this key.
    let Ok(signer) = bardo_x402::evm::Signer::from_bytes([1; 32]) else {
        return;
    };
    let book = Arc::new(SpendBook::new(settings.caps, settings.state.clone()));
    let (tokens, schemes) = (settings.tokens.clone(), settings.schemes.clone());
    let payer = OfferPayer::new(signer, book, tokens, schemes, vec![host.clone()], None);
    match payer.choose(&offers, &settings.schemes, MicroUsd::ZERO) {
        Ok(chosen) => {
            let (scheme, amount) = (chosen.method().scheme().name(), chosen.amount().to_usd());
            let version = offers.version().number();
            let text = format!(
                "{host} offers {scheme} (x402 version {version}) at {amount} USD for a small request"
            );
            list.ok("endpoint", text);
        }
        Err(refusal) => list.fail(
            "endpoint",
            refusal.to_string(),
            "--network, --scheme or --cap-request",
        ),
    }
}

/// Compares this machine's clock with the one of the endpoint: payments have a beginning and an end.
fn check_clock(headers: &HeaderMap, list: &mut CheckList) {
    let told = headers.get(DATE).and_then(|date| date.to_str().ok());
    let Some(told) = told.and_then(|date| httpdate::parse_http_date(date).ok()) else {
        return;
    };
    let now = SystemTime::now();
    let skew = now
        .duration_since(told)
        .or_else(|_| told.duration_since(now));
    match skew.map_or(0, |skew| skew.as_secs()) {
        seconds if seconds > SKEW_MAX_S => {
            let text = format!("this machine's clock is {seconds} s off");
            list.fail("clock", text, "timedatectl set-ntp true");
        }
        _ => list.ok("clock", "it agrees with the endpoint's"),
    }
}

fn check_day(settings: &ProxySettings, list: &mut CheckList) {
    let book = SpendBook::new(settings.caps, settings.state.clone());
    match book.today(now_s()) {
        Ok(today) if today >= settings.caps.day => {
            let text = format!("{today} USD are spent today, which is the cap");
            list.fail("day", text, "--cap-day with more");
        }
        Ok(today) => list.ok(
            "day",
            format!("{today} of {} USD are spent", settings.caps.day),
        ),
        Err(error) => list.fail(
            "day",
            error.to_string(),
            "--state with a file that you can write",
        ),
    }
}
