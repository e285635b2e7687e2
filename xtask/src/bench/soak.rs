//! `cargo xtask soak`: a long load with callers who leave, money on, and what
//! the gateway holds on to meanwhile.

use std::{
    cell::RefCell,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    canned::OPENAI_MODEL,
    process::{self, Process, Scratch},
};
use crate::{
    faults,
    load::{
        self,
        connection::Client,
        drive::{self, next_number},
        request::{NONCE, Template},
    },
    workspace::Workspace,
};

/// A steeper rise at the end is a leak.
const SLOPE_MAX: f64 = 1.0;
/// How often a look at the process is printed; all looks are closer together.
const PRINT_EVERY: Duration = Duration::from_secs(30);
/// How long the capacity is measured, of which a part is the load.
const PROBE: Duration = Duration::from_secs(5);
/// The part of the capacity that is the load.
const LOAD: f64 = 0.6;
/// After the load everything that belongs to requests has to be gone.
const IDLE: Duration = Duration::from_secs(45);
/// A connection that was not used for longer may just be closed by the gateway.
const KEPT: Duration = Duration::from_secs(10);
/// Descriptors that may stay beyond those at the start: kept connections to the provider.
const DESCRIPTORS_SLACK: usize = 300;

/// Options of `cargo xtask soak`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Duration in minutes.
    #[arg(long, default_value_t = 20.0)]
    minutes: f64,
    /// Requests per second [default: 60 % of what the machine can do].
    #[arg(long)]
    rate: Option<f64>,
    /// Percentage of callers that disconnect before the end of their answer.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u8).range(0..=100))]
    aborts: u8,
    /// Largest number of connections.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Gateway binary [default: build one].
    #[arg(long, value_name = "FILE")]
    gateway: Option<PathBuf>,
    /// Play only the histories of money, without the load.
    #[arg(long, conflicts_with = "skip_histories")]
    only_histories: bool,
    /// Skip the histories of money.
    #[arg(long)]
    skip_histories: bool,
}

/// The resources of the process at one moment.
#[derive(Clone, Copy)]
struct Sample {
    minutes: f64,
    mebibytes: f64,
    descriptors: usize,
    threads: usize,
}

impl Sample {
    fn line(&self, requests: u64, errors: u64) -> String {
        format!(
            "  {:>5.1} min {requests:>9} requests {errors:>6} errors {:>7.1} MiB {:>5} descriptors {:>4} threads",
            self.minutes, self.mebibytes, self.descriptors, self.threads
        )
    }
}

#[derive(Default)]
struct Counts {
    answered: u64,
    left: u64,
    errors: u64,
    first_error: Option<String>,
}

/// Runs the load and says whether anything grew, then plays the long histories of the books and of
/// payments.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let workspace = Workspace::find()?;
    if !args.only_histories
        && let Some(done) = workspace.rerun_in_dist()?
    {
        return Ok(done);
    }
    let held = args.only_histories || load_and_watch(&workspace, args)?;
    let played = args.skip_histories || faults::run_long(&["histories", "stores", "payments"])?;
    Ok(held && played)
}

fn load_and_watch(workspace: &Workspace, args: &Args) -> Result<bool> {
    process::allow_many_files()?;
    let binary = match &args.gateway {
        Some(binary) => binary.clone(),
        None => workspace.build_for_servers()?,
    };
    let shop = Shop::open(binary)?;
    let held = load::runtime()?.block_on(drive::local(soak(args, &shop)))?;
    let verified = shop.verify()?;
    println!(
        "books      {}",
        if verified { "add up" } else { "DO NOT ADD UP" }
    );
    Ok(held && verified)
}

/// A gateway that charges, before the canned provider.
struct Shop {
    gateway: Process,
    _upstream: Process,
    binary: PathBuf,
    key: String,
    scratch: Scratch,
}

impl Shop {
    fn open(binary: PathBuf) -> Result<Self> {
        let scratch = Scratch::new()?;
        let ourselves = std::env::current_exe().context("find this program")?;
        let upstream = Process::start(
            Command::new(ourselves).arg("bench-upstream"),
            &scratch.path().join("upstream.log"),
        )?;
        fs::write(
            scratch.path().join("soak.yaml"),
            configuration(upstream.listen).to_string(),
        )?;
        let mut create = Command::new(&binary);
        create.args(["keys", "create", "--json", "--deposit-usd", "1000000"]);
        create.args(["--scope", "rpm=100000000"]);
        let made = create.args(place(&scratch)).output()?;
        let made: Value = serde_json::from_slice(&made.stdout)
            .with_context(|| format!("`keys create`: {}", String::from_utf8_lossy(&made.stderr)))?;
        let key = made["key"].as_str().context("a key")?.to_owned();
        let mut serve = Command::new(&binary);
        serve.args(["serve", "--json", "--listen", "127.0.0.1:0"]);
        serve.args(["--admin-listen", "127.0.0.1:0", "--config"]);
        serve.arg(scratch.path().join("soak.yaml"));
        serve.args(place(&scratch));
        let gateway = Process::start(&mut serve, &scratch.path().join("gateway.log"))?;
        Ok(Self {
            gateway,
            _upstream: upstream,
            binary,
            key,
            scratch,
        })
    }

