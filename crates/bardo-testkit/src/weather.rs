//! How providers fare over a minute: mostly well, with windows in which one of them has a fault,
//! and single mishaps at any time.

use std::time::Duration;

use tokio::time::Instant;

use crate::dice::Dice;
use crate::fault::Fault;

/// Faults that a minute of many requests has time for; the others are in the matrix.
fn is_quick(fault: Fault) -> bool {
    !matches!(
        fault,
        Fault::HugeEvent | Fault::ByteByByte | Fault::NoUtf8 | Fault::HeadOversized
    )
}

/// The weather at one provider.
#[derive(Debug, Clone)]
pub struct Weather {
    seed: u64,
    name: String,
    since: Instant,
    windows: Vec<(Duration, Duration, Fault)>,
    /// In percent of requests.
    mishaps: u64,
}

impl Weather {
    /// The weather of a seed at the provider of that number, from now on.
    #[must_use]
    pub fn of(seed: u64, provider: usize, minute: Duration) -> Self {
        let name = format!("weather-{provider}");
        let mut dice = Dice::of(seed, &name, 0);
        let faults: Vec<Fault> = Fault::ALL
            .iter()
            .copied()
            .filter(|f| is_quick(*f))
            .collect();
        let length = u64::try_from(minute.as_millis()).unwrap_or(u64::MAX);
        let windows = (0..dice.below(4))
            .map(|_| {
                let from = Duration::from_millis(dice.below(length));
                let until = from + Duration::from_millis(1_000 + dice.below(12_000));
                (from, until, *dice.pick(&faults))
            })
            .collect();
        Self {
            seed,
            name,
            since: Instant::now(),
            windows,
            mishaps: dice.below(35),
        }
    }

    /// The fault that all requests meet now.
    #[must_use]
    pub fn now(&self) -> Option<Fault> {
        let at = self.since.elapsed();
        let window = self
            .windows
            .iter()
            .find(|(from, until, _)| (*from..*until).contains(&at));
        window.map(|(_, _, fault)| *fault)
    }

    /// The fault that one request meets.
    #[must_use]
    pub fn fate(&self, case: u64, earlier: usize) -> Fault {
        if let Some(fault) = self.now() {
            return fault;
        }
        let mut dice = Dice::of(self.seed, &self.name, case * 16 + earlier as u64);
        loop {
            if !dice.percent(self.mishaps) {
                return Fault::Healthy;
            }
            let fault = *dice.pick(Fault::ALL);
            if is_quick(fault) {
                return fault;
            }
        }
    }
}
