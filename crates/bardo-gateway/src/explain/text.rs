//! An explanation as text, for a terminal of any width. No colors and no symbols that a log would
//! garble: the same text goes into files.

use std::fmt::Write as _;

use bardo_router::{Considered, Refusal, RoutedCandidate};
use bardo_types::error_code::ErrorCode;
use bardo_types::feature::Feature;
use bardo_types::intent::Intent;
use bardo_types::model::Tier;
use bardo_types::subsystem::Subsystem;

use super::{View, effort_words, names, quality_words};

/// The narrowest page on which sentences are still sentences.
const NARROW: usize = 40;

/// A page that is being written.
struct Page {
    text: String,
    width: usize,
}

impl Page {
    fn heading(&mut self, title: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(title);
        self.text.push('\n');
    }

    /// Writes a paragraph whose first line begins with `label` and whose others begin below its
    /// text.
    fn entry(&mut self, label: &str, column: usize, text: &str) {
        let column = column.min(self.width / 2);
        let mut line = format!("  {label:<column$}");
        let hang = " ".repeat(2 + column);
        let mut is_empty = true;
        for word in text.split_whitespace() {
            let length = line.chars().count() + 1 + word.chars().count();
            if !is_empty && length > self.width {
                self.text.push_str(line.trim_end());
                self.text.push('\n');
                line.clone_from(&hang);
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
            is_empty = false;
        }
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }
}

/// The explanation in words, in lines of at most `width` characters where words allow it.
pub(crate) fn words(view: &View<'_>, width: usize) -> String {
    let mut page = Page {
        text: String::new(),
        width: width.max(NARROW),
    };
    let row = view.subsystem;
    let of = row.map_or_else(String::new, |row| format!(", subsystem {}", row.name));
    page.heading(&format!("Request for {}{of}", view.model));
    needs(&mut page, view, row);
    if let Some(message) = view.denied() {
        page.heading("This key may not send the request");
        page.entry("", 0, &format!("{message} ({})", ErrorCode::KeyScope));
        return page.text;
    }
    match view.refusal() {
        Some(refusal) => refused(&mut page, refusal),
        None => answers(&mut page, view),
    }
    if let Some((code, message)) = view.refused {
        page.heading("The first backend cannot accept this request");
        page.entry("", 0, &format!("{message} ({code})"));
    }
    set_up(&mut page, view);
    prompt_cache(&mut page, view);
    let refusal = view.refusal().map(|refusal| &refusal.advice);
    let advice = view.explanation.advice.iter();
    let advice: Vec<&String> = advice.filter(|line| Some(*line) != refusal).collect();
    if !advice.is_empty() {
        page.heading("Advice");
        for line in advice {
            page.entry("-", 2, line);
        }
    }
    // Losses of settings stand above, where the settings are.
    let lost = view.applied.map_or(&[][..], |applied| &applied.degraded);
    let is_told = |line: &str| lost.iter().any(|lost| line.ends_with(&*lost.detail));
    let warnings = view.warnings().into_iter();
    let warnings: Vec<_> = warnings.filter(|line| !is_told(line)).collect();
    if !warnings.is_empty() {
        page.heading("Warnings");
        for line in warnings {
            page.entry("-", 2, line);
        }
    }
    scores(&mut page, view);
    // A refusal names already what each backend lacks.
    if view.refusal().is_none() {
        others(&mut page, view);
    }
    page.text
}

fn prompt_cache(page: &mut Page, view: &View<'_>) {
    let seen = view.prompt_cache;
    if seen.reason.is_none() && seen.affinity.is_none() {
        return;
    }
    page.heading("Prompt cache of the provider");
    for line in [&seen.reason, &seen.affinity].into_iter().flatten() {
        page.entry("-", 2, line);
    }
}

fn needs(page: &mut Page, view: &View<'_>, row: Option<&Subsystem>) {
    let intent = &view.explanation.intent;
    let route = view.explanation.outcome.as_ref().ok();
    page.heading("Requirements");
    let quality = format!(
        "{}: {}{}",
        intent.quality.as_str(),
        quality_words(intent.quality, intent.cost_sensitivity.get()),
        why(
            row,
            |table| table.quality == intent.quality,
            |table| { table.quality.as_str().to_owned() }
        )
    );
    page.entry("quality", LABEL, &quality);
    let latency = intent
        .max_latency_ms
        .map_or_else(|| "any time".to_owned(), |ms| format!("{ms} ms at most"));
    page.entry(
        "speed",
        LABEL,
        &format!(
            "{latency}{}",
            why(
                row,
                |table| table.max_latency_ms == intent.max_latency_ms,
                |table| {
                    table
                        .max_latency_ms
                        .map_or_else(|| "any time".to_owned(), |ms| format!("{ms} ms"))
                }
            )
        ),
    );
    let same_cost = |table: &Intent| table.cost_sensitivity == intent.cost_sensitivity;
    page.entry(
        "cost",
        LABEL,
        &format!(
            "weight {:.2} of 1{}",
            intent.cost_sensitivity,
            why(row, same_cost, |table| format!(
                "{:.2}",
                table.cost_sensitivity
            ))
        ),
    );
    let listed = |features: &[Feature]| match features {
        [] => "nothing".to_owned(),
        some => names(some).join(", "),
    };
    page.entry(
        "required",
        LABEL,
        &format!(
            "{}{}",
            listed(&intent.require),
            why(
                row,
                |table| table.require == intent.require,
                |table| { listed(&table.require) }
            )
        ),
    );
    page.entry(
        "preferred",
        LABEL,
        &format!(
            "{}{}",
            listed(&intent.prefer),
            why(
                row,
                |table| table.prefer == intent.prefer,
                |table| { listed(&table.prefer) }
            )
        ),
    );
    if let Some(route) = route {
        let floor = row.map_or_else(String::new, |row| {
            format!(
                " (the lowest class for {} is {})",
                row.name,
                row.floor.as_str()
            )
        });
        page.entry(
            "privacy",
            LABEL,
            &format!("{} or better{floor}", route.security_class.as_str()),
        );
    }
}

const LABEL: usize = 12;

/// The origin of a requirement: the subsystem, or a hint.
fn why(
    row: Option<&Subsystem>,
    same: impl Fn(&Intent) -> bool,
    told: impl Fn(&Intent) -> String,
) -> String {
    match row {
        None => String::new(),
        Some(row) if same(&row.intent) => format!(" (default of subsystem {})", row.name),
        Some(row) => format!(
            " (default of subsystem {}: {}; changed by hints or the state of the agent)",
            row.name,
            told(&row.intent)
        ),
    }
}

fn answers(page: &mut Page, view: &View<'_>) {
    let Ok(route) = &view.explanation.outcome else {
        return;
    };
    page.heading(if route.automatic {
        "Backends, chosen by the gateway"
    } else {
        "Backends of the model that the request names"
    });
    for (index, choice) in route.choices.iter().enumerate() {
        let entry = &choice.candidate.entry;
        let cost = choice.estimated_cost.map_or_else(
            || "cost unknown".to_owned(),
            |cost| format!("about {cost} USD"),
        );
        let tier = entry.tier.map_or("unrated", Tier::as_str);
        let rank = format!("{}.", index + 1);
        // A service may have a model several times, under names of its own.
        let is_alike = |other: &RoutedCandidate| {
            other.candidate.backend == choice.candidate.backend
                && other.candidate.entry.id == entry.id
                && other.candidate.entry.upstream_id != entry.upstream_id
        };
        let own_name = match route.choices.iter().any(is_alike) {
            true => format!(" (`{}`)", entry.upstream_id),
            false => String::new(),
        };
        page.entry(
            &rank,
            4,
            &format!(
                "{} at {}{own_name}: {cost}, {tier}, {}",
                entry.id,
                view.backend(choice),
                choice.security.as_str()
            ),
        );
        if !choice.degraded.is_empty() {
            page.entry(
                "",
                4,
                &format!("without {}", names(&choice.degraded).join(", ")),
            );
        }
    }
    let eligible = view
        .explanation
        .considered
        .iter()
        .filter(|seen| seen.eligible);
    let others = eligible.count().saturating_sub(route.choices.len());
    let mut said = Vec::new();
    if route.choices.len() > 1 {
        said.push("Each one is called only if all backends before it fail.".to_owned());
    }
    if others > 0 {
        let more = match others {
            1 => "1 more is eligible and is not called".to_owned(),
            several => format!("{several} more are eligible and are not called"),
        };
        said.push(format!("{more} (`upstream.max_attempts`)."));
    }
    if !said.is_empty() {
        page.entry("", 0, &said.join(" "));
    }
}

fn refused(page: &mut Page, refusal: &Refusal) {
    page.heading("No backend can serve it");
    let column = LABEL.max(2 + widest(refusal.lacks.iter().map(|(backend, _)| backend.as_str())));
    page.entry("missing", column, &refusal.missing.join(", "));
    for (backend, what) in &refusal.lacks {
        page.entry(backend, column, what);
    }
    page.entry("advice", column, &refusal.advice);
}

/// The length of the longest name.
fn widest<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or(0)
}

