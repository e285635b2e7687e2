//! Times of the stages and the attempts of a request, read from its receipt.

use std::time::Duration;

use bardo_types::receipt::Receipt;

/// A part of a request, in time since it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpanPeriod {
    pub(crate) start: Duration,
    pub(crate) end: Duration,
}

/// The stages that the request reached, in order. Each begins where the one before it ended; the
/// last one ends with the request.
pub(crate) fn stages(receipt: &Receipt) -> Vec<(&'static str, SpanPeriod)> {
    let times = &receipt.timings;
    let mut marks: Vec<(&'static str, Duration)> = [
        ("read", times.read),
        ("limit", times.limited),
        ("cache lookup", times.hash_lookup),
        ("screen", times.screened),
        ("prepare", times.prepared),
        ("plan", times.planned),
        ("semantic lookup", times.semantic_lookup),
        ("reserve", times.reserved),
        ("dispatch", times.sent),
        ("await head", times.head),
        ("await content", times.first_content),
        ("relay", times.settled),
        ("finish", Some(times.total)),
    ]
    .into_iter()
    .filter_map(|(name, mark)| Some((name, mark?.min(times.total))))
    .collect();
    marks.sort_by_key(|(_, mark)| *mark);
    let mut start = Duration::ZERO;
    marks
        .into_iter()
        .map(|(name, mark)| {
            let period = SpanPeriod {
                start,
                end: mark.max(start),
            };
            start = period.end;
            (name, period)
        })
        .collect()
}

/// The time of each attempt, in order. A receipt has the duration of each and the start of the last
/// one. Earlier ones are placed before it without pauses.
pub(crate) fn attempts(receipt: &Receipt) -> Vec<SpanPeriod> {
    let times = &receipt.timings;
    let mut periods = Vec::with_capacity(receipt.attempts.len());
    let mut next_start: Option<Duration> = None;
    for attempt in receipt.attempts.iter().rev() {
        let period = match next_start {
            None => {
                let start = times
                    .sent
                    .unwrap_or_else(|| times.total.saturating_sub(attempt.duration));
                let end = match attempt.failure {
                    // An attempt that answered lasts as long as its answer.
                    None => times.total,
                    Some(_) => start.saturating_add(attempt.duration).min(times.total),
                };
                SpanPeriod {
                    start,
                    end: end.max(start),
                }
            }
            Some(end) => SpanPeriod {
                start: end.saturating_sub(attempt.duration),
                end,
            },
        };
        next_start = Some(period.start);
        periods.push(period);
    }
    periods.reverse();
    periods
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::receipt;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn stages_follow_each_other_from_the_first_byte_to_the_last() {
        let all = stages(&receipt());
        assert_eq!(all[0].1.start, Duration::ZERO);
        assert_eq!(
            all.last().map(|(name, stage)| (*name, stage.end)),
            Some(("finish", ms(400)))
        );
        for pair in all.windows(2) {
            assert_eq!(pair[0].1.end, pair[1].1.start);
        }
        let mut short = receipt();
        short.timings = bardo_types::receipt::Timings {
            total: ms(3),
            ..Default::default()
        };
        assert_eq!(
            stages(&short),
            [(
                "finish",
                SpanPeriod {
                    start: ms(0),
                    end: ms(3)
                }
            )]
        );
    }

    #[test]
    fn attempts_end_where_the_next_one_begins() {
        let periods = attempts(&receipt());
        assert_eq!(
            periods[0],
            SpanPeriod {
                start: ms(18),
                end: ms(30)
            }
        );
        assert_eq!(
            periods[1],
            SpanPeriod {
                start: ms(30),
                end: ms(400)
            }
        );
        let mut none = receipt();
        none.attempts.clear();
        assert_eq!(attempts(&none), []);
    }
}
