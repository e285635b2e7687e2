//! Writes the seeds of every target, its regressions among them, and a dictionary for the fuzzer:
//! `write-corpus <folder>`.

use std::path::PathBuf;
use std::{env, fs, io};

/// Longer seeds make a fuzzer slow and find nothing more.
const SEED_BYTES_MAX: usize = 16 * 1_024;

fn main() -> io::Result<()> {
    let folder = env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .ok_or_else(|| io::Error::other("name the folder to write to"))?;
    for target in bardo_fuzz::TARGETS {
        let folder = folder.join(target.name);
        fs::create_dir_all(&folder)?;
        let seeds = bardo_fuzz::seeds(target).into_iter();
        for seed in seeds.filter(|seed| seed.input.len() <= SEED_BYTES_MAX) {
            fs::write(folder.join(&seed.name), &seed.input)?;
        }
        for (number, seed) in bardo_fuzz::regressions(target).into_iter().enumerate() {
            fs::write(folder.join(format!("regression-{number}")), &seed.input)?;
        }
    }
    fs::write(folder.join("dictionary"), bardo_fuzz::dictionary())
}
