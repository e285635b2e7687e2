use std::borrow::Cow;

/// Something the caller asked for that the answer does not, or not fully, honor.
///
/// Listed in the `x-bardo-degraded` header and in the receipt (decisions §1, translation
/// principle 2).
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

    /// A degradation named after a field that only this request carries.
    #[must_use]
    pub fn field(field: &str, detail: &'static str) -> Self {
        Self {
            feature: Cow::Owned(field.to_owned()),
            detail: Cow::Borrowed(detail),
        }
    }
}