fn set_up(page: &mut Page, view: &View<'_>) {
    let Some(wanted) = view.wanted else {
        return;
    };
    let row = wanted
        .row
        .as_deref()
        .unwrap_or("none; set by the request or the configuration");
    page.heading(&format!("Model settings (profile {row})"));
    let temperature = match view.applied {
        Some(applied) => applied.temperature,
        None => wanted.profile.temperature,
    };
    let effort = match view.applied {
        Some(applied) => applied.effort,
        None => wanted.profile.reasoning_effort,
    };
    let mut said = Vec::new();
    if let Some(temperature) = temperature {
        said.push(format!("temperature {temperature}"));
    }
    if let Some(effort) = effort {
        said.push(effort_words(effort));
    }
    if let Some(most) = wanted.profile.max_tokens {
        said.push(format!("at most {most} tokens of answer"));
    }
    if let Some(schema) = &wanted.profile.response_schema {
        said.push(format!("schema {}", schema.name));
    }
    if said.is_empty() {
        said.push("defaults of the provider".to_owned());
    }
    if wanted.locked {
        said.push("locked".to_owned());
    }
    page.entry("", 0, &said.join(", "));
    for lost in view
        .applied
        .into_iter()
        .flat_map(|applied| &applied.degraded)
    {
        page.entry("-", 2, &lost.detail);
    }
}

