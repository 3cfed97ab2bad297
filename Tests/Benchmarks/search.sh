#!/usr/bin/env bash
# Times a search through a large generated Core Data store against `rows --all`, which reads as much: the whole process,
# the first match, and the peak of memory. The matches are those that were put there.
# Usage: [LIFEBOAT=PROGRAM] Tests/Benchmarks/search.sh [NOTES] [ROUNDS] > Tests/Benchmarks/SEARCH.md
set -euo pipefail
cd "$(dirname "$0")/../.."
notes=${1:-5400000}
rounds=${2:-3}
lifeboat=${LIFEBOAT:-$(.ci/release)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 - "$folder" "$notes" "$rounds" "$lifeboat" <<'PYTHON'
import os, random, sqlite3, statistics, subprocess, sys, time

folder, notes, rounds, lifeboat = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
path = f"{folder}/large.sqlite"
words = "alpha beta gamma delta note meeting with plan for summer list of things".split()
chance = random.Random(3)
texts = [" ".join(chance.choices(words, k=chance.randint(6, 30))) for _ in range(5000)]
store = sqlite3.connect(path)
store.create_function("text", 1, lambda number: texts[number % len(texts)])
store.executescript("""PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
  CREATE TABLE ZFOLDER (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
  CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZISDONE INTEGER, ZWORDS INTEGER, ZFOLDER INTEGER,
    ZCREATED TIMESTAMP, ZPRICE DECIMAL, ZBODY VARCHAR, ZTITLE VARCHAR, ZIDENTIFIER BLOB);
  CREATE INDEX ZNOTE_ZFOLDER_INDEX ON ZNOTE (ZFOLDER);
  CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
  CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
  INSERT INTO Z_PRIMARYKEY VALUES (1, 'Folder', 0, 200), (2, 'Note', 0, 9000000);""")
store.execute("BEGIN")
store.execute(f"""WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < {notes}) INSERT INTO ZNOTE
  SELECT i, 2, 1, i % 2, i % 1000, 1 + i % 200, 600000000 + i * 7.5, i * 0.25, text(i * 7), text(i * 31 + 1), randomblob(16) FROM i""")
wanted = [10, notes // 2, notes - 7]
store.execute(f"UPDATE ZNOTE SET ZTITLE = 'the needle in here' WHERE Z_PK IN ({', '.join(map(str, wanted))})")
store.execute("DELETE FROM ZNOTE WHERE Z_PK % 1000 = 3")
store.execute("COMMIT")
store.close()

def run(arguments):
    """Seconds, seconds until the first line, megabytes, lines."""
    start = time.monotonic()
    process = subprocess.Popen([lifeboat, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lines = []
    first = None
    for line in process.stdout:
        first = first or time.monotonic() - start
        if len(lines) < 10: lines.append(line.decode())
    _, _, usage = os.wait4(process.pid, 0)
    return time.monotonic() - start, first, usage.ru_maxrss / 1024, lines

def timed(arguments):
    start = time.monotonic()
    with open(os.devnull, "w") as nothing:
        process = subprocess.Popen([lifeboat, *arguments], stdout=nothing, stderr=nothing)
        _, _, usage = os.wait4(process.pid, 0)
    return time.monotonic() - start, usage.ru_maxrss / 1024

rows, searches = [], []
for _ in range(rounds):
    rows.append(timed(["rows", "--all", "--format", "ndjson", path]))
    searches.append(run(["search", "needle", path]))
    assert [line.split(",")[0] for line in searches[-1][3]] == [f"Note {key}" for key in wanted], searches[-1][3]
median = lambda values: statistics.median(values)
print(f"""# Search

Made by `Tests/Benchmarks/search.sh {notes} {rounds}` on {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}. The store has {os.path.getsize(path) / 1e6:,.0f} MB and
{notes:,} notes, one in a thousand of them deleted. Medians of {rounds} rounds, in turn; each search finds the three matches that there are.

| work | seconds | first match | peak |
| --- | ---: | ---: | ---: |
| `rows --all --format ndjson` | {median(r[0] for r in rows):.2f} | | {max(r[1] for r in rows):.0f} MB |
| `search needle` | {median(s[0] for s in searches):.2f} | {median(s[1] for s in searches):.2f} s | {max(s[2] for s in searches):.0f} MB |

A search takes {median(s[0] / r[0] for s, r in zip(searches, rows)):.2f} times as long as `rows --all` (goal: at most 2).""")
PYTHON
