//! The ways of sending a workload that are compared.

use super::body::ClientMarks;
use super::layer::{CacheLayer, LAYERS, MarksBy};

/// One way of sending all calls of a workload.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arm {
    /// To the provider, without the gateway.
    Direct(ClientMarks),
    /// Through the gateway with the layers up to this one.
    Gateway(&'static CacheLayer),
}

impl Arm {
    /// All of them, from the dearest idea to the whole gateway.
    pub(super) fn all() -> Vec<Self> {
        let direct = [ClientMarks::Absent, ClientMarks::Advised].map(Self::Direct);
        direct
            .into_iter()
            .chain(LAYERS.iter().map(Self::Gateway))
            .collect()
    }

    /// Name in JSON.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Direct(ClientMarks::Absent) => "direct",
            Self::Direct(ClientMarks::Advised) => "direct_marked",
            Self::Gateway(layer) => layer.id,
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Direct(ClientMarks::Absent) => "direct, client without cache marks",
            Self::Direct(ClientMarks::Advised) => "direct, client with marks of 5 minutes",
            Self::Gateway(layer) => layer.label,
        }
    }

    /// Whether a side sets marks, so that a comparison with a client that does is fair.
    pub(super) fn has_marks(self) -> bool {
        matches!(self, Self::Gateway(layer) if layer.marks != MarksBy::Absent)
    }

    /// Whether the gateway's addition to prices applies.
    pub(super) const fn has_spread(self) -> bool {
        matches!(self, Self::Gateway(_))
    }
}
