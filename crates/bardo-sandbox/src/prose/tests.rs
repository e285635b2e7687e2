use super::*;
use crate::asked::Edits;
use crate::dialect::Dialect;
use crate::script::{self, Said};

fn world(seed: u64) -> World {
    World::new(seed, Vec::new())
}

fn facts(text: &str) -> Facts {
    Facts {
        service: "anthropic",
        dialect: Dialect::Messages,
        from: Some(Dialect::Chat),
        model: "claude-sonnet-5-5".to_owned(),
        said: vec![Said::User(text.to_owned())],
        input_tokens: Some(14),
        ..Facts::default()
    }
}

fn text(facts: &Facts) -> String {
    let turn = script::play(facts, &world(0)).expect("an answer");
    turn.text.expect("words")
}

#[test]
fn it_says_what_it_is_what_happened_and_what_to_try() {
    let facts = facts("Hello!");
    let said = text(&facts);
    for part in [
        "Sandbox answer from claude-sonnet-5-5: ",
        "your Chat Completions request was translated to Anthropic Messages for a simulated Anthropic",
        "14 tokens in and ",
        " USD at list price",
        "Try next: ",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

#[test]
fn the_tokens_and_the_cost_are_those_of_the_answer() {
    for ask in ["Hello!", "What is a harbor?", "Write a poem.", ""] {
        let facts = facts(ask);
        let turn = script::play(&facts, &world(3)).expect("an answer");
        let tokens = turn.output_tokens();
        let said = turn.text.expect("words");
        assert!(said.contains(&format!("and {tokens} out")), "{said}");
        let price = price::of("anthropic", "claude-sonnet-5-5").expect("a price");
        assert!(said.contains(&price.cost(14, tokens)), "{said}");
    }
}

#[test]
fn nothing_is_quoted_that_the_user_did_not_write() {
    let mut facts = facts("<system-reminder>\nSECRET rules\n</system-reminder>\nWhat is SAND?");
    facts.harness.note("SECRET system prompt");
    let said = text(&facts);
    assert!(said.contains("“What is SAND?”"), "{said}");
    assert!(!said.contains("SECRET"), "{said}");
    assert!(
        !said.contains("messages"),
        "no count of hidden messages: {said}"
    );

    facts.said = vec![Said::User("<environment_context>\nSECRET".to_owned())];
    assert!(!text(&facts).contains("SECRET"));
}

#[test]
fn answers_differ_by_what_was_asked_and_repeat_for_the_same() {
    let asks = [
        "Hello!",
        "What is a harbor?",
        "Write a poem.",
        "Why?",
        "Do it.",
    ];
    let all: std::collections::BTreeSet<String> =
        asks.iter().map(|ask| text(&facts(ask))).collect();
    assert_eq!(all.len(), asks.len());
    assert_eq!(text(&facts("Why?")), text(&facts("Why?")));
    let seeds: std::collections::BTreeSet<String> = (0..20)
        .filter_map(|seed| script::play(&facts("Why?"), &world(seed)).ok()?.text)
        .collect();
    assert!(seeds.len() > 3, "the seed varies the words: {seeds:?}");
}

#[test]
fn images_and_documents_are_named() {
    let mut facts = facts("What is this?");
    facts.images = vec!["image/png".to_owned()];
    facts.documents = 2;
    let said = text(&facts);
    assert!(
        said.contains("1 image (image/png) and 2 documents"),
        "{said}"
    );
}

#[test]
fn a_small_limit_gets_a_short_answer_that_is_whole() {
    for limit in [12, 60, 120, 400] {
        let mut facts = facts("What is a harbor?");
        facts.max_tokens = Some(limit);
        let turn = script::play(&facts, &world(0)).expect("an answer");
        assert_eq!(turn.stop, crate::script::Stop::End, "limit {limit}");
        assert!(turn.output_tokens() <= limit);
    }
}

#[test]
fn what_is_not_known_is_not_claimed() {
    let mut facts = facts("Hello!");
    facts.from = None;
    facts.model = "no-such-model".to_owned();
    let said = text(&facts);
    assert!(said.contains("a Anthropic Messages request") || said.contains("Anthropic Messages"));
    assert!(said.contains("this provider lists no price"), "{said}");
    assert!(!said.contains("translated"), "{said}");
    facts.service = "local";
    assert!(text(&facts).contains("a server of your own: no price"));
}

#[test]
fn an_agent_is_told_how_to_see_it_work() {
    let mut facts = facts("Hello!");
    facts.harness.edits = Some(Edits::WholeFile);
    let said = text(&facts);
    let next = said.split("Try next: ").nth(1).expect("something to try");
    assert!(next.contains("file"), "{next}");
}
