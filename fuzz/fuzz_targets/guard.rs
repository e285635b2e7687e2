#![no_main]

bardo_fuzz_targets::program!(bardo_fuzz::guard);
