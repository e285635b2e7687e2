//! Figures over time and searches of receipts, as operators and agents' owners read them.

use serde_json::{Value, json};

use crate::http::Request;
use crate::paying::maker::{self, CACHED, OUTPUT, PROMPT};
use crate::paying::till::{Key, Till, header, micro_of};
use crate::rig::Gateway;
use crate::sse::Caller;

struct Scene {
    till: Till,
    gateway: Gateway,
    key: Key,
}

/// Two requests of one agent, one of another, and one of none.
fn scene() -> (Scene, Vec<String>) {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.key(&["--deposit-usd", "1"]);
    let gateway = till.open();
    let scene = Scene { till, gateway, key };
    let ids = [
        scene.ask(&[
            ("golem-id", "g1"),
            ("subsystem", "dream_rem"),
            ("phase", "stable"),
        ]),
        scene.ask(&[
            ("golem-id", "g1"),
            ("subsystem", "social"),
            ("vitality", "0.5"),
        ]),
        scene.ask(&[
            ("golem-id", "g2"),
            ("session-id", "s1"),
            ("sustainability", "1.5"),
        ]),
        scene.ask(&[]),
    ];
    (scene, ids.into())
}

impl Scene {
    #[track_caller]
    fn ask(&self, hints: &[(&str, &str)]) -> String {
        let body = Caller::Chat.request("m-chat", "Hello", false);
        let mut request = self.key.ask(Caller::Chat, &body);
        for (name, value) in hints {
            request = request.with(&format!("x-bardo-{name}"), value);
        }
        let answer = self.gateway.send(&request);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        header(&answer, "x-bardo-request-id").to_owned()
    }

    #[track_caller]
    fn read(&self, path: &str) -> Value {
        let answer = Request::get(path).send(self.gateway.admin);
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        answer.json()
    }

    #[track_caller]
    fn refused(&self, path: &str, param: &str) {
        let answer = Request::get(path).send(self.gateway.admin);
        assert_eq!(answer.status(), 400, "{path}: {}", answer.text());
        assert_eq!(answer.json()["error"]["param"], param, "{path}");
    }
}

fn rows(page: &Value) -> &Vec<Value> {
    page["data"].as_array().expect("rows")
}

fn names(page: &Value) -> Vec<(Value, Value)> {
    let row = |row: &Value| (row["name"].clone(), row["requests"].clone());
    rows(page).iter().map(row).collect()
}

#[test]
fn figures_of_the_cache_have_what_providers_read_from_theirs() {
    let (scene, _) = scene();
    let key = &scene.key;
    let own = scene.gateway.send(&key.get("/v1/cache")).json();
    let all = scene.read("/admin/cache");
    for shown in [&own, &all] {
        let read = &shown["prompt_caches"];
        assert_eq!(read["hours"], 24, "{shown}");
        assert_eq!(read["prompt_tokens"], 4 * PROMPT, "{shown}");
        assert_eq!(read["read_tokens"], 4 * CACHED, "{shown}");
        assert_eq!(read["backends"][0]["read_tokens"], 4 * CACHED);
        assert!(micro_of(&read["saved_usd"]) > 0, "{shown}");
    }
}

#[test]
fn totals_and_charts_have_every_request_a_moment_after_it() {
    let (scene, _) = scene();
    let shown = scene.read("/admin/overview");
    let figures = &shown["figures"];
    assert_eq!(figures["requests"], 4, "{shown}");
    assert_eq!(figures["finished"], 4);
    assert_eq!(figures["output_tokens"], 4 * OUTPUT);
    let input = ["input_tokens", "cached_tokens", "cache_write_tokens"];
    let input: u64 = input
        .iter()
        .filter_map(|name| figures[*name].as_u64())
        .sum();
    assert_eq!(input, 4 * PROMPT);
    assert_eq!(figures["cost"], figures["charge"]);
    assert!(micro_of(&figures["charge"]) > 0);
    assert!(figures["p95_ms"].is_u64(), "{figures}");
    assert_eq!(shown["before"]["requests"], 0);
    assert_eq!(shown["waiting_receipts"], 0);
    assert_eq!(shown["is_back_filling"], false);

    let chart = scene.read("/admin/series?since=2h&by=golem&figures=requests,cost,p50_ms");
    assert_eq!(chart["step"], "minute");
    let starts = chart["starts"].as_array().expect("starts").len();
    let lines = rows(&chart);
    assert_eq!(lines.len(), 3, "{chart}");
    assert_eq!(lines[0]["name"], "g1");
    assert_eq!(lines[0]["total"]["requests"], 2);
    let points = lines[0]["requests"].as_array().expect("points");
    assert_eq!(points.len(), starts);
    assert_eq!(points.iter().filter_map(Value::as_u64).sum::<u64>(), 2);
    let fewer = scene.read("/admin/series?since=2h&by=golem&limit=1");
    let rest = &rows(&fewer)[1];
    assert_eq!(
        (&rest["is_rest"], &rest["total"]["requests"]),
        (&json!(true), &json!(2))
    );
    let own = scene.read("/admin/series?since=2h&golem=g2");
    assert_eq!(rows(&own)[0]["total"]["requests"], 1);
    let account = format!(
        "/admin/series?since=7d&by=subsystem&account={}",
        scene.key.account
    );
    assert_eq!(rows(&scene.read(&account)).len(), 3);
    let csv = Request::get("/admin/series?since=2h&format=csv").send(scene.gateway.admin);
    assert!(
        csv.text()
            .starts_with("start,name,is_rest,requests,failed,cost,savings,p50_ms,p95_ms\r\n")
    );
}

