//! Names that are nearly another name.

/// How many letters two names differ by: each wrong, missing or surplus letter counts once, and two
/// letters that changed places count once. Names longer than 64 letters are compared as far as that.
#[must_use]
pub fn distance(a: &str, b: &str) -> usize {
    let letters = |name: &str| name.chars().take(LONGEST).collect::<Vec<char>>();
    let (a, b) = (letters(a), letters(b));
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let other = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (above[j] + 1).min(row[j - 1] + 1).min(above[j - 1] + other);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

const LONGEST: usize = 64;

/// The first of the nearest names that differ from `wrong` by so many letters at most.
#[must_use]
pub fn nearest<'a>(
    wrong: &str,
    names: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (distance(wrong, name), name))
        .filter(|(letters, _)| *letters <= most)
        .min_by_key(|(letters, _)| *letters)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_letter_and_each_exchange_counts_once() {
        for (a, b, letters) in [
            ("risk", "risk", 0),
            ("rsik", "risk", 1),
            ("risc", "risk", 1),
            ("subsytem", "subsystem", 1),
            ("security_clas", "security_class", 1),
            ("", "abc", 3),
            ("dreem_rm", "dream_rem", 2),
        ] {
            assert_eq!(distance(a, b), letters, "{a} {b}");
            assert_eq!(distance(b, a), letters, "{b} {a}");
        }
    }

    #[test]
    fn the_nearest_is_near_enough_or_none() {
        let names = ["risk", "context", "curator"];
        assert_eq!(nearest("contxt", names, 2), Some("context"));
        assert_eq!(nearest("gut_feeling", names, 2), None);
    }
}
