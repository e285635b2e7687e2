//! What the sandbox says of itself: that it is one, what just happened, and what to try next.
//!
//! Nothing that the user did not write is quoted. Which words are chosen depends on the request and
//! on the seed alone.

use crate::price;
use crate::script::Facts;
use crate::tokens;
use crate::work;
use crate::world::World;

/// Longer questions are not quoted.
const QUOTED_MAX: usize = 80;

/// What kind of thing was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    Greeting,
    Thanks,
    Question,
    Wish,
}

/// An answer in words, as long as the limit of tokens allows.
pub(crate) fn answer(facts: &Facts, ask: &str, thought: u64, world: &World) -> String {
    let pick = Pick::of(facts, ask, world);
    let opening = format!(
        "Sandbox answer from {}: {}",
        facts.model,
        opening(ask, &pick)
    );
    let what = happened(facts);
    let next = pick.one(&next(facts));
    let full = |cost: &str| format!("{opening}\n\n{what} {cost}\n\nTry next: {next}");
    let brief = |cost: &str| format!("{opening} {cost}");
    let settled = [settle(facts, thought, full), settle(facts, thought, brief)];
    let limit = facts.max_tokens.unwrap_or(u64::MAX);
    let fits = |text: &String| tokens::count(text) + thought <= limit;
    let [full, brief] = settled;
    [full, brief]
        .into_iter()
        .find(fits)
        .unwrap_or_else(|| format!("Sandbox answer from {}.", facts.model))
}

/// A report on work that is done or cannot be done.
pub(crate) fn report(facts: &Facts, text: &str) -> String {
    format!(
        "{text}\n\nSandbox answer from {}: simple rules did this, no model ran.",
        facts.model
    )
}

/// What a model that thinks thinks.
pub(crate) fn thought(ask: &str) -> String {
    match kind(ask) {
        Kind::Nothing => "There is no question here. I say what I am.".to_owned(),
        Kind::Greeting | Kind::Thanks => "A friendly word. I answer in kind.".to_owned(),
        Kind::Question => "A question. I am simulated, so I say what happened instead.".to_owned(),
        Kind::Wish => "A task. I do what simple rules can do, and say so.".to_owned(),
    }
}

/// Chooses between ways to say something.
struct Pick([u8; 32]);

impl Pick {
    fn of(facts: &Facts, ask: &str, world: &World) -> Self {
        let choice = facts.choice_index.to_be_bytes();
        let turns = facts.said.len().to_be_bytes();
        let parts = [facts.model.as_bytes(), ask.as_bytes(), &turns, &choice];
        Self(world.digest(&parts))
    }

    /// One of several; each list is looked at with a byte of its own.
    fn one<'a>(&self, of: &[&'a str]) -> &'a str {
        let byte = usize::from(self.0[of.len() % self.0.len()]);
        of.get(byte % of.len().max(1)).copied().unwrap_or_default()
    }
}

fn kind(ask: &str) -> Kind {
    let words: Vec<String> = ask
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let begins = |with: &[&str]| {
        words
            .first()
            .is_some_and(|word| with.contains(&word.as_str()))
    };
    match words.len() {
        0 => Kind::Nothing,
        1..=6 if begins(&["hello", "hi", "hey", "greetings", "good", "moin", "hallo"]) => {
            Kind::Greeting
        }
        1..=6 if begins(&["thanks", "thank", "thx", "cheers"]) => Kind::Thanks,
        _ if ask.contains('?') => Kind::Question,
        _ => Kind::Wish,
    }
}

fn opening(ask: &str, pick: &Pick) -> String {
    let quoted = quotable(ask).map(|ask| format!("“{ask}”"));
    match (kind(ask), quoted) {
        (Kind::Greeting, Some(ask)) => {
            let rest = pick.one(&[
                "to you too! I am a simulated model; no real one ran and nothing was bought.",
                "right back. Nothing real answered you: I am a simulation, and no real money was spent.",
                "from here as well. I only play a model, so no real money was spent.",
            ]);
            format!("{ask} {rest}")
        }
        (Kind::Thanks, _) => pick
            .one(&[
                "you are welcome. Simulated, but glad to be of use.",
                "any time. No real money was spent: I am only a simulation.",
            ])
            .to_owned(),
        (Kind::Question, Some(ask)) => {
            let rest = pick.one(&[
                "is a question for a real model. I am a simulation that shows how it would reach one.",
                "would get a real answer from a real model. I am simulated and know nothing.",
                "is beyond me: I am a simulated model. But your question took the whole way here.",
                "deserves a real model. Everything around the answer works as it would with one.",
            ]);
            format!("{ask} {rest}")
        }
        (Kind::Wish, Some(ask)) => {
            let rest = pick.one(&[
                "is what a real model would do now. I am a simulated one.",
                "arrived here whole. A real model would set to work; I only simulate one.",
                "is understood as far as a simulation understands anything: not at all.",
                "would keep a real model busy. I am simulated and answer at once.",
            ]);
            format!("{ask} {rest}")
        }
        _ => pick
            .one(&[
                "I am a simulated model. No real one ran and nothing was bought.",
                "a simulation wrote this. Your request took the way that it takes to a real model.",
                "nothing real answered. All the rest works as it does with a real model.",
            ])
            .to_owned(),
    }
}

