//! What the same day costs who asks one frontier model for everything, on every tick.

use golem_inference::{CallSpec, Client, Message, Reply};

use super::Day;

/// A frontier model's list prices, read off two of its receipts.
pub(crate) struct Baseline {
    pub(crate) model: String,
    /// USD per token of the prompt.
    pub(crate) input: f64,
    /// USD per token of the answer.
    pub(crate) output: f64,
}

/// The cost of the naive day, in USD.
pub(crate) struct Naive {
    /// The calls that were made, at the frontier model's price.
    pub(crate) calls: f64,
    /// The ticks that needed no model, each with the tokens of the average heartbeat.
    pub(crate) quiet_ticks: f64,
}

impl Baseline {
    /// Asks the model two small things. Gives also an answer, which says whether this is a
    /// sandbox; no prices where the gateway knows none.
    pub(crate) async fn read(
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

    #[expect(clippy::cast_precision_loss, reason = "a figure to compare with")]
    pub(crate) fn naive(&self, day: &Day) -> Naive {
        let price =
            |input: u64, output: u64| input as f64 * self.input + output as f64 * self.output;
        let of = |beats: bool| {
            let thoughts = day
                .answered()
                .filter(move |thought| !beats || thought.subsystem.starts_with("heartbeat"));
            thoughts.fold((0, 0, 0), |(count, input, output), thought| {
                let (more_in, more_out) = thought.tokens();
                (count + 1, input + more_in, output + more_out)
            })
        };
        let (_, input, output) = of(false);
        let (beats, beat_in, beat_out) = of(true);
        let each = price(beat_in, beat_out) / f64::from(u32::max(beats, 1));
        Naive {
            calls: price(input, output),
            quiet_ticks: each * day.counts.t0 as f64,
        }
    }
}

impl Naive {
    pub(crate) fn total(&self) -> f64 {
        self.calls + self.quiet_ticks
    }
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

/// Tokens in, tokens out, USD.
type Measured = (f64, f64, f64);

#[expect(clippy::cast_precision_loss, reason = "a figure to compare with")]
async fn measure(client: &Client, spec: &CallSpec) -> Result<(Option<Measured>, Reply), String> {
    let reply = client
        .ask(spec)
        .await
        .map_err(|error| format!("{}: {error}", spec.model))?;
    let receipt = super::receipt(client, &reply.origin.request_id).await;
    let measured = receipt.and_then(|receipt| {
        let usd = receipt.list_price.or(receipt.provider_cost)?.get() as f64 / 1e6;
        Some((
            receipt.input_tokens as f64,
            receipt.output_tokens as f64,
            usd,
        ))
    });
    Ok((measured, reply))
}

/// Two receipts of different shape have one pair of prices.
fn solve(a: Measured, b: Measured) -> Option<(f64, f64)> {
    let determinant = a.0 * b.1 - b.0 * a.1;
    let input = (a.2 * b.1 - b.2 * a.1) / determinant;
    let output = (a.0 * b.2 - b.0 * a.2) / determinant;
    (input.is_finite() && output.is_finite() && input > 0.0 && output > 0.0)
        .then_some((input, output))
}
