//! Cost of the same day if one frontier model answers everything.

use crate::{CallSpec, Client, Message, Reply};

use super::{Day, Thought};

/// A frontier model's list prices, read off two of its receipts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// Name of the model.
    pub model: String,
    /// Micro-USD per million tokens of the prompt.
    pub input: u64,
    /// Micro-USD per million tokens of the answer.
    pub output: u64,
}

/// The cost of the naive day, in micro-USD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Naive {
    /// The calls that were made, at the frontier model's price: like for like.
    pub calls: u64,
    /// The ticks that needed no model, each with the tokens of the average heartbeat.
    pub quiet_ticks: u64,
}

/// Tokens of a prompt and of its answer.
type TokenCounts = (u64, u64);

impl Baseline {
    /// Asks the model two small things. Gives also an answer, which says whether this is a
    /// sandbox; no prices where the gateway knows none.
    pub(super) async fn read(
        client: &Client,
        model: &str,
    ) -> Result<(Option<Self>, Reply), String> {
        // Short enough that no provider caches it: all tokens are at the plain prices.
        let long = probe(
            model,
            &"What is the price of a long question? ".repeat(40),
            "",
        );
        let short = probe(
            model,
            "What is the price of a long answer?",
            &"word ".repeat(400),
        );
        let (first, reply) = measure(client, &long).await?;
        let (second, _) = measure(client, &short).await?;
        let prices = first.zip(second).and_then(|(a, b)| solve(a, b));
        let baseline = prices.map(|(input, output)| Self {
            model: reply.origin.model.clone(),
            input,
            output,
        });
        Ok((baseline, reply))
    }

    /// Cost of the day on this model alone. Only the agent's own prompts count, without the words that
    /// the gateway adds for a schema, and without second tries.
    #[must_use]
    pub fn naive(&self, day: &Day) -> Naive {
        let measure = Measure::of(day);
        let of = |beats: bool| {
            let thoughts = day
                .answered()
                .filter(move |thought| !beats || thought.subsystem.starts_with("heartbeat"));
            thoughts.fold((0, 0, 0), |(count, input, output), thought| {
                let (more_in, more_out) = measure.own_tokens(thought);
                (count + 1_u64, input + more_in, output + more_out)
            })
        };
        let (_, input, output) = of(false);
        let (beats, beat_in, beat_out) = of(true);
        let quiet = |tokens: u64| tokens.saturating_mul(day.counts.t0) / beats.max(1);
        Naive {
            calls: self.price(input, output),
            quiet_ticks: self.price(quiet(beat_in), quiet(beat_out)),
        }
    }

    fn price(&self, input: u64, output: u64) -> u64 {
        let pico = u128::from(input) * u128::from(self.input)
            + u128::from(output) * u128::from(self.output);
        u64::try_from(pico.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

impl Naive {
    /// The whole naive day.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.calls + self.quiet_ticks
    }
}

/// Tokens for the bytes of a prompt, by the calls that were sent as written.
struct Measure {
    tokens: u64,
    bytes: u64,
}

impl Measure {
    fn of(day: &Day) -> Self {
        let plain = day.answered().filter(|thought| !has_grown(thought));
        let (tokens, bytes) = plain.fold((0, 0), |(tokens, bytes), thought| {
            (tokens + thought.tokens().0, bytes + thought.prompt_bytes)
        });
        Self { tokens, bytes }
    }

    /// The tokens that the agent itself asked for.
    fn own_tokens(&self, thought: &Thought) -> TokenCounts {
        let (input, output) = thought.tokens();
        if !has_grown(thought) {
            return (input, output);
        }
        let own = match self.bytes {
            0 => input,
            bytes => thought.prompt_bytes.saturating_mul(self.tokens) / bytes,
        };
        let is_repaired = thought
            .receipt
            .as_ref()
            .is_some_and(|receipt| receipt.routing.repaired);
        // The record has the sum of both answers.
        let answers = 1 + u64::from(is_repaired);
        (own.min(input), output / answers)
    }
}

/// Whether more was sent than the agent wrote.
fn has_grown(thought: &Thought) -> bool {
    thought.receipt.as_ref().is_some_and(|receipt| {
        receipt.routing.repaired || receipt.routing.schema.as_deref() == Some("prompt")
    })
}

fn probe(model: &str, question: &str, answer: &str) -> CallSpec {
    let script = serde_json::json!({ "steps": [{ "text": if answer.is_empty() { "Low." } else { answer } }] });
    // Only simulated providers read it; to others it is one line of a question.
    let question = format!("{question}\n\nbardo-script: {script}");
    let mut spec = CallSpec::new("", vec![Message::user(question)]);
    spec.hints.subsystem = None;
    model.clone_into(&mut spec.model);
    spec.max_tokens = Some(2_000);
    spec
}

/// Tokens in, tokens out, micro-USD.
type Measured = (u64, u64, u64);

async fn measure(client: &Client, spec: &CallSpec) -> Result<(Option<Measured>, Reply), String> {
    let reply = client
        .ask(spec)
        .await
        .map_err(|error| format!("{}: {error}", spec.model))?;
    let receipt = super::receipt(client, &reply.origin.request_id).await;
    let measured = receipt.and_then(|receipt| {
        let price = receipt.list_price.or(receipt.provider_cost)?;
        Some((receipt.input_tokens, receipt.output_tokens, price.get()))
    });
    Ok((measured, reply))
}

/// Two receipts of different shape have one pair of prices, in micro-USD per million tokens.
fn solve(a: Measured, b: Measured) -> Option<(u64, u64)> {
    let [a, b] = [a, b].map(|(input, output, price)| [input, output, price].map(i128::from));
    let determinant = a[0] * b[1] - b[0] * a[1];
    let price = |numerator: i128| {
        let scaled = (numerator * 1_000_000).checked_div(determinant)?;
        // Receipts are rounded to a micro-USD; prices are whole cents.
        let cents = (scaled + 5_000).div_euclid(10_000) * 10_000;
        u64::try_from(cents).ok().filter(|price| *price > 0)
    };
    Some((
        price(a[2] * b[1] - b[2] * a[1])?,
        price(a[0] * b[2] - b[0] * a[2])?,
    ))
}
