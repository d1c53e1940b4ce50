#!/usr/bin/env bash
# Finds Java 17 or newer for Spark, installing it where that is allowed.
# Usage: ensure-java.sh [FILE]   writes the Java home found to FILE, where spark_jobs/session.py looks it up.
# NO_SYSTEM_INSTALL=1 keeps it from installing anything.
set -euo pipefail
needed=17
remember=${1:-}

major_version() { # of the java binary $1; nothing if it does not run
    "$1" -version 2>&1 | sed -nE 's/.* version "(1\.)?([0-9]+).*/\2/p' | head -n 1
}

java_candidates() {
    if [ -n "${JAVA_HOME:-}" ]; then echo "$JAVA_HOME/bin/java"; fi
    command -v java || true
    ls -d /usr/lib/jvm/*/bin/java 2>/dev/null || true
    if [ -x /usr/libexec/java_home ]; then
        home=$(/usr/libexec/java_home -v "$needed+" 2>/dev/null) && echo "$home/bin/java"
    fi
    return 0
}

find_java() { # prints the home of the first candidate that is new enough
    local java version real
    while IFS= read -r java; do
        [ -x "$java" ] || continue
        version=$(major_version "$java" || true)
        if [ -n "$version" ] && [ "$version" -ge "$needed" ]; then
            real=$(readlink -f "$java" 2>/dev/null || echo "$java")
            # A version manager's shim is not in a Java home: ask that java where it lives.
            if [ ! -e "$(dirname "$real")/../lib/modules" ]; then
                real=$("$java" -XshowSettings:properties -version 2>&1 | sed -nE 's/^ *java\.home = (.*)$/\1/p')/bin/java
            fi
            dirname "$(dirname "$real")"
            return 0
        fi
    done < <(java_candidates)
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

if ! home=$(find_java); then
    if may_install; then
        echo "==> no Java $needed+ found: installing a headless one with apt-get"
        apt_get update -qq || echo "    apt-get update failed; trying with the package lists at hand"
        apt_get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null ||
            apt_get install -y -qq --no-install-recommends default-jre-headless >/dev/null || true
    fi
    if ! home=$(find_java); then
        cat >&2 <<'REMEDY'
Hemiola runs on Spark, and Spark needs Java 17 or newer: none was found.
  Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless
  Fedora, RHEL:    sudo dnf install java-17-openjdk-headless
  macOS:           brew install openjdk@17
Or set JAVA_HOME to a Java that is installed elsewhere. Then run `make setup` again.
REMEDY
        exit 1
    fi
fi

echo "==> Java: $home"
if [ -n "$remember" ]; then printf '%s\n' "$home" >"$remember"; fi
