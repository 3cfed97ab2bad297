#!/usr/bin/env bash
# Installs what is missing on a Debian machine with a Swift toolchain, builds lifeboat, and shows the main job:
# a store that will not open is set aside, replaced, recorded, read and packed.
# It builds without optimisation and without data for a debugger, which takes half the time; a release build that is there
# already is used.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/need libsqlite3-dev zlib1g-dev pkg-config
program=.build/release/lifeboat
if [ ! -x "$program" ]; then
  program=.build/debug/lifeboat
  [ -x "$program" ] || echo "Building lifeboat without optimisation: three to six minutes on two cores, once."
  swift build --product lifeboat -debug-info-format none
fi
exec "$program" demo "$@"
