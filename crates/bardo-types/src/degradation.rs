use std::borrow::Cow;
use std::collections::HashSet;

/// Something the caller asked for that the answer does not, or not fully, honor.
///
/// Listed in the `x-bardo-degraded` header and in the receipt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Degradation {
    /// Short stable name of the feature, e.g. `top_k`, `citations`, `forced_tool_choice`.
    pub feature: Cow<'static, str>,
    /// One sentence for people: what was done instead and why.
    pub detail: Cow<'static, str>,
}

impl Degradation {
    /// A degradation with a fixed explanation.
    #[must_use]
    pub const fn new(feature: &'static str, detail: &'static str) -> Self {
        Self {
            feature: Cow::Borrowed(feature),
            detail: Cow::Borrowed(detail),
        }
    }

    /// A degradation with an explanation of this request's own.
    #[must_use]
    pub const fn told(feature: &'static str, detail: String) -> Self {
        Self {
            feature: Cow::Borrowed(feature),
            detail: Cow::Owned(detail),
        }
    }

    /// A degradation named after a field that only this request carries. A long name is cut.
    #[must_use]
    pub fn field(field: &str, detail: &'static str) -> Self {
        let end = field.floor_char_boundary(FIELD_NAME_MAX);
        Self {
            feature: Cow::Owned(field[..end].to_owned()),
            detail: Cow::Borrowed(detail),
        }
    }
}

/// Bytes of a field's name that are shown.
const FIELD_NAME_MAX: usize = 64;

/// Collects the losses of one request, each feature once, within a bound.
///
/// Features with fixed names are always listed, because there are only so many of them. Names
/// that the request brings are listed up to [`Losses::FIELDS_MAX`] and counted from there on. Each
/// step costs the same, however many came before it.
#[derive(Debug, Default)]
pub struct Losses {
    list: Vec<Degradation>,
    known: HashSet<Cow<'static, str>>,
    fields: usize,
}

impl Losses {
    /// The most names of a request's own that are listed.
    pub const FIELDS_MAX: usize = 64;

    /// Adds a feature that is not, or not fully, honored.
    pub fn lose(&mut self, feature: &'static str, detail: &'static str) {
        if self.known.insert(Cow::Borrowed(feature)) {
            self.list.push(Degradation::new(feature, detail));
        }
    }

    /// Adds a member that only this request carries.
    pub fn lose_field(&mut self, field: &str, detail: &'static str) {
        if self.known.contains(field) {
            return;
        }
        self.known.insert(Cow::Owned(field.to_owned()));
        self.fields += 1;
        if self.fields <= Self::FIELDS_MAX {
            self.list.push(Degradation::field(field, detail));
        }
    }

    /// The losses in the order in which they were found, then the number of those left out, as
    /// `more[936]`.
    #[must_use]
    pub fn into_list(mut self) -> Vec<Degradation> {
        let more = self.fields.saturating_sub(Self::FIELDS_MAX);
        if more > 0 {
            self.list.push(Degradation {
                feature: format!("more[{more}]").into(),
                detail: Cow::Borrowed(
                    "further members were removed too; only the first 64 are named",
                ),
            });
        }
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(losses: Losses) -> Vec<String> {
        let list = losses.into_list().into_iter();
        list.map(|lost| lost.feature.into_owned()).collect()
    }

    #[test]
    fn each_feature_is_listed_once_in_the_order_it_was_lost() {
        let mut losses = Losses::default();
        losses.lose("top_k", "a");
        losses.lose_field("mood", "b");
        losses.lose("top_k", "c");
        losses.lose_field("top_k", "d");
        losses.lose_field("mood", "e");
        assert_eq!(features(losses), ["top_k", "mood"]);
    }

    #[test]
    fn names_of_the_request_are_bounded_and_counted_and_fixed_ones_always_listed() {
        let mut losses = Losses::default();
        for _ in 0..2 {
            for number in 0..1000 {
                losses.lose_field(&format!("member_{number}"), "unknown");
            }
        }
        losses.lose("thinking_state", "lost");
        let listed = features(losses);
        assert_eq!(listed.len(), Losses::FIELDS_MAX + 2);
        assert_eq!(listed[63], "member_63");
        assert_eq!(&listed[64..], ["thinking_state", "more[936]"]);
    }

    #[test]
    fn a_long_name_is_cut_between_letters() {
        let lost = Degradation::field(&"é".repeat(100_000), "unknown");
        assert_eq!(lost.feature, "é".repeat(32));
        let lost = Degradation::field(&format!("a{}", "é".repeat(100)), "unknown");
        assert_eq!(lost.feature.len(), 63);
    }
}