fn others(page: &mut Page, view: &View<'_>) {
    let chosen = |seen: &Considered| {
        let choices = view
            .explanation
            .outcome
            .iter()
            .flat_map(|route| &route.choices);
        choices.into_iter().any(|choice| {
            choice.candidate.backend == seen.candidate.backend
                && choice.candidate.entry.id == seen.candidate.entry.id
                && choice.candidate.entry.upstream_id == seen.candidate.entry.upstream_id
        })
    };
    let rest: Vec<&Considered> = view
        .explanation
        .considered
        .iter()
        .filter(|seen| !chosen(seen))
        .collect();
    if rest.is_empty() {
        return;
    }
    page.heading("Other candidates");
    for (reasons, models) in by_reasons(rest) {
        page.entry("-", 2, &format!("{reasons}:"));
        let column = 4 + widest(models.iter().map(|(backend, _)| *backend));
        for (backend, models) in models {
            page.entry(&format!("  {backend}"), column, &models.join(", "));
        }
    }
}

/// Models by backend.
type ByBackend<'a> = Vec<(&'a str, Vec<&'a str>)>;

/// Groups models by their reasons, since many are skipped for the same ones.
fn by_reasons(seen: Vec<&Considered>) -> Vec<(String, ByBackend<'_>)> {
    let mut groups: Vec<(String, ByBackend<'_>)> = Vec::new();
    for one in seen {
        let reasons = match (one.reasons.is_empty(), one.eligible) {
            (false, _) => one.reasons.join("; "),
            (true, true) => "eligible, ranked lower".to_owned(),
            (true, false) => "not eligible".to_owned(),
        };
        let at = match groups.iter().position(|(known, _)| *known == reasons) {
            Some(at) => at,
            None => {
                groups.push((reasons, Vec::new()));
                groups.len() - 1
            }
        };
        let models = &mut groups[at].1;
        let model = one.candidate.entry.id.as_str();
        match models
            .iter_mut()
            .find(|(backend, _)| *backend == one.backend)
        {
            Some((_, models)) => models.push(model),
            None => models.push((&one.backend, vec![model])),
        }
    }
    groups
}

fn scores(page: &mut Page, view: &View<'_>) {
    let rated: Vec<(&Considered, bardo_router::Score)> = view
        .explanation
        .considered
        .iter()
        .filter_map(|seen| Some((seen, seen.score?)))
        .collect();
    if rated.is_empty() {
        return;
    }
    page.heading("Scores, each from 0 to 1");
    let name = |seen: &Considered| format!("{} at {}", seen.candidate.entry.id, seen.backend);
    let figures = 6 * 9;
    let widest = rated
        .iter()
        .map(|(seen, _)| name(seen).chars().count())
        .max();
    let column = widest
        .unwrap_or(0)
        .min(page.width.saturating_sub(figures + 3).max(16));
    let mut line = |name: &str, terms: [String; 6]| {
        let name: String = name.chars().take(column).collect();
        let _ = write!(page.text, "  {name:<column$}");
        for term in terms {
            let _ = write!(page.text, " {term:>8}");
        }
        page.text.push('\n');
    };
    line(
        "",
        ["cost", "quality", "latency", "privacy", "features", "total"].map(str::to_owned),
    );
    for (seen, score) in rated {
        let terms = [
            score.cost,
            score.quality,
            score.latency,
            score.privacy,
            score.features,
            score.total,
        ];
        line(&name(seen), terms.map(|term| format!("{term:.2}")));
    }
}
