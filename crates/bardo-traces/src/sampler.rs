//! Which requests are exported, by the standard names of samplers.

use bardo_types::receipt::Receipt;

use crate::ids;

/// The choice without a caller's opinion.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SampledShare {
    All,
    None,
    /// A trace is exported if the last 56 bits of its id are below this.
    Below(u64),
}

/// Chooses the requests whose spans are exported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    share: SampledShare,
    parent_based: bool,
}

/// Values of the last 56 bits of a trace id.
const RANDOM: u64 = 1 << 56;

impl Sampler {
    /// The sampler of this name. `share` counts for the samplers by ratio: from 0 (none) to 1 (all).
    /// `None` if there is no sampler of that name.
    #[must_use]
    pub fn named(name: &str, share: f64) -> Option<Self> {
        let plain = name.strip_prefix("parentbased_");
        let share = match plain.unwrap_or(name) {
            "always_on" => SampledShare::All,
            "always_off" => SampledShare::None,
            "traceidratio" => SampledShare::of(share),
            _ => return None,
        };
        Some(Self {
            share,
            parent_based: plain.is_some(),
        })
    }

    /// Whether the spans of this request are exported. All requests of a trace get the same answer
    /// from every gateway with the same share.
    #[must_use]
    pub fn takes(&self, receipt: &Receipt) -> bool {
        if let Some(caller) = receipt.caller_span.as_deref().filter(|_| self.parent_based) {
            return caller.sampled;
        }
        match self.share {
            SampledShare::All => true,
            SampledShare::None => false,
            SampledShare::Below(limit) => {
                let id = u128::from_be_bytes(ids::trace_id(receipt));
                id % u128::from(RANDOM) < u128::from(limit)
            }
        }
    }
}

impl SampledShare {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share between 0 and 1 of a constant"
    )]
    fn of(share: f64) -> Self {
        if share >= 1.0 {
            Self::All
        } else if share > 0.0 {
            Self::Below((share * RANDOM as f64) as u64)
        } else {
            Self::None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bardo_types::ids::RequestId;
    use bardo_types::receipt::CallerTrace;

    use super::*;
    use crate::sample::receipt;

    fn numbered(number: u64) -> Receipt {
        let mut one = receipt();
        let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let id = format!("req_019a2b0000007000{random:016x}");
        one.request_id = RequestId::parse(&id).unwrap();
        one
    }

    #[test]
    fn a_share_of_the_traces_is_taken_always_the_same() {
        let taken = |share| {
            let sampler = Sampler::named("traceidratio", share).unwrap();
            (0..10_000)
                .filter(|number| sampler.takes(&numbered(*number)))
                .count()
        };
        assert_eq!((taken(0.0), taken(1.0)), (0, 10_000));
        let few = taken(0.05);
        assert!((450..550).contains(&few), "{few}");
        assert_eq!(few, taken(0.05));
    }

    #[test]
    fn the_callers_choice_counts_where_the_sampler_is_based_on_it() {
        let mut one = receipt();
        for sampled in [true, false] {
            let parent = format!(
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0{}",
                u8::from(sampled)
            );
            one.caller_span = CallerTrace::parse(&parent, None).map(Arc::new);
            for name in ["always_on", "always_off", "traceidratio"] {
                let based = Sampler::named(&format!("parentbased_{name}"), 0.5).unwrap();
                assert_eq!(based.takes(&one), sampled, "{name}");
            }
            assert!(Sampler::named("always_on", 0.0).unwrap().takes(&one));
        }
        one.caller_span = None;
        let off = Sampler::named("parentbased_always_off", 1.0).unwrap();
        assert!(!off.takes(&one));
        assert_eq!(Sampler::named("jaeger_remote", 1.0), None);
    }
}
