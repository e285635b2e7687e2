use bardo_types::chat::{Message, Role, Text, Tool};
use bardo_types::feature::FeatureSet;
use bardo_types::model::{Dialect, ModelEntry};
use bardo_types::privacy::SecurityClass;

use super::*;

fn say(role: Role, text: &str) -> Message {
    Message::new(role, vec![Text::new(text).into()])
}

fn request(system: &str, turns: &[&str]) -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Chat, "m");
    request.messages = vec![say(Role::System, system)];
    let turns = turns.iter().map(|text| say(Role::User, text));
    request.messages.extend(turns);
    request
}

fn hints(session: &str, agent: &str) -> RouteHints {
    RouteHints {
        session: Some(session.into()),
        golem_id: Some(agent.into()),
        ..RouteHints::default()
    }
}

#[test]
fn a_prefix_belongs_to_its_tenant_and_agent_and_ends_before_the_turns() {
    let stable = |account: &str, hints: &RouteHints, request: &ChatRequest| {
        PromptDigest::of(account, Some(hints), request).stable
    };
    let first = stable("a", &hints("s", "g"), &request("rules", &["one"]));
    let same = stable("a", &hints("t", "g"), &request("rules", &["two", "three"]));
    assert_eq!(first, same);
    let mut tooled = request("rules", &["one"]);
    tooled.tools = vec![Tool::Custom {
        name: "look".into(),
        description: None,
        format: None,
    }];
    for other in [
        stable("b", &hints("s", "g"), &request("rules", &["one"])),
        stable("a", &hints("s", "h"), &request("rules", &["one"])),
        stable("a", &hints("s", "g"), &request("other rules", &["one"])),
        stable("a", &hints("s", "g"), &tooled),
        // The parts do not run into each other.
        stable("ag", &hints("s", ""), &request("rules", &["one"])),
    ] {
        assert_ne!(first, other);
    }
}

#[test]
fn a_conversation_is_the_same_as_it_grows_and_another_in_another_session() {
    let turns = |session: &str, texts: &[&str]| {
        let hints = hints(session, "g");
        let request = request("rules", texts);
        PromptDigest::of("a", Some(&hints), &request).turns(Some(session))
    };
    assert_eq!(turns("s", &["one"]), turns("s", &["one", "two"]));
    assert_ne!(turns("s", &["one"]), turns("s", &["two"]));
    assert_ne!(turns("s", &["one"]), turns("t", &["one"]));
}

fn score(cost: f64, quality: f64, latency: f64, total: f64) -> Option<Score> {
    Some(Score {
        cost,
        quality,
        latency,
        privacy: 0.5,
        features: 0.5,
        total,
    })
}

fn entry() -> ModelEntry {
    ModelEntry {
        id: "m".into(),
        upstream_id: "m".into(),
        display_name: "m".into(),
        vendor: "v".into(),
        tier: None,
        capabilities: Arc::default(),
        price: None,
        created: 0,
        embeddings: false,
        rating: 0,
        security: SecurityClass::Standard,
    }
}

fn choice(score: Option<Score>) -> RoutedCandidate {
    RoutedCandidate {
        candidate: Candidate {
            backend: 0,
            entry: Arc::new(entry()),
        },
        features: FeatureSet::default(),
        degraded: Vec::new(),
        below_quality: false,
        security: SecurityClass::Standard,
        tee: None,
        sort: None,
        estimated_cost: None,
        score,
        group: 0,
        max_output: None,
    }
}

#[test]
fn only_a_choice_that_is_nearly_as_good_is_near() {
    let first = choice(score(0.5, 0.5, 0.5, 0.70));
    let near = |other: &RoutedCandidate| is_near(&first, other);
    assert!(near(&choice(score(0.6, 0.5, 0.4, 0.69))));
    assert!(!near(&choice(score(0.6, 0.5, 0.4, 0.67))));
    // Beaten in price, quality and time at once.
    assert!(!near(&choice(score(0.49, 0.49, 0.49, 0.699))));
    assert!(!near(&choice(None)));
    let less_private = RoutedCandidate {
        security: SecurityClass::Standard,
        ..choice(score(0.5, 0.5, 0.5, 0.70))
    };
    let private_first = RoutedCandidate {
        security: SecurityClass::Private,
        ..choice(score(0.5, 0.5, 0.5, 0.70))
    };
    assert!(!is_near(&private_first, &less_private));
    let lacking = RoutedCandidate {
        below_quality: true,
        ..choice(score(0.5, 0.5, 0.5, 0.70))
    };
    assert!(!near(&lacking));
    // The owner's order, a preference or the price puts it behind, not the score.
    let behind = RoutedCandidate {
        group: 1,
        ..choice(score(0.6, 0.5, 0.4, 0.80))
    };
    assert!(!near(&behind));
}
