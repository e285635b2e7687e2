use serde_json::{Value, json};

use super::*;
use crate::asked::Edits;
use crate::script::{self, Choice, Facts, Said, Stop, Tool, Turn};
use crate::world::World;

const HARBOR: &str = "def harbor_opens():\n    return 5\n";

fn function(name: &str, takes: &[&str]) -> Tool {
    let properties: serde_json::Map<String, Value> = takes
        .iter()
        .map(|name| ((*name).to_owned(), json!({ "type": "string" })))
        .collect();
    Tool {
        name: name.to_owned(),
        schema: Some(json!({ "type": "object", "properties": properties, "required": takes })),
        custom: false,
    }
}

fn custom(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        schema: None,
        custom: true,
    }
}

fn claude_code() -> Vec<Tool> {
    vec![
        function("Bash", &["command"]),
        function("Read", &["file_path"]),
        function("Edit", &["file_path", "old_string", "new_string"]),
        function("Write", &["file_path", "content"]),
    ]
}

fn codex() -> Vec<Tool> {
    vec![
        function("exec_command", &["cmd"]),
        custom("apply_patch"),
        function("view_image", &["path"]),
    ]
}

fn facts(ask: &str, tools: Vec<Tool>) -> Facts {
    Facts {
        service: "openai",
        model: "m".to_owned(),
        said: vec![Said::User(ask.to_owned())],
        tools,
        ..Facts::default()
    }
}

fn play(facts: &Facts) -> Turn {
    script::play(facts, &World::new(0, Vec::new())).expect("a turn")
}

/// Plays the conversation to its end; `tool` answers each call.
fn run(facts: &mut Facts, tool: impl Fn(&str, &Input) -> String) -> (Vec<(String, Input)>, String) {
    let mut calls = Vec::new();
    for _ in 0..10 {
        let turn = play(facts);
        if turn.tools.is_empty() {
            return (calls, turn.text.unwrap_or_default());
        }
        assert_eq!(turn.stop, Stop::Tools);
        facts.said.push(Said::Assistant);
        for call in turn.tools {
            facts.called(&call.id, &call.name, call.input.clone());
            let result = tool(&call.name, &call.input);
            facts.answered(&call.id, "", result, false);
            calls.push((call.name, call.input));
        }
    }
    panic!("it never ends: {calls:?}");
}

fn input(calls: &[(String, Input)], at: usize) -> Value {
    match &calls[at].1 {
        Input::Json(value) => value.clone(),
        Input::Text(text) | Input::Raw(text) => json!(text),
    }
}

#[test]
fn a_file_is_read_edited_and_reported_with_claude_codes_tools() {
    let mut facts = facts("Change 5 to 6 in harbor.py", claude_code());
    facts
        .harness
        .note(" - Primary working directory: /home/ada/demo\n");
    let (calls, report) = run(&mut facts, |name, _| match name {
        "Read" => "     1→def harbor_opens():\n     2→    return 5\n".to_owned(),
        _ => "The file has been updated.".to_owned(),
    });
    let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Read", "Edit"]);
    assert_eq!(
        input(&calls, 0),
        json!({ "file_path": "/home/ada/demo/harbor.py" })
    );
    assert_eq!(
        input(&calls, 1),
        json!({ "file_path": "/home/ada/demo/harbor.py",
            "old_string": "    return 5", "new_string": "    return 6" })
    );
    assert!(
        report.starts_with("Done: I read harbor.py and changed it."),
        "{report}"
    );
    assert!(
        report.contains("-     return 5\n+     return 6"),
        "{report}"
    );
}

/// As OpenCode writes them: the prompt in quotation marks, the file in an element.
#[test]
fn a_file_is_read_edited_and_made_with_opencodes_tools() {
    let tools = || {
        vec![
            function("bash", &["command", "description"]),
            function("read", &["filePath"]),
            function("edit", &["filePath", "oldString", "newString"]),
            function("write", &["filePath", "content"]),
        ]
    };
    let mut change = facts("\"Change 5 to 6 in harbor.py\"", tools());
    let (calls, report) = run(&mut change, |name, _| {
        match name {
        "read" => "<path>/w/harbor.py</path>\n<type>file</type>\n<content>\n1: def harbor_opens():\n2:     return 5\n\n(End of file - total 2 lines)\n</content>".to_owned(),
        _ => "Edit applied successfully.".to_owned(),
    }
    });
    assert_eq!(
        input(&calls, 1),
        json!({ "filePath": "harbor.py", "oldString": "    return 5", "newString": "    return 6" })
    );
    assert!(report.starts_with("Done"), "{report}");

    let mut create = facts("\"Create hello.txt saying Hello.\"\n", tools());
    let (calls, report) = run(&mut create, |_, _| "Wrote file successfully.".to_owned());
    assert_eq!(
        input(&calls, 0),
        json!({ "filePath": "hello.txt", "content": "Hello.\n" })
    );
    assert!(report.contains("hello.txt is there now"), "{report}");
}

