#!/usr/bin/env bash
# Times `lifeboat rows --raw --format ndjson` against `sqlite3 -json` on a generated store of small rows.
# The two run in turn; each figure is a whole process. Usage: Tests/Benchmarks/rows.sh [MEGABYTES] [PAIRS]
set -euo pipefail
cd "$(dirname "$0")/../.."
megabytes=${1:-100}
pairs=${2:-5}

swift build -c release --product lifeboat
lifeboat="$(swift build -c release --show-bin-path)/lifeboat"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 - "$folder/small.sqlite" "$megabytes" "$pairs" "$lifeboat" <<'PYTHON'
import os, random, resource, sqlite3, statistics, subprocess, sys, time

path, megabytes, pairs, lifeboat = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
words = "alpha beta gamma delta note meeting with plan for summer häuser 東京 list of things".split()
random_ = random.Random(1)
store = sqlite3.connect(path)
store.execute("PRAGMA page_size = 4096")
store.execute("""CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFOLDER INTEGER,
  ZWORDS INTEGER, ZCREATED TIMESTAMP, ZTITLE VARCHAR, ZBODY VARCHAR)""")
def text(count): return " ".join(random_.choice(words) for _ in range(count))
rows = megabytes * 9320
store.executemany("INSERT INTO ZNOTE VALUES (?,?,?,?,?,?,?,?)", (
    (key, 4, random_.randrange(9), random_.randrange(200), random_.randrange(5000),
     random_.random() * 7e8, text(4), text(8)) for key in range(1, rows + 1)))
store.execute("CREATE INDEX ZNOTE_ZFOLDER_INDEX ON ZNOTE (ZFOLDER)")
store.commit()
store.close()
print(f"store: {os.path.getsize(path) / 1e6:.0f} MB, {rows:,} rows; sqlite3 {sqlite3.sqlite_version}")

def run(command):
    """Wall seconds, CPU seconds, peak memory in MB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status: sys.exit(f"{command[0]} failed with status {status}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

ours = [lifeboat, "rows", "--raw", "--format", "ndjson", path]
peer = ["sqlite3", "-json", path, "SELECT * FROM ZNOTE"]
run(ours), run(peer)
figures = [(run(ours), run(peer)) for _ in range(pairs)]
median = statistics.median
print(f"lifeboat {median(a[0] for a, b in figures):.3f} s, peak {max(a[2] for a, b in figures):.0f} MB; "
      f"sqlite3 -json {median(b[0] for a, b in figures):.3f} s")
print(f"ratio wall {median(a[0] / b[0] for a, b in figures):.3f}, CPU {median(a[1] / b[1] for a, b in figures):.3f} "
      f"(goal 0.25 at most, under 48 MB)")
PYTHON
