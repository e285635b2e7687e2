//! Writes that fail when a test says so: a small library between the gateway and the C library.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::rig::Folder;

/// Errors as Linux numbers them.
pub(super) const EIO: i64 = 5;
pub(super) const ENOSPC: i64 = 28;
pub(super) const EROFS: i64 = 30;

/// What stands between one gateway and its files.
pub(super) struct Shim {
    folder: Folder,
    control: File,
    files: String,
}

/// The library, built once.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/money/failing_writes.c");
        let name = format!("failing_writes-{}.so", std::process::id());
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&built)
            .arg(source)
            .arg("-ldl")
            .status()
            .expect("a C compiler is on every machine that builds the store");
        assert!(status.success());
        built
    })
}

impl Shim {
    /// Before the files whose paths begin like this. Nothing fails yet.
    pub(super) fn before(files: &Path) -> Self {
        let folder = Folder::new();
        let path = folder.0.join("control");
        std::fs::write(&path, [0; 40]).expect("a file");
        let control = File::options()
            .read(true)
            .write(true)
            .open(&path)
            .expect("a file");
        Self {
            folder,
            control,
            files: files.display().to_string(),
        }
    }

    /// What loads it.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let control = self.folder.0.join("control").display().to_string();
        vec![
            ("LD_PRELOAD".into(), library().display().to_string()),
            ("FAULT_CONTROL".into(), control),
            ("FAULT_FILES".into(), self.files.clone()),
        ]
    }

    fn write(&self, place: u64, value: i64) {
        let written = self.control.write_all_at(&value.to_ne_bytes(), place * 8);
        written.expect("the file is ours");
    }

    /// How many writes there were.
    pub(super) fn count(&self) -> i64 {
        let mut bytes = [0; 8];
        let read = self.control.read_exact_at(&mut bytes, 0);
        read.expect("the file is ours");
        i64::from_ne_bytes(bytes)
    }

    /// The write of that number fails, and no other.
    pub(super) fn fail_once(&self, number: i64, error: i64) {
        self.write(3, error);
        self.write(2, number);
        self.write(1, number);
    }

    /// Every write fails from now on.
    pub(super) fn fail(&self, error: i64) {
        self.write(3, error);
        self.write(2, i64::MAX);
        self.write(1, 1);
    }

    /// Every write takes so long.
    pub(super) fn delay(&self, microseconds: i64) {
        self.write(4, microseconds);
    }

    /// All is well again.
    pub(super) fn heal(&self) {
        self.write(2, 0);
        self.write(4, 0);
    }
}
