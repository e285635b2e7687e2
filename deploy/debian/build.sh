#!/bin/sh
# Builds the Debian package: the binary of `deploy/build.sh` unless one is given, its completions and
# its manual pages, and the package with `cargo deb` (cargo install cargo-deb).
#
#   deploy/debian/build.sh [BINARY]
set -eu

cd "$(dirname "$0")/../.."
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
if [ $# -eq 0 ]; then
    # No path of this machine is in the binary.
    RUSTFLAGS="--remap-path-prefix=$PWD=bardo --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" \
        deploy/build.sh
    set -- "${CARGO_TARGET_DIR:-target}/dist/bardo-gateway"
fi

generated=deploy/debian/generated
rm -rf "$generated"
mkdir -p "$generated"
install -m 0755 "$1" "$generated/bardo-gateway"
"$1" completions bash >"$generated/bardo-gateway.bash"
"$1" completions zsh >"$generated/_bardo-gateway"
"$1" completions fish >"$generated/bardo-gateway.fish"
"$1" man --out "$generated/man"

# Two packages of one commit are equal: the archive has the time of the commit.
version=$("$1" --version | cut -d' ' -f2)
cat >"$generated/changelog" <<END
bardo-gateway ($version-1) unstable; urgency=medium

  * changelog.gz has the changes.

 -- The Bardo Inference authors <maintainers@bardo.invalid>  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
END
gzip --best --no-name <CHANGELOG.md >"$generated/changelog.gz"

cargo deb --no-build --no-strip --package bardo-gateway --output "$generated/"
ls "$generated"/*.deb
