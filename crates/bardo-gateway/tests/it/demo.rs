//! `bardo-gateway demo`, and what `serve --sandbox` answers to a newcomer.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::http::Request;
use crate::paying::till::run;
use crate::rig::{Folder, Gateway, command};

#[test]
fn the_demo_plays_a_day_and_prints_its_bill_with_the_honest_ratio_first() {
    let day = ["demo", "--ticks", "24"];
    let told = run(&[&day[..], &["--json"]].concat());
    assert_eq!(told.code, Some(0), "{told:?}");
    let bill = &told.lines[0];
    assert_eq!(bill["ticks"]["all"], 24);
    assert_eq!(bill["requests_at_t0"], 0);
    assert_eq!(bill["violations"], json!([]));
    assert_eq!(bill["sandbox"], true);
    let ratio = |side: &str| {
        let ratio = bill["baseline"][side]["ratio"].as_str();
        let (whole, tenth) = ratio.expect("a ratio").split_once('.').expect("one digit");
        format!("{whole}{tenth}").parse::<u32>().expect("a number")
    };
    assert!(ratio("like_for_like") < ratio("with_quiet_ticks"), "{bill}");

    let folder = Folder::new();
    let output = command(&folder)
        .args(day)
        .output()
        .expect("the binary starts");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    let at = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("{part} is not in\n{text}"))
    };
    assert!(at("like for like") < at("quiet ticks"), "{text}");
    assert_eq!(
        folder.0.read_dir().expect("a folder").count(),
        0,
        "the demo leaves nothing behind"
    );
}

#[test]
fn a_demo_that_stays_serves_its_console_until_a_signal() {
    let folder = Folder::new();
    let mut child = command(&folder)
        .args(["demo", "--ticks", "12", "--json", "--stay"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let stdout = child.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(stdout).lines().map(|line| {
        let line = line.expect("text");
        serde_json::from_str::<Value>(&line).expect("JSON")
    });
    assert_eq!(lines.next().expect("a bill")["violations"], json!([]));
    let told = lines.next().expect("an address");
    let console = told["console"].as_str().expect("an address");
    let address = console.trim_start_matches("http://").split('/').next();
    let address = address
        .and_then(|address| address.parse().ok())
        .expect(console);
    let page = Request::get("/console/requests").with("accept", "text/html");
    let shown = page.send(address);
    assert_eq!(shown.status(), 200);
    assert!(
        shown.text().contains("/console/requests/req_"),
        "{}",
        shown.text()
    );
    let killed = Command::new("kill").arg(child.id().to_string()).status();
    assert!(killed.expect("kill runs").success());
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn the_demo_refuses_what_it_does_not_understand() {
    for wrong in [&["demo", "--ticks", "1"][..], &["demo", "--days", "2"]] {
        assert_eq!(run(wrong).code, Some(2), "{wrong:?}");
    }
}

/// Asks in the dialect of a path, and gives the text of the answer.
fn said(gateway: &Gateway, path: &str, body: &Value, text: &str) -> String {
    let key = gateway.ready["key"].as_str().expect("a key");
    let request = Request::json(path, body).with("authorization", &format!("Bearer {key}"));
    let answer = gateway.send(&request);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let answer = answer.json();
    let text = answer.pointer(text).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("no text in {answer}"))
        .to_owned()
}

#[test]
fn the_sandbox_says_which_dialect_came_in_and_what_became_of_it() {
    let folder = Folder::new();
    let mut sandboxed = command(&folder);
    sandboxed.args(["serve", "--sandbox", "--fast"]);
    let gateway = Gateway::run(folder, sandboxed, &[]);
    let chat = |model: &str| {
        json!({ "model": model, "messages": [
        { "role": "system", "content": "SECRET" }, { "role": "user", "content": "What is SAND?" }] })
    };
    let in_chat = |model| {
        let text = "/choices/0/message/content";
        said(&gateway, "/v1/chat/completions", &chat(model), text)
    };
    for (model, part) in [
        (
            "gpt-5.5",
            "your Chat Completions request was passed on in its own dialect to a simulated OpenAI",
        ),
        (
            "claude-sonnet-5-5",
            "your Chat Completions request was translated to Anthropic Messages for a simulated Anthropic",
        ),
        (
            "gemini-3-flash",
            "your Chat Completions request was translated to Gemini for a simulated Google",
        ),
    ] {
        let text = in_chat(model);
        assert!(text.contains(part), "{model}: {text}");
        assert!(text.contains("“What is SAND?”"), "{text}");
        assert!(text.contains(" USD at list price"), "{text}");
        assert!(!text.contains("SECRET"), "{text}");
    }
    let messages = json!({ "model": "gpt-5.5", "max_tokens": 1000,
        "messages": [{ "role": "user", "content": "Hello!" }] });
    let text = said(&gateway, "/v1/messages", &messages, "/content/0/text");
    assert!(
        text.contains("your Anthropic Messages request was translated to Chat Completions"),
        "{text}"
    );
}
