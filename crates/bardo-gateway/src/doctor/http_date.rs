//! The `Date` header of an answer.

use bardo_types::calendar::Date;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT` as seconds since 1970; `None` for another form.
pub(super) fn read(text: &str) -> Option<u64> {
    let (_, rest) = text.trim().split_once(", ")?;
    let parts: Vec<&str> = rest.split(' ').collect();
    let [day, month, year, time, "GMT"] = parts[..] else {
        return None;
    };
    let month = MONTHS.iter().position(|known| *known == month)? + 1;
    let days = Date::parse(&format!("{year}-{month:02}-{day}"))?.days();
    let mut clock = time.split(':').map(str::parse::<u64>);
    let mut next = || clock.next()?.ok();
    Some(days * 86_400 + next()? * 3_600 + next()? * 60 + next()?)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn dates_of_answers_are_read() {
        assert_eq!(read("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(read("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        for wrong in [
            "",
            "06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 6 Foo 1994 1:1:1 GMT",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
