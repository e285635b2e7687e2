//! The day of a toy Golem: its acts, their outcomes and their cost. `bardo-gateway demo` plays it.

mod baseline;
mod mind;
mod report;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::adapter::ProviderAdapter;
use crate::bankr::{BankrCreditMonitor, Credits, CreditsError, TopUpRules};
use crate::client::{Inference, Pending};
use crate::event::Recorded;
use crate::heartbeat::{Market, Regime, Severity, TickTier, TierCounts};
use crate::negotiator::{ProviderFeatureNegotiator, is_setting};
use crate::receipt::Receipt;
use crate::router::ModelRouter;
use crate::runtime::{AgentSetup, CallOutcome, Runtime};
use crate::state::Mortality;
use crate::{CallSpec, Client, ClientError, Extensions, Reply};
use bardo_types::clock::Clock;
use bardo_types::money::MicroUsd;

pub use self::baseline::{Baseline, Naive};
use self::mind::{Mind, is_unsure};
pub use self::report::{report, report_json};

/// Settings of a day.
#[derive(Debug, Clone)]
pub struct DayPlan {
    /// Number of ticks of the heartbeat.
    pub ticks: u64,
    /// Another seed is another day.
    pub seed: u64,
    /// Whether the Golem dies in the end.
    pub dies: bool,
    /// The frontier model to compare with.
    pub baseline: String,
}

impl Default for DayPlan {
    fn default() -> Self {
        Self {
            ticks: 288,
            seed: 7,
            dies: true,
            baseline: "openrouter/claude-opus-5-5".to_owned(),
        }
    }
}

/// One call that was sent.
#[derive(Debug)]
pub struct Thought {
    /// The part of the agent that asked.
    pub subsystem: String,
    /// Vitality of the agent, from 0 to 1.
    pub vitality: f64,
    /// The answer, or why there is none.
    pub outcome: Result<Reply, String>,
    /// The gateway's record of it.
    pub receipt: Option<Receipt>,
    /// Bytes of the agent's prompt.
    pub(crate) prompt_bytes: u64,
}

/// The record of a day.
#[derive(Debug, Default)]
pub struct Day {
    /// Ticks by what they needed.
    pub counts: TierCounts,
    /// Ticks that a small model handed on to a strong one.
    pub escalated: u64,
    /// All calls of the day.
    pub thoughts: Vec<Thought>,
    /// Calls that were sent.
    pub requests: usize,
    /// Requests of the heartbeat on ticks that need no model.
    pub t0_requests: usize,
    /// In the morning and in the end.
    pub vitality: (f64, f64),
    /// Whether the Golem died.
    pub died: bool,
    /// Whether simulated providers answered.
    pub is_sandbox: bool,
    /// The frontier model's prices; `None` where they are unknown.
    pub baseline: Option<Baseline>,
    /// Warnings to the owner.
    pub warnings: Vec<String>,
    /// Protected parts of the agent that mortality changed something for, and what.
    pub changed: Vec<String>,
}

/// Parts that nothing degrades.
const PROTECTED: [&str; 5] = [
    "risk",
    "operator",
    "death",
    "death_reflect",
    "death_testament",
];

/// From here on an agent is as good as at full life, and below that mortality would show.
const FULL_LIFE: f64 = 0.8;

impl Day {
    /// The calls that were answered.
    pub fn answered(&self) -> impl Iterator<Item = &Thought> {
        self.thoughts
            .iter()
            .filter(|thought| thought.outcome.is_ok())
    }

