#!/usr/bin/env bash
# Runs lifeboat over the shared row-recovery benchmark and the forensic corpus, and holds it against the best of the
# recorded peers, damage by damage. Exits 1 when a peer recovers more live rows, or when lifeboat hands out a wrong row
# where nothing but whole pages, sectors or lengths was damaged.
# Usage: Tests/Benchmarks/recovery.sh [--markdown] [--executable PATH] [--no-corpus] [--damage NAME,NAME]
#          [--variant core|plain|exotic|p1024|p32k] [--seed NUMBER] [--work FOLDER] [--own]
#   MB=2 (default) or MB=50 in the environment: the size of the store.
#   --variant, --seed: which store is made; peers are recorded for core and seed 1 only.
#   --work: keeps the stores there, damaged ones too, and what was read out of them.
#   --own: the damages of damages.py instead of the shared ones: pages that are not where they should be.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
markdown=0 executable= corpus=1 damages= variant=core seed=1 work= own=0
while [ $# -gt 0 ]; do
  case "$1" in
    --markdown) markdown=1 ;;
    --executable) executable=$(realpath "$2"); shift ;;
    --no-corpus) corpus=0 ;;
    --damage) damages=$2; shift ;;
    --variant) variant=$2; shift ;;
    --seed) seed=$2; shift ;;
    --work) work=$(realpath -m "$2"); shift ;;
    --own) own=1 ;;
    *) echo "unknown argument $1" >&2; exit 64 ;;
  esac
  shift
done
cd "$root"
megabytes=${MB:-2}
shared=${LIFEBOAT_SHARED:-$root/../shared}
bench=$shared/bench/recovery
[ -f "$bench/bench.py" ] || { echo "skipped: no shared benchmark folder" >&2; exit 0; }
bench=$(cd "$bench" && pwd)
if [ -z "$executable" ]; then
  swift build -c release --product lifeboat >&2
  executable="$(swift build -c release --show-bin-path)/lifeboat"
fi
if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
else
  mkdir -p "$work"
  rm -f "$work/rows.json" "$work/corpus.json"
fi

python3 - "$work" "$executable" "$megabytes" "$variant" "$seed" <<'PYTHON'
import json, os, shlex, sys
work, executable, megabytes, variant, seed = sys.argv[1:]
base = os.path.join(work, f"base-{variant}-{megabytes}-{seed}.sqlite")
rows = shlex.quote(executable) + " rows --raw --all --format ndjson"
# A row with marked values is no claim to be the row, which the scorer knows by `state` alone. The exit status stays.
mark = """ > {out}; status=$?; sed -i 's/,"partial":{/,"state":"partial"&/' {out}; exit $status"""
tools = [{"name": "lifeboat", "cmd": rows + " {db}" + mark, "adapter": "ndjson"}]
# A store whose head is gone has no schema: whoever has a healthy store of the same app can say so.
if os.system(shlex.quote(executable) + " rows --help | grep -q -- --like") == 0:
    tools.append({"name": "lifeboat-like", "cmd": rows + f" --like {shlex.quote(base)} {{db}}" + mark,
                  "adapter": "ndjson", "damage": ["head_lost", "ransom", "ransom_late"]})
json.dump(tools, open(os.path.join(work, "tools.json"), "w"))
# Rows of virtual tables are read by SQLite, from the shadow tables of a recovered store as from the peers'.
whole = shlex.quote(executable) + " recover {db} -o {out}"
tools[1:] = [{"name": "lifeboat-recover", "cmd": whole, "adapter": "sqlite"}]
json.dump(tools, open(os.path.join(work, "tools-corpus.json"), "w"))
PYTHON

if [ "$own" = 1 ]; then
  python3 -B Tests/Benchmarks/damages.py run --bench "$bench" --work "$work" --mb "$megabytes" --seed "$seed" \
    --variant "$variant" --tools "$work/tools.json" --json "$work/rows.json" ${damages:+--damage "$damages"} > "$work/rows.log"
  python3 -B Tests/Benchmarks/damages.py report --json "$work/rows.json"
  exit
fi
python3 -B Tests/Benchmarks/calibration.py "$bench" run --work "$work" --mb "$megabytes" --seed "$seed" --variant "$variant" \
  --tools "$work/tools.json" --json "$work/rows.json" ${damages:+--damage "$damages"} > "$work/rows.log"
