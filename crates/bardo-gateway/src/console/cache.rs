//! Stored answers: hit rates, savings, evidence of audits, flushing.

use bardo_console::format::{bytes, count, noun, percent, share, usd_text};
use bardo_console::pages::CachePage;
use bardo_console::parts::{Cell, Empty, PageTable, Tile, Tone};
use bardo_console::render;
use serde_json::{Value, json};

use super::visit::{PageProblem, PageResult, Shown, Visit};
use crate::caches::{self, FlushOrder};

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or(0)
}

/// Shows the page.
pub(super) async fn show(visit: &Visit<'_>) -> Shown {
    let ops = visit.ops;
    let stats = caches::all_figures(&ops.operator, ops.edge.engine.cache(), None).await;
    let of = |name: &str| number(&stats, name);
    let looked = of("hits") + of("misses");
    let semantic = &stats["semantic"];
    let served: u64 = semantic["domains"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| number(one, "hits"))
        .sum();
    let tiles = vec![
        Tile::new("Hit rate", percent(of("hits"), looked))
            .note(format!(
                "{} of {} {}",
                count(of("hits")),
                count(looked),
                noun(looked, "look-up")
            ))
            .link("#accounts"),
        Tile::new("Saved", usd_text(stats["saved_usd"].as_str()))
            .tone(Tone::Good)
            .note("provider costs of served answers")
            .link("#accounts"),
        Tile::new("Hits by meaning", count(served))
            .note(format!("{} entries", count(number(semantic, "entries"))))
            .link("#domains"),
        Tile::new("Prompt caches", share_text(&stats["prompt_caches"]))
            .note("of prompt tokens in 24 hours were read from providers' caches")
            .link("#prefixes"),
        Tile::new("Entries", count(of("entries"))).note(format!(
            "{} of {}",
            bytes(of("bytes")),
            bytes(of("max_bytes"))
        )),
        Tile::new("Shared answers", count(of("followed")))
            .note("identical requests at the same time"),
        Tile::new(
            "Answers removed",
            count(of("evicted") + of("expired") + of("flushed")),
        )
        .note(format!(
            "{} expired, {} evicted, {} flushed",
            count(of("expired")),
            count(of("evicted")),
            count(of("flushed"))
        ))
        .link("#removals"),
    ];
    let shell = visit.shell("Cache", "cache");
    Shown::Html(render(&CachePage {
        shell: &shell,
        tiles,
        accounts: accounts(&stats),
        prefixes: prefixes(&stats["prompt_caches"]),
        reasons: reasons(&stats),
        removals: removals(&stats["invalidations"]),
        domains: domains(semantic),
    }))
}

fn accounts(stats: &Value) -> PageTable {
    let empty = Empty::new("No stored answer", "Requests at temperature 0, or with the hint `cache: default`, are stored and served again.")
        .link("Send one from the playground", "/console/playground");
    let headings = [
        "Account",
        "#Hit rate",
        "#Hits*",
        "#Entries*",
        "#Size*",
        "#Saved",
    ];
    let mut table = PageTable::new("Stored answers by account", &headings).empty(empty);
    for row in stats["accounts"].as_array().into_iter().flatten() {
        let account = row["account"].as_str().unwrap_or_default();
        let (hits, misses) = (number(row, "hits"), number(row, "misses"));
        table.push(vec![
            Cell::text(account).link(super::accounts::path_of(account)),
            Cell::text(percent(hits, hits + misses)).bar(hits * 100 / (hits + misses).max(1)),
            Cell::text(count(hits)),
            Cell::text(count(number(row, "entries"))),
            Cell::text(bytes(number(row, "bytes"))),
            Cell::text(usd_text(row["saved_usd"].as_str())),
        ]);
    }
    table
}

/// The share of prompt tokens that providers read from their caches.
fn share_text(figures: &Value) -> String {
    let of = |name| number(figures, name);
    percent(of("read_tokens"), of("prompt_tokens"))
}

fn prefixes(figures: &Value) -> PageTable {
    let empty = match figures["error"].as_str() {
        Some(error) => Empty::new(
            format!("The figures cannot be shown: {error}"),
            "Check the store, then load this page again.",
        ),
        None => Empty::new(
            "No prompt was sent",
            "Providers store the beginning of long prompts for some minutes, and bill it at a part of the price.",
        ),
    };
    let headings = [
        "Backend",
        "#Read",
        "#Tokens read",
        "#Tokens written*",
        "#Saved",
    ];
    let mut table = PageTable::new("Prompt caches of providers, 24 hours", &headings).empty(empty);
    for row in figures["backends"].as_array().into_iter().flatten() {
        let (read, prompt) = (number(row, "read_tokens"), number(row, "prompt_tokens"));
        table.push(vec![
            Cell::text(row["backend"].as_str().unwrap_or_default()),
            Cell::text(share_text(row)).bar(read * 100 / prompt.max(1)),
            Cell::text(count(read)),
            Cell::text(count(number(row, "written_tokens"))),
            Cell::text(usd_text(row["saved_usd"].as_str())),
        ]);
    }
    table
}

