//! Figures in words: money, counts, times.

/// Text for HTML, outside templates.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Text as part of a query or of a path.
#[must_use]
pub fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

/// A number with thousands apart: `12,345`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The form of a regular noun for a number: `look-up` or `look-ups`.
#[must_use]
pub fn noun(number: u64, singular: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{singular}{ending}")
}

/// A large number in three digits or so: `12.3k`, `4.56M`.
#[must_use]
pub fn short(number: u64) -> String {
    const STEPS: [(u64, &str); 4] = [
        (1_000_000_000_000, "T"),
        (1_000_000_000, "B"),
        (1_000_000, "M"),
        (1_000, "k"),
    ];
    for (unit, letter) in STEPS {
        if number >= unit {
            let whole = number / unit;
            let rest = number % unit;
            return match whole {
                0..=9 => format!("{whole}.{:02}{letter}", rest / (unit / 100)),
                10..=99 => format!("{whole}.{}{letter}", rest / (unit / 10)),
                _ => format!("{whole}{letter}"),
            };
        }
    }
    number.to_string()
}

/// Micro-USD as dollars: cents from a dollar on, six digits below a cent.
#[must_use]
pub fn usd(micro: i64) -> String {
    let sign = if micro < 0 { "−" } else { "" };
    let micro = micro.unsigned_abs();
    match micro {
        0 => "$0.00".to_owned(),
        1_000_000.. => {
            let cents = micro.saturating_add(5_000) / 10_000;
            format!("{sign}${}.{:02}", count(cents / 100), cents % 100)
        }
        10_000.. => format!("{sign}$0.{:04}", micro / 100),
        _ => format!("{sign}$0.{micro:06}"),
    }
}

/// Decimal USD text, as the API writes it, in micro-USD.
#[must_use]
pub fn micro(text: &str) -> Option<i64> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if part.len() > 6 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole: i64 = whole.parse().ok().filter(|whole: &i64| *whole >= 0)?;
    let part: i64 = format!("{part:0<6}").parse().ok()?;
    let micro = whole.checked_mul(1_000_000)?.checked_add(part)?;
    Some(if negative { -micro } else { micro })
}

/// Decimal USD text as dollars; a dash where there is none.
#[must_use]
pub fn usd_text(text: Option<&str>) -> String {
    text.and_then(micro).map_or_else(|| "–".to_owned(), usd)
}

/// Milliseconds: `840 ms`, `1.24 s`, `2 min 5 s`.
#[must_use]
pub fn ms(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{:02} s", ms / 1_000, ms % 1_000 / 10),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
        3_600_000..86_400_000 => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
        _ => format!("{} d {} h", ms / 86_400_000, ms % 86_400_000 / 3_600_000),
    }
}

/// Microseconds: `84 µs`, or as milliseconds.
#[must_use]
pub fn us(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..100_000 => format!("{}.{:01} ms", us / 1_000, us % 1_000 / 100),
        _ => ms(us / 1_000),
    }
}

/// A share in percent, rounded to one decimal: `part` of `whole`; a dash without a whole.
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let (part, whole) = (u128::from(part), u128::from(whole));
    let permille = (part * 1_000 + whole / 2) / whole;
    format!("{}.{}%", permille / 10, permille % 10)
}

/// A share from 0 to 1 in percent.
#[must_use]
pub fn share(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Bytes: `12.3 MB`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        _ => {
            let short = short(bytes);
            match short.strip_suffix('k') {
                Some(number) => format!("{number} kB"),
                None => {
                    let (number, letter) = short.split_at(short.len() - 1);
                    format!("{number} {}B", letter.replace('B', "G"))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_the_digits_that_matter() {
        for (micro, text) in [
            (0, "$0.00"),
            (7, "$0.000007"),
            (1_858, "$0.001858"),
            (12_345, "$0.0123"),
            (999_999, "$0.9999"),
            (1_000_000, "$1.00"),
            (1_234_567_890, "$1,234.57"),
            (-2_500_000, "−$2.50"),
        ] {
            assert_eq!(usd(micro), text);
        }
        for (text, expected) in [
            ("10.000000", Some(10_000_000)),
            ("-0.001858", Some(-1_858)),
            ("3", Some(3_000_000)),
            ("1.2345678", None),
            ("x", None),
        ] {
            assert_eq!(micro(text), expected, "{text}");
        }
    }

    #[test]
    fn counts_times_and_shares_are_short() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(short(1_234), "1.23k");
        assert_eq!(short(45_678_901), "45.6M");
        assert_eq!(short(999), "999");
        assert_eq!(ms(840), "840 ms");
        assert_eq!(ms(1_240), "1.24 s");
        assert_eq!(ms(125_000), "2 min 5 s");
        assert_eq!(us(84), "84 µs");
        assert_eq!(us(8_400), "8.4 ms");
        assert_eq!(percent(1, 3), "33.3%");
        // Rounded, as the command line does it.
        assert_eq!(percent(2, 3), "66.7%");
        assert_eq!(percent(1, 16), "6.3%");
        assert_eq!(percent(7, 7), "100.0%");
        assert_eq!(percent(1, 0), "–");
        assert_eq!(bytes(2_500_000), "2.50 MB");
        assert_eq!(bytes(3_000_000_000), "3.00 GB");
        assert_eq!(bytes(12_500), "12.5 kB");
    }

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(
            escaped("<a b=\"'\">&"),
            "&lt;a b=&quot;&#39;&quot;&gt;&amp;"
        );
        assert_eq!(encoded("a b/<>&?"), "a%20b%2F%3C%3E%26%3F");
    }
}
