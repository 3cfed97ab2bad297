#!/usr/bin/env bash
# Times `lifeboat check` against SQLite's `PRAGMA integrity_check` on a store: one that is named, else a generated one
# of small rows, long texts in several scripts, and blobs. The two run in turn; each figure is a whole process.
# Usage: Tests/Benchmarks/check.sh [MEGABYTES | STORE] [PAIRS]
#
# Measured on 2 cores of an AMD EPYC that were busy with other work (load 4), store of 1,043 MB (2.6 million rows,
# 3.6 million index entries, 93,359 overflow pages), sqlite3 3.40.1, 9 pairs: wall 0.905 s (best 0.631) against 2.658 s
# (best 1.872), CPU 0.605 s against 1.885 s, peak 37 MB. The work is shared by two threads, so that the ratio in wall
# time is that of CPU time on busy cores; on two idle ones it has not been measured.
set -euo pipefail
cd "$(dirname "$0")/../.."
store=${1:-100}
pairs=${2:-5}

swift build -c release --product lifeboat
lifeboat="$(swift build -c release --show-bin-path)/lifeboat"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 - "$folder/generated.sqlite" "$store" "$pairs" "$lifeboat" <<'PYTHON'
import os, random, resource, sqlite3, statistics, subprocess, sys, time

path, what, pairs, lifeboat = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
if what.isdigit():
    words = "alpha beta gamma delta note meeting with plan for summer häuser 東京 привет list of things".split()
    random_ = random.Random(1)
    store = sqlite3.connect(path)
    store.execute("PRAGMA page_size = 4096")
    store.execute("""CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFOLDER INTEGER,
      ZCREATED TIMESTAMP, ZTITLE VARCHAR, ZBODY VARCHAR)""")
    store.execute("CREATE TABLE ZFILE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZDATA BLOB)")
    store.execute("CREATE TABLE Z_1LINKS (Z_1A INTEGER, Z_2B INTEGER, PRIMARY KEY (Z_1A, Z_2B))")
    def text(count): return " ".join(random_.choice(words) for _ in range(count))
    texts = [text(count) for count in range(20, 400, 3)]
    store.executemany("INSERT INTO ZNOTE VALUES (?,?,?,?,?,?,?)", (
        (key, 1, 1, random_.randrange(200), random_.random() * 7e8, text(4), random_.choice(texts))
        for key in range(1, int(what) * 350 + 1)))
    store.executemany("INSERT INTO ZFILE VALUES (?,?,?,?)", (
        (key, 2, 1, random_.randbytes(random_.randrange(40_000))) for key in range(1, int(what) * 20 + 1)))
    store.executemany("INSERT OR IGNORE INTO Z_1LINKS VALUES (?,?)", (
        (random_.randrange(10**6), random_.randrange(10**6)) for _ in range(int(what) * 800)))
    store.execute("CREATE INDEX ZNOTE_ZFOLDER_INDEX ON ZNOTE (ZFOLDER)")
    store.commit()
    store.close()
else:
    path = what
print(f"store: {os.path.getsize(path) / 1e6:.0f} MB; sqlite3 {sqlite3.sqlite_version}")

def run(command):
    """Wall seconds, CPU seconds, peak memory in MB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status: sys.exit(f"{command[0]} failed with status {status}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

ours = [lifeboat, "check", path]
peer = ["sqlite3", path, "PRAGMA integrity_check"]
run(ours), run(peer)
figures = [(run(ours), run(peer)) for _ in range(pairs)]
median = statistics.median
for name, side in (("lifeboat", 0), ("sqlite3", 1)):
    wall, cpu, peak = ([pair[side][place] for pair in figures] for place in range(3))
    print(f"{name}: wall {median(wall):.3f} s, best {min(wall):.3f}; CPU {median(cpu):.3f} s; peak {max(peak):.0f} MB")
print(f"times faster: wall {median(b[0] / a[0] for a, b in figures):.2f}, "
      f"best of each {min(b[0] for a, b in figures) / min(a[0] for a, b in figures):.2f}, "
      f"CPU {median(b[1] / a[1] for a, b in figures):.2f} (goal 5 in wall time, under 48 MB)")
PYTHON