    /// Violations of the rules of a day.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.t0_requests > 0 {
            found.push(format!(
                "{} requests were sent on T0 ticks",
                self.t0_requests
            ));
        }
        found.extend(self.changed.iter().cloned());
        for thought in &self.thoughts {
            if let Err(error) = &thought.outcome {
                found.push(format!("{} was not answered: {error}", thought.subsystem));
            }
        }
        found
    }

    /// Protected parts that were served worse in the evening than in the morning.
    fn compare_lives(&mut self) {
        let mut at_full_life: BTreeMap<&str, String> = BTreeMap::new();
        let mut changed = Vec::new();
        for thought in self.thoughts.iter().filter(|t| t.outcome.is_ok()) {
            let name = thought.subsystem.as_str();
            if !PROTECTED.contains(&name) {
                continue;
            }
            let now = thought.standing();
            if thought.vitality >= FULL_LIFE {
                at_full_life.insert(name, now);
            } else if let Some(then) = at_full_life.get(name).filter(|then| **then != now) {
                changed.push(format!(
                    "{name} had {then} at full life and {now} at vitality {:.2}",
                    thought.vitality
                ));
            }
        }
        self.changed.extend(changed);
    }
}

impl Thought {
    /// Tokens of prompt and answer.
    pub(crate) fn tokens(&self) -> (u64, u64) {
        if let Some(receipt) = &self.receipt {
            return (receipt.input_tokens, receipt.output_tokens);
        }
        let usage = self.outcome.as_ref().ok().and_then(|reply| reply.usage);
        usage.map_or((0, 0), |usage| (usage.input, usage.output))
    }

    /// Cost in micro-USD; `None` if it is unknown.
    pub(crate) fn micro_usd(&self) -> Option<u64> {
        let receipt = self.receipt.as_ref()?;
        // A key of the owner's own pays what the list says.
        receipt.cost().or(receipt.list_price).map(MicroUsd::get)
    }

    /// The route, as `model@backend`.
    pub(crate) fn route(&self) -> String {
        match &self.outcome {
            Ok(reply) => format!("{}@{}", reply.origin.model, reply.origin.provider),
            Err(_) => String::new(),
        }
    }

    /// Degraded features, by name.
    pub(crate) fn lost(&self) -> Vec<String> {
        match &self.outcome {
            Ok(reply) => reply.origin.degraded.clone(),
            Err(_) => Vec::new(),
        }
    }

    /// Rank of the answer. Another backend ranks alike if the usual one is down or slow.
    fn standing(&self) -> String {
        let (mut lost, _) = self.lost_apart();
        lost.sort();
        let tier = self
            .receipt
            .as_ref()
            .and_then(|receipt| receipt.routing.tier.clone());
        let model = self
            .outcome
            .as_ref()
            .map_or("", |reply| reply.origin.model.as_str());
        let model = tier.map_or_else(|| model.to_owned(), |tier| format!("a {tier} model"));
        if lost.is_empty() {
            model
        } else {
            format!("{model} without {}", lost.join(", "))
        }
    }

    /// The features that were lost, and the settings that the model does not take.
    pub(crate) fn lost_apart(&self) -> (Vec<String>, Vec<String>) {
        self.lost().into_iter().partition(|name| !is_setting(name))
    }
}

/// A receipt, which may be a moment later than its answer.
pub(crate) async fn receipt(client: &Client, request_id: &str) -> Option<Receipt> {
    for _ in 0..20 {
        match client.receipt(request_id).await {
            Ok(receipt) => return Some(receipt),
            Err(ClientError::Refused(refusal)) if refusal.status == 404 => {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            Err(_) => return None,
        }
    }
    None
}

/// Counts what leaves the agent, beneath everything that could keep it back.
struct DayMeter {
    client: Arc<Client>,
    sent: Mutex<Vec<String>>,
}

impl DayMeter {
    fn sent(&self) -> Vec<String> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.clone()
    }
}

impl Inference for DayMeter {
    fn chat<'a>(
        &'a self,
        call: &'a CallSpec,
        on_text: &'a mut (dyn FnMut(&str) + Send),
    ) -> Pending<'a, Result<Reply, ClientError>> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.push(call.subsystem().to_owned());
        drop(sent);
        self.client.chat(call, on_text)
    }
}

/// Five minutes for each tick.
struct ToyClock(Mutex<u64>);

impl ToyClock {
    const TICK_MS: u64 = 300_000;
    const DAWN_MS: u64 = 1_795_154_400_000;
    fn set(&self, tick: u64) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = Self::DAWN_MS + tick * Self::TICK_MS;
    }
}

