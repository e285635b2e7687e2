//! Numbers in one form: `1,000`, `1000.0`, `1k` and `one thousand` are equal, their signs count.

use super::scan::{Token, TokenKind};

/// Whether a run of characters is read as a number.
pub(super) fn starts(core: &str) -> bool {
    let body = core.trim_start_matches([
        '+', '-', '−', '$', '€', '£', '¥', '₹', '~', '≈', '.', '<', '>', '=', '±', '#',
    ]);
    body.starts_with(|c: char| c.is_ascii_digit())
}

/// Reads a run such as `-1,000.50%`, `$10k`, `24h`, `2024-01-05`, `3.11.2` or `10:30`.
pub(super) fn read(core: &str, found: &mut Vec<Token>) {
    if core.eq_ignore_ascii_case("2fa") {
        found.push(Token::word("2fa"));
        return;
    }
    let digits_at = core.find(|c: char| c.is_ascii_digit()).unwrap_or_default();
    let (signs, body) = core.split_at(digits_at);
    let mut negative = false;
    for sign in signs.chars() {
        match sign {
            '-' | '−' => negative = true,
            '.' => {}
            '$' | '€' | '£' | '¥' | '₹' => {}
            other => found.push(Token::new(TokenKind::Symbol, other.to_string())),
        }
    }
    let end = body
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '.' | '_' | '\'')))
        .unwrap_or(body.len());
    let (digits, tail) = body.split_at(end);
    let digits_end = digits.trim_end_matches([',', '.', '_', '\'']);
    let leading_dot = signs.ends_with('.');
    if structured(digits_end, tail) {
        // "09:00" is "9:00".
        let hour = tail.starts_with(':') && digits.len() == 2 && signs.is_empty();
        let body = body.strip_prefix('0').filter(|_| hour).unwrap_or(body);
        found.push(Token::new(
            TokenKind::Code,
            format!("{signs}{body}").to_lowercase(),
        ));
        return;
    }
    let plain = format!("{}{digits_end}", if leading_dot { "0." } else { "" });
    if is_named(&plain, tail) {
        found.push(Token::new(
            TokenKind::Code,
            format!("{signs}{body}").to_lowercase(),
        ));
        return;
    }
    let sign = if negative { "-" } else { "" };
    let tail = match capital_unit(tail).or_else(|| large_unit(tail)) {
        Some(unit) => unit.to_owned(),
        // "128M" are millions, and "128m" are meters, or thousandths.
        None if tail
            .strip_prefix('M')
            .is_some_and(|rest| !rest.starts_with(char::is_alphabetic)) =>
        {
            tail.replacen('M', "mn", 1)
        }
        None => tail.to_lowercase(),
    };
    let amount = signs.chars().any(|sign| currency(sign).is_some());
    let (scale, rest) = scale(&tail, amount);
    let number = if scale == 0 && rest.is_empty() && !amount && keeps_zero(&plain) {
        plain
    } else {
        scaled(&plain, scale)
    };
    found.push(Token::new(TokenKind::Number, format!("{sign}{number}")));
    if let Some(name) = signs.chars().find_map(currency) {
        found.push(Token::word(name));
    }
    // "The S&P 500's price" names no seconds.
    if digits.ends_with('\'') && rest == "s" {
        found.push(Token::word("@s"));
    } else {
        suffix(rest, found);
    }
}

/// "3.10" may be a version, which is not 3.1.
fn keeps_zero(digits: &str) -> bool {
    let fraction = digits.split_once('.').map_or("", |(_, fraction)| fraction);
    fraction.len() == 2 && fraction.ends_with('0') && fraction != "00"
}

/// Versions, dates, times, fractions and ranges stay as they are written.
fn structured(digits: &str, tail: &str) -> bool {
    let points = digits.matches('.').count();
    let commas = digits.contains(',') && !grouped(digits);
    let joined = tail.starts_with([':', '/', '-', '–', '^', '*', '+', '='])
        && tail.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
    // "5'6" are feet and inches.
    let inches = digits.contains('\'') && !grouped(&digits.replace('\'', ","));
    points > 1 || commas || joined || inches
}

