//! Names of backends.

/// Services that are backends by themselves. A key of the owner cannot take one of their names.
const SERVICES: [&str; 5] = ["blockrun", "openrouter", "venice", "bankr", "direct"];

/// Name of a backend, in its parts: `venice`, `direct/openai`, or `direct/openai#2` for the second
/// key of a maker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendName<'a> {
    whole: &'a str,
    plain: &'a str,
    number: Option<&'a str>,
}

impl<'a> BackendName<'a> {
    /// Splits a name. Every text is a name.
    #[must_use]
    pub fn parse(name: &'a str) -> Self {
        match name.split_once('#') {
            Some((plain, number)) => Self {
                whole: name,
                plain,
                number: Some(number),
            },
            None => Self {
                whole: name,
                plain: name,
                number: None,
            },
        }
    }

    /// Name without the number of the key: `direct/openai` of `direct/openai#2`.
    #[must_use]
    pub const fn plain(self) -> &'a str {
        self.plain
    }

    /// Text behind `#`, if there is one.
    #[must_use]
    pub const fn number(self) -> Option<&'a str> {
        self.number
    }

    /// Group before the slash, or the whole plain name: `direct` of `direct/openai`.
    #[must_use]
    pub fn group(self) -> &'a str {
        self.plain
            .split_once('/')
            .map_or(self.plain, |(group, _)| group)
    }

    /// Maker or vendor of a direct key: `openai` of `direct/openai#2`; `None` of other backends.
    #[must_use]
    pub fn key_of(self) -> Option<&'a str> {
        self.plain.strip_prefix("direct/")
    }

    /// Whether `listed`, in a route, a scope or a tier, means this backend. A list names one
    /// backend (`direct/openai#2`), all keys of a maker (`direct/openai`, or `openai` alone), or a
    /// group (`direct`). `openrouter` means the service and never a key that the owner gave this
    /// name.
    #[must_use]
    pub fn is_meant_by(self, listed: &str) -> bool {
        let is_key = || self.key_of() == Some(listed) && !SERVICES.contains(&listed);
        listed == self.whole || listed == self.plain || listed == self.group() || is_key()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_a_backend_all_keys_of_a_maker_or_a_group() {
        let check = |listed: &str, backend: &str, is_meant: bool| {
            let found = BackendName::parse(backend).is_meant_by(listed);
            assert_eq!(found, is_meant, "{listed} {backend}");
        };
        check("venice", "venice", true);
        check("openrouter", "venice", false);
        check("direct", "direct/openai", true);
        check("direct/openai", "direct/openai", true);
        check("direct/openai", "direct/openai#2", true);
        check("direct/openai#2", "direct/openai#2", true);
        check("direct/openai#2", "direct/openai", false);
        check("direct/openai", "direct/anthropic", false);
        check("direct/openai", "direct", false);
        check("openai", "direct/openai#2", true);
        check("local", "direct/local", true);
        check("local", "local", true);
        check("openai", "openai-like", false);
        check("", "direct/openai", false);
        // A key that is called like a service is not that service.
        check("openrouter", "direct/openrouter", false);
        check("direct/openrouter", "direct/openrouter", true);
    }

    #[test]
    fn a_name_is_split_once() {
        let name = BackendName::parse("direct/openai#2");
        let parts = (name.plain(), name.number(), name.group(), name.key_of());
        assert_eq!(
            parts,
            ("direct/openai", Some("2"), "direct", Some("openai"))
        );
        let name = BackendName::parse("venice");
        let parts = (name.plain(), name.number(), name.group(), name.key_of());
        assert_eq!(parts, ("venice", None, "venice", None));
    }
}
