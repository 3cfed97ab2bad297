#!/usr/bin/env bash
# Lets each system call in turn fail with EIO or ENOSPC, or kills the process at it, while a store is migrated, salvaged,
# merged, packed for its return and taken in by the app, and looks at what is there then:
#   ended    the process ends by itself, and says what is wrong, unless it was killed;
#   output   under the final name there is nothing, or a whole store that SQLite and lifeboat find sound;
#   rest     after an error nothing else of the run is left; after a kill, nothing under a name that is not private, and
#            the same command works then, once a folder of external files is away that a kill between the two last
#            names has left alone;
#   others   the old store, its incident and all other files are as they were. `return accept` sets the present store
#            aside: it is whole, in its place or in an incident with the returned one in its place.
# Prints each fault, and exits 1 where there is one. Needs strace that may trace; skipped where it may not.
# Usage: Tests/Benchmarks/faults.sh [--executable PROGRAM] [--only TEXT] [--places NUMBER]
# NUMBER of places is the most for one system call of a command (default 25), spread over all of its calls.
set -euo pipefail
declare -A option=([places]=25)
source "$(dirname "$0")/begin.sh"
exec python3 -B - "$program" "${option[only]}" "${option[places]}" <<'PYTHON'
import collections, hashlib, os, re, shutil, sqlite3, subprocess, sys, tempfile

program, only, most = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3])
CALLS = ["openat", "pread64", "read", "pwrite64", "write", "fsync", "fdatasync", "ftruncate", "renameat", "renameat2", "rename",
         "linkat", "unlinkat", "unlink", "mkdirat", "fchmod", "fchmodat", "utimensat", "copy_file_range", "ioctl", "flock", "fcntl",
         "getdents64", "newfstatat", "fstat"]
work = tempfile.mkdtemp(prefix="lifeboat-faults-")
counts, faults = collections.Counter(), 0

def fault(command, words):
    global faults
    faults += 1
    print(f"FAULT {command}: {words}", flush=True)

def run(arguments, **more): return subprocess.run([program] + arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, **more)

def traced(options, arguments):
    return subprocess.run(["strace", "-f", "-qq"] + options + [program] + arguments, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=120, env=dict(os.environ, TMPDIR=os.path.join(work, "tmp")))

def tree(root):
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, root)
            if os.path.isdir(path): found[key] = "folder"
            else:
                with open(path, "rb") as stream: found[key] = hashlib.sha256(stream.read()).hexdigest()
    return found

