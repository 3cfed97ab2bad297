#!/usr/bin/env bash
# Runs the row-recovery benchmark over all variants of the store with several seeds, and prints one line for each variant:
# the sums over all damages. Exits 1 where any run is below the goals of recovery.sh.
# Usage: Tests/Benchmarks/variants.sh [--executable PATH] [--markdown] [--work FOLDER] [SEED ...]
#   --work: keeps what was measured there; runs that it has already are not made again.
#   MB=10 (default 2) in the environment: the size of the stores. Seeds: 11 12 13 by default.
set -uo pipefail
cd "$(dirname "$0")/../.."
executable= markdown=0 work=
while [ $# -gt 0 ]; do
  case "$1" in
    --executable) executable=$(realpath "$2"); shift 2 ;;
    --markdown) markdown=1; shift ;;
    --work) work=$(realpath -m "$2"); shift 2 ;;
    -*) echo "unknown argument $1" >&2; exit 64 ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || set -- 11 12 13
[ -f "${LIFEBOAT_SHARED:-../shared}/bench/recovery/bench.py" ] || { echo "skipped: no shared benchmark folder" >&2; exit 0; }
if [ -z "$executable" ]; then
  swift build -c release --product lifeboat >&2 || exit
  executable="$(swift build -c release --show-bin-path)/lifeboat"
fi
if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work"
status=0
for variant in core plain exotic p1024 p32k; do
  for seed in "$@"; do
    run=$work/$variant-$seed
    # Two runs side by side would take each other's time, of which nothing is said here.
    if [ ! -f "$run.status" ]; then
      Tests/Benchmarks/recovery.sh --executable "$executable" --no-corpus --variant "$variant" --seed "$seed" \
        --work "$run" > "$run.log" 2>&1
      echo $? > "$run.status"
      rm -f "$run"/*.sqlite*
    fi
    [ "$(< "$run.status")" = 0 ] && continue
    status=1
    sed -n "/Below the goals/,\$ s/^  /$variant, seed $seed: /p" "$run.log" >&2
  done
done
python3 -B - "$work" "$markdown" "$@" <<'PYTHON'
import json, os, sys
work, markdown, seeds = sys.argv[1], sys.argv[2] == "1", sys.argv[3:]
head = ["store", "rows named + unnamed % of live", "intact %", "altered, unmarked", "invented, unmarked", "deleted given as live", "twice"]
lines = []
for variant in ("core", "plain", "exotic", "p1024", "p32k"):
    rows = []
    for seed in seeds:
        path = os.path.join(work, f"{variant}-{seed}", "rows.json")
        rows += [row for row in (json.load(open(path)) if os.path.exists(path) else []) if row["tool"] == "lifeboat" and "live" in row]
    def total(*names, of=rows): return sum(row.get(name) or 0 for row in of for name in names)
    # Flipped bits and bytes replaced by others make another value of a value.
    judged = [row for row in rows if not row["damage"].startswith(("flip_", "random_"))]
    live = max(1, total("live"))
    altered = total(*(f"{state}_part_{what}" for state in ("live", "deleted", "old") for what in ("wrong", "cut")), of=judged)
    # Where the newest log is lost nothing says that the file is not the newest state.
    ghosts = total("ghost_unmarked", of=[row for row in judged if row["damage"] != "wal_lost"])
    lines.append([variant, f"{100 * total('live_table') / live:.1f} + {100 * total('live_lost') / live:.1f}",
                  f"{100 * total('live_intact') / live:.1f}", str(altered),
                  str(total("false", of=judged) - total("false_marked", of=judged)), str(ghosts), str(total("dup", of=judged))])
if markdown:
    for row in [head, ["---"] * len(head)] + lines: print("| " + " | ".join(row) + " |")
else:
    widths = [max(len(row[i]) for row in [head] + lines) for i in range(len(head))]
    for row in [head] + lines: print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
PYTHON
exit $status
