#!/usr/bin/env bash
# Times `lifeboat model hash` on a generated model of 1,000 entities: 10 attributes and 3 relationships each,
# some of them children of others; as a source and, converted, as a compiled model. Each figure is a whole process.
# Then `lifeboat model plan` over a history of 139 versions of 30 entities, of which one changes from each version to
# the next, and 64 mapping models.
# Usage: Tests/Benchmarks/model.sh [ENTITIES] [RUNS]
set -euo pipefail
cd "$(dirname "$0")/../.."
entities=${1:-1000}
runs=${2:-15}

swift build -c release --product lifeboat
lifeboat="$(swift build -c release --show-bin-path)/lifeboat"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 - "$folder" "$entities" "$runs" "$lifeboat" <<'PYTHON'
import json, os, plistlib, resource, sqlite3, statistics, subprocess, sys, time

folder, entities, runs, lifeboat = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
types = ["String", "Date", "Boolean", "Integer 16", "Integer 32", "Integer 64", "Double", "Binary", "UUID", "Transformable"]
words = "title body created updated count owner kind state note size price link token order index color width total phase label".split()

def entity(number):
    place = number % 10
    name = lambda index: f"Entity{index % entities:04d}"
    traits = ' isAbstract="YES"' if place == 0 else f' parentEntity="{name(number - place)}"' if number % 3 == 0 else ""
    yield f'    <entity name="{name(number)}" representedClassName="{name(number)}"{traits} syncable="YES" codeGenerationType="class">'
    for column in range(10):
        kind = types[(number + column) % 10]
        more = ' defaultValueString="0" usesScalarValueType="YES"' if kind.startswith("Int") else ' optional="YES"'
        if kind == "Binary": more += ' allowsExternalBinaryDataStorage="YES"'
        yield f'        <attribute name="{words[(number * 7 + column * 3) % 20]}{place}_{column}" attributeType="{kind}"{more}/>'
    after, before = (number + 1) % entities, (number - 1) % entities
    yield (f'        <relationship name="next{place}" optional="YES" toMany="YES" deletionRule="Nullify" '
           f'destinationEntity="{name(after)}" inverseName="previous{after % 10}" inverseEntity="{name(after)}"/>')
    yield (f'        <relationship name="previous{place}" optional="YES" maxCount="1" deletionRule="Nullify" '
           f'destinationEntity="{name(before)}" inverseName="next{before % 10}" inverseEntity="{name(before)}"/>')
    yield (f'        <relationship name="other{place}" optional="YES" maxCount="1" deletionRule="Cascade" '
           f'destinationEntity="{name(number * 13 + 5)}"/>')
    yield "    </entity>"

source = os.path.join(folder, "Big.xcdatamodel")
os.mkdir(source)
with open(os.path.join(source, "contents"), "w") as file:
    print('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>', file=file)
    print('<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">', file=file)
    for number in range(entities):
        for line in entity(number): print(line, file=file)
    print("</model>", file=file)
print(f"model: {entities:,} entities, {os.path.getsize(os.path.join(source, 'contents')) / 1e6:.1f} MB of source")

