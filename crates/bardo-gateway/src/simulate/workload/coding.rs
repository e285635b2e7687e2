//! A week of a programmer with a coding agent: long sessions over a growing prompt, and small jobs
//! of a build server beside them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, SMALL, STRONG, SimulatedCall, SimulatedTurn, ToolText,
    Workload,
};
use crate::simulate::dice::Dice;

const DAYS: u64 = 5;
const SESSIONS_A_DAY: (u64, u64) = (2, 4);
const TURNS: (u64, u64) = (8, 40);
/// Tokens of the agent's system prompt.
const SYSTEM_TOKENS: u64 = 3_500;
/// Tools and tokens of each.
const TOOLS: (u64, u64) = (20, 600);
/// Tokens of one result of a tool, or one message of the user.
const RESULT_TOKENS: (u64, u64) = (150, 2_500);
const OUTPUT_TOKENS: (u64, u64) = (80, 700);
/// The agent summarizes the conversation above so many tokens.
const COMPACT_ABOVE: u64 = 90_000;
const SUMMARY_TOKENS: u64 = 5_000;
/// Jobs of the build server in a day: a message for a commit, a title for a change.
const JOBS_A_DAY: (u64, u64) = (15, 35);
/// Share of jobs that run again with the same input, within half an hour.
const AGAIN: f64 = 0.15;

pub(super) fn workload() -> Workload {
    Workload {
        name: "coding-week",
        title: "A week of a programmer with a coding agent",
        tier: None,
        spread_percent: 20.0,
        assumptions: &[
            "5 days, 2 to 4 sessions a day, 8 to 40 turns each; claude-sonnet-5-5",
            "20 tools of 600 tokens, a system prompt of 3,500 tokens; each turn adds 150 to 2,500 tokens of results and 80 to 700 of output; summarized above 90,000 tokens",
            "gaps between turns: 85 % from 4 s to 1 min, 10 % from 1 to 5 min, 4 % from 5 to 50 min, 1 % from 1 to 2 h",
            "beside it 15 to 35 small jobs a day at temperature 0 on claude-haiku-4-5, of which 15 % run again with the same input",
            "the agent says nothing to the gateway about caches",
        ],
        naive: None,
        days: Some(7.0),
    }
}

pub(super) fn calls(seed: u64) -> Vec<SimulatedCall> {
    let mut dice = Dice::new(seed, "coding");
    let agent = Agent {
        tools: (0..TOOLS.0).map(|index| tool(&mut dice, index)).collect(),
        system: format!("You are a coding agent.\n{}", dice.prose(SYSTEM_TOKENS)).into(),
    };
    let mut calls = Vec::new();
    for day in 0..DAYS {
        let mut at_ms = day * DAY_MS + 9 * HOUR_MS;
        for session in 0..dice.range(SESSIONS_A_DAY.0, SESSIONS_A_DAY.1) {
            at_ms += dice.gap_ms(10 * MINUTE_MS, 90 * MINUTE_MS);
            let name = format!("day-{day}-session-{session}");
            at_ms = agent.session(&mut dice, at_ms, &name, &mut calls);
        }
        jobs(&mut dice, day, &mut calls);
    }
    calls
}

struct Agent {
    tools: Arc<[ToolText]>,
    system: Arc<str>,
}

impl Agent {
    /// One conversation from its first turn; answers when it ends.
    fn session(
        &self,
        dice: &mut Dice,
        mut at_ms: u64,
        name: &str,
        calls: &mut Vec<SimulatedCall>,
    ) -> u64 {
        let mut turns: Vec<SimulatedTurn> = Vec::new();
        let mut size = 0;
        for number in 0..dice.range(TURNS.0, TURNS.1) {
            if size > COMPACT_ABOVE {
                turns.clear();
                turns.push(SimulatedTurn::user(dice.prose(SUMMARY_TOKENS)));
                turns.push(SimulatedTurn::assistant("I continue."));
                size = SUMMARY_TOKENS;
            }
            let tokens = dice.range(RESULT_TOKENS.0, RESULT_TOKENS.1);
            let result = format!("Result {name}/{number}: {}", dice.prose(tokens));
            turns.push(SimulatedTurn::user(result));
            let output_tokens = dice.range(OUTPUT_TOKENS.0, OUTPUT_TOKENS.1);
            let answer: Arc<str> = dice.prose(output_tokens).into();
            calls.push(SimulatedCall {
                at_ms,
                model: STRONG.into(),
                tools: Arc::clone(&self.tools),
                system: Arc::clone(&self.system),
                turns: turns.clone(),
                temperature: None,
                hints: json!({ "session_id": name }),
                answer: Arc::clone(&answer),
                output_tokens,
                line: None,
            });
            turns.push(SimulatedTurn::assistant(answer));
            size += tokens + output_tokens;
            at_ms += gap(dice);
        }
        at_ms
    }
}

fn gap(dice: &mut Dice) -> u64 {
    match dice.unit() {
        kind if kind < 0.85 => dice.gap_ms(4 * SECOND_MS, MINUTE_MS),
        kind if kind < 0.95 => dice.gap_ms(MINUTE_MS, 5 * MINUTE_MS),
        kind if kind < 0.99 => dice.gap_ms(5 * MINUTE_MS, 50 * MINUTE_MS),
        _ => dice.gap_ms(HOUR_MS, 2 * HOUR_MS),
    }
}

fn jobs(dice: &mut Dice, day: u64, calls: &mut Vec<SimulatedCall>) {
    for number in 0..dice.range(JOBS_A_DAY.0, JOBS_A_DAY.1) {
        let at_ms = day * DAY_MS + dice.range(9 * HOUR_MS, 18 * HOUR_MS);
        let tokens = dice.range(400, 2_500);
        let question = format!("Summarize change {day}/{number}.\n{}", dice.prose(tokens));
        let output_tokens = dice.range(20, 90);
        let job = SimulatedCall {
            at_ms,
            model: SMALL.into(),
            tools: Arc::default(),
            system: "You write titles and messages for changes.".into(),
            turns: vec![SimulatedTurn::user(question)],
            temperature: Some(0.0),
            hints: Value::Null,
            answer: dice.prose(output_tokens).into(),
            output_tokens,
            line: None,
        };
        if dice.chance(AGAIN) {
            let at_ms = at_ms + dice.gap_ms(MINUTE_MS, 30 * MINUTE_MS);
            calls.push(SimulatedCall {
                at_ms,
                ..job.clone()
            });
        }
        calls.push(job);
    }
}

/// A tool with a description of its usual length.
pub(super) fn tool_of(dice: &mut Dice, name: String, tokens: u64) -> ToolText {
    ToolText {
        name,
        description: dice.prose(tokens.saturating_sub(40)),
        schema: json!({
            "type": "object",
            "properties": { "target": { "type": "string" }, "value": { "type": "string" } },
            "required": ["target"],
        }),
    }
}

fn tool(dice: &mut Dice, index: u64) -> ToolText {
    tool_of(dice, format!("tool_{index}"), TOOLS.1)
}
