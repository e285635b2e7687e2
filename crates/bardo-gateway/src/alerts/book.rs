//! Which alerts are new, last, or have ended. It knows no source and no receiver.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{AlertEvent, AlertState};

/// Most alerts that are remembered at a time.
const FIRING_MAX: usize = 1_000;

/// A cause of an alert that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) subject: String,
    pub(super) text: String,
}

/// The causes of one kind; `None` where they cannot be known at present.
pub(super) type SeenCauses = (AlertEvent, Option<Vec<Cause>>);

/// A message about an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AlertNotice {
    pub(super) event: AlertEvent,
    pub(super) subject: String,
    pub(super) text: String,
    /// `firing`, `repeated`, `resolved` or `test`.
    pub(super) status: &'static str,
    pub(super) since_ms: u64,
    pub(super) at_ms: u64,
}

#[derive(Debug)]
struct Firing {
    text: String,
    since_ms: u64,
    told_ms: u64,
}

/// Alerts whose causes last.
#[derive(Debug)]
pub(super) struct AlertBook {
    repeat_ms: u64,
    firing: BTreeMap<(AlertEvent, String), Firing>,
}

impl AlertBook {
    /// A book that tells a lasting alert again after `repeat`.
    pub(super) fn new(repeat: Duration) -> Self {
        Self {
            repeat_ms: u64::try_from(repeat.as_millis()).unwrap_or(u64::MAX),
            firing: BTreeMap::new(),
        }
    }

    /// Takes in what was seen. Answers what is to be told of it.
    pub(super) fn take(&mut self, seen: Vec<SeenCauses>, now_ms: u64) -> Vec<AlertNotice> {
        let mut notices = Vec::new();
        for (event, causes) in seen {
            // What cannot be known has neither begun nor ended.
            let Some(causes) = causes else {
                continue;
            };
            self.end(event, &causes, now_ms, &mut notices);
            for cause in causes {
                notices.extend(self.lasts(event, cause, now_ms));
            }
        }
        notices
    }

    fn end(
        &mut self,
        event: AlertEvent,
        causes: &[Cause],
        now_ms: u64,
        notices: &mut Vec<AlertNotice>,
    ) {
        let ended: Vec<String> = self
            .firing
            .keys()
            .filter(|(of, subject)| {
                *of == event && !causes.iter().any(|cause| cause.subject == *subject)
            })
            .map(|(_, subject)| subject.clone())
            .collect();
        for subject in ended {
            if let Some(firing) = self.firing.remove(&(event, subject.clone())) {
                notices.push(AlertNotice {
                    event,
                    subject,
                    text: firing.text,
                    status: "resolved",
                    since_ms: firing.since_ms,
                    at_ms: now_ms,
                });
            }
        }
    }

    fn lasts(&mut self, event: AlertEvent, cause: Cause, now_ms: u64) -> Option<AlertNotice> {
        let key = (event, cause.subject.clone());
        let is_full = self.firing.len() >= FIRING_MAX;
        let status = match self.firing.get_mut(&key) {
            Some(firing) => {
                firing.text.clone_from(&cause.text);
                if now_ms.saturating_sub(firing.told_ms) < self.repeat_ms {
                    return None;
                }
                firing.told_ms = now_ms;
                "repeated"
            }
            None if is_full => return None,
            None => {
                let firing = Firing {
                    text: cause.text.clone(),
                    since_ms: now_ms,
                    told_ms: now_ms,
                };
                self.firing.insert(key.clone(), firing);
                "firing"
            }
        };
        let since_ms = self
            .firing
            .get(&key)
            .map_or(now_ms, |firing| firing.since_ms);
        Some(AlertNotice {
            event,
            subject: cause.subject,
            text: cause.text,
            status,
            since_ms,
            at_ms: now_ms,
        })
    }

    /// Alerts whose causes last.
    pub(super) fn firing(&self) -> Vec<AlertState> {
        let state = |((event, subject), firing): (&(AlertEvent, String), &Firing)| AlertState {
            event: *event,
            subject: subject.clone(),
            text: firing.text.clone(),
            since_ms: firing.since_ms,
        };
        self.firing.iter().map(state).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(subjects: &[&str]) -> Vec<SeenCauses> {
        let causes = subjects.iter().map(|subject| Cause {
            subject: (*subject).to_owned(),
            text: format!("{subject} is low"),
        });
        vec![(AlertEvent::AccountBalanceLow, Some(causes.collect()))]
    }

    fn told(notices: &[AlertNotice]) -> Vec<(&str, &str)> {
        let one = |notice: &AlertNotice| notice.status;
        notices
            .iter()
            .map(|notice| (one(notice), notice.subject.as_str()))
            .collect()
    }

    #[test]
    fn an_alert_is_told_once_again_after_its_interval_and_when_it_ends() {
        let mut book = AlertBook::new(Duration::from_millis(100));
        assert_eq!(told(&book.take(seen(&["a"]), 1_000)), [("firing", "a")]);
        assert_eq!(told(&book.take(seen(&["a"]), 1_099)), []);
        assert_eq!(
            told(&book.take(seen(&["a", "b"]), 1_100)),
            [("repeated", "a"), ("firing", "b")]
        );
        let ended = book.take(seen(&["b"]), 1_150);
        assert_eq!(told(&ended), [("resolved", "a")]);
        assert_eq!((ended[0].since_ms, ended[0].at_ms), (1_000, 1_150));
        assert_eq!(book.firing().len(), 1);
        assert_eq!(
            told(&book.take(seen(&["a"]), 1_160)),
            [("resolved", "b"), ("firing", "a")]
        );
    }

    #[test]
    fn what_cannot_be_known_neither_begins_nor_ends_an_alert() {
        let mut book = AlertBook::new(Duration::from_secs(1));
        book.take(seen(&["a"]), 0);
        let unknown = vec![(AlertEvent::AccountBalanceLow, None)];
        assert_eq!(book.take(unknown, 10_000), []);
        assert_eq!(book.firing().len(), 1);
    }

    #[test]
    fn the_number_of_alerts_is_bounded() {
        let names: Vec<String> = (0..FIRING_MAX + 5).map(|name| name.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut book = AlertBook::new(Duration::from_secs(1));
        assert_eq!(book.take(seen(&names), 0).len(), FIRING_MAX);
        assert_eq!(book.firing().len(), FIRING_MAX);
    }
}