def run(command):
    """Wall seconds, CPU seconds, peak memory in MB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status: sys.exit(f"{command[0]} failed with status {status}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output

def report(name, command):
    figures = [run(command) for _ in range(runs)]
    assert output_count(figures[0][3]) == entities, "not every entity has a hash"
    cpu = sorted(figure[1] for figure in figures)
    print(f"{name}: CPU median {statistics.median(cpu) * 1000:.0f} ms (least {cpu[0] * 1000:.0f}), "
          f"wall median {statistics.median(figure[0] for figure in figures) * 1000:.0f} ms, "
          f"peak {max(figure[2] for figure in figures):.0f} MB (goal: CPU under 100 ms)")

def output_count(output):
    return sum(value is not None for value in json.loads(output)["versions"][0]["hashes"].values())

empty = os.path.join(folder, "Empty.xcdatamodel")
os.mkdir(empty)
with open(os.path.join(empty, "contents"), "w") as file: file.write("<model/>")
start = [run([lifeboat, "model", "hash", "--json", empty])[1] for _ in range(runs)]
print(f"start of the program with an empty model: CPU median {statistics.median(start) * 1000:.0f} ms")
report("source", [lifeboat, "model", "hash", "--json", source])
compiled = os.path.join(folder, "Big.mom")
if subprocess.run([lifeboat, "model", "convert", source, "--to", "mom", "-o", compiled], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode in (0, 1):
    report("compiled", [lifeboat, "model", "hash", "--json", compiled])

VERSIONS, MAPPINGS, ENTITIES = 139, 64, 30

def history_entity(number, version):
    name = lambda index: f"Entity{index % ENTITIES:02d}"
    yield f'    <entity name="{name(number)}" representedClassName="{name(number)}" syncable="YES" codeGenerationType="class">'
    for column in range(12 + (version + ENTITIES - number) // ENTITIES):
        kind = types[(number + column) % 10]
        more = ' defaultValueString="0" usesScalarValueType="YES"' if kind.startswith("Int") else ' optional="YES"'
        yield f'        <attribute name="value{column}" attributeType="{kind}"{more} syncable="YES"/>'
    for way, other, back in (("next", 1, "previous"), ("previous", -1, "next")):
        yield (f'        <relationship name="{way}" optional="YES" maxCount="1" deletionRule="Nullify" syncable="YES" '
               f'destinationEntity="{name(number + other)}" inverseName="{back}" inverseEntity="{name(number + other)}"/>')
    yield "    </entity>"

def mapping(old, new):
    """A keyed archive of a mapping model that takes every entity from one version to the next."""
    objects = ["$null", {}]
    def put(value):
        objects.append(value)
        return plistlib.UID(len(objects) - 1)
    kinds = {name: put({"$classname": name, "$classes": [name, "NSObject"]})
             for name in ("NSMappingModel", "NSEntityMapping", "NSPropertyMapping", "NSArray")}
    def array(values): return put({"$class": kinds["NSArray"], "NS.objects": values})
    entities = []
    for name in sorted(old):
        text = put(name)
        entities.append(put({
            "$class": kinds["NSEntityMapping"], "NSMappingName": put(f"{name}To{name}"), "NSMappingType": 5,
            "NSSourceEntityName": text, "NSDestinationEntityName": text,
            "NSSourceEntityVersionHash": put(old[name]), "NSDestinationEntityVersionHash": put(new[name]),
            "NSAttributeMappings": array([put({"$class": kinds["NSPropertyMapping"],
                                               "NSDestinationPropertyName": put(f"value{column}")}) for column in range(12)])}))
    objects[1] = {"$class": kinds["NSMappingModel"], "NSEntityMappings": array(entities)}
    return {"$archiver": "NSKeyedArchiver", "$version": 100000, "$top": {"root": plistlib.UID(1)}, "$objects": objects}

history = os.path.join(folder, "history")
bundle = os.path.join(history, "Notes.xcdatamodeld")
for version in range(1, VERSIONS + 1):
    source = os.path.join(bundle, f"Notes {version}.xcdatamodel")
    os.makedirs(source)
    with open(os.path.join(source, "contents"), "w") as file:
        print('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<model type="com.apple.IDECoreDataModeler.DataModel">', file=file)
        for number in range(ENTITIES):
            for line in history_entity(number, version): print(line, file=file)
        print("</model>", file=file)
with open(os.path.join(bundle, ".xccurrentversion"), "wb") as file:
    plistlib.dump({"_XCCurrentVersionName": f"Notes {VERSIONS}.xcdatamodel"}, file)
told = json.loads(run([lifeboat, "model", "hash", "--json", bundle])[3])["versions"]
hashes = {int(version["name"].split()[1]): {name: bytes.fromhex(text) for name, text in version["hashes"].items()} for version in told}
for version in range(1, 2 * MAPPINGS, 2):
    with open(os.path.join(history, f"From {version}.cdm"), "wb") as file:
        plistlib.dump(mapping(hashes[version], hashes[version + 1]), file, fmt=plistlib.FMT_BINARY)
store = os.path.join(history, "Notes.sqlite")
with sqlite3.connect(store) as database:
    database.execute("CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)")
    database.execute("CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)")
    record = {"NSStoreModelVersionHashes": hashes[1], "NSStoreModelVersionHashesVersion": 3, "NSStoreType": "SQLite"}
    database.execute("INSERT INTO Z_METADATA VALUES (1, 'A', ?)", (plistlib.dumps(record, fmt=plistlib.FMT_BINARY),))
database.close()
figures = [run([lifeboat, "model", "plan", "--json", store, history]) for _ in range(runs)]
steps = json.loads(figures[0][3])["steps"]
assert sum(step["way"] == "mapping" for step in steps) == MAPPINGS, "a mapping model was passed over"
cpu = sorted(figure[1] for figure in figures)
print(f"plan, {len(hashes)} versions, {MAPPINGS} mapping models: {len(steps)} steps, CPU median {statistics.median(cpu) * 1000:.0f} ms "
      f"(least {cpu[0] * 1000:.0f}), peak {max(figure[2] for figure in figures):.0f} MB (goal: CPU under 1,000 ms)")
PYTHON
