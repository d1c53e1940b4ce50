#!/usr/bin/env bash
# Installs this checkout with EXTRAS into the virtual environment FOLDER, showing one line of progress.
# Usage: install.sh FOLDER EXTRAS
set -euo pipefail
venv=$1 extras=$2
log="$venv/install.log"

echo "==> installing Hemiola [$extras] and what it needs (Spark is 450 MB: minutes on a slow line)"
if ! PYTHONUNBUFFERED=1 "$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off \
    -e ".[$extras]" -c constraints.txt 2>&1 | tee "$log" |
    awk '/^Collecting/ { sub(/[^A-Za-z0-9._-].*/, "", $2); printf " %s", $2; fflush() } END { print "" }'; then
    echo "Installation failed. The end of $log:" >&2
    tail -n 15 "$log" >&2
    exit 1
fi
