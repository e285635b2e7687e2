# The verbs of this repository. Everything with logic is `cargo xtask`.

# List the verbs.
default:
    @just --list

# Everything a change must pass.
check:
    cargo xtask test

# The checks that need no client programs and no release build.
quick:
    cargo xtask test --skip build --skip clients

# Format the code.
fmt:
    cargo fmt --all

# The gateway before simulated providers.
sandbox *args:
    cargo run --release -- serve --sandbox {{args}}

# The gateway with the configuration it finds.
serve *args:
    cargo run --release -- serve {{args}}

# Real clients against the built gateway, e.g. `just clients --only 'py-current\.messages\.'`.
clients *args:
    cargo build --release --package bardo-gateway
    python3 tests/clients/run.py --gateway target/release/bardo-gateway {{args}}

# CPU time, latency, memory and start, beside a bare forwarding proxy.
bench *args:
    cargo xtask bench {{args}}

# Fuzz the parsers.
fuzz *args:
    cargo xtask fuzz {{args}}

# Everything that goes wrong on purpose, e.g. `just faults --long`.
faults *args:
    cargo xtask faults {{args}}

# A long load with callers who leave, and what the gateway holds on to.
soak *args:
    cargo xtask soak {{args}}

# Break each promise on purpose and see its test fail.
mutants *args:
    cargo xtask mutants {{args}}

# Review changed snapshots.
review:
    cargo insta review