    fn verify(&self) -> Result<bool> {
        let verified = Command::new(&self.binary)
            .args(["balance", "verify", "--json"])
            .args(place(&self.scratch))
            .output()?;
        println!(
            "           {}",
            String::from_utf8_lossy(&verified.stdout).trim()
        );
        Ok(verified.status.success())
    }

    fn sample(&self, since: Instant) -> Result<Sample> {
        Ok(Sample {
            minutes: since.elapsed().as_secs_f64() / 60.0,
            mebibytes: self.gateway.resident()? as f64 / f64::from(1 << 20),
            descriptors: self.gateway.entries("fd")?,
            threads: self.gateway.entries("task")?,
        })
    }

    /// Three in four answers are streamed, as agents do.
    fn templates(&self) -> [Template; 4] {
        [true, true, true, false].map(|stream| {
            let body = json!({
                "model": OPENAI_MODEL, "stream": stream, "max_tokens": 200,
                "messages": [{ "role": "user", "content": format!("Hello {NONCE}") }],
            });
            let authorization = ("authorization".to_owned(), format!("Bearer {}", self.key));
            Template::new(
                &self.gateway.listen.to_string(),
                "/v1/chat/completions",
                &[authorization],
                Some(body.to_string().as_bytes()),
            )
        })
    }
}

fn place(scratch: &Scratch) -> [String; 2] {
    let folder: &Path = scratch.path();
    [
        "--data-dir".to_owned(),
        folder.join("data").display().to_string(),
    ]
}

fn configuration(upstream: SocketAddr) -> Value {
    json!({
        "catalog": { "live": false },
        "providers": { "direct": { "keys": [{
            "provider": "openai", "api_key": "soak-key", "models": [OPENAI_MODEL],
            "base_url": format!("http://{upstream}/v1"), "bill": true,
            "price": { "input_per_million": 2, "output_per_million": 10 },
        }] } },
    })
}

async fn soak(args: &Args, shop: &Shop) -> Result<bool> {
    let length = Duration::try_from_secs_f64(args.minutes * 60.0).context("--minutes")?;
    // The first use of a key is verified at length, and few of those at a time.
    let [template, ..] = &mut shop.templates();
    let (status, _) = Client::new(shop.gateway.listen)
        .exchange(template.stamped(next_number()))
        .await?;
    ensure!(status == 200, "the first request: status {status}");
    let rate = match args.rate {
        Some(rate) if rate > 0.0 => rate,
        Some(_) => bail!("--rate must be above 0"),
        None => LOAD * capacity(args, shop).await?,
    };
    println!(
        "load       {rate:.0}/s for {:.1} minutes, {} % leave",
        args.minutes, args.aborts
    );
    let before = shop.sample(Instant::now())?;
    let (counts, samples) = attack(args, shop, rate, length).await?;
    tokio::time::sleep(IDLE.min(length)).await;
    let after = shop.sample(Instant::now())?;
    let slope = slope(&samples);
    let (first, last) = (samples.first(), samples.last());
    let (Some(first), Some(last)) = (first, last) else {
        bail!("the load was too short to look at");
    };
    println!(
        "answered   {}, left {}, errors {}",
        counts.answered, counts.left, counts.errors
    );
    if let Some(error) = &counts.first_error {
        println!("           first: {error}");
    }
    println!(
        "resident   {:.1} MiB at first, {:.1} at last, {:.1} idle; {slope:+.3} MiB/min over the last third",
        first.mebibytes, last.mebibytes, after.mebibytes
    );
    println!(
        "descriptors {} before, {} under load, {} after; threads {} before, {} after",
        before.descriptors, last.descriptors, after.descriptors, before.threads, after.threads
    );
    Ok(counts.errors == 0
        && counts.answered > 0
        && slope < SLOPE_MAX
        && after.descriptors <= before.descriptors + DESCRIPTORS_SLACK
        && after.threads <= before.threads)
}

