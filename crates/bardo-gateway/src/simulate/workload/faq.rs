//! A day of a support bot: one long system prompt, short questions, some of them again and again.

use std::sync::Arc;

use serde_json::json;

use super::{DAY_MS, HOUR_MS, SECOND_MS, SMALL, SimulatedCall, SimulatedTurn, Workload};
use crate::simulate::dice::Dice;

/// Questions in a day.
const QUESTIONS: u64 = 2_000;
/// Tokens of the system prompt with the articles that the bot knows.
const SYSTEM_TOKENS: u64 = 6_000;
/// Share of questions that are buttons or copied texts, equal to the byte.
const EQUAL: f64 = 0.30;
/// Share of questions about a known topic in words of the user's own.
const PARAPHRASED: f64 = 0.20;
/// Share of questions that differ from a known one in a word that matters.
const NEARLY: f64 = 0.05;
/// Share of equal questions that several people send within the same moment, after an incident.
const BURST: f64 = 0.02;
/// Lines of question, the same question in other words, another question in nearly these words.
const TOPICS: &str = include_str!("questions.txt");

pub(super) fn workload() -> Workload {
    Workload {
        name: "faq-day",
        title: "A day of a support bot",
        tier: None,
        spread_percent: 20.0,
        assumptions: &[
            "2,000 questions in 24 hours, most of them by day; claude-haiku-4-5",
            "a system prompt of 6,000 tokens with the articles, answers of 80 to 300 tokens",
            "30 % of the questions are buttons or copied texts (equal to the byte, 38 topics, Zipf), 20 % ask the same in other words, 5 % nearly the same, 45 % are unique",
            "after 2 % of the equal ones 3 to 12 people send the same within the time of one answer",
            "the bot sends the hints `domain: faq` and `cache: default`, in the last row `cache: semantic`; answers live one hour",
        ],
        naive: None,
        days: Some(1.0),
    }
}

pub(super) fn calls(seed: u64) -> Vec<SimulatedCall> {
    let mut dice = Dice::new(seed, "faq");
    let topics: Vec<Vec<&str>> = TOPICS
        .lines()
        .map(|line| line.split(" | ").collect())
        .filter(|forms: &Vec<&str>| forms.len() == 3)
        .collect();
    let answers: Vec<(Arc<str>, u64)> = topics.iter().map(|_| answer(&mut dice)).collect();
    let near: Vec<(Arc<str>, u64)> = topics.iter().map(|_| answer(&mut dice)).collect();
    let system: Arc<str> = format!(
        "You are the support bot of a shop.\n{}",
        dice.prose(SYSTEM_TOKENS)
    )
    .into();
    let mut calls = Vec::new();
    for number in 0..QUESTIONS {
        let at_ms = moment(&mut dice);
        let topic = dice.zipf(topics.len());
        let kind = dice.unit();
        let (question, (text, tokens)): (Arc<str>, (Arc<str>, u64)) = if kind < EQUAL {
            (topics[topic][0].into(), answers[topic].clone())
        } else if kind < EQUAL + PARAPHRASED {
            (topics[topic][1].into(), answers[topic].clone())
        } else if kind < EQUAL + PARAPHRASED + NEARLY {
            (topics[topic][2].into(), near[topic].clone())
        } else {
            let own = dice.range(12, 60);
            let words = format!("Case {number}: {}?", dice.prose(own));
            (words.into(), answer(&mut dice))
        };
        let people = match kind < EQUAL && dice.chance(BURST) {
            true => dice.range(3, 12),
            false => 1,
        };
        for _ in 0..people {
            calls.push(SimulatedCall {
                at_ms,
                model: SMALL.into(),
                tools: Arc::default(),
                system: Arc::clone(&system),
                turns: vec![SimulatedTurn::user(Arc::clone(&question))],
                temperature: Some(0.2),
                hints: json!({ "cache": "default", "domain": "faq" }),
                answer: Arc::clone(&text),
                output_tokens: tokens,
                line: None,
            });
        }
    }
    calls
}

fn answer(dice: &mut Dice) -> (Arc<str>, u64) {
    let tokens = dice.range(80, 300);
    (dice.prose(tokens).into(), tokens)
}

/// A time of the day: four fifths of the questions come between 8 and 20 o'clock.
fn moment(dice: &mut Dice) -> u64 {
    let (from, to) = match dice.chance(0.8) {
        true => (8 * HOUR_MS, 20 * HOUR_MS),
        false => (0, DAY_MS - 1),
    };
    // Whole seconds: two people rarely ask in the same one.
    dice.range(from, to) / SECOND_MS * SECOND_MS + dice.range(0, 999)
}
