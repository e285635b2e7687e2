//! What operators read of all accounts: spend per key and more, as a page, a verb and a table.

use serde_json::{Map, Value, json};

use crate::http::{Answer, Request};
use crate::paying::maker::{self, CACHED, OUTPUT, PROMPT};
use crate::paying::till::{Key, Till, header, micro_of};
use crate::rig::{Folder, Gateway, command};
use crate::sse::Caller;

/// Saving of a prompt cache in 10⁻⁶ USD: 1003 × 1.37 + 97 × 7.77 = 2127.8 without it, 1879.967 with.
const CACHE_SAVED: u64 = 2_128 - 1_880;

struct Scene {
    till: Till,
    gateway: Gateway,
    /// Of one account.
    first: Key,
    second: Key,
    /// Of another account.
    third: Key,
}

/// Two requests of the first key and one of each other.
fn scene() -> Scene {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let first = till.key(&["--name", "team, a", "--deposit-usd", "1"]);
    let second = till.key(&["--name", "team b", "--account", &first.account]);
    let third = till.key(&["--deposit-usd", "1"]);
    let gateway = till.open();
    let scene = Scene {
        till,
        gateway,
        first,
        second,
        third,
    };
    scene.ask(&scene.first, Caller::Chat, "s1");
    scene.ask(&scene.first, Caller::Anthropic, "s1");
    scene.ask(&scene.second, Caller::Chat, "=s2");
    scene.ask(&scene.third, Caller::Chat, "s1");
    scene
}

impl Scene {
    #[track_caller]
    fn ask(&self, key: &Key, caller: Caller, session: &str) -> String {
        let model = match caller {
            Caller::Anthropic => "m-anthropic",
            _ => "m-chat",
        };
        let body = caller.request(model, "Hello", false);
        let request = key
            .ask(caller, &body)
            .with("x-bardo-session-id", session)
            .with("x-bardo-subsystem", "dream_rem");
        let answer = self.gateway.send(&request);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        header(&answer, "x-bardo-request-id").to_owned()
    }

    fn get(&self, path: &str) -> Answer {
        Request::get(path).send(self.gateway.admin)
    }

    #[track_caller]
    fn read(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        answer.json()
    }

    fn spent(&self, key: &Key) -> u64 {
        self.till.stand(key).spent
    }
}

fn rows(shown: &Value) -> Vec<Map<String, Value>> {
    let rows = shown["data"].as_array().expect("rows").iter();
    rows.map(|row| row.as_object().expect("a row").clone())
        .collect()
}

#[track_caller]
fn of<'r>(rows: &'r [Map<String, Value>], key: &Key) -> &'r Map<String, Value> {
    let mut own = rows.iter().filter(|row| row["key"] == key.id);
    let row = own.next().expect("a row of the key");
    assert_eq!(own.next(), None, "one row of each key");
    row
}

#[test]
fn spend_per_key_adds_up_to_what_the_accounts_paid() {
    let scene = scene();
    let shown = scene.read("/admin/usage?by=key");
    assert_eq!(shown["by"], json!(["key"]), "{shown}");
    let rows = rows(&shown);
    assert_eq!(rows.len(), 3, "{shown}");
    let (cost, charge) = (maker::charge(0), maker::charge(2_000));
    for (key, name, requests) in [
        (&scene.first, "team, a", 2),
        (&scene.second, "team b", 1),
        (&scene.third, "", 1),
    ] {
        let row = of(&rows, key);
        assert_eq!(row["key_name"], name, "{shown}");
        assert_eq!(row["account"], key.account, "{shown}");
        assert_eq!(row["requests"], requests, "{shown}");
        assert_eq!(row["failed_requests"], 0, "{shown}");
        assert_eq!(row["unpriced_requests"], 0, "{shown}");
        assert_eq!(row["input_tokens"], requests * PROMPT, "{shown}");
        assert_eq!(row["output_tokens"], requests * OUTPUT, "{shown}");
        assert_eq!(row["cache_read_tokens"], requests * CACHED, "{shown}");
        assert_eq!(row["cache_write_tokens"], 0, "{shown}");
        let saved = micro_of(&row["cache_savings"]);
        assert_eq!(saved, requests * CACHE_SAVED, "{shown}");
        assert_eq!(micro_of(&row["cost"]), requests * cost, "{shown}");
        assert_eq!(micro_of(&row["charge"]), requests * charge, "{shown}");
    }
    let paid = scene.spent(&scene.first) + scene.spent(&scene.third);
    assert_eq!(micro_of(&shown["total"]["charge"]), paid, "{shown}");
    assert_eq!(shown["total"]["requests"], 4, "{shown}");
    assert_eq!(scene.read("/admin/usage")["data"], shown["data"]);
}

