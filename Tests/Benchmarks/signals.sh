#!/usr/bin/env bash
# Sends SIGINT, SIGTERM and SIGHUP at random moments to the commands that make files, and looks at what is there then:
#   ended    the process ends;
#   output   under the final name there is nothing, or all that a run makes that nobody interrupts;
#   rest     nothing else of the run is left, neither beside the output nor in the folder for temporary files;
#   others   the store and the files that were there before are as they were. `rescue` moves the store: it is whole, in
#            its place or in the quarantine with a fresh one in its place, and the same command ends what was begun.
# Prints each fault, and exits 1 where there is one.
# Usage: Tests/Benchmarks/signals.sh [--executable PROGRAM] [--only TEXT] [--signals NUMBER] [--seed NUMBER]
# NUMBER of signals is that for each command (default 40).
set -euo pipefail
declare -A option=([signals]=40 [seed]=$RANDOM)
source "$(dirname "$0")/begin.sh"
exec python3 - "$program" "${option[only]}" "${option[signals]}" "${option[seed]}" <<'PYTHON'
import collections, hashlib, os, random, shutil, signal, sqlite3, subprocess, sys, tempfile, time

program, only, most, seed = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
chance = random.Random(seed)
MOST_SECONDS = 60
work = tempfile.mkdtemp(prefix="lifeboat-signals-")
faults, counts = 0, collections.Counter()

def fault(command, words):
    global faults
    faults += 1
    print(f"{command}: {words}", flush=True)

def tree(root):
    """Each thing below a folder by its path: a folder, a link's target or the hash of a file."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, root)
            if os.path.islink(path): found[key] = "-> " + os.readlink(path)
            elif os.path.isdir(path): found[key] = "folder"
            else:
                with open(path, "rb") as stream: found[key] = hashlib.sha256(stream.read()).hexdigest()
    return found

def enlarged(store):
    """Fills the store of the demo, so that work on it takes a while."""
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA journal_mode = DELETE")
    columns = [row[1] for row in connection.execute("PRAGMA table_info(ZNOTE)")
               if row[1] not in ("Z_PK", "ZPICTURE")]
    names = ", ".join(columns)
    for _ in range(12):
        connection.execute(f"INSERT INTO ZNOTE({names}) SELECT {names} FROM ZNOTE")
    connection.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = (SELECT max(Z_PK) FROM ZNOTE) WHERE Z_NAME = 'Note'")
    connection.commit()
    connection.close()

def logical(path):
    """What is the same in each whole output: of a database its rows, of a bundle that it verifies."""
    if path.endswith(".zip"): return run(["bundle", "verify", path]).returncode
    connection = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    try:
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]: return "damaged"
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in sorted(tables)}
    except sqlite3.Error as error: return f"{error}"
    finally: connection.close()

def environment(temporary): return dict(os.environ, TMPDIR=temporary)

def run(arguments, temporary=work):
    return subprocess.run([program] + arguments, stdin=subprocess.DEVNULL, capture_output=True, env=environment(temporary))

def interrupted(arguments, temporary, number, delay):
    """The exit code of a run that gets a signal; None where it does not end."""
    process = subprocess.Popen([program] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env=environment(temporary))
    try: return process.wait(delay)
    except subprocess.TimeoutExpired: process.send_signal(number)
    try: return process.wait(MOST_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None

def moments(command, seconds):
    """A signal and a moment for each run: most while it works, some about its end."""
    for number in range(most):
        delay = chance.uniform(0, seconds) if number % 3 else chance.uniform(0.85, 1.05) * seconds
        yield (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[chance.randrange(3)], delay

def place():
    """A folder for outputs with files in it that are somebody else's, and one for temporary files."""
    folder = tempfile.mkdtemp(dir=work)
    home, temporary = os.path.join(folder, "home"), os.path.join(folder, "tmp")
    os.mkdir(home)
    os.mkdir(temporary)
    for name in ("mine.txt", ".lifeboat-mine.partial", ".hidden"):
        with open(os.path.join(home, name), "w") as stream: stream.write(name)
    return folder, home, temporary

