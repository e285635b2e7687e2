//! A month of one agent: a heartbeat each 14.4 minutes that mostly needs no model, and around it the
//! other parts of its mind.

use std::sync::Arc;

use bardo_access::KeyTier;
use serde_json::json;

use super::coding::tool_of;
use super::{
    DAY_MS, FRONTIER, HOUR_MS, MINUTE_MS, NaiveBaseline, SECOND_MS, SMALL, SimulatedCall,
    SimulatedTurn, ToolText, Workload,
};
use crate::simulate::dice::Dice;

const DAYS: u64 = 30;
const TICKS: u64 = 100;
const TICK_MS: u64 = DAY_MS / TICKS;
/// Tokens of constitution and strategy, which never change.
const CONSTITUTION_TOKENS: u64 = 3_000;
/// Tokens of the playbook, which changes every 50 ticks.
const PLAYBOOK_TOKENS: u64 = 1_500;
/// Tools after pruning, and tokens of each.
const TOOLS: (u64, u64) = (12, 150);
/// Tokens of market and positions in each call.
const CONTEXT_TOKENS: (u64, u64) = (600, 1_800);
/// Share of calls that the agent sends again, because it crashed or lost the answer.
const AGAIN: f64 = 0.02;

/// Market of a day, with the share of its ticks that reach tier T1 and tier T2.
const MARKETS: [(&str, f64, f64); 3] = [
    ("calm", 0.08, 0.02),
    ("normal", 0.15, 0.05),
    ("volatile", 0.25, 0.15),
];

pub(super) fn workload() -> Workload {
    Workload {
        name: "golem-month",
        title: "A month of one agent",
        tier: Some(KeyTier::Golem),
        spread_percent: 10.0,
        assumptions: &[
            "30 days of 100 ticks (one each 14.4 minutes); no model at T0; T1 claude-haiku-4-5, T2 claude-opus-5-5",
            "days are calm (8 % T1, 2 % T2 of the ticks), normal (15 %, 5 %) or volatile (25 %, 15 %); a day is followed by one of its kind in 70 % of cases",
            "12 tools of 150 tokens, constitution and strategy 3,000, playbook 1,500 (changes every 50 ticks), market and positions 600 to 1,800, answers of 150 to 600 tokens",
            "each day 2 curator calls, 2 playbook edits, 5 compressions of context, 5 dreams, and one talk with the owner of 3 to 6 turns",
            "2 % of the calls are sent again after 2 to 20 seconds",
        ],
        naive: Some(NaiveBaseline {
            label: "naive: every tick to claude-opus-5-5 with 40,000 tokens of tools",
            model: FRONTIER,
            calls: DAYS * TICKS,
            input_tokens: 40_000 + CONSTITUTION_TOKENS + PLAYBOOK_TOKENS + 1_200,
            output_tokens: 375,
        }),
        days: Some(30.0),
    }
}

pub(super) fn calls(seed: u64) -> Vec<SimulatedCall> {
    let mut dice = Dice::new(seed, "golem");
    let tools = (0..TOOLS.0).map(|index| tool_of(&mut dice, format!("action_{index}"), TOOLS.1));
    let tools: Arc<[ToolText]> = tools.collect();
    let constitution = dice.prose(CONSTITUTION_TOKENS);
    let mut mind = GolemMind {
        tools,
        system: "".into(),
        calls: Vec::new(),
        market: "calm",
    };
    let mut market = 1;
    for day in 0..DAYS {
        if !dice.chance(0.7) {
            market = usize::try_from(dice.range(0, 2)).unwrap_or(1);
        }
        let (name, small, strong) = MARKETS[market];
        mind.market = name;
        for tick in 0..TICKS {
            if tick % 50 == 0 {
                let playbook = dice.prose(PLAYBOOK_TOKENS);
                mind.system = format!("{constitution}\n# Playbook\n{playbook}").into();
                let at_ms = day * DAY_MS + tick * TICK_MS;
                mind.think(&mut dice, at_ms, "curator", SMALL);
                mind.think(&mut dice, at_ms + MINUTE_MS, "playbook", SMALL);
            }
            let at_ms = day * DAY_MS + tick * TICK_MS + dice.range(1_000, 9_000);
            let kind = dice.unit();
            if kind < strong {
                mind.think(&mut dice, at_ms, "heartbeat_t1", SMALL);
                mind.think(&mut dice, at_ms + 4 * SECOND_MS, "heartbeat_t2", FRONTIER);
            } else if kind < strong + small {
                mind.think(&mut dice, at_ms, "heartbeat_t1", SMALL);
            }
        }
        mind.rest_of_the_day(&mut dice, day);
    }
    mind.calls
}

struct GolemMind {
    tools: Arc<[ToolText]>,
    system: Arc<str>,
    calls: Vec<SimulatedCall>,
    market: &'static str,
}

impl GolemMind {
    fn think(&mut self, dice: &mut Dice, at_ms: u64, subsystem: &str, model: &str) {
        let tokens = dice.range(CONTEXT_TOKENS.0, CONTEXT_TOKENS.1);
        let question = format!("# Market at {at_ms}\n{}", dice.prose(tokens));
        self.say(
            dice,
            at_ms,
            subsystem,
            model,
            vec![SimulatedTurn::user(question)],
        );
    }

    fn say(
        &mut self,
        dice: &mut Dice,
        at_ms: u64,
        subsystem: &str,
        model: &str,
        turns: Vec<SimulatedTurn>,
    ) -> Arc<str> {
        let output_tokens = dice.range(150, 600);
        let answer: Arc<str> = dice.prose(output_tokens).into();
        let call = SimulatedCall {
            at_ms,
            model: model.into(),
            tools: Arc::clone(&self.tools),
            system: Arc::clone(&self.system),
            turns,
            temperature: None,
            hints: json!({
                "subsystem": subsystem, "golem_id": "golem-1", "session_id": "life-1",
                "regime": self.market, "domain": "defi",
            }),
            answer: Arc::clone(&answer),
            output_tokens,
            line: None,
        };
        if dice.chance(AGAIN) {
            let at_ms = at_ms + dice.range(2_000, 20_000);
            self.calls.push(SimulatedCall {
                at_ms,
                ..call.clone()
            });
        }
        self.calls.push(call);
        answer
    }

    /// Compressions by day, a talk with the owner in the evening, dreams at night.
    fn rest_of_the_day(&mut self, dice: &mut Dice, day: u64) {
        for _ in 0..5 {
            let at_ms = day * DAY_MS + dice.range(0, 20 * HOUR_MS);
            self.think(dice, at_ms, "context", SMALL);
        }
        let mut at_ms = day * DAY_MS + 19 * HOUR_MS + dice.range(0, HOUR_MS);
        let mut turns = Vec::new();
        for number in 0..dice.range(3, 6) {
            let words = dice.range(20, 120);
            turns.push(SimulatedTurn::user(format!(
                "Question {day}/{number}: {}",
                dice.prose(words)
            )));
            let answer = self.say(dice, at_ms, "operator", FRONTIER, turns.clone());
            turns.push(SimulatedTurn::assistant(answer));
            at_ms += dice.gap_ms(20 * SECOND_MS, 3 * MINUTE_MS);
        }
        let mut at_ms = day * DAY_MS + 23 * HOUR_MS;
        let dreams = [
            "dream_nrem",
            "dream_nrem",
            "dream_rem",
            "dream_rem",
            "dream_integration",
        ];
        for dream in dreams {
            self.think(dice, at_ms, dream, FRONTIER);
            at_ms += dice.gap_ms(30 * SECOND_MS, 90 * SECOND_MS);
        }
    }
}
