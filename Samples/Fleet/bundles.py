#!/usr/bin/env python3
"""Makes many support bundles, as an app with many users would send them.

usage: bundles.py LIFEBOAT FOLDER COUNT [SEED] [HOSTILE]

Eight cases are made with lifeboat itself. Each bundle is one of them with another store, build and day; its manifest is
right. HOSTILE of them become something else: bombs, pipes, halves, links to nowhere, random bytes. If the folder has
bundles already, only that is done.
"""
import hashlib, io, json, os, random, shutil, sqlite3, subprocess, sys, tempfile, uuid, zipfile

# An app with ten million installs sends thousands a day.
PER_DAY = 5_000


def cases(lifeboat, folder):
    """Bundles of an incident and of stores with several kinds of damage."""
    def run(*arguments):
        result = subprocess.run([lifeboat, *arguments], capture_output=True, text=True)
        if result.returncode not in (0, 1):
            sys.exit(f"{arguments}: {result.stderr}")

    run("demo", "-q", "-o", f"{folder}/demo")
    quarantine = f"{folder}/demo/Stores/Incompatible"
    incident = next(f"{quarantine}/{name}" for name in sorted(os.listdir(quarantine)) if not name.startswith("."))
    kept = f"{incident}/store/Notes.sqlite"
    made = []

    def bundle(name, path, *options):
        run("bundle", "create", path, "-o", f"{folder}/{name}.zip", *options)
        made.append(f"{folder}/{name}.zip")

    bundle("incident", incident)
    bundle("rows", incident, "--include", "rows")
    bundle("sound", kept)
    # All pages in the main file, so that damage to it is damage.
    whole = f"{folder}/Notes.sqlite"
    for suffix in ("", "-wal"):
        shutil.copy(kept + suffix, whole + suffix)
    database = sqlite3.connect(whole)
    database.execute("PRAGMA journal_mode = DELETE")
    database.close()

    def damaged(name, change):
        data = bytearray(open(whole, "rb").read())
        change(data)
        os.mkdir(f"{folder}/{name}")
        open(f"{folder}/{name}/Notes.sqlite", "wb").write(data)
        bundle(name, f"{folder}/{name}/Notes.sqlite")

    page = 4096
    damaged("wiped", lambda data: data.__setitem__(slice(100, page), bytes(page - 100)))
    damaged("cut", lambda data: data.__delitem__(slice(len(data) // 2 // page * page, None)))
    for number in (2, 5, 9):
        damaged(f"page-{number}", lambda data: data.__setitem__(slice((number - 1) * page, number * page), b"\x55" * page))
    return made


def entries(path):
    with zipfile.ZipFile(path) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()], archive.comment


def bundle(parts, comment, build, day, identifier):
    """A bundle with another build, day and store."""
    manifest = json.loads(parts[0][1])
    old = None
    changed = []
    for name, data in parts[1:]:
        if name in ("inspection.json", "incident.json", "metadata.json"):
            record = json.loads(data)
            old = old or record.get("storeUUID") or record.get("uuid") or (record.get("metadata") or {}).get("uuid")
            if name == "incident.json":
                record["app"]["build"] = build
                record["created"] = f"{day}T12:00:00Z"
            data = json.dumps(record, indent=2, sort_keys=True).encode() + b"\n"
            if old:
                data = data.replace(old.encode(), identifier.encode())
        changed.append((name, data))
    sizes = {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in changed}
    for entry in manifest["entries"]:
        entry["sizeBytes"], entry["sha256"] = sizes[entry["name"]]
    manifest["created"] = f"{day}T13:00:00.000Z"
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        archive.comment = comment
        for name, data in [("manifest.json", json.dumps(manifest, indent=2, sort_keys=True).encode() + b"\n")] + changed:
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return output.getvalue()


def bomb():
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.sqlite", b"SQLite format 3\0" + bytes(100 << 20))
    return output.getvalue()


def spoil(paths, count, chance):
    """Makes some of them something else that does harm, or is nothing."""
    harmful = bomb() if count else b""
    for path in chance.sample(paths, count):
        data = open(path, "rb").read()
        os.remove(path)
        kind = chance.randrange(5)
        if kind == 1:
            os.mkfifo(path)
        elif kind == 3:
            os.symlink("/nowhere/at/all", path)
        else:
            open(path, "wb").write(harmful if kind == 0 else data[: len(data) // 2] if kind == 2 else chance.randbytes(5000))


def main():
    lifeboat, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    chance = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    hostile = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    listing = f"{folder}/list"
    if os.path.exists(listing):
        return spoil(open(listing).read().split(), hostile, chance)
    with tempfile.TemporaryDirectory() as workshop:
        kinds = [entries(path) for path in cases(lifeboat, workshop)]
    weights = [8, 1] + [20] + [1] * (len(kinds) - 3)
    builds = [str(400 + number) for number in range(8)]
    paths = []
    for number in range(count):
        place = f"{folder}/{number // 1000:03}"
        os.makedirs(place, exist_ok=True)
        paths.append(f"{place}/{number:06}.zip")
        parts, comment = chance.choices(kinds, weights)[0]
        # They come day by day, as into the folders of an object store.
        build, day = chance.choice(builds), f"2026-11-{number // PER_DAY % 28 + 1:02}"
        identifier = str(uuid.UUID(int=chance.getrandbits(128), version=4)).upper()
        open(paths[-1], "wb").write(bundle(parts, comment, build, day, identifier))
    spoil(paths, hostile, chance)
    open(listing, "w").write("".join(path + "\n" for path in paths))


main()
