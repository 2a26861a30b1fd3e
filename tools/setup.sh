#!/bin/sh
# Install everything that `make demo` and `make test` need: system packages (as root on Debian-like systems), the virtual
# environment in .venv, the daemon of modelled disks and the simulator in rust/target, and the Hadoop distribution. A
# second call installs only missing parts. `make test-fast` needs only the virtual environment.
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
    # Debian's clippy works only with Debian's cargo; other distributions of cargo include clippy.
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
        # If Java 17 is not available, install the system's default Java.
        apt-get update -qq
        case " $missing" in *openjdk-17*)
            apt-cache show openjdk-17-jdk-headless >/dev/null 2>&1 ||
                missing=$(printf '%s' "$missing" | sed 's/openjdk-17-jdk-headless/default-jdk-headless/') ;;
        esac
        # Do not start the SSH server after its installation: a lab starts sshd in each node.
        policy=/usr/sbin/policy-rc.d
        made_policy=
        if [ ! -e "$policy" ]; then
            printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy" && made_policy=1
        fi
        trap '[ -z "$made_policy" ] || rm -f "$policy"' EXIT INT TERM
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
        [ -z "$made_policy" ] || rm -f "$policy"
        made_policy=
    else
        say "not root, or no apt-get: please install $missing"
        say "continuing without them; commands that need them end with an error"
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

# Without the daemon, the lab uses throttled disks, which do not emulate seeks.
no_daemon() {
    say "the daemon of modelled disks and the simulator (rust/) were not built: $1"
    say "the lab will use throttled disks, and simulations are not possible"
}
if ! command -v cargo >/dev/null 2>&1; then
    no_daemon "cargo is not installed"
elif ! built=$(cargo build --release --offline --manifest-path rust/Cargo.toml 2>&1); then
    printf '%s\n' "$built" >&2
    no_daemon "cargo failed, see above"
fi

.venv/bin/assay hadoop fetch >&2
# Tests of Spark are skipped with a message if it can't be fetched.
[ "$purpose" != test ] || .venv/bin/assay spark fetch >&2 || say "continuing without Spark: its tests will be skipped"
