#!/bin/sh
# Builds the binary for servers, target/dist/bardo-gateway: the profile `dist`, optimized with the
# counts of deploy/pgo (profile-guided optimization). Counts fit one compiler and one kind of
# machine; on others the build does without them. `cargo xtask pgo` takes new counts.
#
#   deploy/build.sh [OPTIONS OF CARGO BUILD]
set -eu

cd "$(dirname "$0")/.."
compiler=$(rustc -vV | sed -n '1s/ (.*//p; s/^host: //p' | paste -s -d ' ' -)
counts=$PWD/deploy/pgo/counts.profdata
if [ "$compiler" != "$(cat deploy/pgo/compiler)" ]; then
    echo "deploy/pgo has no counts for $compiler: building without" >&2
elif [ "${PWD#* }" != "$PWD" ]; then
    echo "a folder with a space in its name: building without deploy/pgo" >&2
else
    # Code without counts keeps its speed. The compiler ignores counts of code that has changed since.
    # What makes up 99.3 % of all counts is hot: at 99 %, code that one kind of request alone runs is not.
    RUSTFLAGS="${RUSTFLAGS:-} -Cprofile-use=$counts -Cllvm-args=-pgso=false -Cllvm-args=-no-pgo-warn-mismatch -Cllvm-args=-profile-summary-cutoff-hot=993000"
    export RUSTFLAGS
fi
exec cargo build --locked --profile dist --package bardo-gateway "$@"
