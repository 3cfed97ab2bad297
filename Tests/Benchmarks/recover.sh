#!/usr/bin/env bash
# Times `lifeboat recover`, `rows --raw --all` and `check` against SQLite's `.recover` into a new store, `.recover` to text and
# `PRAGMA integrity_check`: on a store that is named, else on a generated one of small rows with an index.
# The two run in turn; each figure is a whole process, and ratios are medians over the pairs.
# Usage: SQLITE3=PROGRAM Tests/Benchmarks/recover.sh [MEGABYTES | STORE] [PAIRS]
#
# PROGRAM is a sqlite3 that has .recover, which Debian's has not: SQLite's own source, configured with
# CFLAGS='-O2 -DSQLITE_ENABLE_DBPAGE_VTAB', makes one.
set -euo pipefail
cd "$(dirname "$0")/../.."
store=${1:-100}
pairs=${2:-5}
sqlite3=${SQLITE3:-sqlite3}

if "$sqlite3" :memory: .recover 2>&1 | grep -qi error; then
  echo "error: $sqlite3 has no .recover" >&2
  echo "hint: name one that has with SQLITE3; see the head of this file" >&2
  exit 69
fi
swift build -c release --product lifeboat
lifeboat="$(swift build -c release --show-bin-path)/lifeboat"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 - "$folder" "$store" "$pairs" "$lifeboat" "$sqlite3" <<'PYTHON'
import os, random, sqlite3, statistics, subprocess, sys, time

folder, what, pairs, lifeboat, peer = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
path = f"{folder}/generated.sqlite" if what.isdigit() else what
if what.isdigit():
    words = "alpha beta gamma delta note meeting with plan for summer häuser 東京 list of things".split()
    random_ = random.Random(1)
    store = sqlite3.connect(path)
    store.execute("PRAGMA page_size = 4096")
    store.execute("""CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFOLDER INTEGER,
      ZWORDS INTEGER, ZCREATED TIMESTAMP, ZTITLE VARCHAR, ZBODY VARCHAR)""")
    store.execute("CREATE INDEX ZNOTE_ZFOLDER_INDEX ON ZNOTE (ZFOLDER)")
    def text(count): return " ".join(random_.choice(words) for _ in range(count))
    store.executemany("INSERT INTO ZNOTE VALUES (?,?,?,?,?,?,?,?)", (
        (key, 4, random_.randrange(9), random_.randrange(200), random_.randrange(5000),
         random_.random() * 7e8, text(4), text(8)) for key in range(1, int(what) * 9320 + 1)))
    store.commit()
    store.close()
version = subprocess.run([peer, "--version"], capture_output=True, text=True).stdout.split()[0]
print(f"store: {os.path.getsize(path) / 1e6:.0f} MB; .recover of sqlite3 {version}, integrity_check of {sqlite3.sqlite_version}")

def run(command):
    """Wall seconds, CPU seconds, peak memory in MB."""
    for name in os.listdir(folder):
        if name.startswith("new"): os.unlink(f"{folder}/{name}")
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status: sys.exit(f"{command} failed with status {status}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

def pipe(command): return ["bash", "-o", "pipefail", "-c", command, "", peer, path, f"{folder}/new.sqlite"]

rows = [lifeboat, "rows", "--raw", "--all", "--format", "ndjson", path]
text = pipe('"$1" "$2" .recover > /dev/null')
contests = [
    ("recover", [lifeboat, "recover", path, "-o", f"{folder}/new.sqlite"], pipe('"$1" "$2" .recover | "$1" "$3"'), 8),
    ("rows --all", rows, text, 20),
    ("rows --all, one core", ["taskset", "-c", "0", *rows], ["taskset", "-c", "0", *text], 12),
    ("check", [lifeboat, "check", path], ["sqlite3", path, "PRAGMA integrity_check"], 5),
]
median = statistics.median
print("| what | s, wall / CPU | peer's | times faster, wall / CPU | goal | peak MB |\n|---|---|---|---|---|---|")
for name, ours, theirs, goal in contests:
    run(ours)
    figures = [(run(ours), run(theirs)) for _ in range(pairs)]
    def of(side, index): return median(pair[side][index] for pair in figures)
    def ratio(index): return median(b[index] / a[index] for a, b in figures)
    print(f"| {name} | {of(0, 0):.2f} / {of(0, 1):.2f} | {of(1, 0):.2f} / {of(1, 1):.2f} | "
          f"{ratio(0):.1f} / {ratio(1):.1f} | {goal} | {max(a[2] for a, b in figures):.0f} |", flush=True)
PYTHON
