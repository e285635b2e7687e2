use super::*;

fn world() -> World {
    World::new(7, Vec::new())
}

fn facts(said: Vec<Said>) -> Facts {
    Facts {
        service: "openai",
        model: "m".to_owned(),
        said,
        ..Facts::default()
    }
}

fn user(text: &str) -> Said {
    Said::User(text.to_owned())
}

#[test]
fn a_script_advances_with_each_assistant_turn() {
    let script = r#"go bardo-script: {"steps":[{"tools":[{"name":"f","args":{"a":1}}]},
        {"text":"second"}]} and more words"#;
    let first = play(&facts(vec![user(script)]), &world()).expect("a script");
    assert_eq!(
        (first.tools[0].arguments().as_str(), &first.stop),
        (r#"{"a":1}"#, &Stop::Tools)
    );
    let said = vec![
        user("bardo-script: {\"steps\":[]}"),
        Said::Assistant,
        user(script),
        Said::Assistant,
    ];
    let second = play(&facts(said), &world()).expect("a script");
    assert_eq!(second.text.as_deref(), Some("second"));
}

#[test]
fn after_the_last_step_text_repeats_and_tools_do_not() {
    let text = vec![
        user(r#"bardo-script: {"steps":[{"text":"a"}]}"#),
        Said::Assistant,
        user("x"),
    ];
    assert_eq!(
        play(&facts(text), &world())
            .expect("a script")
            .text
            .as_deref(),
        Some("a")
    );
    let tool = r#"bardo-script: {"steps":[{"tools":[{"name":"f"}]}]}"#;
    let after = play(&facts(vec![user(tool), Said::Assistant]), &world()).expect("a script");
    assert_eq!(
        (after.text.as_deref(), after.tools.len()),
        (Some("done"), 0)
    );
}

#[test]
fn a_broken_script_says_so() {
    let broken = facts(vec![user("bardo-script: {\"steps\":[{]}")]);
    assert!(
        play(&broken, &world())
            .expect_err("broken")
            .contains("not JSON")
    );
    let fault = facts(vec![user(
        r#"bardo-script: {"steps":[{"fault":{"kind":"boom"}}]}"#,
    )]);
    assert!(play(&fault, &world()).is_err());
}

#[test]
fn a_forced_tool_is_called_with_fitting_arguments() {
    let mut facts = facts(vec![user("hi")]);
    facts.tools = ["f", "g"]
        .map(|name| Tool {
            name: name.to_owned(),
            schema: Some(json!({ "type": "object", "required": ["n"],
                "properties": { "n": { "type": "integer", "minimum": 2 } } })),
            custom: false,
        })
        .into();
    facts.choice = Choice::Named("g".to_owned());
    let turn = play(&facts, &world()).expect("an answer");
    assert_eq!(
        (turn.tools[0].name.as_str(), turn.tools[0].object()),
        ("g", json!({ "n": 2 }))
    );
    facts.choice = Choice::Auto;
    assert!(play(&facts, &world()).expect("an answer").tools.is_empty());
}

#[test]
fn the_earliest_stop_sequence_wins() {
    let mut facts = facts(vec![user(
        r#"bardo-script: {"steps":[{"text":"one two three"}]}"#,
    )]);
    facts.stop = vec!["three".to_owned(), " two".to_owned()];
    let turn = play(&facts, &world()).expect("a script");
    assert_eq!(turn.text.as_deref(), Some("one"));
    assert_eq!(turn.stop, Stop::Sequence(" two".to_owned()));
}

#[test]
fn the_token_limit_cuts_and_is_reported() {
    let mut facts = facts(vec![user(
        r#"bardo-script: {"steps":[{"text":"0123456789"}]}"#,
    )]);
    facts.max_tokens = Some(2);
    let turn = play(&facts, &world()).expect("a script");
    assert_eq!(
        (turn.text.as_deref(), &turn.stop),
        (Some("01234567"), &Stop::MaxTokens)
    );
    assert_eq!(turn.output_tokens(), 2);
    facts.max_tokens = Some(3);
    assert_eq!(play(&facts, &world()).expect("a script").stop, Stop::End);
}

#[test]
fn the_same_request_has_the_same_ids() {
    let asked = facts(vec![user(
        r#"bardo-script: {"steps":[{"tools":[{"name":"f"},{"name":"f"}]}]}"#,
    )]);
    let [one, two] = [(); 2].map(|()| play(&asked, &world()).expect("a script").tools);
    assert_eq!(one, two);
    assert_ne!(one[0].id, one[1].id);
    let other = play(&asked, &World::new(8, Vec::new()))
        .expect("a script")
        .tools;
    assert_ne!(one[0].id, other[0].id);
}
