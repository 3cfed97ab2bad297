#!/usr/bin/env python3
"""Damages of our own for the shared row-recovery benchmark: pages that are not where they should be.

  damages.py run --bench FOLDER --work W --mb 2 [--seed 1] [--variant core] --tools tools.json [--damage a,b] --json out.json
  damages.py gen --bench FOLDER --work W --mb 2 [--seed 1] [--variant core] [--damage a,b]      leaves the damaged stores in W
  damages.py report --json out.json
  damages.py list --bench FOLDER

Stores, damage cases, truth and scoring are those of the shared benchmark (`--bench`), which this registers its damages with; nothing
is copied from it. Like there, everything comes from the seed. What is added to the scores: `foreign`, rows of another store that a tool
gave, and `foreign_unmarked`, those of them that it gave as ordinary rows.
"""
import argparse
import json
import os
import random
import sqlite3
import struct
import sys

CLUSTER = 4096


def arguments():
    ap = argparse.ArgumentParser()
    ap.add_argument("verb", choices=("run", "gen", "report", "list"))
    ap.add_argument("--bench")
    ap.add_argument("--json")
    ap.add_argument("--seed", default="1")
    ap.add_argument("--mb", type=float, default=2)
    ap.add_argument("--variant", default="core")
    return ap.parse_known_args()[0]


# --- Other stores

class Others:
    """The stores whose clusters get in between, made when they are wanted."""

    def __init__(self, work, gen, mb, seed, variant):
        self.work, self.gen, self.mb, self.seed, self.variant = work, gen, mb, seed, variant

    def clone(self):
        """Another store of the same app: other rows in the same tables."""
        path = os.path.join(self.work, "clone-%s-%s-%s.sqlite" % (self.variant, self.mb, self.seed))
        if not os.path.exists(path):
            self.gen.generate(path, "%s/another phone" % self.seed, self.mb, self.variant)
        return path

    def stranger(self, base):
        """A store of another app: other tables, with row ids, declared types and an index; pages and encoding as in the base."""
        path = os.path.join(self.work, "stranger-%s-%s-%s.sqlite" % (self.variant, self.mb, self.seed))
        if os.path.exists(path):
            return path
        r = random.Random("%s/stranger" % self.seed)
        con = sqlite3.connect(base)
        encoding = con.execute("PRAGMA encoding").fetchone()[0]
        size = con.execute("PRAGMA page_size").fetchone()[0]
        con.close()
        con = sqlite3.connect(path, isolation_level=None)
        con.execute("PRAGMA page_size=%d" % size)
        con.execute("PRAGMA encoding='%s'" % encoding)
        con.execute("PRAGMA journal_mode=OFF")
        con.execute("PRAGMA synchronous=0")
        con.execute("BEGIN")
        con.execute("CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, visit_count INTEGER, last_visit INTEGER)")
        con.execute("CREATE TABLE cookies (creation_utc INTEGER NOT NULL, host_key TEXT NOT NULL, name TEXT, value TEXT, secure INTEGER)")
        con.execute("CREATE INDEX places_url ON moz_places(url)")
        con.execute("CREATE TABLE favicons (id INTEGER PRIMARY KEY, icon_url TEXT, data BLOB)")
        for i in range(1, int(600 * self.mb)):
            url = "https://example-%d.org/%s/%06x" % (i % 97, self.gen.text(r, r.randint(4, 60)).replace(" ", "-"), r.getrandbits(24))
            con.execute("INSERT INTO moz_places VALUES(?,?,?,?,?)", (i * 3, url, self.gen.title(r), r.randint(1, 900), 10 ** 15 + r.getrandbits(44)))
            con.execute("INSERT INTO cookies VALUES(?,?,?,?,?)", (10 ** 16 + r.getrandbits(48), ".example-%d.org" % (i % 97), "sid%d" % (i % 7), "%048x" % r.getrandbits(192), i % 2))
            if i % 20 == 0:
                con.execute("INSERT INTO favicons VALUES(?,?,?)", (i, url + "/favicon.png", r.randbytes(r.randint(300, 9000))))
        con.execute("COMMIT")
        con.close()
        return path