def content(path):
    """The rows of a store, or why it is not whole; of an archive whether it is sound."""
    if path.endswith(".zip") or path.endswith(".lifeboat-return"):
        return run(["return", "verify", path]).returncode
    connection = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    try:
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]: return "damaged"
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
        rows = {name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'))) for name in tables if name != "Z_METADATA"}
    except sqlite3.Error as error: return f"{error}"
    finally: connection.close()
    for ending in ("-wal", "-journal"):
        if os.path.exists(path + ending) and os.path.getsize(path + ending): return f"a {ending} beside it"
    # External files have new names in each run.
    return re.sub(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}", "NAME", repr(rows))

def injections(arguments, evidence):
    """Each call of each kind that a run makes once it has begun to look at its evidence, with what happens there."""
    log = os.path.join(work, "calls")
    traced(["-o", log, "-e", "trace=" + ",".join(CALLS)], arguments)
    calls, first = collections.Counter(), collections.Counter()
    hasBegun = False
    with open(log, errors="replace") as stream:
        for line in stream:
            match = re.match(r"\d+\s+(\w+)\(", line)
            if not match: continue
            hasBegun = hasBegun or evidence in line and "execve" not in line
            # The loader and the runtime come first; what they do is not ours.
            if not hasBegun: first[match[1]] += 1
            calls[match[1]] += 1
    for call in CALLS:
        places = list(range(first[call] + 1, calls[call] + 1))
        step = max(1, len(places) / most)
        places = sorted({places[int(index * step)] for index in range(min(most, len(places)))})
        for place in places:
            yield call, place, "error=EIO"
            if call in ("pwrite64", "write", "ftruncate", "openat", "mkdirat", "linkat", "copy_file_range"): yield call, place, "error=ENOSPC"
            yield call, place, "signal=KILL"

def attempt(command, arguments, call, place, what):
    counts["runs"] += 1
    os.makedirs(os.path.join(work, "tmp"), exist_ok=True)
    result = traced(["-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:{what}:when={place}"], arguments)
    words = f"{call} {place} {what}, exit {result.returncode}"
    killed = what == "signal=KILL"
    if result.returncode not in range(0, 80) and not (killed and result.returncode in (137, -9)):
        fault(command, f"{words}: ended by a signal: {result.stderr.decode(errors='replace')[:200]}")
    if not killed and result.returncode > 1 and not result.stderr.strip(): fault(command, f"{words}: says nothing")
    return words, killed, result

def compare(command, arguments, name, sources):
    """A command that makes `name` out of others, in a folder where other files are."""
    if only not in command: return
    home = os.path.join(work, "home")
    def fresh():
        shutil.rmtree(home, ignore_errors=True)
        os.mkdir(home)
        with open(os.path.join(home, "mine.txt"), "w") as stream: stream.write("mine")
    fresh()
    empty, before = tree(home), tree(sources)
    full = arguments + ["-o", os.path.join(home, name)]
    first = run(full)
    if first.returncode: sys.exit(f"{command}: exit {first.returncode} {first.stderr.decode()}")
    whole, wanted = sorted(re.sub(r"[0-9A-F-]{36}", "NAME", key) for key in tree(home)), content(os.path.join(home, name))
    fresh()
    for call, place, what in list(injections(full, sources)):
        fresh()
        words, killed, result = attempt(command, full, call, place, what)
        now = tree(home)
        output = os.path.join(home, name)
        names = sorted(re.sub(r"[0-9A-F-]{36}", "NAME", key) for key in now)
        if any(now.get(key) != value for key, value in empty.items()): fault(command, f"{words}: other files changed")
        if tree(sources) != before: sys.exit(f"FAULT {command}: {words}: a source changed")
        if name in now:
            counts[f"{command}: there"] += 1
            if content(output) != wanted: fault(command, f"{words}: the output is not whole: {content(output)!r:.200}")
        else: counts[f"{command}: nothing there"] += 1
        # What cannot be removed stays, under a private name.
        cannot = call in ("unlink", "unlinkat", "rename", "renameat", "renameat2", "newfstatat") and all(
            key.startswith(".") or key in whole or key in empty for key in names)
        # An external file that cannot be read is told.
        cannot = cannot or result.returncode == 1 and set(names) <= set(whole) and call == "openat"
        if not killed and names not in (whole, sorted(empty)) and not cannot: fault(command, f"{words}: left {sorted(set(names) - set(empty))}: {result.stderr.decode(errors='replace')[:300]}")
        if not killed and result.returncode in (0, 1) and name not in now: fault(command, f"{words}: no output")
        if not killed and result.returncode > 1 and name in now: fault(command, f"{words}: an output although it failed: {result.stderr.decode()[:200]}")
        if killed:
            private = [key for key in now if key not in empty and key != name and not key.startswith(".") and not key.startswith(name)]
            if private: fault(command, f"{words}: left {private}")
            support = "." + os.path.splitext(name)[0] + "_SUPPORT"
            if name not in now and support in now:
                # Killed between its two last names. The next run overwrites nothing, and says what is in the way.
                counts[f"{command}: the folder of external files there alone"] += 1
                refused = run(full)
                if refused.returncode != 73 or support not in refused.stderr.decode(): fault(command, f"{words}: {refused.stderr.decode()[:200]}")
                shutil.rmtree(os.path.join(home, support))
            if name not in now:
                again = run(full)
                if again.returncode or content(output) != wanted: fault(command, f"{words}: does not work again: {again.stderr.decode()[:300]}")

def accept(demo, incident, returned, wanted):
    """The command that puts a returned store in the place of the present one."""
    command = "return accept"
    if only not in command: return
    copy = os.path.join(work, "accepting")
    inside = os.path.relpath(incident, demo)
    def fresh():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(demo, copy, symlinks=True)
    fresh()
    present = os.path.join(copy, "Stores/Notes.sqlite")
    arguments = ["return", "accept", "-q", returned, os.path.join(copy, inside), "--model", wanted]
    old, new = content(present), content(wanted)
    kept = tree(os.path.join(copy, inside, "store"))
    for call, place, what in list(injections(arguments, copy)):
        fresh()
        words, killed, result = attempt(command, arguments, call, place, what)
        quarantines = os.path.join(copy, "Stores/Incompatible")
        aside = [content(os.path.join(quarantines, name, "store/Notes.sqlite")) for name in os.listdir(quarantines)
                 if os.path.exists(os.path.join(quarantines, name, "store/Notes.sqlite"))]
        if killed:
            # The next open of the app goes on from there.
            counts["opens after a kill"] += 1
            opened = run(["rescue", "-q", present, "--model", wanted, "--app", "Notes"])
            if opened.returncode: fault(command, f"{words}: does not open: {opened.returncode} {opened.stderr.decode()[:200]}")
        there = content(present) if os.path.exists(present) else None
        if there not in (old, new): fault(command, f"{words}: the present store is {there!r:.200} {result.stderr.decode()[:200]}")
        if not killed and result.returncode == 0 and there != new: fault(command, f"{words}: not in place")
        if not killed and result.returncode > 1 and there == new: counts["in place although it failed"] += 1
        if tree(os.path.join(copy, inside, "store")) != kept: fault(command, f"{words}: the incident's store changed")
        counts[f"{command}: {'new' if there == new else 'old' if there == old else 'neither'} in place"] += 1
        if there == new: continue
        again = run(arguments)
        if again.returncode or content(present) != new:
            fault(command, f"{words}: does not work again: exit {again.returncode} {again.stderr.decode()[:300]}")
        aside = [content(os.path.join(quarantines, name, "store/Notes.sqlite")) for name in os.listdir(quarantines)
                 if os.path.exists(os.path.join(quarantines, name, "store/Notes.sqlite"))]
        if old not in aside: fault(command, f"{words}: the store that was in place is nowhere whole")

if shutil.which("strace") is None or traced(["-o", "/dev/null", "-e", "trace=read"], ["--version"]).returncode:
    sys.exit("skipped: no strace that may trace")
try:
    demo = os.path.join(work, "Demo")
    if run(["demo", "--quiet", "-o", demo]).returncode: sys.exit("the demo failed")
    quarantine = os.path.join(demo, "Stores/Incompatible")
    incident = os.path.join(quarantine, next(name for name in os.listdir(quarantine) if not name.startswith(".")))
    store, present = os.path.join(incident, "store/Notes.sqlite"), os.path.join(demo, "Stores/Notes.sqlite")
    connection = sqlite3.connect(present)
    connection.executescript("""PRAGMA journal_mode = DELETE;
      INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Work'), (2, 1, 1, 'New');
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZBODY, ZCREATED, ZISPINNED, ZFOLDER) VALUES (1, 2, 1, 'This week', 'since', 8e8, 0, 2);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2;""")
    connection.close()
    # A store that carries its external file within cannot be compared by names.
    model = os.path.join(work, "model.sqlite")
    shutil.copy(present, model)
    compare("salvage", ["salvage", "-q", incident], "New.sqlite", demo)
    compare("migrate", ["migrate", "-q", store, "--to", model], "New.sqlite", demo)
    compare("merge", ["salvage", "-q", incident, "--into", present], "New.sqlite", demo)
    merged = os.path.join(work, "made")
    os.mkdir(merged)
    new = os.path.join(merged, "Merged.sqlite")
    if run(["salvage", "-q", incident, "--into", present, "-o", new]).returncode: sys.exit("the merge failed")
    compare("return make", ["return", "make", "-q", incident, new], "Notes.lifeboat-return", demo)
    returned = os.path.join(merged, "Notes.lifeboat-return")
    made = run(["return", "make", "-q", incident, new, "-o", returned])
    if made.returncode: sys.exit(f"the return failed: {made.stderr.decode()}")
    accept(demo, incident, returned, new)
finally: shutil.rmtree(work, ignore_errors=True)
for name, count in sorted(counts.items()): print(f"{name:40} {count:6}")
print(f"{faults} faults")
sys.exit(1 if faults else 0)
PYTHON
