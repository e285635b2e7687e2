//! When a provider wants to be asked again, from the headers of its refusal.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// A day is as good as never.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The wait that the headers of a refusal with this status ask for. Points in time count from the
/// provider's own `date`, so that clocks need not agree.
pub(crate) fn read(headers: &HeaderMap, status: u16) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let date = text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok());
    let now = date.unwrap_or_else(SystemTime::now);
    let wait = text("retry-after-ms")
        .and_then(number)
        .and_then(|ms| seconds(ms / 1000.0))
        .or_else(|| text(RETRY_AFTER.as_str()).and_then(|text| wait(text, now)))
        .or_else(|| (status == 429).then(|| resets(headers, now)).flatten())?;
    Some(wait.min(LONGEST))
}

/// When the limits that are used up begin anew. A provider that does not say what is left of them
/// is taken at its shortest word; one with something left of all of them says nothing.
fn resets(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    const KINDS: [(&str, &str); 6] = [
        ("x-ratelimit-", "requests"),
        ("x-ratelimit-", "tokens"),
        ("anthropic-ratelimit-", "requests"),
        ("anthropic-ratelimit-", "tokens"),
        ("anthropic-ratelimit-", "input-tokens"),
        ("anthropic-ratelimit-", "output-tokens"),
    ];
    let mut used_up: Option<Duration> = None;
    let mut shortest: Option<Duration> = None;
    for (prefix, kind) in KINDS {
        let text = |name: String| headers.get(name)?.to_str().ok().map(str::trim);
        // OpenAI writes `x-ratelimit-reset-tokens`, Anthropic `anthropic-ratelimit-tokens-reset`.
        let named = |member: &str| match prefix {
            "x-ratelimit-" => text(format!("{prefix}{member}-{kind}")),
            _ => text(format!("{prefix}{kind}-{member}")),
        };
        let Some(reset) = named("reset").and_then(|text| wait(text, now)) else {
            continue;
        };
        match named("remaining").and_then(number) {
            Some(left) if left >= 1.0 => {}
            Some(_) => used_up = used_up.max(Some(reset)),
            None => shortest = Some(shortest.map_or(reset, |known| known.min(reset))),
        }
    }
    used_up.or(shortest)
}

/// Seconds, a duration such as `6m0s`, Unix time, or a date in either usual form.
fn wait(text: &str, now: SystemTime) -> Option<Duration> {
    if let Some(number) = number(text) {
        return if number >= 1e12 {
            until(unix(number / 1000.0)?, now)
        } else if number >= 1e9 {
            until(unix(number)?, now)
        } else {
            seconds(number)
        };
    }
    duration(text).or_else(|| {
        let date = httpdate::parse_http_date(text).ok();
        until(
            date.or_else(|| humantime::parse_rfc3339_weak(text).ok())?,
            now,
        )
    })
}

fn number(text: &str) -> Option<f64> {
    // `parse` also takes `inf` and `NaN`.
    text.parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds.min(LONGEST.as_secs_f64())).ok()
}

fn unix(seconds: f64) -> Option<SystemTime> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(seconds).ok()?)
}

fn until(then: SystemTime, now: SystemTime) -> Option<Duration> {
    Some(then.duration_since(now).unwrap_or_default())
}

/// A duration as Go prints it: `1s`, `6m0s`, `20ms`, `1h2m3.5s`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut all = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount = number(&rest[..digits])?;
        rest = &rest[digits..];
        let end = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let unit = match &rest[..end] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        all += amount * unit;
        rest = &rest[end..];
    }
    seconds(all)
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|&(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    fn ms(pairs: &[(&'static str, &'static str)]) -> Option<u128> {
        let mut all = vec![("date", "Fri, 20 Nov 2026 12:00:00 GMT")];
        all.extend_from_slice(pairs);
        read(&headers(&all), 429).map(|wait| wait.as_millis())
    }

    #[test]
    fn every_form_of_the_header() {
        assert_eq!(ms(&[("retry-after-ms", "1500")]), Some(1_500));
        assert_eq!(ms(&[("retry-after", "2")]), Some(2_000));
        assert_eq!(ms(&[("retry-after", " 0.5 ")]), Some(500));
        for date in [
            "Fri, 20 Nov 2026 12:00:30 GMT",
            "Friday, 20-Nov-26 12:00:30 GMT",
            "Fri Nov 20 12:00:30 2026",
            "2026-11-20T12:00:30Z",
        ] {
            assert_eq!(ms(&[("retry-after", date)]), Some(30_000), "{date}");
        }
        // What is past is now; what is far off is a day.
        let past = [("retry-after", "Fri, 20 Nov 2026 11:00:00 GMT")];
        assert_eq!(ms(&past), Some(0));
        assert_eq!(ms(&[("retry-after", "999999999")]), Some(86_400_000));
        for bad in ["-1", "NaN", "inf", "soon", "", "1x", "1"] {
            let pair = [("retry-after", bad)];
            let taken = bad == "1";
            assert_eq!(ms(&pair).is_some(), taken, "{bad:?}");
        }
        assert_eq!(ms(&[]), None);
    }

    #[test]
    fn milliseconds_win_over_seconds_and_both_over_resets() {
        let all = [
            ("retry-after-ms", "10"),
            ("retry-after", "1"),
            ("x-ratelimit-reset-requests", "1m"),
        ];
        assert_eq!(ms(&all), Some(10));
        assert_eq!(ms(&all[1..]), Some(1_000));
        assert_eq!(ms(&all[2..]), Some(60_000));
    }

    #[test]
    fn resets_of_openai_venice_and_anthropic() {
        let openai = |value| ms(&[("x-ratelimit-reset-tokens", value)]);
        assert_eq!(openai("1s"), Some(1_000));
        assert_eq!(openai("6m0s"), Some(360_000));
        assert_eq!(openai("20ms"), Some(20));
        assert_eq!(openai("1h0m1.5s"), Some(3_601_500));
        // 2026-11-20T12:00:07Z, as Venice writes it.
        assert_eq!(openai("1795176007"), Some(7_000));
        assert_eq!(openai("1795176007000"), Some(7_000));
        let anthropic = [("anthropic-ratelimit-tokens-reset", "2026-11-20T12:00:05Z")];
        assert_eq!(ms(&anthropic), Some(5_000));
    }

    #[test]
    fn the_limit_that_is_used_up_decides() {
        let both = [
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-requests", "12"),
            ("x-ratelimit-reset-tokens", "6m0s"),
            ("x-ratelimit-remaining-tokens", "0"),
        ];
        assert_eq!(ms(&both), Some(360_000));
        assert_eq!(ms(&both[..2]), None, "there is something left");
        assert_eq!(ms(&both[2..3]), Some(360_000));
        assert_eq!(ms(&[both[0], both[2]]), Some(1_000));
    }

    /// Successes and server errors carry the counters too, without meaning them as a wait.
    #[test]
    fn resets_count_on_429_alone() {
        let reset = headers(&[("x-ratelimit-reset-requests", "1m")]);
        assert_eq!(read(&reset, 503), None);
        let told = headers(&[("retry-after", "3")]);
        assert_eq!(read(&told, 503), Some(Duration::from_secs(3)));
    }
}
