//! What the fuzz programs share: a target, and mutations that keep the shape of its inputs.
//!
//! The targets themselves are in `crates/bardo-fuzz`, where tests run them without a fuzzer.

pub use bardo_fuzz::{Dice, mutate};
pub use libfuzzer_sys;

/// The program of one target.
///
/// Every other mutation is the fuzzer's own, which knows nothing of JSON but works on bytes that
/// nobody thought of.
#[macro_export]
macro_rules! program {
    ($target:path) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $target(data));

        $crate::libfuzzer_sys::fuzz_mutator!(|data: &mut [u8],
                                              size: usize,
                                              max_size: usize,
                                              seed: u32| {
            let mut dice = $crate::Dice::new(u64::from(seed));
            if dice.below(2) == 0 {
                return $crate::libfuzzer_sys::fuzzer_mutate(data, size, max_size);
            }
            let mutated = $crate::mutate(&data[..size], &mut dice);
            let length = mutated.len().min(max_size).min(data.len());
            data[..length].copy_from_slice(&mutated[..length]);
            length
        });
    };
}
