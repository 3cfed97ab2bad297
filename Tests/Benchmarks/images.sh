#!/usr/bin/env bash
# Holds `check` and `rows` against SQLite on thousands of small database images, most of them damaged on purpose:
#   check  `check --depth full` against `PRAGMA integrity_check`: what SQLite calls ok has no damage; what SQLite finds
#          damaged or refuses is damaged or refused here too, or the report names what was not looked at;
#   rows   all that `rows --raw` prints, `rows --raw --all` prints under the same table, and their exit codes agree;
#   fewer  a command that prints fewer rows of a table than SQLite's SELECT gives before its first error exits not 0;
#   ended  nothing crashes, or takes 20 seconds.
# Prints each disagreement and their number; exits 1 where one is not in KNOWN below.
# Usage: Tests/Benchmarks/images.sh [--executable PROGRAM] [--only TEXT] [--workers NUMBER] [FOLDER]
# NUMBER of images are compared at a time (default 2), each beside its own SQLite; what is printed is in their order.
# FOLDER is the collection (default: stores/found in ../shared, or in LIFEBOAT_SHARED), or any folder of images (*.db).
set -euo pipefail
declare -A option=([workers]=2)
source "$(dirname "$0")/begin.sh"
collection=${1:-${LIFEBOAT_SHARED:-../shared}/stores/found}
exec python3 - "$program" "$collection" "${option[only]}" "${option[workers]}" <<'PYTHON'
import collections, concurrent.futures, json, os, select, shutil, sqlite3, subprocess, sys, tarfile, tempfile, threading

program, collection, only = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
workers = max(1, int(sys.argv[4]))
MOST_SECONDS = 20
# "comparison image": why ours is right, or what it would take.
KNOWN = {
    "check fuzzdata3/02303.db": "the file ends within its only page; SQLite takes what is missing for zeros",
    "check fuzzdata7/07088.db": "the file ends within its last page; SQLite takes what is missing for zeros",
    "check fuzzdata7/07089.db": "the file ends within its last page; SQLite takes what is missing for zeros",
    "rows fuzzdata8/00649.db": "the entry of the table has two names, one of them no text: --all gives its row under none",
}

# A process of its own, because SQLite may go round in circles in such a file, or crash. Copies are all it opens.
PEER = r'''
import json, resource, shutil, sqlite3, sys, time
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
copy = sys.argv[1]
def opened():
    connection = sqlite3.connect(copy)
    connection.text_factory = bytes
    end = time.monotonic() + 5
    connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)
    return connection
def text(value): return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
for line in sys.stdin:
    shutil.copyfile(line.rstrip("\n"), copy)
    answer = {"check": [], "rows": {}}
    connection = opened()
    try: answer["check"] = [text(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
    except (sqlite3.Error, MemoryError, UnicodeError) as error: answer["check"].append(f"{error}")
    connection.close()
    connection = opened()
    try: names = [row[0] for row in connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")]
    except (sqlite3.Error, MemoryError): names = []
    for name in names:
        if not isinstance(name, bytes): continue
        count = 0
        try:
            quoted = name.decode().replace('"', '""')
            for row in connection.execute(f'SELECT * FROM "{quoted}" NOT INDEXED'):
                count += 1
                if count == 20_000: break
        except (sqlite3.Error, MemoryError, UnicodeError, ValueError): pass
        answer["rows"][text(name)] = count
    connection.close()
    print(json.dumps(answer), flush=True)
'''