/// A letter behind digits that is no unit: "3D" has no days, and "5G" no grams.
fn is_named(digits: &str, tail: &str) -> bool {
    let letter = tail.split_once('-').map_or(tail, |(letter, _)| letter);
    let dimensions = matches!(digits, "2" | "3") && letter == "d";
    dimensions || matches!(letter, "D" | "G")
}

/// Thousands separators in their places.
fn grouped(digits: &str) -> bool {
    let whole = digits.split('.').next().unwrap_or_default();
    let mut groups = whole.split(',');
    let head = groups.next().is_some_and(|g| (1..=3).contains(&g.len()));
    head && groups.all(|g| g.len() == 3)
}

/// The zeros of a scale behind digits. Behind "$", "m", "b" and "t" are scales too.
fn scale(tail: &str, amount: bool) -> (usize, &str) {
    const SCALES: [(&str, usize); 7] = [
        ("mn", 6),
        ("bn", 9),
        ("tn", 12),
        ("k", 3),
        ("m", 6),
        ("b", 9),
        ("t", 12),
    ];
    for (at, (suffix, zeros)) in SCALES.into_iter().enumerate() {
        if let Some(rest) = tail.strip_prefix(suffix)
            && !rest.starts_with(char::is_alphabetic)
            && (at < 4 || amount)
        {
            return (zeros, rest);
        }
    }
    (0, tail)
}

fn currency(sign: char) -> Option<&'static str> {
    match sign {
        '$' => Some("usd"),
        '€' => Some("eur"),
        '£' => Some("gbp"),
        '¥' => Some("yen"),
        '₹' => Some("inr"),
        _ => None,
    }
}

fn suffix(rest: &str, found: &mut Vec<Token>) {
    for part in rest.split('-').filter(|part| !part.is_empty()) {
        match part {
            "st" | "nd" | "rd" | "th" => {
                if let Some(number) = found.last_mut() {
                    number.text.push_str("th");
                }
            }
            "%" => found.push(Token::word("percent")),
            "€" => found.push(Token::word("eur")),
            "£" => found.push(Token::word("gbp")),
            "$" => found.push(Token::word("usd")),
            word if word.chars().all(char::is_alphabetic) => found.push(Token::word(word)),
            other => found.push(Token::new(TokenKind::Code, other)),
        }
    }
}

/// Units in which capitals count: "Mb" is a megabit and "MB" a megabyte, "mW" is no "MW".
pub(super) fn capital_unit(word: &str) -> Option<&'static str> {
    Some(match word {
        "Kb" | "Kbit" => "kilobit",
        "Mb" | "Mbit" => "megabit",
        "Gb" | "Gbit" => "gigabit",
        "Tb" | "Tbit" => "terabit",
        "KBps" => "kilobyteps",
        "MBps" => "megabyteps",
        "GBps" => "gigabyteps",
        "mW" => "milliwatt",
        "MW" => "megawatt",
        "mV" => "millivolt",
        "MV" => "megavolt",
        "mHz" => "millihertz",
        _ => return None,
    })
}

/// Units behind a number that are others in small letters: "5 ML" of water, and "5 ml".
pub(super) fn large_unit(word: &str) -> Option<&'static str> {
    Some(match word {
        "ML" => "megaliter",
        "Mg" => "megagram",
        "Mm" => "megameter",
        _ => return None,
    })
}

/// A number in its canonical form, from digits with separators.
pub(super) fn canonical(digits: &str) -> String {
    scaled(digits, 0)
}

