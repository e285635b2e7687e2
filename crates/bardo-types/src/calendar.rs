//! Days and dates of UTC, without time zones or leap seconds, as Unix time counts them.

/// Milliseconds of a day.
pub const DAY_MS: u64 = 86_400_000;

/// A date of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// From 1970 on.
    pub year: u64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

impl Date {
    /// The date that lies so many days after 1970-01-01.
    ///
    /// Counts in eras of 400 years that begin in March, so that the leap day is the last of a year
    /// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    #[must_use]
    pub fn of_days(days: u64) -> Self {
        let shifted = days.saturating_add(719_468);
        let era = shifted / 146_097;
        let of_era = shifted % 146_097;
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 {
            month_from_march + 3
        } else {
            month_from_march - 9
        };
        Self {
            year: year_of_era + era * 400 + u64::from(month <= 2),
            month: u8::try_from(month).unwrap_or(1),
            day: u8::try_from(day).unwrap_or(1),
        }
    }

    /// How many days after 1970-01-01 it lies.
    #[must_use]
    pub fn days(self) -> u64 {
        let month = u64::from(self.month);
        let year = self.year - u64::from(month <= 2);
        let (era, year_of_era) = (year / 400, year % 400);
        let month_from_march = if month > 2 { month - 3 } else { month + 9 };
        let of_year = (153 * month_from_march + 2) / 5 + u64::from(self.day) - 1;
        let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
        (era * 146_097 + of_era).saturating_sub(719_468)
    }

    /// Reads `2026-11-20`; `None` when it is no date from 1970 to 9999.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || year.len() != 4 || month.len() != 2 || day.len() != 2 {
            return None;
        }
        let date = Self {
            year: year.parse().ok().filter(|year| *year >= 1970)?,
            month: month
                .parse()
                .ok()
                .filter(|month| (1..=12).contains(month))?,
            day: day.parse().ok().filter(|day| (1..=31).contains(day))?,
        };
        // 2026-02-30 comes back as another date.
        (Self::of_days(date.days()) == date).then_some(date)
    }
}

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// Writes a moment given in Unix milliseconds as RFC 3339, e.g. `2026-11-20T16:10:28.005Z`.
#[must_use]
pub fn rfc3339(unix_ms: u64) -> String {
    let mut text = to_the_second(unix_ms / 1_000);
    text.push('.');
    push_digits(&mut text, unix_ms % 1_000, 100);
    text.push('Z');
    text
}

/// Writes a moment given in Unix seconds as RFC 3339, e.g. `2026-11-20T16:10:28Z`.
#[must_use]
pub fn rfc3339_seconds(unix_seconds: u64) -> String {
    let mut text = to_the_second(unix_seconds);
    text.push('Z');
    text
}

/// Date and time of day without a zone, written without the formatter: every receipt has a moment.
fn to_the_second(unix_seconds: u64) -> String {
    let date = Date::of_days(unix_seconds / (DAY_MS / 1_000));
    let mut text = String::with_capacity(32);
    if date.year < 10_000 {
        push_digits(&mut text, date.year, 1_000);
    } else {
        text = date.year.to_string();
    }
    let parts = [
        ('-', u64::from(date.month)),
        ('-', u64::from(date.day)),
        ('T', unix_seconds / 3_600 % 24),
        (':', unix_seconds / 60 % 60),
        (':', unix_seconds % 60),
    ];
    for (before, part) in parts {
        text.push(before);
        push_digits(&mut text, part, 10);
    }
    text
}

/// Appends the last digits of a number, the first of which is worth `unit`.
fn push_digits(text: &mut String, number: u64, mut unit: u64) {
    while unit > 0 {
        let digit = u8::try_from(number / unit % 10).expect("a digit is below ten");
        text.push(char::from(b'0' + digit));
        unit /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_are_the_same_thing() {
        for (days, text) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (789, "1972-02-29"),
            (11_016, "2000-02-29"),
            (20_777, "2026-11-20"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(Date::of_days(days).to_string(), text);
            assert_eq!(Date::parse(text).unwrap().days(), days);
        }
        for days in 0..200_000 {
            assert_eq!(Date::of_days(days).days(), days);
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "2026-02-30",
            "2026-13-01",
            "1969-12-31",
            "2026-1-1",
            "20261120",
            "2026-11-20-1",
        ] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
    }

    #[test]
    fn moments_are_written_with_milliseconds_or_without() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(1_795_190_999_007), "2026-11-20T16:09:59.007Z");
        assert_eq!(rfc3339_seconds(1_795_190_999), "2026-11-20T16:09:59Z");
        assert_eq!(rfc3339(253_402_300_800_000), "10000-01-01T00:00:00.000Z");
    }
}
