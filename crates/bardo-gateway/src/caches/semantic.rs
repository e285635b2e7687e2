//! What operators and callers see of answers to the same question in other words.

use std::sync::Arc;

use bardo_cache::semantic::AuditReport;
use bardo_cache::tags::Tags;
use bardo_engine::{ExplainedCache, ExplainedHash, ExplainedMeaning, MeaningCounts};
use bardo_telemetry::{SemanticDomainGauges, SemanticGauges};
use serde_json::{Value, json};

use crate::cli::number_of;

/// The figures of all accounts together.
pub(super) fn stats(counts: &MeaningCounts) -> Value {
    let rows = |counted: &[(&'static str, u64)]| {
        let rows = counted
            .iter()
            .map(|(name, count)| ((*name).to_owned(), json!(count)));
        Value::Object(rows.collect())
    };
    let domains = counts.domains.iter().map(|one| {
        let mut row = evidence_told(&one.report);
        row["domain"] = json!(one.domain);
        row["hits"] = json!(one.hits);
        row["stopped_hits"] = json!(one.stopped);
        row["agreed"] = json!(one.agreed);
        row["disagreed"] = json!(one.disagreed);
        row["unjudged"] = json!(one.unjudged);
        row
    });
    json!({
        "entries": counts.entries,
        "misses": counts.misses,
        "skipped": rows(&counts.skipped),
        "guarded": rows(&counts.guarded),
        "domains": domains.collect::<Vec<_>>(),
    })
}

/// The measured error of a domain.
fn evidence(report: &AuditReport) -> Value {
    json!({
        "serves": report.serves,
        "error_bound": (report.bound * 10_000.0).round() / 10_000.0,
        "audits": report.audits,
        "false_hits": report.disagreements,
        "live_pairs": report.live_pairs,
        "live_disagreements": report.live_disagreements,
        "undecided": report.undecided,
        "accounts_apart": report.apart,
        "audits_missing": report.missing,
    })
}

/// The measured error of a domain with a sentence about it. `audits` counts anew after a stop,
/// `disagreed` never does.
fn evidence_told(report: &AuditReport) -> Value {
    let mut told = evidence(report);
    told["state"] = json!(format!("the domain {}", domain_words(&told)));
    told
}

/// The figures for metrics.
pub(super) fn gauges(counts: MeaningCounts) -> SemanticGauges {
    let domains = counts.domains.iter().map(|one| SemanticDomainGauges {
        domain: one.domain,
        hits: one.hits,
        agreed: one.agreed,
        disagreed: one.disagreed,
        unjudged: one.unjudged,
        bound: one.report.bound,
        is_stopped: !one.report.serves,
    });
    SemanticGauges {
        entries: counts.entries,
        misses: counts.misses,
        domains: domains.collect(),
        skipped: counts.skipped,
        guarded: counts.guarded,
    }
}

/// The lines of `cache stats`.
pub(crate) fn stats_words(shown: &Value) -> Vec<String> {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let mut lines = Vec::new();
    let domains = shown["domains"].as_array().into_iter().flatten();
    for row in domains {
        let figures = ["hits", "agreed", "disagreed", "audits"].map(|name| count(&row[name]));
        if figures.iter().sum::<u64>() == 0 {
            continue;
        }
        let [hits, agreed, disagreed, _] = figures;
        let [hits, agreed] = [number_of(hits, "hit"), number_of(agreed, "audit")];
        lines.push(format!(
            "semantic  {}: {hits}, {agreed} agreed, {disagreed} disagreed; it {}",
            row["domain"].as_str().unwrap_or_default(),
            domain_words(row),
        ));
    }
    for (member, said) in [("guarded", "guard refused"), ("skipped", "not compared")] {
        for (reason, count) in shown[member].as_object().into_iter().flatten() {
            lines.push(format!("semantic  {said} {count} ({reason})"));
        }
    }
    lines
}

/// Whether a domain serves, as the end of a sentence about it.
fn domain_words(evidence: &Value) -> String {
    if evidence["serves"] == true {
        let bound = evidence["error_bound"].as_f64().unwrap_or(1.0) * 100.0;
        if evidence["audits"] == 0 {
            return format!(
                "serves: no audits yet; the built-in evaluation and other domains show an error of at most {bound:.2} %"
            );
        }
        format!(
            "serves: {} of its last {} audits disagree, error at most {bound:.2} %",
            evidence["false_hits"], evidence["audits"]
        )
    } else if evidence["audits_missing"] == 0 {
        "is stopped: too many audits came to no result".to_owned()
    } else {
        format!(
            "is stopped: it serves again after {} without disagreement",
            number_of(
                evidence["audits_missing"].as_u64().unwrap_or(0),
                "more audit"
            )
        )
    }
}

/// An explanation as JSON.
pub(crate) fn explained(explained: &ExplainedCache) -> Value {
    json!({
        "hash": by_hash(&explained.hash),
        "semantic": explained.semantic.as_ref().map(by_meaning),
        "tags": explained.tags.as_ref().map(tags),
    })
}

/// What an answer depends on, under the names that a removal has for it.
fn tags(tags: &Tags) -> Value {
    let list = |names: &[Arc<str>]| -> Value { names.iter().map(|name| json!(**name)).collect() };
    json!({
        "domain": tags.domain.as_deref(),
        "tokens": list(&tags.tokens),
        "pools": list(&tags.pools),
        "playbook": tags.playbook.as_deref(),
    })
}

fn tag_words(tags: &Tags) -> Option<String> {
    let list =
        |name, list: &[Arc<str>]| (!list.is_empty()).then(|| format!("{name} {}", list.join(", ")));
    let kinds = [
        list("domain", tags.domain.as_slice()),
        list("tokens", &tags.tokens),
        list("pools", &tags.pools),
        list("playbook", tags.playbook.as_slice()),
    ];
    let kinds: Vec<String> = kinds.into_iter().flatten().collect();
    (!kinds.is_empty()).then(|| kinds.join("; "))
}

fn by_hash(hash: &ExplainedHash) -> Value {
    json!({
        "result": hash.result,
        "eligible": hash.eligible,
        "reason": hash.reason,
        "member": hash.member,
        "age_s": hash.age.map(|age| age.as_secs()),
    })
}

fn by_meaning(semantic: &ExplainedMeaning) -> Value {
    let decimal = |thousandths: u16| f64::from(thousandths) / 1_000.0;
    json!({
        "result": semantic.result,
        "eligible": semantic.eligible,
        "reason": semantic.reason,
        "domain": Some(semantic.domain).filter(|name| !name.is_empty()),
        "similarity": semantic.similarity.map(decimal),
        "threshold": semantic.threshold.map(decimal),
        "evidence": semantic.evidence.as_ref().map(evidence_told),
    })
}

/// An explanation as text.
pub(crate) fn explained_words(explained: &ExplainedCache) -> String {
    let mut text = format!(
        "hash      {}: {}",
        explained.hash.result, explained.hash.reason
    );
    if let Some(member) = &explained.hash.member {
        text.push_str(&format!("\n          decided by `{member}`"));
    }
    text.push('\n');
    let Some(semantic) = &explained.semantic else {
        text.push_str("semantic  not compared: the cache has no part in this request\n");
        return text;
    };
    text.push_str(&format!(
        "semantic  {}: {}\n",
        semantic.result, semantic.reason
    ));
    if let Some(report) = &semantic.evidence {
        text.push_str(&format!(
            "domain    {} {}\n",
            semantic.domain,
            domain_words(&evidence(report))
        ));
    }
    if let Some(tags) = explained.tags.as_ref().and_then(tag_words) {
        text.push_str(&format!("tags      {tags}\n"));
    }
    text
}

/// The data of the events about a domain and its audits.
pub(crate) fn told(domain: &str, report: &AuditReport) -> Value {
    let mut told = evidence(report);
    told["domain"] = json!(domain);
    told
}