#[test]
fn the_largest_names_and_the_agents_are_listed_with_their_figures() {
    let (scene, _) = scene();
    let top = scene.read("/admin/top?by=subsystem&order=cost");
    assert_eq!(names(&top)[0], (json!(null), json!(2)));
    let keys = scene.read("/admin/top?by=key");
    assert_eq!(names(&keys), [(json!(scene.key.id), json!(4))]);
    let golems = scene.read("/admin/golems");
    let golem = &rows(&golems)[0];
    assert_eq!(golem["golem"], "g1");
    assert_eq!(golem["account"], *scene.key.account);
    assert_eq!(golem["phase"], "stable");
    assert_eq!(golem["vitality"], "0.5");
    assert_eq!(golem["requests"], 2);
    assert_eq!(golem["subsystems"].as_array().map(Vec::len), Some(2));
    assert_eq!(golem["days"].as_array().map(Vec::len), Some(1));
    assert_eq!(rows(&golems)[1]["sustainability"], "1.5");
    let accounts = scene.read("/admin/accounts");
    let account = rows(&accounts)
        .iter()
        .find(|one| one["account"] == *scene.key.account);
    let account = account.expect("the account is listed");
    assert_eq!(account["debt"], "0.000000");
    assert!(account["available"].is_string(), "{account}");
}

#[test]
fn receipts_are_found_by_what_they_say() {
    let (scene, ids) = scene();
    let found = |query: &str| -> Vec<String> {
        let page = scene.read(&format!("/admin/receipts?{query}"));
        assert_eq!(page["is_partial"], false);
        let id = |row: &Value| row["request_id"].as_str().expect("an id").to_owned();
        rows(&page).iter().map(id).collect()
    };
    for (query, expected) in [
        ("golem=g1", vec![&ids[1], &ids[0]]),
        ("golem=g1&subsystem=social", vec![&ids[1]]),
        ("session=s1", vec![&ids[2]]),
        ("cache=hash", vec![]),
        ("outcome=failed", vec![]),
        (
            "min_cost=0.000001",
            vec![&ids[3], &ids[2], &ids[1], &ids[0]],
        ),
        ("min_cost=1000", vec![]),
        (&*format!("request={}", ids[2]), vec![&ids[2]]),
    ] {
        assert_eq!(found(query).iter().collect::<Vec<_>>(), expected, "{query}");
    }
    let csv = Request::get("/admin/receipts?golem=g2&format=csv").send(scene.gateway.admin);
    let text = csv.text();
    assert!(text.starts_with("created,request_id,account,"), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn usage_by_agent_is_the_same_for_the_operator_the_account_and_the_verb() {
    let (scene, _) = scene();
    let page = scene.read("/admin/usage?group_by=golem");
    let counts: Vec<_> = rows(&page)
        .iter()
        .map(|row| (row["golem"].clone(), row["requests"].clone()))
        .collect();
    let expected = [
        (json!(null), json!(1)),
        (json!("g1"), json!(2)),
        (json!("g2"), json!(1)),
    ];
    assert_eq!(counts, expected);
    let answer = scene
        .gateway
        .send(&scene.key.get("/v1/usage?group_by=golem"));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let own = answer.json();
    assert_eq!(own["total"]["charge"], page["total"]["charge"]);
    assert_eq!(rows(&own)[1]["golem"], "g1");
    let csv = scene
        .gateway
        .send(&scene.key.get("/v1/usage?by=golem,day&format=csv"));
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    assert!(
        csv.text().starts_with("golem,date,requests,"),
        "{}",
        csv.text()
    );
    let told = scene.till.told(&["usage", "--by", "golem"]);
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(told[1]["golem"], "g1");
    assert_eq!(told[1]["cost"], rows(&page)[1]["cost"]);
}

#[test]
fn what_cannot_be_shown_is_refused_by_its_name() {
    let (scene, _) = scene();
    for (path, param) in [
        ("/admin/series?by=week", "by"),
        ("/admin/series?step=second", "step"),
        ("/admin/series?since=300d&step=minute", "step"),
        ("/admin/series?figures=speed", "figures"),
        ("/admin/series?by=model&key=k", "key"),
        ("/admin/series?golem=a&key=k", "golem"),
        ("/admin/top?order=p95_ms", "order"),
        ("/admin/receipts?cache=warm", "cache"),
        ("/admin/receipts?min_cost=much", "min_cost"),
        ("/admin/receipts?limit=0", "limit"),
        ("/admin/usage?by=golem,key", "by"),
        ("/admin/usage?by=key&group_by=key", "group_by"),
        ("/admin/accounts?limit=5000", "limit"),
        ("/admin/golems?who=me", "who"),
    ] {
        scene.refused(path, param);
    }
}
