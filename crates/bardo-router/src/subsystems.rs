//! The table of subsystems (`data/subsystems.toml`): what each part of an agent needs. Adding a
//! part is adding a row.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use bardo_types::feature::Feature;
use bardo_types::intent::{Intent, Quality};
use bardo_types::privacy::SecurityClass;
use bardo_types::subsystem::Subsystem;
use bardo_types::unit::UnitInterval;
use serde::Deserialize;

/// The rows, by every name they go by.
#[derive(Debug, Default)]
pub struct Subsystems {
    rows: BTreeMap<String, Arc<Subsystem>>,
    by_name: BTreeMap<String, Arc<Subsystem>>,
    names: Vec<String>,
}

/// Why a table was refused.
#[derive(Debug, thiserror::Error)]
pub enum SubsystemsError {
    /// Not TOML, or members it should not have.
    #[error("the table of subsystems is malformed: {0}")]
    Malformed(#[from] toml::de::Error),
    /// A row is like one that is not there, or like itself.
    #[error("subsystem `{row}` copies `{like}`, which is not an earlier row")]
    Like {
        /// Name of the row.
        row: String,
        /// The unknown name.
        like: String,
    },
    /// A row leaves out what only `like` may leave out.
    #[error("subsystem `{row}` has no `{member}`")]
    Missing {
        /// Name of the row.
        row: String,
        /// The missing member.
        member: &'static str,
    },
    /// A number that means nothing.
    #[error("subsystem `{row}` has a cost sensitivity that is not between 0 and 1")]
    CostSensitivity {
        /// Name of the row.
        row: String,
    },
    /// Two rows go by one name.
    #[error("two subsystems have the name `{name}`")]
    Twice {
        /// The repeated name.
        name: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubsystemRow {
    like: Option<String>,
    group: Option<String>,
    #[serde(default)]
    aliases: Vec<String>,
    quality: Option<Quality>,
    require: Option<Vec<Feature>>,
    prefer: Option<Vec<Feature>>,
    low_effort: Option<bool>,
    max_latency_ms: Option<u64>,
    cost_sensitivity: Option<f64>,
    profile: Option<String>,
    floor: Option<SecurityClass>,
    protected: Option<bool>,
    #[serde(default)]
    locked: bool,
    #[serde(default)]
    creative: bool,
    #[serde(default)]
    interactive: bool,
    #[serde(default)]
    heartbeat: bool,
    route: Option<Vec<String>>,
}

/// A name as it is compared: letters and digits alone, in lower case.
fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

impl SubsystemRow {
    /// The row as it stands, with what it leaves out from the one that it is like. What a part is
    /// allowed to be changed by (`locked`, `creative`, …) is its own and never inherited.
    fn read(self, name: &str, like: Option<&Subsystem>) -> Result<Subsystem, SubsystemsError> {
        let missing = |member| SubsystemsError::Missing {
            row: name.to_owned(),
            member,
        };
        let intent = Intent {
            model: None,
            require: self
                .require
                .or_else(|| like.map(|like| like.intent.require.clone()))
                .unwrap_or_default(),
            prefer: self
                .prefer
                .or_else(|| like.map(|like| like.intent.prefer.clone()))
                .unwrap_or_default(),
            quality: self
                .quality
                .or(like.map(|like| like.intent.quality))
                .ok_or_else(|| missing("quality"))?,
            max_latency_ms: match (self.max_latency_ms, like) {
                (Some(0), _) => None,
                (Some(limit), _) => Some(limit),
                (None, Some(like)) => like.intent.max_latency_ms,
                (None, None) => return Err(missing("max_latency_ms")),
            },
            cost_sensitivity: self
                .cost_sensitivity
                .map(UnitInterval::try_from)
                .transpose()
                .map_err(|_| SubsystemsError::CostSensitivity {
                    row: name.to_owned(),
                })?
                .or(like.map(|like| like.intent.cost_sensitivity))
                .ok_or_else(|| missing("cost_sensitivity"))?,
            diem_available: false,
            low_effort: self
                .low_effort
                .or(like.map(|like| like.intent.low_effort))
                .unwrap_or(false),
        };
        Ok(Subsystem {
            name: name.to_owned(),
            group: self
                .group
                .or_else(|| like.map(|like| like.group.clone()))
                .unwrap_or_else(|| name.to_owned()),
            intent,
            profile: match self.profile {
                Some(none) if none.is_empty() => None,
                Some(row) => Some(row),
                None => Some(name.to_owned()),
            },
            floor: self
                .floor
                .or(like.map(|like| like.floor))
                .unwrap_or_default(),
            protected: self
                .protected
                .or(like.map(|like| like.protected))
                .unwrap_or(false),
            locked: self.locked,
            creative: self.creative,
            interactive: self.interactive,
            heartbeat: self.heartbeat,
            route: self
                .route
                .or_else(|| like.map(|like| like.route.clone()))
                .unwrap_or_default(),
        })
    }
}

impl Subsystems {
    /// The table of this binary.
    #[must_use]
    pub fn embedded() -> &'static Self {
        static TABLE: LazyLock<Subsystems> = LazyLock::new(|| {
            Subsystems::parse(include_str!("../data/subsystems.toml"))
                .expect("the embedded table is tested")
        });
        &TABLE
    }

    /// Reads a table. A row may be like one that stands by itself, not like one that is like
    /// another.
    ///
    /// # Errors
    /// See [`SubsystemsError`].
    pub fn parse(text: &str) -> Result<Self, SubsystemsError> {
        let file: BTreeMap<String, SubsystemRow> = crate::data::read(text)?;
        let (own, derived): (Vec<_>, Vec<_>) =
            file.into_iter().partition(|(_, row)| row.like.is_none());
        let mut table = Self::default();
        for (name, mut row) in own {
            let aliases = std::mem::take(&mut row.aliases);
            let subsystem = row.read(&name, None)?;
            table.add(subsystem, &aliases)?;
        }
        let models: BTreeMap<String, Arc<Subsystem>> = table.rows.clone();
        for (name, mut row) in derived {
            let aliases = std::mem::take(&mut row.aliases);
            let like = row.like.clone().unwrap_or_default();
            let model = models.get(&like).ok_or_else(|| SubsystemsError::Like {
                row: name.clone(),
                like,
            })?;
            let subsystem = row.read(&name, Some(model))?;
            table.add(subsystem, &aliases)?;
        }
        Ok(table)
    }

    fn add(&mut self, subsystem: Subsystem, aliases: &[String]) -> Result<(), SubsystemsError> {
        let subsystem = Arc::new(subsystem);
        for name in aliases.iter().chain([&subsystem.name]) {
            let before = self.by_name.insert(plain(name), Arc::clone(&subsystem));
            if before.is_some() {
                return Err(SubsystemsError::Twice { name: name.clone() });
            }
            self.names.push(name.clone());
        }
        self.rows.insert(subsystem.name.clone(), subsystem);
        Ok(())
    }

    /// The row of a name; case, hyphens and underscores do not matter. `None`: nobody knows it, and
    /// it gets the intent of `heartbeat_t1` with a warning.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<Subsystem>> {
        // Most callers write the name as the table does, and a request should not pay for the
        // others.
        self.rows
            .get(name)
            .or_else(|| self.by_name.get(&plain(name)))
    }

    /// All names that rows go by, in the spelling of the table.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// All rows, once, by name.
    pub fn rows(&self) -> impl Iterator<Item = &Arc<Subsystem>> {
        self.rows.values()
    }
}

#[cfg(test)]
mod tests;