#[test]
fn a_line_for_a_commit_is_one_short_line() {
    let diff = "# Diffs:\ndiff --git a/harbor.py b/harbor.py\n--- a/harbor.py\n+++ b/harbor.py\n@@ -1 +1 @@\n-x\n+y\n";
    let mut facts = facts(diff, Vec::new());
    facts.harness.note(
        "You are an expert software engineer that generates concise, one-line Git commit \
         messages based on the provided diffs.",
    );
    let turn = play(&facts);
    assert_eq!(turn.text.as_deref(), Some("chore: change harbor.py"));
}

#[test]
fn codex_gets_a_command_and_a_patch() {
    let mut facts = facts("Add a line \"x = 1\" to harbor.py", codex());
    let (calls, report) = run(&mut facts, |name, _| match name {
        "exec_command" => format!("Process exited with code 0\nOutput:\n{HARBOR}"),
        _ => "Success. Updated the following files:\nM harbor.py".to_owned(),
    });
    assert_eq!(input(&calls, 0), json!({ "cmd": "cat -- 'harbor.py'" }));
    assert_eq!(
        input(&calls, 1),
        json!(
            "*** Begin Patch\n*** Update File: harbor.py\n@@\n def harbor_opens():\n     return 5\n\
             +x = 1\n*** End Patch\n"
        )
    );
    assert!(report.starts_with("Done"), "{report}");
}

#[test]
fn a_tool_that_runs_programs_will_do() {
    let mut facts = facts("Change 5 to 6 in harbor.py", vec![custom("exec")]);
    let (calls, _) = run(&mut facts, |_, input| match input {
        Input::Text(text) if text.contains("cat --") => HARBOR.to_owned(),
        _ => String::new(),
    });
    let written = input(&calls, 1);
    let written = written.as_str().expect("a program");
    let command =
        r"cat > 'harbor.py' <<'END_OF_FILE'\ndef harbor_opens():\n    return 6\nEND_OF_FILE";
    assert!(written.contains(command), "{written}");
}

#[test]
fn a_file_is_made_without_reading_it() {
    let mut facts = facts("Create hello.txt saying Hello, harbor.", claude_code());
    let (calls, report) = run(&mut facts, |_, _| "File created".to_owned());
    assert_eq!(calls.len(), 1);
    assert_eq!(
        input(&calls, 0),
        json!({ "file_path": "hello.txt", "content": "Hello, harbor.\n" })
    );
    assert!(report.contains("hello.txt is there now"), "{report}");

    let mut shell = facts_of_shell("Create hello.txt saying Hello.");
    let (calls, report) = run(&mut shell, |_, _| {
        "Process exited with code 1\nOutput:\nbash: hello.txt: cannot overwrite existing file"
            .to_owned()
    });
    let command = input(&calls, 0)["cmd"]
        .as_str()
        .expect("a command")
        .to_owned();
    assert!(
        command.starts_with("set -C; cat > 'hello.txt'"),
        "{command}"
    );
    assert!(
        report.contains("cannot overwrite existing file"),
        "{report}"
    );
}

fn facts_of_shell(ask: &str) -> Facts {
    facts(ask, vec![function("exec_command", &["cmd"])])
}

#[test]
fn several_files_are_read_at_once_or_one_by_one() {
    let ask = "Read a.txt and b.txt";
    let mut at_once = facts(ask, claude_code());
    assert_eq!(play(&at_once).tools.len(), 2);
    at_once.one_call = true;
    assert_eq!(play(&at_once).tools.len(), 1);
    let (calls, report) = run(&mut at_once, |_, _| "     1→one\n".to_owned());
    assert_eq!(calls.len(), 2);
    assert!(
        report.contains("a.txt: 1 line") && report.contains("b.txt: 1 line"),
        "{report}"
    );
}

