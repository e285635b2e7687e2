//! Every target on every seed and regression, and on a few thousand mutations of the seeds.

use std::fs;
use std::path::Path;

use bardo_fuzz::{Dice, FuzzTarget, TARGETS, mutate, regressions, seeds};

/// Names the input at fault when a target panics.
struct Running<'a>(&'a FuzzTarget, String, &'a [u8]);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self(target, input, bytes) = self;
            eprintln!(
                "target {} on {input}: {}",
                target.name,
                String::from_utf8_lossy(bytes)
            );
        }
    }
}

fn run(target: &FuzzTarget, name: String, input: &[u8]) {
    let running = Running(target, name, input);
    (target.run)(input);
    drop(running);
}

#[test]
fn nothing_fails_on_the_seeds_and_what_once_failed() {
    for target in TARGETS {
        let seeds = seeds(target);
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        for seed in seeds.into_iter().chain(regressions(target)) {
            run(target, seed.name, &seed.input);
        }
    }
}

#[test]
fn nothing_fails_on_mutations_of_the_seeds() {
    const ROUNDS: usize = 1_500;
    for target in TARGETS {
        let mut seeds = seeds(target);
        seeds.retain(|seed| seed.input.len() < 4_096);
        assert!(!seeds.is_empty(), "{} has no short seeds", target.name);
        let mut dice = Dice::new(1);
        for round in 0..ROUNDS {
            let seed = &seeds[dice.below(seeds.len())];
            let input = mutate(&seed.input, &mut dice);
            run(target, format!("{} in round {round}", seed.name), &input);
        }
    }
}

#[test]
fn nothing_fails_on_short_inputs() {
    for target in TARGETS {
        for length in 0..6 {
            run(target, format!("{length} zeros"), &vec![0; length]);
        }
    }
}

#[test]
fn every_target_has_its_program_and_every_regression_its_target() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    for FuzzTarget { name, .. } in TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        let program = fuzz.join(format!("fuzz_targets/{name}.rs"));
        let program = fs::read_to_string(program).unwrap();
        assert!(program.contains(&format!("bardo_fuzz::{name}")), "{name}");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    for folder in fs::read_dir(fuzz.join("regressions")).into_iter().flatten() {
        let name = folder.unwrap().file_name();
        assert!(TARGETS.iter().any(|target| name == target.name), "{name:?}");
    }
}
