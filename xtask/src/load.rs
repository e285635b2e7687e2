//! `cargo xtask load`: a simple load on one endpoint.
//!
//! Closed loop by default (each connection sends its next request when it has
//! the answer); with `--rate` open loop, where requests start on a schedule
//! whether or not earlier ones have ended.

pub(crate) mod connection;
pub(crate) mod drive;
pub(crate) mod request;

use std::{fs, net::ToSocketAddrs, time::Duration};

use anyhow::{Context, Result, bail};
use hyper::Uri;

use self::{
    drive::{Amount, Fleet, Tally},
    request::{Expect, Template},
};
use crate::workspace::Workspace;

/// Options of `cargo xtask load`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Address to load, as `http://host:port/path`.
    #[arg(long)]
    url: Uri,
    /// Largest number of connections.
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Requests per second [default: as fast as answers come].
    #[arg(long)]
    rate: Option<f64>,
    /// Duration in seconds.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// JSON body to post, or `@file` [default: send a GET].
    #[arg(long)]
    body: Option<String>,
    /// Request header as `name: value`. Repeat for several.
    #[arg(long = "header", short = 'H', value_parser = header)]
    headers: Vec<(String, String)>,
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write `name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Sends the load and prints what came back.
pub(crate) fn run(args: &Args) -> Result<bool> {
    if let Some(done) = Workspace::find()?.rerun_in_dist()? {
        return Ok(done);
    }
    let tally = runtime()?.block_on(drive::local(send(args)))?;
    print(&tally);
    Ok(tally.errors == 0 && tally.latencies.count() > 0)
}

/// One thread: the load must be lighter than what it measures.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("start the runtime")
}

async fn send(args: &Args) -> Result<Tally> {
    if args.url.scheme_str() != Some("http") {
        bail!("only http:// is supported");
    }
    let host = args.url.host().context("the URL names no host")?;
    let port = args.url.port_u16().unwrap_or(80);
    let address = (host, port)
        .to_socket_addrs()
        .with_context(|| format!("look up {host}"))?
        .next()
        .with_context(|| format!("{host} has no address"))?;
    let body = match args.body.as_deref() {
        None => None,
        Some(text) => Some(match text.strip_prefix('@') {
            Some(path) => fs::read(path).with_context(|| format!("read {path}"))?,
            None => text.as_bytes().to_vec(),
        }),
    };
    let path = args.url.path_and_query().map_or("/", |path| path.as_str());
    let template = Template::new(
        &format!("{host}:{port}"),
        path,
        &args.headers,
        body.as_deref(),
    );
    let length = Duration::try_from_secs_f64(args.seconds).context("--seconds")?;
    let mut fleet = Fleet::new(address, args.connections);
    match args.rate {
        Some(rate) if rate > 0.0 => Ok(fleet
            .open_loop(&template, &Expect::success(), rate, length)
            .await),
        Some(_) => bail!("--rate must be above 0"),
        None => Ok(fleet
            .closed_loop(&template, &Expect::success(), Amount::For(length))
            .await),
    }
}

fn print(tally: &Tally) {
    let seconds = tally.elapsed.as_secs_f64();
    let count = tally.latencies.count();
    println!(
        "requests  {count} in {seconds:.2} s ({:.0}/s)",
        count as f64 / seconds
    );
    println!("errors    {}", tally.errors);
    if let Some(error) = &tally.first_error {
        println!("          first: {error}");
    }
    for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        println!("{name:<9} {}", millis(tally.latencies.quantile(share)));
    }
    println!("max       {}", millis(tally.latencies.max()));
}

fn millis(took: Duration) -> String {
    format!("{:.3} ms", took.as_secs_f64() * 1e3)
}