#[test]
fn usage_of_all_accounts_is_grouped_and_filtered_by_any_name() {
    let scene = scene();
    let requests = |query: &str| -> Vec<(Value, u64)> {
        let shown = scene.read(&format!("/admin/usage?{query}"));
        let by = shown["by"][0].as_str().expect("a dimension").to_owned();
        let member = match &*by {
            "backend" => "provider",
            "day" => "date",
            other => other,
        };
        let count = |row: &Map<String, Value>| row["requests"].as_u64().expect("a number");
        let rows = rows(&shown);
        rows.iter()
            .map(|row| (row[member].clone(), count(row)))
            .collect()
    };
    assert_eq!(
        requests("by=model"),
        [(json!("m-anthropic"), 1), (json!("m-chat"), 3)]
    );
    assert_eq!(
        requests("by=session"),
        [(json!("=s2"), 1), (json!("s1"), 3)]
    );
    assert_eq!(requests("by=subsystem"), [(json!("dream_rem"), 4)]);
    let days: u64 = requests("by=day").iter().map(|(_, count)| count).sum();
    assert_eq!(days, 4);
    let accounts = requests("by=account");
    let own = (json!(scene.first.account), 3);
    assert!(accounts.contains(&own), "{accounts:?}");
    let key = (json!(scene.first.id), 1);
    let filter = format!("account={}&model=m-chat&session=s1", scene.first.account);
    assert_eq!(requests(&format!("by=key,day&{filter}")), [key]);
    assert_eq!(requests("by=key&session=%3Ds2&outcome=finished").len(), 1);
    assert_eq!(requests("by=key&outcome=failed"), []);
    assert_eq!(requests("by=key&from=2020-01-01&to=2020-02-01"), []);
    let both = scene.read(&format!(
        "/admin/usage?by=hour,backend&key={}",
        scene.third.id
    ));
    let both = rows(&both);
    assert_eq!(both.len(), 1, "{both:?}");
    assert_eq!(both[0]["provider"], "direct/openai");
    let hour = both[0]["hour"].as_str().expect("a time");
    assert!(
        hour.ends_with(":00:00.000Z") || hour.ends_with(":00:00Z"),
        "{hour}"
    );
}

