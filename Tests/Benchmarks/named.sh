#!/usr/bin/env bash
# Times what support does every day against the sqlite3 shell: rows under the names of the model, extracts, salvage,
# inspect and the start of the program. Two generated Core Data stores: one of small rows, one with long texts and BLOBs.
# Commands run in turn; each figure is a whole process, and ratios are medians over the rounds.
# Usage: [OLD=PROGRAM] Tests/Benchmarks/named.sh [MEGABYTES] [ROUNDS] > Tests/Benchmarks/RESULTS.md
#
# OLD is another build of lifeboat, which runs beside this one; what it cannot do has no figure. Before there were tokens for
# values, rows went into a bundle as they were, without --redact none.
set -euo pipefail
cd "$(dirname "$0")/../.."
megabytes=${1:-100}
rounds=${2:-5}

lifeboat=$(.ci/release)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 - "$folder" "$megabytes" "$rounds" "$lifeboat" "${OLD:-}" <<'PYTHON'
import os, plistlib, random, shutil, sqlite3, statistics, subprocess, sys, time

folder, megabytes, rounds, lifeboat, old = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]

# A model of two entities, in both directions, and its cache and hashes as lifeboat makes them.
attributes = {"identifier": "UUID", "isDone": "Boolean", "created": "Date", "words": "Integer 32", "price": "Decimal",
              "title": "String", "body": "String", "photo": "Binary"}
os.makedirs(f"{folder}/Notes.xcdatamodel")
with open(f"{folder}/Notes.xcdatamodel/contents", "w") as contents:
    contents.write('<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0"><entity name="Folder" syncable="YES">'
        '<attribute name="name" optional="YES" attributeType="String"/><relationship name="notes" optional="YES" toMany="YES" '
        'deletionRule="Nullify" destinationEntity="Note" inverseName="folder" inverseEntity="Note"/></entity><entity name="Note" syncable="YES">')
    for name, kind in attributes.items():
        more = ' allowsExternalBinaryDataStorage="YES"' if kind == "Binary" else ""
        contents.write(f'<attribute name="{name}" optional="YES" attributeType="{kind}"{more}/>')
    contents.write('<relationship name="folder" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Folder" '
        'inverseName="notes" inverseEntity="Folder"/></entity></model>')
subprocess.run([lifeboat, "model", "convert", "-q", f"{folder}/Notes.xcdatamodel", "--to", "cache", "-o", f"{folder}/cache"], check=True)
cache = open(f"{folder}/cache", "rb").read()

print(f"""# Results

Made by `Tests/Benchmarks/named.sh {megabytes} {rounds}` on {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}. Times are medians of whole
processes, run in turn; peer / lifeboat says how many times faster lifeboat is, beside the goal. Memory is the highest peak.""")

words = "alpha beta gamma delta note meeting with plan for summer häuser 東京 list of things".split()
def make(path, isLong):
    random_ = random.Random(7)
    text = lambda count: " ".join(random_.choices(words, k=count))
    store = sqlite3.connect(path)
    store.executescript("""PRAGMA page_size = 4096; PRAGMA auto_vacuum = 2;
      CREATE TABLE ZFOLDER (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
      CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZISDONE INTEGER, ZWORDS INTEGER, ZFOLDER INTEGER,
        ZCREATED TIMESTAMP, ZPRICE DECIMAL, ZBODY VARCHAR, ZTITLE VARCHAR, ZIDENTIFIER BLOB, ZPHOTO BLOB);
      CREATE INDEX ZNOTE_ZFOLDER_INDEX ON ZNOTE (ZFOLDER);
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);""")
    store.executemany("INSERT INTO ZFOLDER VALUES (?, 1, 1, ?)", ((key, text(2)) for key in range(1, 201)))
    def rows():
        key = size = 0
        while size < megabytes * 1_000_000 // (2 if isLong else 1):
            key += 1
            body = text(random_.randrange(20, 600) if isLong else 8)
            photo = b"\1" + random_.randbytes(random_.choice([0, 60, 400, 3000])) if isLong and key % 3 == 0 else None
            size += len(body.encode()) + len(photo or b"") + 72
            yield (key, 2, random_.randrange(9), key % 2, random_.randrange(5000), random_.randrange(200) + 1, random_.random() * 7e8,
                   random_.randrange(100_000) / 100, body, text(4), random_.randbytes(16), photo)
    store.executemany("INSERT INTO ZNOTE VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", rows())
    count = store.execute("SELECT max(Z_PK) FROM ZNOTE").fetchone()[0]
    store.executemany("INSERT INTO Z_PRIMARYKEY VALUES (?,?,0,?)", [(1, "Folder", 200), (2, "Note", count)])
    metadata = plistlib.dumps({"NSPersistenceFrameworkVersion": 1414, "NSStoreModelVersionHashesVersion": 3}, fmt=plistlib.FMT_BINARY)
    store.execute("INSERT INTO Z_METADATA VALUES (1, '8A3B5E6C-0000-4000-8000-000000000000', ?)", (metadata,))
    store.execute("INSERT INTO Z_MODELCACHE VALUES (?)", (cache,))
    store.commit()
    store.close()
    print(f"\n{'Long texts and BLOBs' if isLong else 'Small rows'}: {os.path.getsize(path) / 1e6:.0f} MB, {count:,} notes; "
          f"sqlite3 {sqlite3.sqlite_version}; medians of {rounds}\n")

