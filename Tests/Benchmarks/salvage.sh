#!/usr/bin/env bash
# Holds `lifeboat salvage` against `lifeboat rows --all` on the damages of the shared row-recovery benchmark: every row that
# rows --all gives as whole and live is in the new store or in its rejects, the new store passes SQLite's check, and
# nothing else is in it. Prints a line for each damage; exits 1 when a row is missing or a check fails.
# Usage: [MB=2] [SEEDS="1 2"] Tests/Benchmarks/salvage.sh [PROGRAM]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
bench=${LIFEBOAT_SHARED:-$root/../shared}/bench/recovery
[ -f "$bench/bench.py" ] || { echo "skipped: no shared benchmark folder" >&2; exit 0; }
program=${1:-}
if [ -z "$program" ]; then
  cd "$root"
  swift build -c release --product lifeboat >&2
  program="$(swift build -c release --show-bin-path)/lifeboat"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -B - "$bench" "$program" "$work" "${MB:-2}" "${SEEDS:-1}" <<'PYTHON'
import collections, json, os, shutil, sqlite3, subprocess, sys
bench, program, work, megabytes, seeds = sys.argv[1:]
sys.path.insert(0, bench)
import damage, gen

def rows(*arguments):
    """The whole live rows with a key, as entity, key and values that a copy must have."""
    output = subprocess.run([program, "rows", "--format", "ndjson", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    found = collections.defaultdict(list)
    for line in output.decode().splitlines():
        row = json.loads(line)
        if row.get("entity") and row.get("pk") and "state" not in row and "partial" not in row:
            # References may be cut, and the links of join tables are rows of their own.
            found[row["entity"], row["pk"]].append({name: value for name, value in row["values"].items()
                                                    if value is not None and not (isinstance(value, dict) and "entity" in value)
                                                    and not isinstance(value, list)})
    return found

failed = 0
print("| damage | seed | exit | whole live rows | in the store | rejected | lost | not known before | check |")
print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
for seed in map(int, seeds.split()):
    base = f"{work}/base-{seed}.sqlite"
    gen.generate(base, seed, float(megabytes), "core")
    for name in sorted(damage.DAMAGES):
        folder = f"{work}/{name}"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        damage.make(folder, damage.Base(base), name, seed)
        store = f"{folder}/db.sqlite"
        wanted = rows("--all", "--like", base, store)
        out = f"{folder}/out.sqlite"
        run = subprocess.run([program, "salvage", "-q", "--like", base, store, "-o", out], capture_output=True, text=True)
        lost = extra = kept = rejected = 0
        check = "-"
        if run.returncode in (0, 1):
            made = rows(out)
            rejects = collections.Counter()
            if os.path.exists(out + ".rejects.ndjson"):
                for line in open(out + ".rejects.ndjson"):
                    row = json.loads(line)
                    rejects[row["entity"], row["pk"]] += 1
            rejected = sum(rejects.values())
            for key, all in wanted.items():
                for values in all:
                    if values in made.get(key, []): kept += 1
                    elif rejects[key]: rejects[key] -= 1
                    else: lost += 1
            extra = sum(1 for key in made if key not in wanted)
            check = sqlite3.connect(out).execute("PRAGMA integrity_check").fetchone()[0]
        else:
            lost = sum(map(len, wanted.values()))
        bad = lost or check not in ("ok", "-") or (run.returncode not in (0, 1) and wanted)
        failed += bool(bad)
        print(f"| {name} | {seed} | {run.returncode} | {sum(map(len, wanted.values())):,} | {kept:,} | {rejected:,} | {lost:,} | {extra:,} | {check} |"
              + (f" {run.stderr.strip().splitlines()[0][:120]}" if bad and run.stderr.strip() else ""), flush=True)
sys.exit(1 if failed else 0)
PYTHON
