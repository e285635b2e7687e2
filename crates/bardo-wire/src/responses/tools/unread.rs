//! Members of tools and of a tool choice that the neutral ones lack.

use serde_json::value::RawValue;

use super::{Definition, ResponsesToolChoice};
use crate::json::Extra;

impl Definition<'_> {
    /// Whether the definition holds members that its neutral tool lacks.
    pub(super) fn holds_unread_members(&self) -> bool {
        match self.kind.as_deref() {
            // Other members of a function are kept.
            Some("function") => is_given(self.format) || self.server_label.is_some(),
            Some("custom") => {
                is_given(self.parameters)
                    || self.strict.is_some()
                    || self.server_label.is_some()
                    || holds(&self.extra)
            }
            // Kept as written.
            _ => false,
        }
    }

    /// Whether the definition says more than which tool is meant.
    fn is_more_than_a_name(&self) -> bool {
        self.description.is_some()
            || is_given(self.parameters)
            || self.strict.is_some()
            || is_given(self.format)
            || self.server_label.is_some()
            || holds(&self.extra)
    }
}

impl ResponsesToolChoice<'_> {
    /// Whether the choice holds members that the neutral one lacks.
    pub(super) fn holds_unread_members(&self) -> bool {
        let is_of_list = self.kind.as_deref() == Some("allowed_tools");
        let mode = self.mode.as_deref();
        let beside = if is_of_list {
            let is_known = matches!(mode, None | Some("auto" | "required"));
            self.name.is_some() || !is_known
        } else {
            mode.is_some() || self.tools.is_some()
        };
        let mut named = self.tools.iter().flatten();
        holds(&self.extra)
            || beside
            || self.server_label.is_some()
            || named.any(Definition::is_more_than_a_name)
    }
}

fn is_given(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() != "null")
}

fn holds(extra: &Extra<'_>) -> bool {
    extra.iter().any(|(_, raw)| is_given(Some(raw)))
}