/// The number times a power of ten, without leading or trailing zeros.
pub(super) fn scaled(digits: &str, zeros: usize) -> String {
    let plain: String = digits
        .chars()
        .filter(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    // "1.000 euros" are a thousand for many who write so, and one for others.
    if zeros == 0 && fraction == "000" && (1..=3).contains(&whole.len()) {
        return plain;
    }
    let mut whole = whole.to_owned();
    let mut fraction = fraction.trim_end_matches('0').to_owned();
    for _ in 0..zeros {
        if fraction.is_empty() {
            whole.push('0');
        } else {
            whole.push(fraction.remove(0));
        }
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    if fraction.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{fraction}")
    }
}

/// The number divided by a hundred: basis points as percent.
pub(super) fn hundredth(canonical: &str) -> String {
    let (sign, digits) = canonical
        .strip_prefix('-')
        .map_or(("", canonical), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let padded = format!("{whole:0>3}");
    let (head, tail) = padded.split_at(padded.len() - 2);
    format!("{sign}{}", scaled(&format!("{head}.{tail}{fraction}"), 0))
}

/// Written numbers from the start of `words`: the value and how many words were read. "And" is a part
/// of a number only where `joins` is set: "between one hundred and two hundred" has two.
pub(super) fn written<'a>(
    words: impl Iterator<Item = &'a str>,
    joins: bool,
) -> Option<(u64, usize)> {
    let mut number = WrittenNumber::default();
    for (at, word) in words.enumerate() {
        let follows = matches!(number.last, Step::Hundred | Step::Thousand);
        if word == "and" && joins && follows {
            continue;
        }
        let Some((step, value)) = step(word) else {
            break;
        };
        match number.add(step, value, at + 1)? {
            Added::Read => {}
            Added::Ends => break,
            Added::Another => return Some(number.scaled),
        }
    }
    (number.read > 0).then_some((number.total + number.current, number.read))
}

/// A written number of which some words are read.
#[derive(Default)]
struct WrittenNumber {
    total: u64,
    /// What is read since the last thousand, million or billion.
    current: u64,
    read: usize,
    last: Step,
    /// The last scale that was read: 100, 1,000 and so on.
    scale: Option<u64>,
    /// The value and the words up to that scale.
    scaled: (u64, usize),
}

/// What a word is to the number before it.
enum Added {
    Read,
    /// No part of the number.
    Ends,
    /// The scale of another number, which began behind the last scale: "one thousand and four
    /// thousand".
    Another,
}

impl WrittenNumber {
    /// Reads one more word; `None` for a number that is too large.
    fn add(&mut self, step: Step, value: u64, read: usize) -> Option<Added> {
        use Step::{Hundred, Start, Ten, Thousand, Unit};
        match (step, self.last) {
            (Unit, Start | Hundred | Thousand) => self.current += value,
            (Unit, Ten) if value <= 9 => self.current += value,
            (Ten, Start | Hundred | Thousand) => self.current += value,
            (Hundred, Unit) if self.current < 100 => self.current *= 100,
            (Hundred | Thousand, Unit | Ten | Hundred) if self.is_another(value) => {
                return Some(Added::Another);
            }
            (Thousand, Unit | Ten | Hundred) => {
                self.total = self.total.checked_add(self.current.checked_mul(value)?)?;
                self.current = 0;
            }
            _ => return Some(Added::Ends),
        }
        self.last = step;
        self.read = read;
        if matches!(step, Hundred | Thousand) {
            self.scale = Some(value);
            self.scaled = (self.total + self.current, read);
        }
        Some(Added::Read)
    }

    /// Whether a scale is not smaller than the one before; "two hundred thousand" has one number.
    fn is_another(&self, value: u64) -> bool {
        let hundreds = self.scale == Some(100) && value > 100;
        !hundreds && self.scale.is_some_and(|scale| scale <= value)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Step {
    #[default]
    Start,
    Unit,
    Ten,
    Hundred,
    Thousand,
}

const UNITS: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = [
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

fn step(word: &str) -> Option<(Step, u64)> {
    if let Some(value) = UNITS.iter().position(|unit| *unit == word) {
        return Some((Step::Unit, value as u64));
    }
    if let Some(value) = TENS.iter().position(|ten| *ten == word) {
        return Some((Step::Ten, (value as u64 + 2) * 10));
    }
    match word {
        "hundred" => Some((Step::Hundred, 100)),
        "thousand" => Some((Step::Thousand, 1_000)),
        "million" => Some((Step::Thousand, 1_000_000)),
        "billion" => Some((Step::Thousand, 1_000_000_000)),
        "trillion" => Some((Step::Thousand, 1_000_000_000_000)),
        _ => None,
    }
}

/// The zeros of a written scale after digits, as in "10 million".
pub(super) fn zeros(word: &str) -> Option<usize> {
    match word {
        "hundred" => Some(2),
        "thousand" => Some(3),
        "million" => Some(6),
        "billion" => Some(9),
        "trillion" => Some(12),
        _ => None,
    }
}
