#!/bin/sh
# Everything that `make demo` and `make test` need: system packages (as root on Debian-like systems), the virtual
# environment in .venv, the emulated disks' daemon and the simulator in rust/target, and the Hadoop distribution. Safe to
# run again; what is there already is left alone. For `make test-fast` the virtual environment is enough.
# Usage: tools/setup.sh run|test|fast
set -eu
cd "$(dirname "$0")/.."
purpose=${1:-run}

say() { printf 'setup: %s\n' "$*" >&2; }

# package:program pairs; a package is installed when its program is missing.
wanted="openjdk-17-jdk-headless:javac maven:mvn openssh-server:sshd openssh-client:ssh-keygen fio:fio iperf3:iperf3
        iproute2:ip iproute2:tc e2fsprogs:mkfs.ext4 util-linux:flock mount:losetup procps:ps cargo:cargo"
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
[ "$purpose" = fast ] && wanted=
if [ "$purpose" = test ]; then
    wanted="$wanted chromium-headless-shell:chromium-headless-shell
            prometheus:prometheus sudo:sudo curl:curl openssl:openssl
            krb5-kdc:krb5kdc krb5-admin-server:kadmin.local krb5-user:kinit"
    # Debian's lint fits Debian's cargo alone; another cargo brings its own.
    case $(command -v cargo || echo /usr/bin/cargo) in
        /usr/bin/cargo) wanted="$wanted rust-clippy:cargo-clippy rustfmt:rustfmt" ;;
    esac
fi
missing=
for pair in $wanted; do
    command -v "${pair#*:}" >/dev/null 2>&1 || missing="$missing ${pair%%:*}"
done
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    say "Python 3.11 or newer is needed; set PYTHON to one"
    exit 2
}
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
missing=$(printf '%s\n' $missing | sort -u | tr '\n' ' ')

if [ -n "$(printf '%s' "$missing" | tr -d ' ')" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing $missing"
        # Whatever Java the system has as its default will do when 17 is not offered.
        apt-get update -qq
        case " $missing" in *openjdk-17*)
            apt-cache show openjdk-17-jdk-headless >/dev/null 2>&1 ||
                missing=$(printf '%s' "$missing" | sed 's/openjdk-17-jdk-headless/default-jdk-headless/') ;;
        esac
        # Installing the SSH server must not start one: a lab starts its own, inside its nodes.
        policy=/usr/sbin/policy-rc.d
        ours=
        if [ ! -e "$policy" ]; then
            printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy" && ours=1
        fi
        trap '[ -z "$ours" ] || rm -f "$policy"' EXIT INT TERM
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
        [ -z "$ours" ] || rm -f "$policy"
        ours=
    else
        say "not root, or no apt-get: please install $missing"
        say "going on without; what can't be done for lack of them will be said"
    fi
fi

stamp=.venv/.requirements
requirements=requirements.txt
[ "$purpose" = run ] || requirements=requirements-dev.txt
[ -x .venv/bin/python ] || "$python" -m venv .venv
fingerprint=$(cat "$requirements" pyproject.toml | cksum)
if ! grep -qxF "$fingerprint $requirements" "$stamp" 2>/dev/null; then
    say "installing Python packages into .venv"
    .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r "$requirements"
    .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e . 2>/dev/null ||
        .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps -e .
    printf '%s %s\n' "$fingerprint" "$requirements" >>"$stamp"
fi
[ "$purpose" = fast ] && exit

# Without it the lab goes on with throttled disks, that know nothing of seeks.
no_daemon() {
    say "the emulated disks' daemon and the simulator (rust/) were not built: $1"
    say "the lab will use throttled disks instead, and nothing can be simulated"
}
if ! command -v cargo >/dev/null 2>&1; then
    no_daemon "cargo is not installed"
elif ! built=$(cargo build --release --offline --manifest-path rust/Cargo.toml 2>&1); then
    printf '%s\n' "$built" >&2
    no_daemon "cargo failed, see above"
fi

.venv/bin/assay hadoop fetch >&2
# Tests of Spark need it; they skip, and say so, where it can't be had.
[ "$purpose" != test ] || .venv/bin/assay spark fetch >&2 || say "going on without Spark: its tests will be skipped"
