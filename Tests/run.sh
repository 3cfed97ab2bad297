#!/usr/bin/env bash
# Installs what is missing on a Debian machine with a Swift toolchain, builds, and runs all tests, the story of the
# sample app among them. Arguments go to `swift test`; with any, the story is left out.
# LIFEBOAT_LONG=1 also runs the long rounds.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/need libsqlite3-dev zlib1g-dev pkg-config sqlite3 unzip mandoc python3 python3-jsonschema age minisign
# With the adaptors for Apple's frameworks, against stand-ins of these (Tests/AppleAdaptors).
export LIFEBOAT_TEST_RUN=1
swift build --build-tests
swift test --skip-build "$@"
[ $# -gt 0 ] || Samples/NotesApp/story.sh