#[test]
fn a_tool_that_fails_ends_the_work() {
    let mut facts = facts("Change 5 to 6 in harbor.py", claude_code());
    let (calls, report) = run(&mut facts, |_, _| {
        "<tool_use_error>File does not exist.</tool_use_error>".to_owned()
    });
    assert_eq!(calls.len(), 1);
    assert!(
        report.starts_with("I could not read harbor.py: File does not exist."),
        "{report}"
    );
}

#[test]
fn the_choice_of_tools_is_kept() {
    let ask = "Change 5 to 6 in harbor.py";
    let with = |choice: Choice| Facts {
        choice,
        ..facts(ask, claude_code())
    };
    assert!(play(&with(Choice::None)).tools.is_empty());
    assert_eq!(play(&with(Choice::Any)).tools[0].name, "Read");
    let named = play(&with(Choice::Named("Write".to_owned())));
    assert_eq!(named.tools[0].name, "Write");
    let read = play(&with(Choice::Named("Read".to_owned())));
    assert_eq!(read.tools[0].object(), json!({ "file_path": "harbor.py" }));
}

#[test]
fn where_no_tool_fits_it_talks() {
    let ask = "Change 5 to 6 in harbor.py";
    let weather = vec![function("get_weather", &["city"])];
    for facts in [facts(ask, Vec::new()), facts(ask, weather.clone())] {
        let turn = play(&facts);
        assert!(turn.tools.is_empty());
        assert!(turn.text.expect("words").starts_with("Sandbox answer"));
    }
    let reader = facts(ask, vec![function("read_file", &["path"])]);
    let mut reader = reader;
    let (calls, report) = run(&mut reader, |_, _| HARBOR.to_owned());
    assert_eq!(calls.len(), 1);
    assert!(report.contains("no tool here changes it"), "{report}");

    let mut named = facts("Please use get_weather for Bergen.", weather);
    let (calls, report) = run(&mut named, |_, _| "rain".to_owned());
    assert_eq!(calls.len(), 1);
    assert!(
        report.starts_with("get_weather gave back: rain"),
        "{report}"
    );
}

#[test]
fn a_new_question_begins_anew() {
    let mut facts = facts("Change 5 to 6 in harbor.py", claude_code());
    let answer = |name: &str| match name {
        "Read" => HARBOR.to_owned(),
        _ => "ok".to_owned(),
    };
    run(&mut facts, |name, _| answer(name));
    facts.said.push(Said::Assistant);
    facts
        .said
        .push(Said::User("Change 5 to 7 in harbor.py".to_owned()));
    let (calls, _) = run(&mut facts, |name, _| answer(name));
    assert_eq!(calls.len(), 2);
    assert_eq!(input(&calls, 1)["new_string"], "    return 7");
}

#[test]
fn edits_come_as_text_where_the_program_wants_them_so() {
    let listing = format!(
        "I have *added these files to the chat* so you can go ahead and edit them.\n\n\
         harbor.py\n```\n{HARBOR}```\n"
    );
    let said = |ask: &str| {
        vec![
            Said::User(listing.clone()),
            Said::Assistant,
            Said::User(ask.to_owned()),
        ]
    };
    let play_as = |edits, ask: &str| {
        let mut facts = facts("", Vec::new());
        facts.said = said(ask);
        facts.harness.edits = Some(edits);
        play(&facts).text.expect("words")
    };
    let whole = play_as(Edits::WholeFile, "Change 5 to 6.");
    let block = "\n\nharbor.py\n```\ndef harbor_opens():\n    return 6\n```\n";
    assert!(whole.contains(block), "{whole}");
    let parts = play_as(Edits::SearchReplace, "Change 5 to 6 in harbor.py");
    let block = "\n\nharbor.py\n```\n<<<<<<< SEARCH\n    return 5\n=======\n    return 6\n\
                 >>>>>>> REPLACE\n```\n";
    assert!(parts.contains(block), "{parts}");
    let new = play_as(Edits::SearchReplace, "Create b.py with the text x = 1");
    let block = "b.py\n```\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n```\n";
    assert!(new.contains(block), "{new}");
    let unseen = play_as(Edits::WholeFile, "Change 5 to 6 in other.py");
    assert!(unseen.contains("add it to the chat first"), "{unseen}");
}
