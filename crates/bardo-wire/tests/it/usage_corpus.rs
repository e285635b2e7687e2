//! The golden corpus of usage (`tests/usage_corpus`): every shape in which a provider counts is
//! read the same whole and streamed, relayed and translated, however its bytes are cut, and costs
//! exactly what `corpus.py` computed independently.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bardo_types::chat::{ChatRequest, StreamEvent};
use bardo_types::model::{Capabilities, Dialect, LongContext, Price, Service};
use bardo_types::money::{BasisPoints, MicroUsd, PricePerMillion};
use bardo_types::usage::Usage;
use bardo_wire::codec::{DecodeContext, Observed, Target};
use bardo_wire::sse::{SseEvent, SseParser};
use bardo_wire::table;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    dialect: Dialect,
    local: bool,
    price: PriceRow,
    usage: Option<Counts>,
    pico: Option<String>,
    charges: Option<BTreeMap<u32, Charge>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Charge {
    charge: u64,
    provider_cost: u64,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Counts {
    fresh_input: u64,
    cache_read: u64,
    cache_write_5m: u64,
    cache_write_1h: u64,
    output: u64,
    reasoning: Option<u64>,
    audio_input: Option<u64>,
    audio_output: Option<u64>,
    accepted_prediction: Option<u64>,
    rejected_prediction: Option<u64>,
    web_searches: Option<u64>,
    provider_cost_usd: Option<String>,
    /// Cost of the call in micro-USD.
    byok_fee: Option<u64>,
}

impl Counts {
    fn usage(&self) -> Usage {
        Usage {
            fresh_input: self.fresh_input,
            cache_read: self.cache_read,
            cache_write_5m: self.cache_write_5m,
            cache_write_1h: self.cache_write_1h,
            output: self.output,
            reasoning: self.reasoning,
            audio_input: self.audio_input,
            audio_output: self.audio_output,
            accepted_prediction: self.accepted_prediction,
            rejected_prediction: self.rejected_prediction,
            web_searches: self.web_searches,
            provider_cost_usd: self.provider_cost_usd.clone(),
            byok_fee: self.byok_fee.map(MicroUsd::new),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    input: String,
    output: String,
    cache_read: Option<String>,
    cache_write_5m: Option<String>,
    cache_write_1h: Option<String>,
    audio_input: Option<String>,
    audio_output: Option<String>,
    reasoning: Option<String>,
    web_search: Option<String>,
    request: Option<String>,
    above: Option<u64>,
    long_context: Option<Box<PriceRow>>,
}

fn tokens(text: &str) -> PricePerMillion {
    PricePerMillion::from_usd_per_million(text).unwrap()
}

fn maybe(text: &Option<String>) -> Option<PricePerMillion> {
    text.as_deref().map(tokens)
}

fn flat(text: &Option<String>) -> Option<MicroUsd> {
    text.as_deref()
        .map(|text| MicroUsd::from_usd(text).unwrap())
}

impl PriceRow {
    fn price(&self) -> Price {
        Price {
            input: tokens(&self.input),
            output: tokens(&self.output),
            cache_read: maybe(&self.cache_read),
            cache_write_5m: maybe(&self.cache_write_5m),
            cache_write_1h: maybe(&self.cache_write_1h),
            audio_input: maybe(&self.audio_input),
            audio_output: maybe(&self.audio_output),
            reasoning: maybe(&self.reasoning),
            web_search: flat(&self.web_search),
            request: flat(&self.request),
            long_context: self.long_context.as_ref().map(|long| LongContext {
                above: long.above.unwrap(),
                input: tokens(&long.input),
                output: tokens(&long.output),
                cache_read: maybe(&long.cache_read),
                cache_write_5m: maybe(&long.cache_write_5m),
                cache_write_1h: maybe(&long.cache_write_1h),
            }),
        }
    }
}

struct Case {
    name: String,
    expect: Expect,
    whole: Option<Vec<u8>>,
    streams: Vec<(String, Vec<u8>)>,
}

fn corpus() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/usage_corpus");
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let mut cases = Vec::new();
    for folder in list(&root).iter().filter(|path| path.is_dir()) {
        let place = folder.file_name().unwrap().to_str().unwrap();
        let files = list(folder);
        for path in &files {
            let file = path.file_name().unwrap().to_str().unwrap();
            let Some(stem) = file.strip_suffix(".expect.json") else {
                continue;
            };
            let streams = files.iter().filter_map(|path| {
                let file = path.file_name()?.to_str()?;
                let rest = file.strip_prefix(stem)?.strip_suffix(".sse")?;
                (rest.is_empty() || rest.starts_with('.'))
                    .then(|| (file.to_owned(), fs::read(path).unwrap()))
            });
            cases.push(Case {
                name: format!("{place}/{stem}"),
                expect: serde_json::from_slice(&fs::read(path).unwrap()).unwrap(),
                whole: fs::read(folder.join(format!("{stem}.json"))).ok(),
                streams: streams.collect(),
            });
        }
    }
    cases
}

fn context(expect: &Expect) -> DecodeContext {
    DecodeContext {
        target: Target {
            model: "m".into(),
            service: if expect.local {
                Service::Local
            } else {
                Service::OpenAi
            },
            capabilities: Arc::new(Capabilities::default()),
        },
        request: Arc::new(ChatRequest::new(expect.dialect, "m")),
        renamed_tools: Vec::new(),
        id_seed: "seed".into(),
    }
}

/// Feeds a stream in pieces that end at `cuts`.
fn events(bytes: &[u8], cuts: &[usize], mut take: impl FnMut(SseEvent<'_>)) {
    let mut parser = SseParser::new(1 << 20);
    let mut from = 0;
    for &cut in cuts.iter().chain([&bytes.len()]) {
        parser.push(&bytes[from..cut], &mut take).unwrap();
        from = cut;
    }
    parser.finish(&mut take);
}

fn observed(expect: &Expect, bytes: &[u8], cuts: &[usize]) -> Observed {
    let mut seen = Observed::default();
    events(bytes, cuts, |event| {
        table::observe(expect.dialect, event, &mut seen);
    });
    seen
}

/// The usage as whoever follows a translated stream learns it.
fn decoded(expect: &Expect, bytes: &[u8], cuts: &[usize]) -> Option<Usage> {
    let mut decoder = table::stream_decoder(expect.dialect, context(expect));
    let mut steps = Vec::new();
    events(bytes, cuts, |event| decoder.event(event, &mut steps));
    decoder.end(&mut steps);
    assert_eq!(steps.last(), Some(&StreamEvent::Done));
    let mut usage: Option<Usage> = None;
    for step in steps {
        if let StreamEvent::Usage(later) = step {
            usage.get_or_insert_default().supersede(&later);
        }
    }
    usage
}

/// Every byte apart, and pieces of several sizes.
fn ways_to_cut(length: usize) -> Vec<Vec<usize>> {
    [length.max(1), 1, 7, 64, 501]
        .into_iter()
        .map(|size| (size..length).step_by(size).collect())
        .collect()
}

#[test]
fn the_corpus_is_there() {
    let cases = corpus();
    let answers: usize = cases
        .iter()
        .map(|case| case.streams.len() + usize::from(case.whole.is_some()))
        .sum();
    assert!(
        cases.len() >= 110 && answers >= 226,
        "{} {answers}",
        cases.len()
    );
    for case in &cases {
        assert!(
            case.whole.is_some() || !case.streams.is_empty(),
            "{}",
            case.name
        );
    }
}

#[test]
fn whole_answers_count_as_expected_relayed_and_translated() {
    for case in corpus() {
        let Some(body) = &case.whole else { continue };
        let expected = case.expect.usage.as_ref().map(Counts::usage);
        let seen = table::observe_response(case.expect.dialect, body);
        assert_eq!(seen.fault, None, "{}", case.name);
        assert_eq!(seen.usage, expected, "{} relayed", case.name);
        let answer =
            table::decode_response(case.expect.dialect, body, &context(&case.expect)).unwrap();
        assert_eq!(answer.usage, expected, "{} translated", case.name);
    }
}

#[test]
fn streams_count_as_expected_however_they_are_cut() {
    for case in corpus() {
        let expected = case.expect.usage.as_ref().map(Counts::usage);
        for (file, bytes) in &case.streams {
            for cuts in ways_to_cut(bytes.len()) {
                let seen = observed(&case.expect, bytes, &cuts);
                assert_eq!(seen.fault, None, "{}/{file}", case.name);
                assert_eq!(seen.usage, expected, "{}: {file} relayed", case.name);
                let usage = decoded(&case.expect, bytes, &cuts);
                assert_eq!(usage, expected, "{}: {file} translated", case.name);
            }
        }
    }
}

#[test]
fn a_cut_in_two_changes_no_count() {
    for case in corpus() {
        let expected = case.expect.usage.as_ref().map(Counts::usage);
        // One stream of each shape; the variants differ in where they count, not in framing.
        let Some((file, bytes)) = case.streams.first() else {
            continue;
        };
        for cut in (1..bytes.len()).step_by(11) {
            let seen = observed(&case.expect, bytes, &[cut]);
            assert_eq!(seen.usage, expected, "{}: {file} at {cut}", case.name);
        }
    }
}

#[test]
fn costs_and_charges_are_exact() {
    for case in corpus() {
        let Some(counts) = &case.expect.usage else {
            assert!(case.expect.charges.is_none(), "{}", case.name);
            continue;
        };
        let cost = counts.usage().cost(&case.expect.price.price()).unwrap();
        assert_eq!(
            Some(cost.pico().to_string()),
            case.expect.pico,
            "{}",
            case.name
        );
        let charges = case.expect.charges.as_ref().unwrap();
        assert_eq!(
            charges.keys().copied().collect::<Vec<_>>(),
            [0, 1_000, 2_000]
        );
        for (&points, expected) in charges {
            let charge = cost.charge_with(BasisPoints::new(points).unwrap()).unwrap();
            let provider_cost = cost.charge().unwrap().min(charge);
            assert_eq!(
                (charge.get(), provider_cost.get()),
                (expected.charge, expected.provider_cost),
                "{} at {points}",
                case.name
            );
        }
    }
}