def compare(command, name, arguments, store):
    """A command that makes `name` out of the store."""
    if only not in command: return
    before = tree(os.path.dirname(store))
    folder, home, temporary = place()
    empty = tree(home)
    shutil.rmtree(folder)
    seconds = MOST_SECONDS
    # The quickest of some: moments are to reach up to the end of a run.
    for _ in range(3):
        folder, home, temporary = place()
        start = time.monotonic()
        first = run(arguments + [os.path.join(home, name)], temporary)
        seconds = min(seconds, time.monotonic() - start)
        if first.returncode not in (0, 1): sys.exit(f"{command}: exit {first.returncode} {first.stderr.decode()}")
        whole = tree(home)
        content = logical(os.path.join(home, name))
        shutil.rmtree(folder)
    for number, delay in moments(command, seconds):
        counts["signals"] += 1
        folder, home, temporary = place()
        code = interrupted(arguments + [os.path.join(home, name)], temporary, number, delay)
        words = f"{number.name} after {delay:.3f} of {seconds:.3f} s, exit {code}"
        now = tree(home)
        if code is None: fault(command, f"{words}: does not end")
        elif now == empty:
            counts[f"{command}: nothing"] += 1
            if code in (0, 1): fault(command, f"{words}: no output")
        else:
            counts[f"{command}: all of it"] += 1
            # The output itself has times and random numbers in it.
            if {k: v for k, v in now.items() if k != name} != {k: v for k, v in whole.items() if k != name}:
                fault(command, f"{words}: left {sorted(set(now) - set(empty))}")
            elif logical(os.path.join(home, name)) != content: fault(command, f"{words}: the output is not whole")
        if any(now.get(key) != value for key, value in empty.items()): fault(command, f"{words}: other files changed")
        if tree(temporary): fault(command, f"{words}: left for temporary files {sorted(tree(temporary))}")
        if tree(os.path.dirname(store)) != before: fault(command, f"{words}: the store changed")
        shutil.rmtree(folder)

def rescue(store, model):
    """The command that moves the store."""
    command = "rescue"
    if only not in command: return
    source = os.path.dirname(store)
    def began():
        folder, home, temporary = place()
        shutil.copytree(source, home, dirs_exist_ok=True)
        path = os.path.join(home, os.path.basename(store))
        return folder, home, temporary, ["rescue", path, "--model", model, "--app", "Notes", "--quiet"]
    def quarantined(now):
        """Incidents in the quarantine with what their folders of the set hold."""
        found = collections.defaultdict(dict)
        for key, value in now.items():
            parts = key.split("/")
            if len(parts) > 3 and parts[0] == "Incompatible" and parts[2] == "store":
                found[parts[1]]["/".join(parts[3:])] = value
        return found
    wanted = tree(source)
    seconds = MOST_SECONDS
    for _ in range(3):
        folder, home, temporary, arguments = began()
        start = time.monotonic()
        first = run(arguments, temporary)
        seconds = min(seconds, time.monotonic() - start)
        if first.returncode: sys.exit(f"{command}: exit {first.returncode} {first.stderr.decode()}")
        shutil.rmtree(folder)
    for number, delay in moments(command, seconds):
        counts["signals"] += 1
        folder, home, temporary, arguments = began()
        before = tree(home)
        code = interrupted(arguments, temporary, number, delay)
        words = f"{number.name} after {delay:.3f} of {seconds:.3f} s, exit {code}"
        now = tree(home)
        if code is None: fault(command, f"{words}: does not end")
        gone = sorted(key for key in now if os.path.basename(key).startswith((".lifeboat-gone-", ".trial-", ".removed-"))
                      or key.endswith(".part") or key.startswith(".lifeboat-") and key not in before)
        if gone: fault(command, f"{words}: left {gone}")
        if tree(temporary): fault(command, f"{words}: left for temporary files {sorted(tree(temporary))}")
        kept = quarantined(now)
        if all(now.get(key) == value for key, value in before.items()):
            counts["rescue: in its place"] += 1
            if code == 0: fault(command, f"{words}: nothing was moved")
            if kept: fault(command, f"{words}: in its place, and in {sorted(kept)}")
        elif [value for value in kept.values()] == [wanted]:
            moved = os.path.basename(store) in now
            counts["rescue: " + ("moved" if moved else "half way")] += 1
            if not moved: fault(command, f"{words}: moved, and no fresh store")
        else: fault(command, f"{words}: the set is not whole: {sorted(now)}")
        again = run(arguments, temporary)
        end = tree(home)
        if again.returncode: fault(command, f"{words}: run again: exit {again.returncode} {again.stderr.decode()}")
        elif list(quarantined(end).values()) != [wanted]: fault(command, f"{words}: run again: {sorted(end)}")
        shutil.rmtree(folder)

try:
    print(f"seed {seed}")
    demo = os.path.join(work, "demo")
    if run(["demo", "-o", demo]).returncode: sys.exit("lifeboat demo fails")
    stores = os.path.join(demo, "Stores")
    incident = next(name for name in os.listdir(os.path.join(stores, "Incompatible")) if not name.startswith("."))
    source = os.path.join(work, "source")
    shutil.copytree(os.path.join(stores, "Incompatible", incident, "store"), source)
    store, model = os.path.join(source, "Notes.sqlite"), os.path.join(stores, "Notes.sqlite")
    enlarged(store)
    compare("recover", "new.sqlite", ["recover", store, "-o"], store)
    compare("extract", "rows.sqlite", ["extract", store, "--format", "sqlite", "-o"], store)
    compare("bundle create", "support.zip", ["bundle", "create", store, "--include", "store", "-o"], store)
    rescue(store, model)
finally:
    shutil.rmtree(work, ignore_errors=True)
print(", ".join(f"{words}: {count}" for words, count in sorted(counts.items())))
print(f"{faults} of these went wrong" if faults else "Nothing went wrong.")
sys.exit(1 if faults else 0)
PYTHON