def run(command, isNeeded=True):
    """Wall seconds, CPU seconds, peak memory in MB, and the size of {out}, a new path, in MB; None for what fails and is not
    needed."""
    out = f"{folder}/out"
    for path in (out, out + "-wal", out + "-journal"):
        shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.path.exists(path) and os.unlink(path)
    command = [part.replace("{out}", out) for part in command]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=None if isNeeded else subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status and isNeeded: sys.exit(f"{' '.join(command)} failed with status {status}")
    if status: return None
    end = time.perf_counter()
    size = os.path.getsize(out) / 1e6 if os.path.isfile(out) else 0
    return end - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, size

def shell(script): return ["sh", "-c", script]

median = statistics.median
for isLong in (False, True):
    path = f"{folder}/{'long' if isLong else 'small'}.sqlite"
    make(path, isLong)
    print("| work | lifeboat | CPU | peak | peer | peer / lifeboat | goal |" + (" old build | old / new |" if old else ""))
    print("| --- | --- | --- | --- | --- | --- | --- |" + (" --- | --- |" if old else ""))
    json = shell(f"sqlite3 -json {path} 'SELECT * FROM ZFOLDER' 'SELECT * FROM ZNOTE'")
    csv = shell(f"sqlite3 -csv {path} 'SELECT * FROM ZFOLDER' 'SELECT * FROM ZNOTE'")
    sums = ["sha256sum", path]
    zipped = shell(f"sqlite3 -json {path} 'SELECT * FROM ZFOLDER' 'SELECT * FROM ZNOTE' | gzip -6 > {{out}}")
    for work, goal, arguments, name, peer in [
        ("rows, named, NDJSON", "9", ["rows", "--format", "ndjson", path], "-json", json),
        ("the same on one core", "5", ["taskset", "rows", "--format", "ndjson", path], "-json", json),
        ("rows, named, CSV", "6", ["rows", "--format", "csv", "--entity", "Note", path], "-csv", csv),
        ("rows --raw, NDJSON", "10", ["rows", "--raw", "--format", "ndjson", path], "-json", json),
        ("rows --all, named, NDJSON", "", ["rows", "--all", "--format", "ndjson", path], "-json", json),
        ("extract, CSV", "6", ["extract", "-q", "--format", "csv", path, "-o", "{out}"], "-csv", csv),
        ("extract, NDJSON", "", ["extract", "-q", "--format", "ndjson", path, "-o", "{out}"], "-json", json),
        ("extract, SQLite", "6", ["extract", "-q", "--format", "sqlite", path, "-o", "{out}"], ".dump into sqlite3",
         shell(f"sqlite3 {path} .dump | sqlite3 {{out}}")),
        ("salvage of a sound store", "3", ["salvage", "-q", path, "-o", "{out}"], ".dump into sqlite3",
         shell(f"sqlite3 {path} .dump | sqlite3 {{out}}")),
        ("the same", "0.8", ["salvage", "-q", path, "-o", "{out}"], "lifeboat recover", [lifeboat, "recover", "-q", path, "-o", "{out}"]),
        ("bundle with rows", "2.2", ["bundle", "create", "-q", "--include", "rows", "--redact", "none", path, "-o", "{out}"],
         "-json to gzip -6", zipped),
        ("bundle with redacted rows", "", ["bundle", "create", "-q", "--include", "rows", path, "-o", "{out}"], "-json to gzip -6", zipped),
        ("bundle of the store", "2.3", ["bundle", "create", "-q", "--include", "store", path, "-o", "{out}"], "gzip -6",
         shell(f"gzip -6 < {path} > {{out}}")),
        ("inspect", "0.77", ["inspect", "-q", path], "sha256sum", sums),
        ("check", "5", ["check", "-q", path], "integrity_check", ["sqlite3", path, "PRAGMA integrity_check"]),
        ("--version", "0.33", ["--version"], "--version", ["sqlite3", "--version"]),
    ]:
        one = arguments[0] == "taskset"
        def command(program): return (["taskset", "-c", "0", program] + arguments[1:]) if one else [program] + arguments
        if one: peer = ["taskset", "-c", "0"] + peer
        commands = [command(lifeboat), peer]
        for each in commands: run(each)
        before = [part for part in command(old) if part not in ("--redact", "none")]
        if old and run(before, isNeeded=False): commands.append(before)
        figures = [[run(each) for each in commands] for _ in range(rounds)]
        ours, theirs = [median(row[place][0] for row in figures) for place in (0, 1)]
        if work.startswith("bundle"): work += f" ({figures[0][0][3]:.1f} MB; gzip {figures[0][1][3]:.1f} MB)"
        line = (f"| {work} | {ours:.3f} s | {median(row[0][1] for row in figures):.3f} s | {max(row[0][2] for row in figures):.0f} MB | "
                f"{name} {theirs:.3f} s | {median(row[1][0] / row[0][0] for row in figures):.2f} | {goal} |")
        if len(commands) > 2:
            line += f" {median(row[2][0] for row in figures):.3f} s | {median(row[2][0] / row[0][0] for row in figures):.2f} |"
        elif old:
            line += " | |"
        print(line, flush=True)
PYTHON
