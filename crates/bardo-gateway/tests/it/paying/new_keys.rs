//! The account of a new key, and what its caps do not count.

use serde_json::{Value, json};

use crate::http::Request;
use crate::paying::maker;
use crate::paying::till::{Key, Till};
use crate::rig::{config, direct};

#[test]
fn a_new_key_names_a_key_or_an_account_that_exists() {
    let till = Till::new(json!({}));
    let first = till.key(&["--deposit-usd", "3"]);
    // By the id of a key, by its text, and by the account.
    for name in [&first.id, &first.key, &first.account] {
        let next = till.key(&["--account", name]);
        assert_eq!(next.account, first.account, "{name}");
    }
    // An account without money exists as soon as it has a key.
    let empty = till.key(&[]);
    assert_eq!(
        till.key(&["--account", &empty.account]).account,
        empty.account
    );
    let create = ["keys", "create", "--account", "typo_account"];
    let refused = till.verb(&create);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    for words in ["typo_account", "--create-account"] {
        assert!(refused.errors.contains(words), "{refused:?}");
    }
    let made = till.one(&[&create[..], &["--create-account"]].concat());
    assert_eq!(made["account"], "typo_account");
    // Four keys of the first account, found by the id of one of them.
    let listed = till.told(&["keys", "list", "--account", &first.id]);
    assert_eq!(listed.len(), 4, "{listed:?}");
    assert_eq!(
        till.verb(&["keys", "list", "--account", "typo"]).code,
        Some(1)
    );
}

#[test]
fn the_admin_api_refuses_an_account_that_does_not_exist() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let first = till.key(&["--deposit-usd", "1"]);
    let gateway = till.open();
    let make = |body: &Value| Request::json("/admin/keys", body).send(gateway.admin);
    let refused = make(&json!({ "account": "typo" }));
    assert_eq!(refused.status(), 400, "{}", refused.text());
    assert!(
        refused.text().contains("create_account"),
        "{}",
        refused.text()
    );
    let made = make(&json!({ "account": first.id }));
    assert_eq!(Key::of(&made.json()).account, first.account);
    let made = make(&json!({ "account": "privy:did:privy:cm9", "create_account": true }));
    assert_eq!(made.status(), 200, "{}", made.text());
}

#[test]
fn a_cap_that_does_not_count_every_request_is_noticed() {
    let settings = config(&[direct("openai", "https://api.openai.com/v1", &["gpt-5.5"])]);
    let till = Till::new(settings.clone());
    let file = till.data.write("config.yaml", &settings.to_string());
    let file = file.to_str().expect("UTF-8");
    let create = ["keys", "create", "--config", file];
    let capped = till.one(&[&create[..], &["--scope", "spend-day=0.05"]].concat());
    let notice = capped["notices"][0].as_str().expect("a notice");
    assert!(
        notice.contains("`direct/openai`") && notice.contains("bill: true"),
        "{notice}"
    );
    let plain = till.one(&[&create[..], &["--scope", "rpm=5"]].concat());
    assert_eq!(plain.get("notices"), None, "{plain}");

    let checked = till.one(&["check", "--config", file]);
    let notices = checked["notices"].to_string();
    assert!(notices.contains("spending cap of one key"), "{checked}");

    let mut billed = settings;
    billed["providers"]["direct"]["keys"][0]["bill"] = json!(true);
    let file = till.data.write("billed.yaml", &billed.to_string());
    let file = file.to_str().expect("UTF-8");
    let create = ["keys", "create", "--config", file, "--scope", "spend-day=1"];
    assert_eq!(till.one(&create).get("notices"), None);
    assert_eq!(till.one(&["check", "--config", file]).get("notices"), None);
}
