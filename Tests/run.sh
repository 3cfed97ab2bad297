#!/usr/bin/env bash
# Installs what is missing on a Debian machine with a Swift toolchain, builds, and runs all tests, the story of the
# sample app among them. Arguments go to `swift test`; with any, the story is left out.
# LIFEBOAT_LONG=1 also runs the long rounds.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/need libsqlite3-dev zlib1g-dev pkg-config sqlite3 unzip mandoc python3 python3-jsonschema age minisign tmux python3-openpyxl sqlcipher
# A large package, for one test that else says that it was skipped.
[ -z "${LIFEBOAT_LONG:-}" ] || .ci/need libreoffice-calc
# With the adaptors for Apple's frameworks, against stand-ins of these (Tests/AppleAdaptors).
export LIFEBOAT_TEST_RUN=1
# SwiftPM defines DEBUG for all packages, and with it swift-argument-parser checks the definition of a command at each start of
# the program, which takes three times as long as all else that most of them do. A plain debug build still checks it.
toolchain=$(dirname "$(dirname "$(realpath "$(command -v swiftc)")")")
if [ -e "$toolchain/lib/libIndexStore.so" ]; then
  # SwiftPM looks for its libraries beside the folder of the compiler.
  mkdir -p .build/compiler/bin
  ln -sfn "$toolchain/lib" .build/compiler/lib
  cat > .build/compiler/bin/swiftc <<'SCRIPT'
#!/usr/bin/env bash
for argument; do
  shift
  [ "$argument" = -DDEBUG ] || set -- "$@" "$argument"
done
exec swiftc "$@"
SCRIPT
  chmod +x .build/compiler/bin/swiftc
  export SWIFT_EXEC=$PWD/.build/compiler/bin/swiftc
fi
# Code in C is compiled as users have it: without that, one passphrase takes eight seconds. Data for a debugger takes a tenth
# of the build.
swift build --build-tests -Xcc -O1 -Xcxx -O1 -debug-info-format none
# Tests that kill a move at each of its steps wait for the disk half of their time. What they are about is the order of the
# steps, which a file system in memory keeps as well.
memory=$(df --output=avail -t tmpfs -B 1M /dev/shm 2>/dev/null | tail -1 || true)
free=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo 2>/dev/null || true)
if [ -z "${TMPDIR:-}" ] && [ "${memory:-0}" -ge 6000 ] && [ "${free:-0}" -ge 10000 ]; then export TMPDIR=/dev/shm; fi
if [ $# -gt 0 ]; then
  swift test --skip-build "$@"
  exit
fi
# A run has as many tests at work as there are cores, and many tests wait for a process or the disk. Two runs side by side, each
# with its own targets, take two thirds of the time of one. `swift test` itself cannot run twice at once.
bin=$(swift build --show-bin-path)
tests=("$bin/LifeboatPackageTests.xctest" --testing-library swift-testing)
part='^(Program|LifeboatCLI|StoreMigration|AppleAdaptors|SupportBundle)Tests\.'
log=$(mktemp)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -f "$log"' EXIT
"${tests[@]}" --filter "$part" > "$log" 2>&1 &
failed=
"${tests[@]}" --skip "$part" || failed=1
wait $! || failed=1
cat "$log"
[ -z "$failed" ]
NOTES=$bin/notes Samples/NotesApp/story.sh