/// Requests per second that the machine can when it does nothing else.
async fn capacity(args: &Args, shop: &Shop) -> Result<f64> {
    let [template, ..] = shop.templates();
    let mut fleet = drive::Fleet::new(shop.gateway.listen, args.connections);
    let expect = load::request::Expect::success();
    let tally = fleet
        .closed_loop(&template, &expect, drive::Amount::For(PROBE))
        .await
        .clean()?;
    let count = tally.latencies.count();
    ensure!(count > 0, "nothing was answered");
    Ok(count as f64 / tally.elapsed.as_secs_f64())
}

/// Sends on a schedule. A share of the callers disconnects after the first piece.
async fn attack(
    args: &Args,
    shop: &Shop,
    rate: f64,
    length: Duration,
) -> Result<(Counts, Vec<Sample>)> {
    let started = Instant::now();
    let free = Rc::new(Semaphore::new(args.connections));
    let counts = Rc::new(RefCell::new(Counts::default()));
    let idle: Rc<RefCell<Vec<(Instant, Client)>>> = Rc::default();
    let templates = shop.templates();
    let every = length / 120;
    let (mut samples, mut next_sample) = (Vec::new(), every);
    let mut next_print = PRINT_EVERY;
    let mut tasks = JoinSet::new();
    for number in 0_u64.. {
        let due = Duration::from_secs_f64(number as f64 / rate);
        if due >= length {
            break;
        }
        tokio::time::sleep_until((started + due).into()).await;
        if started.elapsed() >= next_sample {
            let sample = shop.sample(started)?;
            samples.push(sample);
            next_sample += every;
            if started.elapsed() >= next_print {
                println!("{}", sample.line(number, counts.borrow().errors));
                next_print += PRINT_EVERY;
            }
        }
        let template = &templates[(number % 4) as usize];
        let leaves = number.wrapping_mul(37) % 100 < u64::from(args.aborts);
        let (mut template, address) = (template.clone(), shop.gateway.listen);
        let (free, counts, idle) = (Rc::clone(&free), Rc::clone(&counts), Rc::clone(&idle));
        tasks.spawn_local(async move {
            let Ok(_permit) = free.acquire().await else {
                return;
            };
            // The last one in has waited the shortest.
            let kept = idle.borrow_mut().pop();
            let fresh = kept.filter(|(since, _)| since.elapsed() < KEPT);
            let mut client = fresh.map_or_else(|| Client::new(address), |(_, client)| client);
            let request = template.stamped(next_number());
            let outcome = if leaves {
                client.leave_early(request).await.map(|()| Ending::Left)
            } else {
                client.exchange(request).await.and_then(ending)
            };
            record(&mut counts.borrow_mut(), outcome);
            idle.borrow_mut().push((Instant::now(), client));
        });
        while tasks.try_join_next().is_some() {}
    }
    tasks.join_all().await;
    Ok((counts.take(), samples))
}

enum Ending {
    Answered,
    Left,
}

fn ending((status, body): (u16, &[u8])) -> Result<Ending> {
    if status == 200 {
        return Ok(Ending::Answered);
    }
    let shown = String::from_utf8_lossy(&body[..body.len().min(300)]);
    bail!("status {status}: {shown}")
}

fn record(counts: &mut Counts, outcome: Result<Ending>) {
    match outcome {
        Ok(Ending::Left) => counts.left += 1,
        Ok(Ending::Answered) => counts.answered += 1,
        Err(error) => {
            counts.errors += 1;
            counts.first_error.get_or_insert(format!("{error:#}"));
        }
    }
}

/// MiB per minute over the last third, by least squares: before that, what has a bound is filled.
fn slope(samples: &[Sample]) -> f64 {
    let late = &samples[samples.len() - samples.len() / 3..];
    let count = late.len() as f64;
    if late.len() < 2 {
        return 0.0;
    }
    let mean = |of: fn(&Sample) -> f64| late.iter().map(of).sum::<f64>() / count;
    let (time, memory) = (mean(|s| s.minutes), mean(|s| s.mebibytes));
    let (mut above, mut below) = (0.0, 0.0);
    for sample in late {
        above += (sample.minutes - time) * (sample.mebibytes - memory);
        below += (sample.minutes - time).powi(2);
    }
    if below == 0.0 { 0.0 } else { above / below }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_that_of_the_last_third() {
        let sample = |minutes: f64, mebibytes: f64| Sample {
            minutes,
            mebibytes,
            descriptors: 0,
            threads: 0,
        };
        let mut samples: Vec<Sample> = (0..6)
            .map(|minute| sample(f64::from(minute), f64::from(minute) * 10.0))
            .collect();
        samples.extend((6..9).map(|minute| sample(f64::from(minute), 60.0)));
        assert!(slope(&samples).abs() < 1e-9);
        samples[8].mebibytes = 100.0;
        assert!(slope(&samples) > 1.0);
        assert!(slope(&[]).abs() < f64::EPSILON);
    }
}