if [ "$corpus" = 1 ] && [ -d "$shared/stores/corrupt/nemetz-v2" ]; then
  python3 -B Tests/Benchmarks/corpus.py "$bench" "$shared/stores/corrupt/nemetz-v2" --tools "$work/tools-corpus.json" \
    --work "$work" --json "$work/corpus.json" > "$work/corpus.log"
fi

python3 -B - "$bench" "$work" "$megabytes" "$markdown" "$variant" "$seed" <<'PYTHON'
import json, os, platform, sys, datetime
bench, work, megabytes, markdown = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4] == "1"
variant, seed = sys.argv[5:]
def load(path): return json.load(open(path)) if os.path.exists(path) else []
def number(row, *names): return sum(row.get(name) or 0 for name in names)
def percent(part, whole): return "–" if not whole else "100" if part >= whole else f"{min(99.9, 100 * part / whole):.1f}"
def altered(row, what): return number(row, *(f"{state}_part_{what}" for state in ("live", "deleted", "old")))
def found(row): return number(row, "live_table", "live_lost")
def dead(row): return number(row, "deleted_table", "deleted_lost", "old_table", "old_lost")

faults, lines = [], []
def table(title, head, rows):
    if markdown:
        lines.append(f"\n## {title}\n\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        lines.extend("| " + " | ".join(row) + " |" for row in rows)
    else:
        widths = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]
        lines.append("\n" + title)
        lines.extend("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [head] + rows)

isRecorded = variant == "core" and seed == "1"
peers = load(os.path.join(bench, "results", f"core-{50 if float(megabytes) >= 20 else 2}.json")) if isRecorded else []
ours = load(os.path.join(work, "rows.json"))
# Bits that were flipped, and bytes that were replaced by others, can make another value of a value.
def may_be_wrong(damage): return damage.startswith(("flip_", "random_"))
rows = []
for row in ours:
    name = row["damage"] + ("" if row["tool"] == "lifeboat" else " --like")
    if "live" not in row:
        faults.append(f"{name}: not scored: {row.get('score_error', row['end'])}")
        continue
    if row["end"] in ("crash", "hang"): faults.append(f"{name}: {row['end']}")
    rivals = [p for p in peers if p["damage"] == row["damage"] and "live" in p]
    best = max(rivals, key=lambda p: (found(p) / max(1, p["live"]), number(p, "live_table")), default=None)
    share = found(row) / max(1, row["live"])
    # Most recorded runs had other pages ruined by the same dice: what counts is how far above or below the rows whose
    # bytes are all there each of them comes.
    def lead(r): return (found(r) - r["live_intact"]) / max(1, r["live"])
    if best and share < found(best) / max(1, best["live"]) - 1e-9 and lead(row) < lead(best) - 0.0005:
        faults.append(f"{name}: {best['tool']} recovers {percent(found(best), best['live'])} %, lifeboat {percent(found(row), row['live'])} %")
    wrong, cut, false = altered(row, "wrong"), altered(row, "cut"), row["false"] - row["false_marked"]
    # Where the newest log is lost nothing says that the file is not the newest state.
    unmarked = 0 if row["damage"] == "wal_lost" else row["ghost_unmarked"]
    if (wrong or cut or false or unmarked) and not may_be_wrong(row["damage"]):
        faults.append(f"{name}: {wrong} wrong, {cut} cut, {false} false, {unmarked} deleted rows not marked")
    if row["dup"] and not may_be_wrong(row["damage"]): faults.append(f"{name}: {row['dup']} rows twice")
    if found(row) < row["live_intact"]:
        faults.append(f"{name}: {found(row)} rows of {row['live_intact']} that are intact")
    most = max(rivals, key=dead, default=None)
    total = number(row, "deleted", "old")
    rows.append([
        name, percent(row["live_intact"], row["live"]),
        percent(row["live_table"], row["live"]) + (f" (+{percent(row['live_lost'], row['live'])})" if row["live_lost"] else ""),
        f"{wrong} / {cut} / {false}", f"{row['dup']}", f"{dead(row)} of {total}" if total else "–",
        f"{row['wall']:.2f}", f"{row['maxrss_mb']:.0f}",
        "–" if not best else (percent(number(best, "live_table"), best["live"])
          + (f" (+{percent(best['live_lost'], best['live'])})" if best["live_lost"] else "") + f" {best['tool']}"),
        "–" if not best else f"{altered(best, 'wrong')} / {altered(best, 'cut')} / {best['false']}",
        "–" if not total or not most else f"{dead(most)} {most['tool']}",
    ])
table(f"Core Data store of {megabytes} MB" + ("" if isRecorded else f", {variant}, seed {seed}"),
      ["damage", "intact %", "live %", "wrong / cut / false", "twice", "deleted and old", "s", "MB",
       "best peer: live %", "its wrong / cut / false", "most deleted by a peer"], rows)

stated = {}
for row in ours:
    if row["tool"] != "lifeboat" or may_be_wrong(row["damage"]): continue
    for confidence, (count, right) in row.get("calibration", {}).items():
        sums = stated.setdefault(confidence, [0, 0])
        sums[0] += count
        sums[1] += right
if stated:
    table("Confidence of deleted and older rows", ["stated", "rows", "right", "%"],
          [[confidence, str(count), str(right), percent(right, count)] for confidence, (count, right) in sorted(stated.items())])
    for confidence, (count, right) in sorted(stated.items()):
        # A few rows say nothing of a share.
        if count >= 100 and right < float(confidence) * count:
            faults.append(f"confidence {confidence}: {right} of {count} rows are right")

corpus = load(os.path.join(work, "corpus.json"))
recorded = load(os.path.join(bench, "results", "nemetz.json"))
rows = []
for category in sorted({row["cat"] for row in corpus}):
    # Category 06 holds virtual tables and nothing else.
    tool = "lifeboat-recover" if category == "06" else "lifeboat"
    mine = [row for row in corpus if row["cat"] == category and row["tool"] == tool]
    def total(of, *names): return sum(number(row, *names) for row in of)
    live, gone = ("live_table", "live_lost"), ("deleted_table", "deleted_lost")
    tools = sorted({row["tool"] for row in recorded})
    here = {row["db"] for row in mine}
    rivals = {tool: [row for row in recorded if row["db"] in here and row["tool"] == tool] for tool in tools}
    best = max(tools, key=lambda tool: total(rivals[tool], *live)) if tools else None
    most = max(tools, key=lambda tool: total(rivals[tool], *gone)) if tools else None
    failed = sum(row["end"] in ("crash", "hang") for row in mine)
    if failed: faults.append(f"corpus {category}: {failed} crashes or hangs")
    if best and total(mine, *live) < total(rivals[best], *live):
        faults.append(f"corpus {category}: {best} has {total(rivals[best], *live)} live rows, lifeboat {total(mine, *live)}")
    if most and total(mine, *gone) < total(rivals[most], *gone):
        faults.append(f"corpus {category}: {most} has {total(rivals[most], *gone)} deleted rows, lifeboat {total(mine, *gone)}")
    rows.append([
        category if tool == "lifeboat" else f"{category} by recover", str(len(mine)), f"{total(mine, *live)} of {total(mine, 'live')}",
        f"{total(mine, *gone)} of {total(mine, 'deleted')}" if total(mine, "deleted") else "–",
        str(total(mine, "false") - total(mine, "false_marked")), str(total(mine, "false_marked")), str(total(mine, "dup")),
        f"{total(rivals[best], *live)} {best}" if best else "–",
        f"{total(rivals[most], *gone)} {most}" if most and total(mine, "deleted") else "–",
    ])
if rows:
    table("SQLite Forensic Corpus",
          ["category", "stores", "live", "deleted", "false", "false, marked", "twice", "most live by a peer", "most deleted by a peer"], rows)

if markdown:
    cores = os.cpu_count()
    print(f"Measured on {datetime.date.today().isoformat()}: {platform.system()} {platform.machine()}, {cores} cores.")
print("\n".join(lines))
if faults:
    print("\nBelow the goals:" + ("\n" if markdown else ""))
    for fault in faults: print(("* " if markdown else "  ") + fault)
    sys.exit(1)
print("\nNo damage below the best peer, no wrong row outside flipped and random bytes.")
PYTHON