class Peer:
    """SQLite's answers about one image after the other."""
    def __init__(self, copy):
        self.copy, self.process = copy, None

    def ask(self, path):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, "-c", PEER, self.copy], text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.process.stdin.write(path + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline() if select.select([self.process.stdout], [], [], 60)[0] else ""
        if line: return json.loads(line)
        self.end()
        return None

    def end(self):
        if self.process: self.process.kill(); self.process.wait()
        self.process = None

work = tempfile.mkdtemp(prefix="lifeboat-images-")

class Image:
    """One image, and what was found about it. Only one worker has it."""
    def __init__(self, path):
        self.path, self.name = path, "/".join(path.split("/")[-2:])
        self.found, self.counts, self.new, self.lines = collections.Counter(), collections.Counter(), 0, []

    def disagree(self, comparison, words):
        self.found[comparison] += 1
        reason = KNOWN.get(f"{comparison} {self.name}")
        self.new += reason is None
        self.lines.append(f"{comparison}: {self.name}: {words}" + (f" (known: {reason})" if reason else ""))

def run(image, arguments):
    """Exit code and output; None where it was no end at all."""
    try:
        process = subprocess.run([program] + arguments, stdin=subprocess.DEVNULL, capture_output=True,
                                 timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        image.disagree("ended", f"{' '.join(arguments[:3])}: longer than {MOST_SECONDS} s")
        return None, b""
    if process.returncode < 0 or process.returncode == 70:
        words = process.stderr.decode(errors="replace")[:300]
        image.disagree("ended", f"{' '.join(arguments[:3])}: exit {process.returncode} {words}")
        return None, b""
    return process.returncode, process.stdout

def compare_check(image, answer):
    code, output = run(image, ["check", "--depth", "full", "--json", image.path])
    if code is None or answer is None: return
    is_ok = answer["check"] == ["ok"]
    if answer["check"] == ["interrupted"]: return
    image.counts["SQLite says ok" if is_ok else "SQLite finds damage or refuses"] += 1
    if code in (0, 1):
        report = json.loads(output)
        damage = [f"{f['id']}: {f['message']}" for f in report["findings"] if f["severity"] == "damage"]
        unchecked = [part["message"] for part in report["notChecked"]]
    else:
        damage, unchecked = [f"exit {code}"], []
    if is_ok and damage: image.disagree("check", f"SQLite: ok; ours: {'; '.join(damage[:4])}")
    elif not is_ok and not damage:
        if unchecked: image.counts["of these no damage found, what was not looked at is named"] += 1
        else: image.disagree("check", f"SQLite: {'; '.join(answer['check'][:3])}; ours: sound")

def table_rows(output):
    """Rows by table and row id; those of older states too."""
    whole, partial, live = collections.Counter(), collections.defaultdict(list), collections.Counter()
    for line in output.splitlines():
        row = json.loads(line)
        key = (row["table"], row["rowid"])
        values = [json.dumps(value) for value in row["values"]]
        if "partial" in row or "invalidText" in row:
            partial[key].append((values, len(row.get("partial", row.get("invalidText")))))
        else: whole[key + tuple(values)] += 1
        if "state" not in row: live[row["table"]] += 1
    return whole, partial, live

def fits(values, other, unknown):
    """Whether a row can be another of which some values are not told."""
    if len(values) != len(other): return False
    differ = [b for a, b in zip(values, other) if a != b]
    return len(differ) <= unknown and all(b == "null" for b in differ)

def is_same_row(values, other):
    """Whether a row can be another one, read by a statement of its table where the plain reader has only part of it or
    none: it has more columns, or those of a key come in their own order."""
    return values == other[:len(values)] or sorted(values) == sorted(other)

def compare_rows(image, answer):
    plain_code, plain_output = run(image, ["rows", "--raw", "--format", "ndjson", image.path])
    all_code, all_output = run(image, ["rows", "--raw", "--all", "--format", "ndjson", image.path])
    if plain_code is None or all_code is None: return
    plain, plain_partial, plain_live = table_rows(plain_output)
    whole, partial, live = table_rows(all_output)
    if (plain_code == 0) != (all_code == 0):
        image.disagree("exit codes", f"rows --raw exits {plain_code}, with --all {all_code}")
    wanted = [(row[:2], list(row[2:])) for row in (plain - whole).elements()]
    # A cell to which two pointers lead is one row.
    wanted += [(key, list(values)) for key, rows in plain_partial.items() for values in {tuple(row) for row, _ in rows}]
    others = collections.defaultdict(list)
    for row in whole: others[row[:2]].append(list(row[2:]))
    missing = []
    for key, values in wanted:
        match = next((row for row in partial[key] if fits(values, *row)), None)
        if match: partial[key].remove(match)
        elif not any(is_same_row(values, other) for other in others[key]): missing.append((*key, values))
    if missing:
        image.disagree("rows", f"--all lacks {len(missing)} of {plain.total()} rows, first "
                       + f"{missing[0][0]} {missing[0][1]} {' '.join(missing[0][2])[:80]}")
    for command, code, given in (("rows --raw", plain_code, plain_live), ("rows --raw --all", all_code, live)):
        fewer = [f"{table}: {given[table]} of {count}" for table, count in (answer or {"rows": {}})["rows"].items()
                 if given[table] < count]
        if fewer and code == 0: image.disagree("fewer", f"{command} exits 0 with fewer rows than SQLite: {fewer[:3]}")

mine, peers = threading.local(), []

def hire():
    """Each worker has a peer of its own."""
    mine.peer = Peer(os.path.join(work, f"copy-{threading.get_ident()}.db"))
    peers.append(mine.peer)

def compare(path):
    image = Image(path)
    answer = mine.peer.ask(path)
    image.counts["images"] += 1
    if answer is None: image.counts["SQLite crashes or does not end"] += 1
    compare_check(image, answer)
    compare_rows(image, answer)
    return image

found, counts, new = collections.Counter(), collections.Counter(), 0
executor = concurrent.futures.ThreadPoolExecutor(workers, initializer=hire)
try:
    root, archive = collection, os.path.join(collection, "recovery", "sqlite-images.tar.xz")
    if os.path.exists(archive):
        root = os.path.join(work, "images")
        with tarfile.open(archive) as tar: tar.extractall(root, filter="data")
    images = sorted(os.path.join(folder, file) for folder, _, files in os.walk(root) for file in files
                    if file.endswith(".db"))
    images = [path for path in images if only in path]
    if not images: sys.exit(f"no images below {collection}")
    for number, image in enumerate(executor.map(compare, images)):
        found += image.found
        counts += image.counts
        new += image.new
        for line in image.lines: print(line, flush=True)
        if sys.stderr.isatty(): print(f"\r{number + 1} of {len(images)}", end="", file=sys.stderr)
finally:
    executor.shutdown(cancel_futures=True)
    for peer in peers: peer.end()
    shutil.rmtree(work, ignore_errors=True)
print(f"\nsqlite3 {sqlite3.sqlite_version}; " + ", ".join(f"{words}: {count}" for words, count in counts.items()))
for comparison in ("check", "rows", "exit codes", "fewer", "ended"):
    print(f"{comparison}: {found[comparison]} of {counts['images']} disagree")
print(f"{new} of these are new" if new else "Nothing new.")
sys.exit(1 if new else 0)
PYTHON
