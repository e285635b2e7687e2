//! The lists of models that providers give: what makes no sense is left out and told, and the last
//! good one is there at the next start.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::http::Request;
use crate::rig::{Folder, Gateway, config, eventually};
use crate::scripted::Scripted;

const LIST: &str = r#"{"data":[
  {"id":"acme/only-listed","pricing":{"prompt":"0.000001","completion":"0.000002"}},
  {"id":"acme/nonsense","pricing":{"prompt":"-0.5","completion":"NaN"}}]}"#;

/// The models that backends with an address have.
fn listed(gateway: &Gateway) -> Vec<String> {
    let list = gateway.send(&Request::get("/v1/models")).json();
    let rows = list["data"].as_array().expect("rows");
    let ids = rows.iter().filter_map(|row| row["id"].as_str());
    let ids = ids.filter(|id| *id != "local/all-MiniLM-L6-v2");
    ids.map(str::to_owned).collect()
}

#[test]
fn the_last_good_list_is_there_when_its_provider_is_not() {
    let is_up = Arc::new(AtomicBool::new(true));
    let up = Arc::clone(&is_up);
    let upstream = Scripted::start(move |mut turn| match up.load(Ordering::SeqCst) {
        true => turn.json(LIST),
        false => turn.answer(503, "text/plain", "away"),
    });
    let mut settings: Value = config(&[]);
    settings["catalog"]["live"] = json!(true);
    settings["providers"] = json!({
        "openrouter": { "api_key": "up-key", "base_url": upstream.at("/api/v1") },
    });
    let data = Folder::new();
    let folder = data.0.display().to_string();
    let start = || Gateway::start_with(&settings, &[("BARDO_DATA_DIR", &folder)]);
    {
        let gateway = start();
        eventually("the list is read", || {
            listed(&gateway)
                .contains(&"acme/only-listed".to_owned())
                .then_some(())
        });
        assert!(!listed(&gateway).contains(&"acme/nonsense".to_owned()));
        let metrics = Request::get("/metrics").send(gateway.admin).text();
        for line in [
            "bardo_models_listed{provider=\"openrouter\"} 1",
            "bardo_models_quarantined{provider=\"openrouter\"} 1",
        ] {
            assert!(metrics.contains(line), "{line} is not in {metrics}");
        }
        let log = gateway.log();
        assert!(
            log.contains("acme/nonsense") && log.contains("invalid rows"),
            "{log}"
        );
        // The list is in use before it is stored, and dropping the gateway kills it.
        let stored = data.0.join("models/openrouter.list");
        eventually("the list is stored", || stored.exists().then_some(()));
    }
    is_up.store(false, Ordering::SeqCst);
    let gateway = start();
    assert_eq!(listed(&gateway), ["acme/only-listed"]);
    eventually("the new try is told to have failed", || {
        gateway.status().to_string().contains("503").then_some(())
    });
    assert_eq!(listed(&gateway), ["acme/only-listed"]);
}
