#!/bin/sh
# Rust's lint and form for rust/, each where it is installed; what is left out is said.
set -eu
cd "$(dirname "$0")/../rust"

left_out() { printf 'check: %s is not installed: rust/ goes without (apt-get install %s)\n' "$1" "$2" >&2; }

if cargo clippy --version >/dev/null 2>&1; then
    cargo clippy --quiet --offline --all-targets -- -D warnings
else
    left_out "cargo clippy" rust-clippy
fi
if cargo fmt --version >/dev/null 2>&1; then
    cargo fmt --check
else
    left_out "cargo fmt" rustfmt
fi
