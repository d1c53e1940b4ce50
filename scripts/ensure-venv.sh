#!/usr/bin/env bash
# Creates the virtual environment FOLDER with Python 3.11 or newer, unless it is there and works.
# Usage: ensure-venv.sh FOLDER   PYTHON=… picks the interpreter; NO_SYSTEM_INSTALL=1 keeps it from installing anything.
set -euo pipefail
venv=$1

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3.11 python3 python3.12 python3.13 python3.14; do
        if command -v "$candidate" >/dev/null && new_enough "$candidate"; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

apt_get() {
    if [ "$(id -u)" -eq 0 ]; then DEBIAN_FRONTEND=noninteractive apt-get "$@"
    else sudo -n env DEBIAN_FRONTEND=noninteractive apt-get "$@"; fi
}

may_install() {
    [ -z "${NO_SYSTEM_INSTALL:-}" ] && command -v apt-get >/dev/null || return 1
    [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null
}

if [ -x "$venv/bin/python" ] && new_enough "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi

if ! python=$(find_python); then
    echo "Hemiola needs Python 3.11 or newer: none was found on PATH." >&2
    echo "Install it (Debian, Ubuntu: sudo apt-get install python3 python3-venv), or run: make setup PYTHON=/path/to/python3" >&2
    exit 1
fi

version=$("$python" -c 'import sys; print(f"{sys.version_info.major}.{sys.version_info.minor}")')
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    if may_install; then
        echo "==> Python $version has no venv module: installing python$version-venv with apt-get"
        apt_get update -qq || echo "    apt-get update failed; trying with the package lists at hand"
        apt_get install -y -qq --no-install-recommends "python$version-venv" >/dev/null ||
            apt_get install -y -qq --no-install-recommends python3-venv >/dev/null || true
    fi
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "Python $version has no venv module (ensurepip). Install it, then run \`make setup\` again:" >&2
        echo "  Debian, Ubuntu:  sudo apt-get install python$version-venv" >&2
        exit 1
    fi
fi

echo "==> Python $version: creating $venv"
"$python" -m venv --clear "$venv"
