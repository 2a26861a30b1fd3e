#!/bin/sh
# Run clippy and rustfmt on rust/. A tool that is not installed is skipped with a message.
set -eu
cd "$(dirname "$0")/../rust"

skipped() { printf 'check: %s is not installed, so rust/ is not checked with it (apt-get install %s)\n' "$1" "$2" >&2; }

if cargo clippy --version >/dev/null 2>&1; then
    cargo clippy --quiet --offline --all-targets -- -D warnings
else
    skipped "cargo clippy" rust-clippy
fi
if cargo fmt --version >/dev/null 2>&1; then
    cargo fmt --check
else
    skipped "cargo fmt" rustfmt
fi
