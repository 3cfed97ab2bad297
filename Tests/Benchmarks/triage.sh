#!/usr/bin/env bash
# Times triage against unzip and jq over the same bundles: bundles in a second of one core, memory, and what 200 hostile
# inputs change. Samples/Fleet/run.sh runs it, too.
# Usage: [LIFEBOAT=PROGRAM] Tests/Benchmarks/triage.sh [COUNT] [HOSTILE]
set -euo pipefail
cd "$(dirname "$0")/../.."
count=${1:-10000}
hostile=${2:-200}

lifeboat=${LIFEBOAT:-$(.ci/release)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/good"
python3 Samples/Fleet/bundles.py "$lifeboat" "$folder/good" "$count" 1 >&2
cp -r "$folder/good" "$folder/bad"
sed -i "s,^$folder/good,$folder/bad," "$folder/bad/list"
python3 Samples/Fleet/bundles.py "$lifeboat" "$folder/bad" "$count" 1 "$hostile" >&2

python3 - "$lifeboat" "$folder" "$count" "$hostile" <<'PYTHON'
import json, os, resource, subprocess, sys, threading, time

lifeboat, folder, count, hostile = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

def spent():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

def timed(command, output, listing="/dev/null"):
    """Seconds of the clock, seconds of all cores, and the most memory of the process itself."""
    before, start = spent(), time.monotonic()
    with open(output, "wb") as lines, open(listing) as paths:
        process = subprocess.Popen(command, stdin=paths, stdout=lines, stderr=subprocess.DEVNULL)
        peaks = []
        def watch():
            while process.poll() is None:
                try:
                    for line in open(f"/proc/{process.pid}/status"):
                        if line.startswith("VmHWM"): peaks.append(int(line.split()[1]) // 1024)
                except OSError: pass
                time.sleep(0.05)
        watcher = threading.Thread(target=watch)
        watcher.start()
        process.wait()
        watcher.join()
    return time.monotonic() - start, spent() - before, max(peaks, default=0)

def row(name, result, number):
    clock, cores, peak = result
    print(f"| {name} | {number / clock:,.0f} | {number / cores:,.0f} | {peak} |")

def lines(path): return open(path, "rb").read().splitlines()

good = f"{folder}/good/list"
sample = min(count, 1000)
paths = open(good).read().split("\n")[:sample]
with open(f"{folder}/sample", "w") as listing: listing.write("\n".join(paths) + "\n")
# What a line says, as far as one expression can say it.
query = "{v: (.verdict.finding? // null), c: (.evidence.failure.sqliteCode? // null), b: (.app.build? // null), s: (.file.sqliteVersion? // null), f: ([.findings[]? | select(.severity == \"damage\") | .id] | unique), n: (.liveRowCount? // null), u: (.metadata.uuid? // .storeUUID? // null)}"
script = f"while read -r path; do unzip -p \"$path\" inspection.json incident.json 2> /dev/null | jq -c '{query}'; done < {folder}/sample"
print(f"""# Triage

Made by `Tests/Benchmarks/triage.sh {count} {hostile}` on {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}. A bundle has {sum(os.path.getsize(path) for path in paths) // sample:,} bytes.

| program | bundles a second | bundles a second of one core | MB |
| --- | ---: | ---: | ---: |""")
shell = timed(["bash", "-c", script], f"{folder}/jq")
row(f"`unzip -p … \\| jq`, {sample:,} bundles", shell, sample)
few = timed([lifeboat, "triage", "-q", "-", "--workers", "1"], f"{folder}/few", f"{folder}/sample")
row(f"`triage --workers 1`, {sample:,} bundles", few, sample)
one = timed([lifeboat, "triage", "-q", "--workers", "1", f"{folder}/good"], f"{folder}/one")
row(f"`triage --workers 1`, {count:,} bundles", one, count)
two = timed([lifeboat, "triage", "-q", f"{folder}/good"], f"{folder}/two")
row(f"`triage`, {count:,} bundles", two, count)
with open(f"{folder}/many", "w") as listing: listing.write(open(good).read() * 5)
five = timed([lifeboat, "triage", "-q", "-"], f"{folder}/five", f"{folder}/many")
row(f"`triage`, {count * 5:,} bundles, each five times", five, count * 5)
ratio = (sample / few[1]) / (sample / shell[1])
print(f"\nPer second of one core, triage reads {ratio:.1f} times as many bundles as `unzip -p | jq`, with {sample:,} bundles each.")
assert lines(f"{folder}/one") == lines(f"{folder}/two")
assert len(lines(f"{folder}/one")) == count

# Hostile inputs among them: all other lines are as before.
bad = timed([lifeboat, "triage", "-q", "-"], f"{folder}/mixed", f"{folder}/bad/list")
truth = timed([lifeboat, "triage", "-q", "-"], f"{folder}/all", good)
mixed, whole = lines(f"{folder}/mixed"), lines(f"{folder}/all")
assert len(mixed) == len(whole) == count
differing = failed = 0
for one, other in zip(mixed, whole):
    one, other = json.loads(one), json.loads(other)
    if "failed" in one: failed += 1; continue
    one["path"] = one["path"].replace(f"{folder}/bad", f"{folder}/good")
    if one != other: differing += 1
print(f"With {hostile} hostile inputs among {count:,}: {failed} lines with a reason, {differing} other lines that differ, {bad[0]:.1f} s instead of {truth[0]:.1f} s.")
assert differing == 0 and failed == hostile
PYTHON