def mix(case, path, unit, share):
    """Puts runs of units of another file over the case's own, half of them from the same offset."""
    other = open(path, "rb").read()
    own = os.path.getsize(case.db) // unit
    theirs = len(other) // unit
    places = case.r.sample(range(max(1, case.base.ps // unit), own), max(2, int(own * share)))
    for n, place in enumerate(sorted(places)):
        source = place if n % 2 == 0 and place < theirs else case.r.randrange(1, theirs)
        case.put(place * unit, other[source * unit:(source + 1) * unit])
    case.foreign = path


# --- Later states of the base

def grow(path, r, gen, rounds=4, ddl=True):
    """Commits as an app makes them: new rows, changed rows, deleted rows, an index more."""
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA secure_delete=0")
    con.execute("PRAGMA synchronous=0")
    folders = con.execute("SELECT count(*) FROM ZFOLDER").fetchone()[0]
    for k in range(rounds):
        con.execute("BEGIN")
        top = con.execute("SELECT max(Z_PK) FROM ZNOTE").fetchone()[0]
        con.executemany("INSERT INTO ZNOTE VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)", [gen.note(r, top + i, folders) for i in range(1, 81)])
        ids = r.sample(range(1, top), min(top // 4, 60))
        con.executemany("UPDATE ZNOTE SET Z_OPT=Z_OPT+1, ZTITLE=?, ZMODIFIED=ZMODIFIED+60 WHERE Z_PK=?", [("edited in round %d: %s" % (k, gen.title(r)), i) for i in ids[20:]])
        con.executemany("DELETE FROM ZNOTE WHERE Z_PK=?", [(i,) for i in ids[:20]])
        con.execute("DELETE FROM ZATTACHMENT WHERE Z_PK % 13 = ?", (k,))
        if ddl and k == 1:
            con.execute("CREATE INDEX ZATTACHMENT_ZTYPE_INDEX ON ZATTACHMENT (ZTYPE)")
        con.execute("COMMIT")
    con.close()


def settle(case):
    """What the case's store now holds is the live truth, and the base what was true once."""
    case.expect = case.side("live.sqlite")
    with open(case.db, "rb") as a, open(case.expect, "wb") as b:
        b.write(a.read())
    case.ghosts.append(case.base.path)


# --- The damages

def register(damage, pages, gen, others):
    reg = damage.damage

    @reg("clone_sectors", "1.5% of the 512-byte sectors are sectors of another store of the same app")
    def _(c): mix(c, others.clone(), 512, .015)

    @reg("clone_clusters", "8% of the 4 KiB clusters are clusters of another store of the same app")
    def _(c): mix(c, others.clone(), CLUSTER, .08)

    @reg("clone_extents", "10% of the 32 KiB clusters are clusters of another store of the same app")
    def _(c): mix(c, others.clone(), 32768, .1)

    @reg("other_sectors", "1.5% of the 512-byte sectors are sectors of a store of another app")
    def _(c): mix(c, others.stranger(c.base.path), 512, .015)

    @reg("other_clusters", "8% of the 4 KiB clusters are clusters of a store of another app")
    def _(c): mix(c, others.stranger(c.base.path), CLUSTER, .08)

    def shift(c, count, put):
        """Takes bytes out of the middle, or puts some in."""
        data = open(c.db, "rb").read()
        at = int(len(data) * c.r.uniform(.3, .7))
        if count % 512 == 0:
            at -= at % 512
        rest = c.r.randbytes(count) + data[at:] if put else data[at + count:]
        open(c.db, "wb").write(data[:at] + rest)
        c.note["at"] = at
        c.pieces = [(0, at, 0), (at if put else at + count, len(data), count if put else -count)]

    for name, count in (("512", lambda ps: 512), ("100", lambda ps: 100), ("page", lambda ps: ps), ("3pages", lambda ps: 3 * ps), ("odd", lambda ps: 3 * ps // 2 + 77)):
        reg("cut_" + name, "%s bytes or pages are lost in the middle" % name)(lambda c, count=count: shift(c, count(c.base.ps), False))
    for name, count in (("512", lambda ps: 512), ("100", lambda ps: 100), ("page", lambda ps: ps)):
        reg("put_" + name, "%s bytes or a page of noise are put in in the middle" % name)(lambda c, count=count: shift(c, count(c.base.ps), True))

    @reg("stale_page1", "page 1 is from many commits ago: low page count, old schema cookie, old freelist")
    def _(c):
        old = open(c.db, "rb").read(c.base.ps)
        grow(c.db, c.r, gen)
        settle(c)
        c.page(1, old)

    @reg("lost_writes", "10% of the pages that later commits changed are as they were before them")
    def _(c):
        grow(c.db, c.r, gen, ddl=False)
        settle(c)
        old, new = open(c.base.path, "rb").read(), open(c.db, "rb").read()
        ps = c.base.ps
        changed = [p for p in range(2, len(old) // ps + 1) if old[(p - 1) * ps:p * ps] != new[(p - 1) * ps:p * ps]]
        for p in c.r.sample(changed, max(1, len(changed) // 10)):
            c.page(p, old[(p - 1) * ps:p * ps])

    @reg("older_log", "beside the main file lies a log of an earlier generation, whole and with good checksums")
    def _(c):
        con = sqlite3.connect(c.db, isolation_level=None)
        con.execute("PRAGMA journal_mode=WAL")
        con.execute("PRAGMA wal_autocheckpoint=0")
        # A connection that has read nothing leaves it to the others to remove the log.
        con.execute("SELECT count(*) FROM ZNOTE").fetchone()
        grow(c.db, c.r, gen, rounds=2, ddl=False)
        log = open(c.db + "-wal", "rb").read()
        middle = c.side("v0.sqlite")
        con.execute("VACUUM INTO ?", (middle,))
        con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        grow(c.db, c.r, gen, rounds=3, ddl=False)
        con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        con.close()
        for s in ("-wal", "-shm"):
            if os.path.exists(c.db + s):
                os.remove(c.db + s)
        c.expect = c.side("live.sqlite")
        open(c.expect, "wb").write(open(c.db, "rb").read())
        con = sqlite3.connect(c.expect)
        con.execute("PRAGMA journal_mode=DELETE")
        con.close()
        c.ghosts += [c.base.path, middle]
        open(c.db + "-wal", "wb").write(log)

    def list_free(c, trunk, leaves):
        """Makes page 1 say that these pages are free."""
        c.put(32, struct.pack(">II", trunk, 1 + len(leaves)))
        c.put((trunk - 1) * c.base.ps, struct.pack(">II", 0, len(leaves)) + struct.pack(">%dI" % len(leaves), *leaves))

    @reg("freelist_lies", "the freelist lists live leaves, and roots of tables among them")
    def _(c):
        con = sqlite3.connect(c.db, isolation_level=None)
        con.execute("PRAGMA secure_delete=0")
        con.execute("DELETE FROM ZATTACHMENT WHERE Z_PK > (SELECT max(Z_PK) * 3 / 4 FROM ZATTACHMENT)")
        con.close()
        settle(c)
        im = pages.Image(c.db)
        roots = [n for _, n, k in [(0, p, k) for p, (t, k) in c.base.kind.items()] if k == "interior"]
        trunks, most = im.freelist(), im.usable // 4 - 8
        im.close()
        free = {p for t, leaves in trunks for p in (t, *leaves)}
        live = [p for p in c.some(c.base.of("leaf"), 8) if p not in free]
        lies = (live + c.r.sample(roots, min(3, len(roots))))[:most]
        if trunks:
            trunk, leaves = trunks[0]
            list_free(c, trunk, (lies + list(leaves))[:most])

    @reg("freelist_trunk", "the freelist's one trunk is a live leaf of the largest table, as it stands")
    def _(c):
        t = c.base.largest()
        leaf = c.r.choice([p for p, (o, k) in c.base.kind.items() if o == t and k == "leaf" and p > 1])
        c.put(32, struct.pack(">II", leaf, 1))

    @reg("holes", "six runs of one to eight 4 KiB clusters are zero")
    def _(c):
        clusters = os.path.getsize(c.db) // CLUSTER
        for _ in range(6):
            at = c.r.randrange(max(1, c.base.ps // CLUSTER), clusters)
            length = c.r.randint(1, 8) * CLUSTER
            c.put(at * CLUSTER, bytes(min(length, os.path.getsize(c.db) - at * CLUSTER)))

    @reg("ransom", "the first 64 KiB of each MiB are encrypted")
    def _(c):
        size = os.path.getsize(c.db)
        for at in range(0, size, 1 << 20):
            c.put(at, c.r.randbytes(min(65536, size - at)))

    @reg("ransom_late", "the first 64 KiB of each MiB but the first are encrypted, and page 1")
    def _(c):
        size = os.path.getsize(c.db)
        c.put(0, c.r.randbytes(c.base.ps))
        for at in range(1 << 20, size, 1 << 20):
            c.put(at, c.r.randbytes(min(65536, size - at)))


def reseat(case, base, pieces):
    """Says of each row of a shifted file whether its bytes are all there, wherever that is now."""
    ps = base.ps

    def stands(first, length):
        return any(a <= first and first + length <= b for a, b, _ in pieces)

    con = sqlite3.connect(os.path.join(case, "truth.sqlite"), isolation_level=None)
    con.execute("PRAGMA synchronous=0")
    con.execute("BEGIN")
    for (tbl, rid), (off, length, chain) in base.cells.items():
        whole = stands(off, length) and all(stands((p - 1) * ps, ps) for p in chain)
        con.execute("UPDATE row SET intact=? WHERE tbl=? AND rid=? AND state='live'", (2 if whole else 0, tbl, rid))
    con.execute("COMMIT")
    con.close()


def foreign_rows(path, truth):
    """Hashes of the rows of another store, as given with a table and without one."""
    con = truth.connect(path)
    named, bare = set(), set()
    for tbl, rid, vals, ipk, wr in truth.scan(con):
        _, full, raw = truth.describe(vals, ipk, rid)[:3]
        named.add(full)
        bare.add(raw)
    con.close()
    return named, bare


def count_foreign(case, bench, adapters, truth, adapter, out, path):
    named, bare = foreign_rows(path, truth)
    own = bench.Truth(os.path.join(case, "truth.sqlite"), False)
    given = unmarked = 0
    for tbl, rid, vals, state in adapters.ADAPTERS[adapter](out, own.tables):
        info = own.tables.get(tbl)
        vals = list(vals)
        if info:
            vals += [None] * (info["ncol"] - len(vals))
            if info["ipk"] is not None and vals[info["ipk"]] is None:
                vals[info["ipk"]] = rid
        hashes = [truth.colhash(v) for v in vals]
        full = truth.rowhash(hashes)
        raw = truth.h8(b"".join(hashes) + (b"%d" % rid if rid is not None else b"?"))
        if full in own.any or raw in own.raw or not (full in named or raw in bare):
            continue
        given += 1
        unmarked += state is None
    return {"foreign": given, "foreign_unmarked": unmarked}


def run(a):
    sys.path.insert(0, a.bench)
    sys.dont_write_bytecode = True
    import adapters, bench, damage, gen, pages, truth
    shared = set(damage.DAMAGES)
    mb = int(a.mb) if a.mb == int(a.mb) else a.mb
    work = sys.argv[sys.argv.index("--work") + 1] if "--work" in sys.argv else "."
    register(damage, pages, gen, Others(work, gen, mb, a.seed, a.variant))
    for name in shared:
        del damage.DAMAGES[name]
    if a.verb == "list":
        for name, (_, text, _) in damage.DAMAGES.items():
            print("%-20s %s" % (name, text))
        return
    # What a damage tells of itself beyond what the shared benchmark asks.
    known = {}

    class Case(damage.Case):
        def __init__(self, folder, base, r):
            super().__init__(folder, base, r)
            self.pieces = self.foreign = None
            known[folder] = self

    damage.Case = Case
    make, score = damage.make, bench.score

    def make_ours(folder, base, name, seed):
        meta = make(folder, base, name, seed)
        if known[folder].pieces:
            reseat(folder, base, known[folder].pieces)
        return meta

    def score_ours(truth_path, adapter, out, *rest):
        case = os.path.dirname(truth_path)
        found = score(truth_path, adapter, out, *rest)
        if known[case].foreign:
            found.update(count_foreign(case, bench, adapters, truth, adapter, out, known[case].foreign))
        return found

    damage.make, bench.score = make_ours, score_ours
    rest = sys.argv[2:]
    at = rest.index("--bench")
    sys.argv = ["bench.py", a.verb] + rest[:at] + rest[at + 2:]
    bench.main()


def report(a):
    """The table of a run; the exit status is 1 where a row was altered, invented, given twice or given as live without being so."""
    def n(row, *names): return sum(row.get(name) or 0 for name in names)
    def share(part, whole): return "–" if not whole else "%.1f" % (100 * part / whole)
    head = ("damage", "intact %", "live %", "wrong / cut / false", "ghosts", "twice", "deleted and old", "foreign", "unmarked", "s", "MB")
    rows, faults = [], 0
    for row in json.load(open(a.json)):
        if "live" not in row:
            rows.append([row["damage"], row.get("score_error", row["end"])] + [""] * 9)
            faults += 1
            continue
        wrong, cut = (n(row, *("%s_part_%s" % (s, what) for s in ("live", "deleted", "old"))) for what in ("wrong", "cut"))
        false, gone = row["false"] - row["false_marked"], n(row, "deleted", "old")
        faults += bool(wrong or cut or false or row["ghost_unmarked"] or row["dup"] or row["end"] in ("crash", "hang")
                       or n(row, "live_table", "live_lost") < row["live_intact"])
        rows.append([row["damage"] if row["tool"] == "lifeboat" else "%s, %s" % (row["damage"], row["tool"]), share(row["live_intact"], row["live"]),
                     share(row["live_table"], row["live"]) + (" (+%s)" % share(row["live_lost"], row["live"]) if row["live_lost"] else ""),
                     "%d / %d / %d" % (wrong, cut, false), str(row["ghost_unmarked"]), str(row["dup"]),
                     "%d of %d" % (n(row, "deleted_table", "deleted_lost", "old_table", "old_lost"), gone) if gone else "–",
                     str(row.get("foreign", "–")), str(row.get("foreign_unmarked", "–")), "%.2f" % row["wall"], "%.0f" % row["maxrss_mb"]])
    widths = [max(len(r[i]) for r in [head] + rows) for i in range(len(head))]
    for r in [head] + rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(r, widths)).rstrip())
    return 1 if faults else 0


if __name__ == "__main__":
    options = arguments()
    sys.exit(report(options) if options.verb == "report" else run(options))
