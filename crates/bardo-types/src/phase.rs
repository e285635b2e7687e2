//! How close to its end an agent lives.

/// The behavioural phase of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The agent earns more than it spends.
    Thriving,
    /// The agent earns as much as it spends.
    Stable,
    /// The agent saves money.
    Conservation,
    /// The agent's money runs out.
    Desperate,
    /// The agent dies.
    Terminal,
}

impl Phase {
    /// All of them, from the best.
    pub const ALL: [Self; 5] = [
        Self::Thriving,
        Self::Stable,
        Self::Conservation,
        Self::Desperate,
        Self::Terminal,
    ];

    /// The name in hints, receipts and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Thriving => "thriving",
            Self::Stable => "stable",
            Self::Conservation => "conservation",
            Self::Desperate => "desperate",
            Self::Terminal => "terminal",
        }
    }

    /// Reads a name, in any case; `declining` is another word for desperate.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("declining") {
            return Some(Self::Desperate);
        }
        Self::ALL
            .into_iter()
            .find(|phase| phase.as_str().eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::Phase;

    #[test]
    fn phases_are_read_with_their_other_name() {
        for phase in Phase::ALL {
            assert_eq!(Phase::parse(phase.as_str()), Some(phase));
        }
        assert_eq!(Phase::parse("Declining"), Some(Phase::Desperate));
        assert_eq!(Phase::parse(""), None);
    }
}