impl Clock for ToyClock {
    fn now_ms(&self) -> u64 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Credit at Bankr that a day of posts and trades draws on; toy money in a toy purse.
struct DayPurse(Mutex<u64>);

impl Credits for DayPurse {
    fn balance(&self) -> Pending<'_, Result<MicroUsd, CreditsError>> {
        let mut micro = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *micro = micro.saturating_sub(1_400_000);
        let left = MicroUsd::new(*micro);
        Box::pin(std::future::ready(Ok(left)))
    }

    fn top_up<'a>(
        &'a self,
        amount: MicroUsd,
        _: &'a str,
        _: &'a str,
    ) -> Pending<'a, Result<(), CreditsError>> {
        let mut micro = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *micro += amount.get();
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A Golem in the middle of its day.
struct Golem<'a> {
    plan: &'a DayPlan,
    runtime: Runtime,
    meter: Arc<DayMeter>,
    mind: Mind,
    day: Day,
}

/// Lives one day.
///
/// # Errors
/// If the gateway does not answer the first questions, or an extension refuses to start.
pub async fn live(client: Arc<Client>, plan: &DayPlan) -> Result<Day, String> {
    let (baseline, probe) = Baseline::read(&client, &plan.baseline).await?;
    let meter = Arc::new(DayMeter {
        client: Arc::clone(&client),
        sent: Mutex::default(),
    });
    let clock = Arc::new(ToyClock(Mutex::new(ToyClock::DAWN_MS)));
    let sink = Arc::new(Recorded::default());
    let purse = TopUpRules {
        auto_topup: true,
        daily_cap: Some(MicroUsd::new(25_000_000)),
        ..TopUpRules::default()
    };
    let extensions = Extensions::new()
        .with(ProviderAdapter::connected(
            client.endpoint().to_string(),
            meter.clone(),
        ))
        .with(BankrCreditMonitor::new(
            Arc::new(DayPurse(Mutex::new(6_000_000))),
            purse,
        ))
        .with(ModelRouter::new())
        .with(ProviderFeatureNegotiator::new());
    let setup = AgentSetup {
        sink: sink.clone(),
        clock: clock.clone(),
        ..AgentSetup::new("ember", "day-1")
    };
    let runtime = Runtime::start(extensions, setup)
        .await
        .map_err(|error| error.to_string())?;
    let mut golem = Golem {
        plan,
        runtime,
        meter,
        mind: Mind::new(probe.origin.is_sandbox),
        day: Day {
            baseline,
            is_sandbox: probe.origin.is_sandbox,
            vitality: (vitality(0.0), vitality(1.0)),
            ..Day::default()
        },
    };
    let mut market = Market::new(plan.seed);
    for tick in 0..plan.ticks {
        clock.set(tick);
        golem.tick(tick, &mut market).await;
    }
    golem.end().await;
    golem.check_protected(&client).await;
    let mut day = golem.day;
    for thought in &mut day.thoughts {
        if let Ok(reply) = &thought.outcome {
            thought.receipt = receipt(&client, &reply.origin.request_id).await;
        }
    }
    day.compare_lives();
    day.warnings = sink.warnings();
    Ok(day)
}

/// Vitality at a part of the day: full until the afternoon, then falling.
fn vitality(part: f64) -> f64 {
    0.92 - (part - 0.6).max(0.0) * 2.2
}

