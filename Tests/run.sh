#!/usr/bin/env bash
# Installs what is missing on a Debian machine with a Swift toolchain, builds, and runs all tests.
# LIFEBOAT_LONG=1 also runs the long rounds.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
for package in libsqlite3-dev zlib1g-dev sqlite3 unzip mandoc pkg-config python3; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing: ${missing[*]}"
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
fi

swift build --build-tests
swift test --skip-build "$@"
