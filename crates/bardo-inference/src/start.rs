//! From the command line to a proxy, a tool, or a wallet.

use std::cell::Cell;
use std::io::{IsTerminal as _, Write as _};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;

use crate::book::SpendBook;
use crate::chain::{WalletReader, decimal};
use crate::cli::{PayerVerb, ProxyArgs, RunArgs, WalletVerb};
use crate::doctor;
use crate::exchange::Exchange;
use crate::guard::ProxyGuard;
use crate::payer::OfferPayer;
use crate::permit2::Permit2Desk;
use crate::proxy::{self, LocalProxy};
use crate::run;
use crate::seller::SellerLink;
use crate::settings::ProxySettings;
use crate::status::StatusLine;
use crate::tools::ToolCommand;
use crate::wallet;

/// Names of this machine, of which a seller on it may use any.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "::1"];

/// Does what the command line says; answers the exit code.
///
/// # Errors
/// When it cannot be done; the text is for people.
pub(crate) async fn start(verb: PayerVerb) -> Result<u8> {
    match verb {
        PayerVerb::Run(args) => run_tool(args).await,
        PayerVerb::Serve(args) => serve(args).await,
        PayerVerb::Wallet { verb } => wallet_verb(verb).await,
        PayerVerb::Doctor(args) => doctor::doctor(&args).await,
    }
}

async fn run_tool(args: RunArgs) -> Result<u8> {
    let settings = ProxySettings::load(&args.settings)?;
    let (proxy, listener) = open(&settings, 0, false).await?;
    let port = listener.local_addr()?.port();
    let tool = ToolCommand::new(&args.command, args.model.as_deref(), &proxy.guard, port)
        .context("write the settings of the tool")?;
    let serving = tokio::task::spawn_local(proxy::serve(Rc::clone(&proxy), listener));
    let code = run::run(&tool).await;
    serving.abort();
    let _ = writeln!(std::io::stderr(), "{}", proxy.status.summary());
    code
}

async fn serve(args: ProxyArgs) -> Result<u8> {
    let settings = ProxySettings::load(&args.settings)?;
    let on_terminal = std::io::stderr().is_terminal();
    let (proxy, listener) = open(&settings, args.port, on_terminal).await?;
    let root = format!("http://127.0.0.1:{}", listener.local_addr()?.port());
    let token = proxy.guard.token().expose();
    let lines = format!(
        "export ANTHROPIC_BASE_URL={root} ANTHROPIC_AUTH_TOKEN={token}\n\
         export OPENAI_BASE_URL={root}/v1 OPENAI_API_BASE={root}/v1 OPENAI_API_KEY={token}\n"
    );
    std::io::stdout()
        .write_all(lines.as_bytes())
        .context("print the address")?;
    tokio::select! {
        () = proxy::serve(Rc::clone(&proxy), listener) => {}
        () = asked_to_stop()? => {}
    }
    let _ = writeln!(std::io::stderr(), "\n{}", proxy.status.summary());
    Ok(0)
}

fn asked_to_stop() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("take signals")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("take signals")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Opens the wallet and a port on loopback, and puts the proxy together.
async fn open(
    settings: &ProxySettings,
    port: u16,
    on_terminal: bool,
) -> Result<(Rc<LocalProxy>, TcpListener)> {
    let endpoint = settings.endpoint()?;
    let signer = wallet::open(settings)?;
    let listener = TcpListener::bind(("127.0.0.1", port))
        .await
        .with_context(|| format!("listen on 127.0.0.1:{port}"))?;
    let guard = ProxyGuard::new(listener.local_addr()?.port()).context("make a token")?;
    let book = Arc::new(SpendBook::new(settings.caps, settings.state.clone()));
    // Permit2 moves some fixed prices too.
    let permit2 = Permit2Desk::new(WalletReader::new(&settings.rpc)?, signer.address());
    let seller = SellerLink::new(endpoint, settings.timeout);
    let mut hosts = vec![seller.host().to_owned()];
    hosts.extend(settings.resource_host.clone());
    if LOOPBACK.contains(&seller.host()) {
        hosts.extend(LOOPBACK.map(str::to_owned));
    }
    let payer = OfferPayer::new(
        signer,
        Arc::clone(&book),
        settings.tokens.clone(),
        settings.schemes.clone(),
        hosts,
        Some(Arc::new(permit2)),
    );
    let status = Rc::new(StatusLine::new(book, settings.status.clone(), on_terminal));
    let proxy = LocalProxy {
        exchange: Exchange::new(seller, payer, Rc::clone(&status)),
        guard,
        status,
        speaks: settings.speaks.clone(),
        speaks_chat_alone: Cell::new(false),
    };
    Ok((Rc::new(proxy), listener))
}

async fn wallet_verb(verb: WalletVerb) -> Result<u8> {
    let text = match verb {
        WalletVerb::New(args) => {
            let settings = ProxySettings::load(&args)?;
            let address = wallet::make(&settings)?;
            let file = settings.wallet.display();
            format!(
                "{address}\nSend USDC on the network to this address. The key is in {file}; keep a copy of it.\n"
            )
        }
        WalletVerb::Import { keystore, settings } => {
            let settings = ProxySettings::load(&settings)?;
            format!("{}\n", wallet::import(&settings, keystore.as_deref())?)
        }
        WalletVerb::Balance(args) => balance(&ProxySettings::load(&args)?).await?,
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .context("print the answer")?;
    Ok(0)
}

async fn balance(settings: &ProxySettings) -> Result<String> {
    let address = wallet::address(settings)?;
    let account = address.parse().context("read the address of the wallet")?;
    let chain = WalletReader::new(&settings.rpc)?;
    let id = chain.chain_id().await?;
    let token = settings
        .tokens
        .iter()
        .find(|token| token.network().chain_id() == id);
    let token = token.with_context(|| {
        format!("the JSON-RPC server is on chain {id}, where this wallet does not pay")
    })?;
    let usdc = decimal(chain.balance(token, account).await?, 6);
    let ether = decimal(chain.ether(account).await?, 18);
    let network = token.network().v1_name();
    Ok(format!(
        "{address}\n{usdc} USDC and {ether} ETH on {network}\n"
    ))
}