/// What the user wrote, where it is short and in one line, so that it is surely the user's own.
fn quotable(ask: &str) -> Option<&str> {
    let ask = ask.trim();
    let plain = !ask.contains(['\n', '<', '>', '{', '`', '“', '”']);
    let starts = ask.chars().next().is_some_and(char::is_alphanumeric);
    (plain && starts && ask.len() <= QUOTED_MAX).then_some(ask)
}

/// Which way the request came.
fn happened(facts: &Facts) -> String {
    let who = who(facts.service);
    let here = facts.dialect.name();
    let way = match facts.from {
        Some(from) if from == facts.dialect => format!(
            "What just happened: your {here} request was passed on in its own dialect to a \
             simulated {who}."
        ),
        Some(from) => format!(
            "What just happened: your {} request was translated to {here} for a simulated {who}, \
             and this answer is translated back.",
            from.name()
        ),
        None => format!("What just happened: a {here} request reached a simulated {who}."),
    };
    let mut came = Vec::new();
    if !facts.images.is_empty() {
        let kinds = facts.images.join(", ");
        came.push(format!(
            "{} ({kinds})",
            counted(facts.images.len(), "image")
        ));
    }
    if facts.documents > 0 {
        came.push(counted(facts.documents, "document"));
    }
    if came.is_empty() {
        way
    } else {
        format!("{way} With it came {}.", came.join(" and "))
    }
}

/// Words with the number of tokens that these same words have.
fn settle(facts: &Facts, thought: u64, text: impl Fn(&str) -> String) -> String {
    let mut output = 0;
    let mut words = text(&cost(facts, output));
    // Another digit may make the text longer, once or twice.
    for _ in 0..4 {
        let counted = tokens::count(&words) + thought;
        if counted == output {
            break;
        }
        output = counted;
        words = text(&cost(facts, output));
    }
    words
}

fn cost(facts: &Facts, output: u64) -> String {
    let Some(input) = facts.input_tokens else {
        return format!("It took {output} tokens out.");
    };
    let tokens = format!("It took {input} tokens in and {output} out");
    match price::of(facts.service, &facts.model) {
        Some(price) => format!(
            "{tokens}: {} USD at list price, before any discount for cached tokens.",
            price.cost(input, output)
        ),
        None if facts.service == "local" => format!("{tokens}, on a server of your own: no price."),
        None => format!("{tokens}; this provider lists no price, so see the header x-bardo-cost."),
    }
}

fn next(facts: &Facts) -> Vec<&'static str> {
    if work::is_agent(facts) {
        return vec![
            "name a file and a small change, such as: add a comment to README.md. I read it, edit it and report.",
            "ask for a file: create hello.txt saying “hello from the sandbox”. Your tools do the work.",
            "ask me to replace a word in a file that you name. I really edit it, by simple rules.",
        ];
    }
    if facts.from.is_none() {
        return vec![
            "GET /_sandbox/journal shows what came in here, byte for byte.",
            "script my answers: docs/sandbox.md shows how a prompt says what I answer, call or break.",
            "put the gateway before me: bardo-gateway serve --sandbox, and speak any dialect you like.",
        ];
    }
    vec![
        "the same question with another model, such as gemini-3-flash or claude-haiku-5-5. Your dialect stays as it is.",
        "GET /v1/receipts/ and the x-bardo-request-id of this answer: route, tokens and cost of this very request.",
        "bardo-gateway route explain --sandbox --model bardo/auto says which model a request gets, and why.",
        "bardo-gateway demo plays an agent's day and prints its bill.",
        "point Claude Code, Codex or Aider here and ask for a small change to a file. I use their tools.",
    ]
}

fn who(service: &str) -> &str {
    match service {
        "openai" => "OpenAI",
        "anthropic" => "Anthropic",
        "google" => "Google",
        "deepseek" => "DeepSeek",
        "openrouter" => "OpenRouter",
        "venice" => "Venice",
        "bankr" => "Bankr",
        "blockrun" => "BlockRun",
        "local" => "local server",
        other => other,
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests;
