#!/usr/bin/env bash
# Installs what is missing on a Debian machine with a Swift toolchain, builds lifeboat, and shows the main job:
# a store that will not open is set aside, replaced, recorded, read and packed.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
for package in libsqlite3-dev zlib1g-dev pkg-config; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing: ${missing[*]}"
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
fi

swift build -c release --product lifeboat
exec "$(swift build -c release --show-bin-path)/lifeboat" demo "$@"
