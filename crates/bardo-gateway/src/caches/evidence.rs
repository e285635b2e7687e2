//! The evidence of the semantic cache in the data folder, so that a stopped domain stays stopped
//! after a restart.

use std::fs;
use std::path::{Path, PathBuf};

use bardo_engine::AnswerCache;

const FILE: &str = "semantic-audits";

/// Writes the evidence of a cache where it changed.
pub(crate) struct EvidenceFile {
    path: PathBuf,
    written: String,
}

impl EvidenceFile {
    /// Gives a cache the evidence of an earlier process.
    pub(crate) fn restore(cache: &AnswerCache, folder: &Path) -> Self {
        let path = folder.join(FILE);
        let written = fs::read_to_string(&path).unwrap_or_default();
        cache.meaning().restore(&written);
        Self { path, written }
    }

    /// Writes the evidence, unless the file has it.
    pub(crate) fn store(&mut self, cache: &AnswerCache) {
        let evidence = cache.meaning().evidence();
        if evidence == self.written {
            return;
        }
        let draft = self.path.with_extension("new");
        let written = fs::write(&draft, &evidence).and_then(|()| fs::rename(&draft, &self.path));
        match written {
            Ok(()) => self.written = evidence,
            Err(error) => tracing::warn!(
                file = %self.path.display(),
                %error,
                "cannot store the audits of the semantic cache; a restart forgets them"
            ),
        }
    }
}
