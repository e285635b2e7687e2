use serde_json::{Value, json};

use super::*;
use crate::figures::AdminAnswers;

const ADDRESS: &str = "http://127.0.0.1:8403";

fn receipt(time: &str, status: &str, model: &str, charge: Option<&str>) -> Value {
    json!({
        "created": format!("2026-11-23T{time}.123Z"), "status": status, "model": model,
        "provider": "direct/anthropic", "cache": if status == "finished" { "miss" } else { "bypass" },
        "usage": { "input_tokens": 12_345, "output_tokens": 678 },
        "cost": { "billed": true, "charge": charge, "provider_cost": "0.010000" },
        "timings_ms": { "total": 1_234 },
    })
}

fn busy() -> ScreenFigures {
    let backend = |name: &str, state: &str, samples: u64| {
        json!({
            "provider": name, "state": state, "probe": { "error": null },
            "models": [{ "first_token": { "p50_ms": 310, "p95_ms": 980 }, "whole_answer": { "p50_ms": null, "p95_ms": null },
                "error_rate": if state == "down" { 0.25 } else { 0.0 }, "samples": samples, "circuit": if state == "down" { "open" } else { "closed" } }],
        })
    };
    let mut receipts = vec![
        receipt(
            "10:00:05",
            "finished",
            "claude-sonnet-5-5",
            Some("0.012340"),
        ),
        receipt("10:00:04", "failed", "gpt-5.5", None),
        receipt(
            "10:00:03",
            "aborted",
            "a-model-with-a-name-that-is-longer-than-any-column-of-a-small-screen",
            Some("0.000001"),
        ),
    ];
    receipts.extend((0..40).map(|index| {
        receipt(
            &format!("09:59:{index:02}"),
            "finished",
            "gemini-3-flash",
            Some("0.000120"),
        )
    }));
    let answers = AdminAnswers {
        status: json!({
            "version": "0.9.0", "sandbox": false, "draining": false, "models": 41,
            "config": { "reload_error": null },
            "backends": [backend("direct/openai", "healthy", 120), backend("direct/anthropic", "healthy", 4_500),
                backend("openrouter", "down", 17), backend("local", "unknown", 0)],
        }),
        receipts: json!({ "data": receipts }),
        usage: json!({ "total": { "requests": 4_637, "failed_requests": 21, "input_tokens": 12_345_678, "output_tokens": 987_654,
            "cost": "41.203000", "charge": "49.443600", "savings": "7.100000" } }),
        cache: json!({ "entries": 812, "bytes": 3_400_000, "hits": 301, "misses": 1_204, "semantic_hits": 12, "saved_usd": "3.210000" }),
        balances: vec![
            json!({ "account": "acct_01a1f9f6366470010dfc52b51a53d3ba", "available": "812.100000", "spent": "1.000000", "held": "0.000000" }),
            json!({ "account": "acct_low", "available": "0.400000", "spent": "9.600000", "held": "0.000000" }),
        ],
    };
    ScreenFigures::read(ADDRESS, &answers)
}

/// Compares a screen with its file. `UPDATE_SCREENS=1` writes the file.
#[track_caller]
fn check(name: &str, figures: &ScreenFigures, width: u16, height: u16) {
    let drawn = text(figures, width, height);
    assert!(
        drawn
            .lines()
            .all(|line| line.chars().count() <= usize::from(width))
    );
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/view/screens")
        .join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_SCREENS").is_some() {
        std::fs::write(&path, format!("{drawn}\n")).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, format!("{drawn}\n"), "{name} differs:\n{drawn}");
}

#[test]
fn a_busy_gateway_fits_a_small_and_a_large_terminal() {
    check("busy_80x24", &busy(), 80, 24);
    check("busy_120x40", &busy(), 120, 40);
}

#[test]
fn every_empty_panel_says_what_to_do_next() {
    let nothing = ScreenFigures::read(ADDRESS, &AdminAnswers::default());
    check("empty_80x24", &nothing, 80, 24);
    let drawn = text(&nothing, 80, 24);
    for words in ["bardo-gateway init", "keys create", "curl http"] {
        assert!(drawn.contains(words), "{drawn}");
    }
}

#[test]
fn a_lost_server_leaves_its_last_figures_and_the_line_that_helps() {
    let lost = busy().lost(
        "nothing answers".to_owned(),
        "start it: bardo-gateway serve".to_owned(),
    );
    let drawn = text(&lost, 80, 24);
    assert!(
        drawn.contains("no answer") && drawn.contains("4637"),
        "{drawn}"
    );
    assert!(
        drawn
            .lines()
            .last()
            .unwrap()
            .contains("bardo-gateway serve"),
        "{drawn}"
    );
    let never = ScreenFigures::connecting(ADDRESS);
    assert!(text(&never, 80, 24).contains("connecting"));
}

#[test]
fn a_backend_that_is_down_is_shown_before_healthy_ones_on_any_screen() {
    for (width, height) in [(60, 16), (80, 24), (200, 60)] {
        let drawn = text(&busy(), width, height);
        let at = |name: &str| drawn.find(name).unwrap_or(usize::MAX);
        assert!(at("openrouter") < at("direct/openai "), "{drawn}");
    }
}

#[test]
fn no_size_and_no_text_of_a_model_breaks_the_screen() {
    let evil = AdminAnswers {
        receipts: json!({ "data": [receipt("10:00:05", "finished", "\u{1b}[2J\u{7}名前🙂\n", Some("1"))] }),
        usage: json!({ "total": { "requests": u64::MAX } }),
        cache: json!("not a table"),
        ..AdminAnswers::default()
    };
    let figures = ScreenFigures::read(ADDRESS, &evil);
    for (width, height) in [(1, 1), (59, 24), (80, 15), (80, 24), (60, 16), (300, 100)] {
        let drawn = text(&figures, width, height);
        assert!(!drawn.contains(['\u{1b}', '\u{7}']), "{drawn}");
    }
    let mut draining = busy();
    draining.status.draining = true;
    assert!(text(&draining, 80, 24).contains("stopping"));
}
