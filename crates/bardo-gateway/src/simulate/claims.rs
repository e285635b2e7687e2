//! Figures that are often quoted for caches, and the arithmetic that they do not survive.

use super::workload::Workload;

/// A quoted figure and what comes of reckoning it through.
pub(super) struct QuotedFigure {
    pub(super) quoted: &'static str,
    pub(super) arithmetic: String,
}

/// The claims that a workload is about.
pub(super) fn of(workload: &Workload) -> Vec<QuotedFigure> {
    match workload.name {
        "golem-month" => vec![
            short_prefix(),
            gaps(),
            keepalive(),
            stacked(),
            naive(),
            tiers(),
            days(),
            heartbeats(),
            share(),
            premium(),
            baselines(),
        ],
        "coding-week" => vec![heavy_session(), stacked()],
        "faq-day" => vec![hit_rates(), stacked()],
        _ => Vec::new(),
    }
}

fn short_prefix() -> QuotedFigure {
    let saved = 20.0 * 3_000.0 * 0.9 * 1.0 / 1e6;
    QuotedFigure {
        quoted: "A system prompt of 3,000 tokens saves $0.02 a day at 20 calls on Haiku.",
        arithmetic: format!(
            "Claude Haiku 4.5 caches prompts from 4,096 tokens on, so 3,000 tokens save nothing. If it did cache them: 20 x 3,000 x 0.9 x $1 per million = ${saved:.3}."
        ),
    }
}

fn gaps() -> QuotedFigure {
    let gap = 24.0 * 60.0 / 20.0;
    QuotedFigure {
        quoted: "A heartbeat reads 85 to 90 % of its prompt from the provider's cache.",
        arithmetic: format!(
            "100 ticks a day are 14.4 minutes apart; if 20 of them reach a model, {gap:.0} minutes. A cache of 5 minutes is cold at each of them, and a mark on each costs 25 % more than none. A cache of 1 hour is warm only where ticks follow each other."
        ),
    }
}

fn keepalive() -> QuotedFigure {
    let pings = 288.0 * 3_000.0 * 0.1 / 1e6;
    let saved = 20.0 * 3_000.0 * 0.9 / 1e6;
    QuotedFigure {
        quoted: "Pings each 5 minutes keep the cache warm and save money.",
        arithmetic: format!(
            "288 pings x 3,000 tokens x 0.1 x $1 per million = ${pings:.3} a day, for at most ${saved:.3} saved at 20 calls."
        ),
    }
}

fn stacked() -> QuotedFigure {
    let quoted = 0.8 * (0.3 * 0.50 + 0.7 * 0.05);
    let output = 1_000.0 * 25.0 / 1e6;
    let real = 0.8 * (0.3 * 0.50 * 1.25 + 0.7 * 0.05 + output);
    let saving = 100.0 * (1.0 - real / (0.50 + output));
    QuotedFigure {
        quoted: "Stacked caches save 70 % of a prompt of 100,000 tokens.",
        arithmetic: format!(
            "0.8 x (0.3 x $0.50 + 0.7 x $0.05) = ${quoted:.3} of $0.50 has neither the write premium nor the output. With 1.25 on the part that is written and 1,000 tokens of output: ${real:.3} of ${:.3}, a saving of {saving:.0} %, if one request in five is a stored answer.",
            0.50 + output
        ),
    }
}

fn naive() -> QuotedFigure {
    let (low, high) = (85.0 / 0.40, 85.0 / 0.05);
    let tokens = 0.85 / 5.0 * 1e6;
    QuotedFigure {
        quoted: "$85 a day becomes $0.05 to $0.40: 18 to 200 times cheaper.",
        arithmetic: format!(
            "85 / 0.40 = {low:.0} and 85 / 0.05 = {high:.0}. $0.85 a tick is {tokens:.0} tokens of input at $5 per million, at each of 100 ticks. The naive baseline here says what it counts, and the rest is measured."
        ),
    }
}

fn tiers() -> QuotedFigure {
    let stated = 15.0 * 0.003 + 4.0 * 0.005 + 0.25;
    QuotedFigure {
        quoted: "A normal day (15 % T1, 5 % T2) costs $0.20.",
        arithmetic: format!(
            "That reckons $0.03 for a T2 call, and $0.01 or $0.05 on other days. With one of the five T2 calls at $0.25 and four at $0.005, it is 15 x $0.003 + 4 x $0.005 + $0.25 = ${stated:.3}. Prices depend on the model, not on the market."
        ),
    }
}

fn days() -> QuotedFigure {
    let month = 10.17 / 30.0;
    QuotedFigure {
        quoted: "A volatile day costs $0.83; or $0.40; or $1.50 to $2.50. A month costs $10.17.",
        arithmetic: format!(
            "$10.17 a month is ${month:.2} a day, so these are four different agents. A figure means nothing without its ticks, tokens, models and share of T2 calls; those of this page are its assumptions."
        ),
    }
}

fn heartbeats() -> QuotedFigure {
    let calls = 100.0 * (1.0 - 0.8);
    QuotedFigure {
        quoted: "An agent makes 80 heartbeat calls a day.",
        arithmetic: format!(
            "If 80 % of 100 ticks need no model, {calls:.0} calls a day are left. 80 calls cost four times as much."
        ),
    }
}

fn baselines() -> QuotedFigure {
    QuotedFigure {
        quoted: "Caches save 40 %; 40 to 85 %; 60 to 80 %; 70 %; 98 %.",
        arithmetic: "Each has another baseline. Here there are three, each with its name: naive, a client without cache marks, and a client with marks of 5 minutes.".to_owned(),
    }
}

fn share() -> QuotedFigure {
    let (part, increase) = (100.0 * 5.37 / 10.17, 100.0 * 5.37 / 4.80);
    QuotedFigure {
        quoted: "Attested hardware adds 53 % to a bill of $4.80.",
        arithmetic: format!(
            "$5.37 of $10.17 is {part:.0} % of the whole bill. The increase is $5.37 / $4.80 = {increase:.0} %."
        ),
    }
}

fn premium() -> QuotedFigure {
    QuotedFigure {
        quoted: "A premium of 30 % is 9 % where 70 % of the tokens are cached.",
        arithmetic: "0.3 x 0.3 = 9 % assumes that cached tokens carry no premium. If it applies to each billed token, the bill is 30 % higher, cached or not.".to_owned(),
    }
}

fn heavy_session() -> QuotedFigure {
    let plain = 20.0 * 5.0;
    let cached = 18.0 * 0.5 + 2.0 * 5.0 * 1.25;
    QuotedFigure {
        quoted: "A session of 20 million tokens costs $100, and $19 at a hit rate of 90 %.",
        arithmetic: format!(
            "20 x $5 = ${plain:.0} holds. 18 x $0.50 + 2 x $5 = $19 omits that misses are written at 1.25: ${cached:.2}, before output, which no cache makes cheaper."
        ),
    }
}

fn hit_rates() -> QuotedFigure {
    QuotedFigure {
        quoted: "Stored answers serve 10 % of requests, and similar ones 20 to 30 % of the rest.",
        arithmetic: "That is a property of the traffic, not of a cache: 0 % for conversations, here the share of equal questions. The row of hits above is measured.".to_owned(),
    }
}
