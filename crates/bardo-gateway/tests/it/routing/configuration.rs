//! A name in the configuration that nobody knows would be a wish that nobody hears, so it is
//! refused, with the name that was probably meant.

use serde_json::json;

use crate::paying::till::run_in;
use crate::rig::{Folder, Sandbox, with};
use crate::routing::trio;

#[test]
fn unknown_names_are_refused_with_a_suggestion() {
    let sandbox = Sandbox::start();
    let folder = Folder::new();
    let check = |config: &serde_json::Value| {
        let file = folder.write("c.yaml", &config.to_string());
        let file = file.to_str().expect("UTF-8");
        run_in(&folder, &["check", "--json", "--config", file])
    };
    let good = with(
        with(
            trio(&sandbox),
            "inference",
            json!({
                "routes": { "dream_rem": ["venice"], "risk": ["blockrun", "openrouter"] },
                "profiles": { "curator": { "temperature": 0.2 } },
            }),
        ),
        "privacy",
        json!({ "floors": { "operator": "private" } }),
    );
    let done = check(&good);
    assert_eq!(done.code, Some(0), "{done:?}");
    for (section, change, words) in [
        (
            "inference",
            json!({ "routes": { "dream_rme": ["venice"] } }),
            ["dream_rme", "did you mean `dream_rem`?"],
        ),
        (
            "inference",
            json!({ "routes": { "dream": ["venise"] } }),
            ["inference.routes.dream", "did you mean `venice`?"],
        ),
        (
            "inference",
            json!({ "provider_order": ["blokrun"] }),
            ["inference.provider_order", "did you mean `blockrun`?"],
        ),
        (
            "inference",
            json!({ "dream_provider": "venise" }),
            ["inference.dream_provider", "did you mean `venice`?"],
        ),
        (
            "inference",
            json!({ "profiles": { "curatr": { "temperature": 0.2 } } }),
            ["curatr", "did you mean `curator`?"],
        ),
        (
            "inference",
            json!({ "profiles": { "curator": { "temprature": 0.2 } } }),
            ["temprature", "did you mean `temperature`?"],
        ),
        (
            "privacy",
            json!({ "floors": { "opertor": "private" } }),
            ["opertor", "did you mean `operator`?"],
        ),
        (
            "privacy",
            json!({ "floors": { "operator": "privat" } }),
            ["privacy.floors.operator", "did you mean `private`?"],
        ),
        (
            "inference",
            json!({ "weigths": { "cost": [1, 1] } }),
            ["weigths", "did you mean `weights`?"],
        ),
    ] {
        let done = check(&with(good.clone(), section, change.clone()));
        assert_eq!(done.code, Some(1), "{change}: {done:?}");
        for word in words {
            assert!(done.errors.contains(word), "{change}: {}", done.errors);
        }
    }
}