fn reasons(stats: &Value) -> PageTable {
    let empty = Empty::new(
        "No reason yet",
        "Each answer that is not looked up or not stored is counted here with its reason.",
    );
    let mut table = PageTable::new("Reasons", &["Reason", "What", "#Count"]).empty(empty);
    let groups = [
        (&stats["bypassed"], "not looked up"),
        (&stats["unstored"], "not stored"),
        (&stats["semantic"]["skipped"], "not compared by meaning"),
        (&stats["semantic"]["guarded"], "refused by the guard"),
    ];
    for (group, words) in groups {
        for (reason, number) in group.as_object().into_iter().flatten() {
            let number = number.as_u64().unwrap_or(0);
            if number > 0 {
                table.push(vec![
                    Cell::text(reason.replace('_', " ")),
                    Cell::text(words),
                    Cell::text(count(number)),
                ]);
            }
        }
    }
    table
}

fn removals(counted: &Value) -> PageTable {
    let empty = Empty::new(
        "No removal yet",
        "Orders of operators and accounts, and changes of the market, a chain or a playbook, are counted here.",
    );
    let mut table = PageTable::new("Removals by cause", &["Cause", "#Times"]).empty(empty);
    for (cause, times) in counted.as_object().into_iter().flatten() {
        let times = times.as_u64().unwrap_or(0);
        if times > 0 {
            table.push(vec![
                Cell::text(cause_words(cause)),
                Cell::text(count(times)),
            ]);
        }
    }
    table
}

/// A cause of removals in words.
fn cause_words(cause: &str) -> &str {
    match cause {
        "operator" => "order of an operator",
        "account" => "order of an account",
        "regime" => "change of the market's regime",
        "chain" => "event on a chain",
        "playbook" => "new playbook of an agent",
        "elsewhere" => "another gateway",
        other => other,
    }
}

fn domains(semantic: &Value) -> PageTable {
    let empty = Empty::new(
        "No domain was looked up",
        "Answers by meaning are for agents, and for keys with the scope cache=semantic.",
    )
    .link("Keys", "/console/keys");
    let headings = [
        "Domain",
        "State",
        "#Error at most",
        "#Audits",
        "#Disagreed*",
        "#Hits",
        "#Missing audits*",
    ];
    let mut table = PageTable::new("Audits by domain", &headings).empty(empty);
    for row in semantic["domains"].as_array().into_iter().flatten() {
        let serves = row["serves"] == true;
        let state = match serves {
            true => Cell::badge("serves", Tone::Good),
            false => Cell::badge("stopped", Tone::Bad),
        };
        table.push(vec![
            Cell::text(row["domain"].as_str().unwrap_or_default()),
            state.note(row["state"].as_str().unwrap_or_default()),
            Cell::text(
                row["error_bound"]
                    .as_f64()
                    .map_or_else(|| "–".to_owned(), share),
            ),
            Cell::text(count(number(row, "audits"))),
            Cell::text(count(number(row, "disagreed"))),
            Cell::text(count(number(row, "hits"))),
            Cell::text(count(number(row, "audits_missing"))),
        ]);
    }
    table
}

/// Removes stored answers.
pub(super) async fn flush(visit: &Visit<'_>) -> PageResult {
    let by = visit.form.text("by");
    let (name, account) = (visit.form.text("name"), visit.form.text("account"));
    let needs = |what: &str| Err(PageProblem::Invalid(format!("name {what}")));
    let mut order = json!({});
    match by.as_str() {
        "all" => order["all"] = json!(true),
        "market" => order["market"] = json!(true),
        "account" if account.is_empty() => return needs("the account"),
        "account" => {}
        "agent" | "domain" | "token" | "pool" | "playbook" if name.is_empty() => {
            return needs("what to remove");
        }
        "agent" | "domain" | "token" | "pool" | "playbook" => order[by.as_str()] = json!(name),
        _ => return needs("what to remove"),
    }
    if !account.is_empty() && by != "all" {
        order["account"] = json!(account);
    }
    let order: FlushOrder =
        serde_json::from_value(order).map_err(|error| PageProblem::Invalid(error.to_string()))?;
    let removed =
        caches::flush_for_operator(&visit.ops.operator, &visit.ops.edge.engine, order).await?;
    let done = done(&removed);
    Ok(Shown::Redirect(format!("/console/cache?done={done}")))
}

/// Name of the sentence about a removal.
fn done(removed: &Value) -> &'static str {
    match removed["second_level"]["error"].is_null() {
        true => "flushed",
        false => "flushed_here",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_that_redis_does_not_have_is_no_success() {
        let lost = json!({ "flushed": 1, "second_level": { "error": "down" } });
        assert_eq!(done(&lost), "flushed_here");
        for removed in [
            json!({ "flushed": 1 }),
            json!({ "flushed": 1, "second_level": { "flushed": 2 } }),
        ] {
            assert_eq!(done(&removed), "flushed");
        }
        let notice = super::super::visit::done(done(&lost)).expect("a sentence");
        assert!(matches!(notice.0, Tone::Warn));
        assert!(notice.1.contains("Redis was not reached"));
    }
}