#[test]
fn a_parameter_that_cannot_be_taken_is_refused_by_its_name() {
    let scene = scene();
    for (query, name) in [
        ("usage?by=week", "by"),
        ("usage?by=key,", "by"),
        ("usage?from=yesterday", "from"),
        ("usage?from=2026-11-20&to=2026-11-19", "from"),
        ("usage?to=2026-02-30", "to"),
        ("usage?account=a%20b", "account"),
        ("usage?key=%2F", "key"),
        ("usage?outcome=good", "outcome"),
        ("usage?format=xml", "format"),
        ("usage?kye=a", "kye"),
        ("usage?key=a&key=b", "key"),
        ("receipts?limit=0", "limit"),
        ("receipts?limit=1001", "limit"),
        ("receipts?cursor=5", "cursor"),
        ("receipts?by=key", "by"),
    ] {
        let answer = scene.get(&format!("/admin/{query}"));
        assert_eq!(answer.status(), 400, "{query}: {}", answer.text());
        let error = &answer.json()["error"];
        assert_eq!(error["param"], name, "{query}: {error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(&format!("`{name}`")), "{query}: {message}");
    }
    for path in ["/admin/usage", "/admin/receipts"] {
        let posted = Request::json(path, &json!({})).send(scene.gateway.admin);
        assert_eq!(posted.status(), 404, "{}", posted.text());
        let outside = scene.gateway.send(&scene.first.get(path));
        assert_eq!(outside.status(), 404, "callers have no such page");
    }
}

#[test]
fn usage_is_a_table_for_spreadsheets_where_one_asks_for_it() {
    let scene = scene();
    let path = "/admin/usage?by=session,key";
    let by_header = Request::get(path)
        .with("accept", "text/csv")
        .send(scene.gateway.admin);
    let by_name = scene.get(&format!("{path}&format=csv"));
    for answer in [&by_header, &by_name] {
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(
            answer.header("content-type"),
            Some("text/csv; charset=utf-8")
        );
        assert_eq!(answer.text(), by_name.text());
    }
    let text = by_name.text();
    let mut lines = text.split("\r\n");
    assert_eq!(
        lines.next(),
        Some(
            "session,key,key_name,account,requests,failed_requests,unpriced_requests,\
             input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,cost,charge,savings,\
             cache_savings"
        )
    );
    let second = &scene.second;
    let begin = format!(
        "'=s2,{},team b,{},1,0,0,{PROMPT},{OUTPUT},",
        second.id, second.account
    );
    assert!(
        lines.next().is_some_and(|line| line.starts_with(&begin)),
        "{text}"
    );
    let quoted = format!("s1,{},\"team, a\",", scene.first.id);
    assert!(lines.any(|line| line.starts_with(&quoted)), "{text}");
}

#[test]
fn the_verb_says_what_the_page_says_with_and_without_a_server() {
    let scene = scene();
    let page = scene.read("/admin/usage?by=key,model");
    let told = |more: &[&str]| -> Vec<Value> {
        let verb = [&["usage", "--by", "key,model"], more].concat();
        let mut lines = scene.till.told(&verb);
        for line in &mut lines {
            let flag = line.as_object_mut().expect("a row").remove("sandbox");
            assert_eq!(flag, Some(json!(false)));
        }
        lines
    };
    let expected = page["data"].as_array().expect("rows");
    assert_eq!(told(&["--since", "7d"]), *expected);
    assert_eq!(told(&[]), *expected);
    let own = told(&["--key", &scene.first.id, "--model", "m-chat"]);
    assert_eq!(own.len(), 1, "{own:?}");
    assert_eq!(own[0]["requests"], 1);
    for (arguments, option) in [
        (["--by", "week"], "--by"),
        (["--from", "yesterday"], "--from"),
        (["--outcome", "good"], "--outcome"),
    ] {
        let done = scene.till.verb(&[&["usage"], &arguments[..]].concat());
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.errors.contains(option), "{done:?}");
    }
    let csv = scene.get("/admin/usage?by=key,model&format=csv");
    let Scene { till, gateway, .. } = scene;
    drop(gateway);
    let printed = |arguments: &[&str]| {
        let output = command(&Folder::new())
            .args(["usage", "--by", "key,model", "--data-dir", &till.folder()])
            .args(arguments)
            .output()
            .expect("the binary starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert_eq!(printed(&["--csv"]).trim_end(), csv.text().trim_end());
    let table = printed(&[]);
    assert!(table.starts_with("KEY "), "{table}");
    let last = table.lines().last().expect("a line");
    assert!(last.starts_with("total "), "{table}");
    assert!(last.contains(&(4 * PROMPT).to_string()), "{table}");
    let none = printed(&["--from", "2020-01-01", "--to", "2020-01-01"]);
    assert_eq!(none.trim_end(), "no request within this time");
}

#[test]
fn receipts_of_all_accounts_are_listed_a_page_at_a_time() {
    let scene = scene();
    let last = scene.ask(&scene.third, Caller::Chat, "s3");
    let all = scene.read("/admin/receipts");
    let all = all["data"].as_array().expect("receipts").clone();
    assert_eq!(all.len(), 5);
    assert_eq!(all[0]["request_id"], *last, "the newest is the first");
    let mut paged = Vec::new();
    let mut path = "/admin/receipts?limit=2".to_owned();
    loop {
        let page = scene.read(&path);
        let receipts = page["data"].as_array().expect("receipts");
        assert!(receipts.len() <= 2, "{page}");
        paged.extend(receipts.iter().cloned());
        match page["next"].as_str() {
            Some(next) => path = format!("/admin/receipts?limit=2&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(paged, all);
    let own = scene.read(&format!(
        "/admin/receipts?key={}&session=s1",
        scene.third.id
    ));
    let own = own["data"].as_array().expect("receipts");
    assert_eq!(own.len(), 1, "{own:?}");
    let id = own[0]["request_id"].as_str().expect("an id");
    let answer = scene
        .gateway
        .send(&scene.third.get(&format!("/v1/receipts/{id}")));
    assert_eq!(answer.json(), own[0], "as its account reads it");
}

#[test]
fn an_account_reads_its_own_usage_by_key_and_nobody_elses() {
    let scene = scene();
    let answer = scene
        .gateway
        .send(&scene.first.get("/v1/usage?by=key,session"));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let usage = answer.json();
    let rows = rows(&usage);
    assert_eq!(rows.len(), 2, "{usage}");
    assert_eq!(of(&rows, &scene.first)["requests"], 2, "{usage}");
    assert_eq!(of(&rows, &scene.second)["session"], "=s2", "{usage}");
    let cost = maker::charge(0);
    assert_eq!(
        micro_of(&of(&rows, &scene.first)["provider_cost"]),
        2 * cost
    );
    assert_eq!(
        micro_of(&usage["total"]["charge"]),
        scene.spent(&scene.first),
        "{usage}"
    );
    let wrong = scene.gateway.send(&scene.first.get("/v1/usage?by=week"));
    assert_eq!(wrong.status(), 400, "{}", wrong.text());
    assert_eq!(wrong.json()["error"]["param"], "by");
}