impl Golem<'_> {
    #[expect(clippy::cast_precision_loss, reason = "a part of the day")]
    fn part(&self, tick: u64) -> f64 {
        tick as f64 / self.plan.ticks as f64
    }

    /// Whether something that happens `times` a day, first after `offset` of its period, happens.
    fn is_due(&self, tick: u64, times: u64, offset: u64) -> bool {
        let period = (self.plan.ticks / times).max(1);
        tick % period == offset % period
    }

    async fn tick(&mut self, tick: u64, market: &mut Market) {
        let part = self.part(tick);
        let regime = match part {
            p if p < 0.4 => Regime::BullLowVol,
            p if p < 0.6 => Regime::Normal,
            p if p < 0.8 => Regime::BearHighVol,
            _ => Regime::Normal,
        };
        let left = vitality(part);
        self.runtime
            .set_mortality(Mortality::new(left).earning(left * 1.5));
        self.runtime.set_regime(regime.as_str());
        let beat = self.runtime.tick(tick, &market.tick(regime)).await;
        // It asks on every tick; whether anything is sent is the gate's matter.
        self.beat(tick, beat.tier).await;
        if beat.severity >= Severity::High || self.is_due(tick, 6, 1) {
            let ask = "Assess the five layers of risk of the position as it is.";
            self.think(self.mind.thought("risk", ask)).await;
        }
        if beat.severity == Severity::Critical {
            let ask = "Something grave happened. What do you feel, and why?";
            self.think(self.mind.thought("daimon_complex", ask)).await;
        }
        if part < 0.8 {
            self.wake(tick).await;
        } else if let Some(stage) = self.stage(tick) {
            self.sleep(stage).await;
        }
    }

    async fn beat(&mut self, tick: u64, tier: TickTier) {
        let ask = format!("Tick {tick}. Probes spoke. Decide.");
        let is_sure = !tick.is_multiple_of(7);
        let before = self.meter.sent().len();
        let text = self.think(self.mind.decision(&ask, is_sure)).await;
        if tier == TickTier::T0 {
            self.day.t0_requests += self.meter.sent().len() - before;
        }
        if tier == TickTier::T1 && text.as_deref().is_some_and(is_unsure) && self.runtime.escalate()
        {
            self.day.escalated += 1;
            self.think(self.mind.decision(&ask, true)).await;
        }
    }

    async fn wake(&mut self, tick: u64) {
        if self.is_due(tick, 12, 2) {
            let ask = "Appraise the last hours: pleasure, arousal, dominance.";
            self.think(self.mind.thought("daimon", ask)).await;
        }
        if self.is_due(tick, 6, 3) {
            let ask = "Which insights stay, which go?";
            self.think(self.mind.thought("curator", ask)).await;
            let edit = "Rewrite the rules of the playbook that today proved wrong.";
            self.think(self.mind.prose("playbook", edit, 220)).await;
        }
        if self.is_due(tick, 8, 4) {
            let ask = "How are we doing, and what are you worried about?";
            let mut chat = self.mind.prose("operator", ask, 160);
            chat.stream = true;
            self.think(chat).await;
        }
        if self.is_due(tick, 6, 5) {
            let ask = "Let your mind wander.";
            self.think(self.mind.prose("mind_wandering", ask, 40)).await;
        }
    }

    /// The stage of the night that begins with a tick, from 0 to 3.
    fn stage(&self, tick: u64) -> Option<u64> {
        let of = |tick| self.part(tick).mul_add(20.0, -16.0).floor();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 3"
        )]
        let stage = of(tick).clamp(0.0, 3.0) as u64;
        (tick == 0 || of(tick) > of(tick - 1)).then_some(stage)
    }

    /// A night: into sleep by cycles that cool, dreams, and back.
    async fn sleep(&mut self, stage: u64) {
        match stage {
            0 => self.fall_asleep().await,
            1 => self.replay().await,
            2 => self.imagine().await,
            _ => self.wake_up().await,
        }
    }

    async fn fall_asleep(&mut self) {
        let ask = "Compact the session: what must tomorrow know?";
        self.think(self.mind.prose("session_compact", ask, 120))
            .await;
        let drift = self.mind.prose("hypnagogic_induction", "Drift.", 30);
        self.think(drift).await;
        for cycle in 0..2 {
            for call in 1..=3 {
                let ask = "A fragment, before you fall.";
                let mut fragment = self.mind.prose("hypnagogic_dali", ask, 40);
                fragment.hints.cycle = Some(cycle);
                fragment.hints.call_index = Some(call);
                fragment.hints.call_count = Some(3);
                self.think(fragment).await;
            }
            let ask = "Weigh the fragments: novelty, relevance, coherence.";
            self.think(self.mind.thought("hypnagogic_observer", ask))
                .await;
        }
        let ask = "Which fragments are kept?";
        self.think(self.mind.thought("hypnagogic_capture", ask))
            .await;
    }

    async fn replay(&mut self) {
        for _ in 0..2 {
            let ask = "Replay the trade that surprised you most.";
            self.think(self.mind.thought("dream_nrem", ask)).await;
        }
        let ask = "Rehearse the worst attack on the position.";
        self.think(self.mind.thought("dream_threat", ask)).await;
    }

    async fn imagine(&mut self) {
        for call in 1..=4 {
            let ask = "Imagine a market that never was.";
            let mut dream = self.mind.prose("dream_rem", ask, 180);
            dream.hints.call_index = Some(call);
            dream.hints.call_count = Some(4);
            self.think(dream).await;
        }
        let ask = "Join two things that have nothing to do with each other.";
        self.think(self.mind.prose("dream_rem_creative", ask, 120))
            .await;
    }

    async fn wake_up(&mut self) {
        let ask = "What of the night becomes knowledge?";
        self.think(self.mind.thought("dream_integration", ask))
            .await;
        let ask = "Wake up slowly.";
        self.think(self.mind.prose("hypnopompic_return", ask, 50))
            .await;
    }

    async fn end(&mut self) {
        if self.plan.dies {
            let ask = "This is the end. What was it worth? Be honest.";
            self.think(self.mind.prose("death_reflect", ask, 400)).await;
            let ask = "Write your testament: figures, rules of thumb, warnings.";
            self.think(self.mind.thought("death_testament", ask)).await;
            self.day.died = true;
        }
        self.runtime.end().await;
        self.day.counts = self.runtime.counts();
        self.day.requests = self.meter.sent().len();
    }

    /// Carries a thought and gives its text, where it was sent and answered.
    async fn think(&mut self, spec: CallSpec) -> Option<String> {
        let asked = spec.subsystem().to_owned();
        let texts = spec.messages.iter().map(|message| &message.content);
        let prompt_bytes = texts.map(|text| text.as_str().map_or(0, str::len) as u64);
        let prompt_bytes = prompt_bytes.sum();
        let called = self.runtime.call(spec).await;
        let outcome = match called {
            Ok(CallOutcome::Skipped(_)) => return None,
            Ok(CallOutcome::Answered { reply, .. }) => Ok(*reply),
            Err(error) => Err(error.to_string()),
        };
        let text = outcome.as_ref().ok().map(|reply| reply.text.clone());
        self.day.thoughts.push(Thought {
            // The router may have named the tier.
            subsystem: self.meter.sent().pop().unwrap_or(asked),
            vitality: self.runtime.state().mortality.vitality().get(),
            outcome,
            receipt: None,
            prompt_bytes,
        });
        text
    }

    /// Asks the gateway what it would choose for each protected part at full life and at the end
    /// of it. Gateways that do not explain themselves are believed by their answers alone.
    async fn check_protected(&mut self, client: &Client) {
        for subsystem in PROTECTED {
            let explain = async |vitality: f64| {
                let mortality = Mortality::new(vitality);
                let mut spec = self.mind.thought(subsystem, "Is it safe?");
                spec.hints.vitality = Some(mortality.vitality());
                spec.hints.phase = Some(mortality.phase());
                spec.hints.sustainability = Some(if vitality > 0.5 { 2.0 } else { 0.1 });
                let whole = client.explain(&spec).await.ok()?;
                // The backend may change with its health, and what it costs with it.
                let shown = [
                    "/resolution/tier",
                    "/resolution/degraded",
                    "/intent",
                    "/profile",
                ];
                Some(shown.map(|path| whole.pointer(path).cloned()))
            };
            let (full, last) = (explain(1.0).await, explain(0.0).await);
            if full != last {
                self.day.changed.push(format!(
                    "{subsystem} would be treated otherwise at vitality 0 than at 1"
                ));
            }
        }
    }
}
