//! What events there are, and which of them a reader wants.

/// Every event that this gateway tells, by its one name.
pub(crate) const NAMES: [&str; 28] = [
    "inference.start",
    "provider.feature_negotiated",
    "provider.resolved",
    "inference.profile_applied",
    "inference.profile_degraded",
    "inference.provider_fallback",
    "inference.cache_hit",
    "inference.cache_stats",
    "cache.flushed",
    "cache.keepalive",
    "cache.prefix_stored",
    "cache.stored",
    "cache.audit",
    "cache.domain_serving",
    "cache.domain_stopped",
    "inference.reasoning_captured",
    "inference.schema_fallback",
    "inference.schema_validated",
    "inference.verification",
    "inference.web_search_used",
    "inference.token",
    "inference.end",
    "routing.warning",
    "owner.message",
    "inference.completed",
    "inference.aborted",
    "inference.failed",
    "inference.unknown",
];

/// The name of an event that another gateway wrote; `None` where this one knows no such event.
pub(crate) fn static_name(written: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|name| *name == written)
}

/// Other names of events, from before there was one for each.
const ALIASES: [(&str, &str); 3] = [
    ("provider.fallback", "inference.provider_fallback"),
    ("cache.hit", "inference.cache_hit"),
    ("cache.stats", "inference.cache_stats"),
];

/// The events that a reader wants; all of them where it does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter(Option<Vec<String>>);

impl Filter {
    /// Reads `?events=`: names separated by commas, with a colon instead of the dot where somebody
    /// is used to that; `inference.*` is all of a kind.
    ///
    /// # Errors
    /// The name that no event has.
    pub(crate) fn parse(list: Option<&str>) -> Result<Self, String> {
        let Some(list) = list else {
            return Ok(Self(None));
        };
        let mut wanted = Vec::new();
        for written in list
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let name = written.to_ascii_lowercase().replace(':', ".");
            let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
            let name = alias.map_or(name, |(_, canonical)| (*canonical).to_owned());
            let exists = match name.strip_suffix('*') {
                Some(prefix) => NAMES.iter().any(|known| known.starts_with(prefix)),
                None => NAMES.contains(&name.as_str()),
            };
            if !exists {
                return Err(written.chars().take(64).collect());
            }
            wanted.push(name);
        }
        Ok(Self((!wanted.is_empty()).then_some(wanted)))
    }

    /// Whether an event of that name is wanted.
    pub(crate) fn takes(&self, name: &str) -> bool {
        let Some(wanted) = &self.0 else {
            return true;
        };
        wanted
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(prefix) => name.starts_with(prefix),
                None => pattern == name,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_names_what_it_wants_in_either_spelling() {
        let check = |list, name, expected| {
            assert_eq!(
                Filter::parse(list).unwrap().takes(name),
                expected,
                "{list:?} {name}"
            );
        };
        check(None, "inference.end", true);
        check(Some(""), "inference.end", true);
        check(
            Some("inference:profile_applied"),
            "inference.profile_applied",
            true,
        );
        check(Some("inference:profile_applied"), "inference.end", false);
        check(
            Some("provider:fallback"),
            "inference.provider_fallback",
            true,
        );
        check(Some("owner.message, provider.*"), "provider.resolved", true);
        check(Some("owner.message,provider.*"), "inference.start", false);
    }

    #[test]
    fn a_name_that_no_event_has_is_refused() {
        assert_eq!(
            Filter::parse(Some("inference.ends")),
            Err("inference.ends".into())
        );
        assert_eq!(Filter::parse(Some("nothing.*")), Err("nothing.*".into()));
    }
}
