#!/usr/bin/env bash
# What a normal launch costs through Recovery, against the same launch without it (open, prepare, first
# read, close), for a store with a rollback journal, a closed WAL store and one with a hot log, with and without
# incidents of the past, with and without a model. Then, where strace and valgrind are installed, the system calls
# and allocations of one launch that the guard adds.
# Usage: Tests/Benchmarks/launch.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/launch"
swift build -c release
launch="$(swift build -c release --show-bin-path)/launch"
profiled=$(mktemp)
trap 'rm -f "$profiled"' EXIT
# valgrind does not understand all of the debug information.
strip -g -o "$profiled" "$launch"
"$launch" "${1:-3000}"

# Two runs of different length: what both need to start and to make the store falls out.
if command -v strace >/dev/null; then
  echo
  echo "system calls that the guard adds to one launch (3 incidents, a model)"
  for kind in journal closedLog hotLog; do
    python3 - "$launch" "$kind" <<'PYTHON'
import re, subprocess, sys
launch, kind = sys.argv[1:]
def calls(side, rounds):
    text = subprocess.run(["strace", "-f", "-qq", "-c", launch, "only", side, kind, str(rounds)],
                          stderr=subprocess.PIPE, text=True, check=True).stderr
    found = {}
    for line in text.splitlines():
        field = line.split()
        if len(field) >= 5 and re.fullmatch(r"[\d.]+", field[0]) and field[-1] != "total": found[field[-1]] = int(field[3])
    return found
def one(side):
    few, many = calls(side, 100), calls(side, 300)
    return {name: (many.get(name, 0) - few.get(name, 0)) / 200 for name in {*few, *many}}
bare, guarded = one("bare"), one("guarded")
more = {name: guarded.get(name, 0) - bare.get(name, 0) for name in {*bare, *guarded}}
listed = ", ".join(f"{name} {count:.0f}" for name, count in sorted(more.items(), key=lambda item: -item[1]) if abs(count) >= 0.5)
print(f"{kind:10} {sum(bare.values()):.0f} + {sum(more.values()):.0f}: {listed}")
PYTHON
  done
fi
if command -v valgrind >/dev/null; then
  echo
  echo "allocations that the guard adds to one launch, and instructions of either (3 incidents, a model)"
  python3 - "$profiled" <<'PYTHON'
import re, subprocess, sys
launch = sys.argv[1]
def numbers(side, kind, rounds):
    def run(*tool):
        return subprocess.run(["valgrind", *tool, launch, "only", side, kind, str(rounds)],
                              stderr=subprocess.PIPE, text=True, check=True).stderr
    allocations = re.search(r"total heap usage: ([\d,]+) allocs", run("--tool=memcheck", "--undef-value-errors=no"))
    instructions = re.search(r"Collected : (\d+)", run("--tool=callgrind", "--callgrind-out-file=/dev/null"))
    return int(allocations[1].replace(",", "")), int(instructions[1])
def one(side, kind):
    few, many = numbers(side, kind, 20), numbers(side, kind, 60)
    return [(b - a) / 40 for a, b in zip(few, many)]
for kind in ["journal", "closedLog", "hotLog"]:
    bare, guarded = one("bare", kind), one("guarded", kind)
    print(f"{kind:10} allocations {bare[0]:.0f} + {guarded[0] - bare[0]:.0f}, instructions {bare[1]:,.0f} + {guarded[1] - bare[1]:,.0f}")
PYTHON
fi
