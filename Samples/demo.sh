#!/usr/bin/env bash
# Installs what is missing on a Debian machine with a Swift toolchain, builds lifeboat, and shows the main job:
# a store that will not open is set aside, replaced, recorded, read and packed.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/need libsqlite3-dev zlib1g-dev pkg-config
swift build -c release --product lifeboat
exec "$(swift build -c release --show-bin-path)/lifeboat" demo "$@"
