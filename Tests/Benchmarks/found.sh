#!/usr/bin/env bash
# Runs every command over the files on which something went wrong once, and prints a table: exit code, peak memory,
# bytes written. Exits 1 where a command crashes, hangs, changes the evidence, takes more than 64 MB, or writes more
# than 20 times its input. Usage: Tests/Benchmarks/found.sh [--executable PROGRAM] [--only TEXT] [FOLDER]
# FOLDER is the collection (default: stores/found in ../shared, or in LIFEBOAT_SHARED).
set -euo pipefail
declare -A option=()
source "$(dirname "$0")/begin.sh"
collection=${1:-${LIFEBOAT_SHARED:-../shared}/stores/found}
exec python3 - "$program" "$collection" "${option[only]}" <<'PYTHON'
import hashlib, lzma, os, resource, shutil, subprocess, sys, tarfile, tempfile, time

program, collection, only = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
MOST_MEMORY, MOST_FACTOR, LEAST_OUTPUT, MOST_SECONDS = 64, 20, 1 << 20, 120
work = tempfile.mkdtemp(prefix="lifeboat-found-")
faults = 0

def files(path):
    if not os.path.isdir(path): return [path]
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(os.fsencode(path)) for name in names)

def size(path):
    return sum(os.lstat(file).st_size for file in files(path)) if os.path.lexists(path) else 0

def state(path):
    result = {}
    for file in files(path):
        if os.path.islink(file): continue
        with open(file, "rb") as stream: result[file] = hashlib.sha256(stream.read()).hexdigest()
    return result

def run(label, source, arguments, output=None):
    global faults
    out = os.path.join(work, "stdout")
    before, start = state(source), time.monotonic()
    most = max(LEAST_OUTPUT, MOST_FACTOR * size(source))
    with open(out, "wb") as stdout, open(os.path.join(work, "stderr"), "wb") as stderr:
        process = subprocess.Popen([program] + arguments, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, cwd=work)
        deadline = start + MOST_SECONDS
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid: break
            if time.monotonic() > deadline or os.path.getsize(out) > 2 * most:
                process.kill()
                _, status, usage = os.wait4(process.pid, 0)
                break
            time.sleep(0.005)
    process.returncode = os.waitstatus_to_exitcode(status)
    written = size(out) + size(os.path.join(work, "stderr")) + (size(output) if output else 0)
    memory, wrong = usage.ru_maxrss / 1024, []
    if process.returncode < 0: wrong.append(f"ended by signal {-process.returncode}")
    if process.returncode == 70: wrong.append("a bug of ours")
    if memory > MOST_MEMORY: wrong.append("memory")
    if written > most: wrong.append("output")
    if state(source) != before: wrong.append("evidence changed")
    faults += bool(wrong)
    name = label.encode("unicode_escape").decode().replace("|", "\\|")
    print(f"| {name} | {' '.join(a for a in arguments[:2] + [x for x in arguments[2:] if x.startswith('--')] if '/' not in a)} | {process.returncode} "
          f"| {memory:.0f} | {written:,} | {', '.join(wrong)} |", flush=True)
    if output:
        shutil.rmtree(output, ignore_errors=True)
        if os.path.lexists(output): os.remove(output)

def store(label, path):
    out = os.path.join(work, "out")
    for command in (["inspect"], ["inspect", "--json"], ["check"], ["check", "--depth", "full", "--json"], ["rows"],
                    ["rows", "--format", "ndjson"], ["rows", "--raw", "--format", "ndjson"],
                    ["rows", "--all", "--format", "ndjson"], ["pages"], ["timeline"], ["model", "show"],
                    ["model", "hash", "--json"], ["rescue", "--app", "Found", "--dry-run"]):
        run(label, path, command[:1 if command[0] != "model" else 2] + [path] + command[1 if command[0] != "model" else 2:])
    for form in ("csv", "ndjson", "sqlite"):
        run(label, path, ["extract", path, "--format", form, "-o", out], out)
    run(label, path, ["recover", path, "-o", out], out)
    run(label, path, ["bundle", "create", path, "-o", out], out)
    run(label, path, ["bundle", "create", path, "--include", "rows", "-o", out], out)

def archive(label, path):
    for command in (["bundle", "verify"], ["bundle", "list"], ["model", "show"], ["model", "hash", "--json"],
                    ["model", "identify"]):
        run(label, path, command + [path])

def incidents(label, path):
    out = os.path.join(work, "out")
    for command in (["list"], ["list", "--json"]): run(label, path, ["incidents", command[0], path] + command[1:])
    home = os.path.join(path, "Incompatible")
    for name in sorted(os.listdir(home)):
        if name.startswith("."): continue
        for command in ("show", "verify"): run(label + "/" + name, path, ["incidents", command, path, name])
        run(label + "/" + name, path, ["bundle", "create", os.path.join(home, name), "-o", out], out)

def models(label, path):
    for command in (["show"], ["show", "--json"], ["hash", "--json"]):
        run(label, path, ["model", command[0], path] + command[1:])

def walk(root, label):
    for name in sorted(os.listdir(root)):
        path, this = os.path.join(root, name), f"{label}/{name}"
        if only and only not in this and not os.path.isdir(path): continue
        if os.path.isdir(path):
            if os.path.isdir(os.path.join(path, "Incompatible")): incidents(this, path)
            if name.endswith((".xcdatamodeld", ".xcdatamodel", ".xcmappingmodel", ".momd")):
                if not only or only in this: models(this, path)
            else: walk(path, this)
        elif name.endswith(".zip"): archive(this, path)
        elif name.endswith((".sqlite", ".db", ".store", ".moody")): store(this, path)
        elif name.endswith((".omo", ".mom", ".cdm")): models(this, path)

try:
    if not os.path.isdir(collection): sys.exit(f"no such folder: {collection}")
    print("| file | command | exit | peak MB | bytes written | wrong |\n| --- | --- | --- | --- | --- | --- |")
    copy = os.path.join(work, "found")
    os.mkdir(copy)
    for name in sorted(os.listdir(collection)):
        path = os.path.join(collection, name)
        if name == "hostile.tar.xz":
            with tarfile.open(path) as tar: tar.extractall(copy, filter="tar")
        elif os.path.isdir(path): shutil.copytree(path, os.path.join(copy, name))
    for folder, _, names in os.walk(copy):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".xz") and not name.endswith(".tar.xz"):
                with lzma.open(path) as packed, open(path[:-3], "wb") as whole: shutil.copyfileobj(packed, whole)
    walk(copy, "")
    print(f"\n{faults} of these went wrong" if faults else "\nNothing went wrong.")
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if faults else 0)
PYTHON
