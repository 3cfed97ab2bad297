#!/usr/bin/env python3
"""Holds every reading command against the truth on SQLite databases of many kinds, damaged in many ways.

  mixed.py EXECUTABLE [--seeds FIRST-LAST] [--damage NAME,NAME] [--seconds MOST] [--keep FOLDER] [--verbose]
  mixed.py list

Each seed makes a database: ten tables (row ids, WITHOUT ROWID, STRICT, no types at all, types that SQLite takes for
numbers with text in them, tables of a few rows), page sizes, encodings, auto-vacuum, a log or a hot journal, rows deleted
and changed. Damages are done to copies, and the commands asked:

  ended    a command crashes, takes 20 seconds or says what is not JSON
  exits    `rows --raw` and `rows --raw --all` exit differently
  lacks    `--all` lacks a row that `rows --raw` gives, under the same table name
  fewer    a command exits 0 with fewer rows of a table than SQLite reads
  wrong    `--all` gives an unmarked live row that never was; or that was of another table or file, or deleted, and that
           SQLite does not give or the exit is 0
  twice    `--all` gives two unmarked live rows with one key
  check    `check --depth full` finds something in a sound database, or not what `PRAGMA integrity_check` finds
  recover  a true row that SQLite reads is in no table of the recovered file, or SQLite finds damage in that file
  names    `recover` has fewer rows of a table than SQLite reads true ones there

Prints the sums by damage and fault; exits 1 where there is one. Everything comes from the seed.
"""
import argparse
import collections
import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

WORDS = ["alpha", "Grüße", "日本", "x", "", "lorem ipsum dolor", "ÆØ", "42", "2024-01-01", "🙂"]
TABLES = {
    "t": "(a INTEGER PRIMARY KEY, b TEXT, c BLOB, d REAL, e INT)",
    "w": "(k TEXT, n INT, v, PRIMARY KEY(k, n)) WITHOUT ROWID",
    "s": "(id INTEGER PRIMARY KEY AUTOINCREMENT, x INTEGER NOT NULL, y TEXT, z ANY) STRICT",
    "u": "(p, q UNIQUE, r DEFAULT 7 COLLATE NOCASE)",
    "note": "(id INTEGER PRIMARY KEY, title TEXT, due DATE, rating FLOAT, done BOOLEAN, price DECIMAL(10,2))",
    "event": "(name VARCHAR(40), at DATETIME NOT NULL, code INTEGER)",
    "setting": "(key TEXT PRIMARY KEY, value)",
    "tag": "(name VARCHAR(20))",
    "link": "(a INT, b INT, PRIMARY KEY(a, b))",
    "empty": "(id INTEGER PRIMARY KEY, what TEXT)",
}
NOT_BY_ROW_ID = {"w"}


def same(value):
    """A value of SQLite's, or of a line of NDJSON, as something that can be compared."""
    if isinstance(value, dict) and set(value) == {"hex"}:
        return "b", value["hex"]
    if isinstance(value, bytes):
        return "b", value.hex()
    return type(value).__name__, repr(value)


def rows_of(connection, tables=TABLES):
    found = {}
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    for table in tables:
        found[table] = set()
        try:
            key = "NULL" if table in NOT_BY_ROW_ID else "rowid"
            for row in connection.execute(f"SELECT {key}, * FROM {table} NOT INDEXED"):
                found[table].add((row[0], tuple(map(same, row[1:]))))
        except (sqlite3.Error, UnicodeError):
            pass
    return found


class Database:
    """A database, what is in it, and what ever was."""

    def __init__(self, r, folder, tag, like=None):
        self.r, self.tag, self.path = r, tag, os.path.join(folder, f"{tag}.db")
        for suffix in ("", "-wal", "-journal", "-shm"):
            if os.path.exists(self.path + suffix):
                os.remove(self.path + suffix)
        self.page = like.page if like else r.choice([512, 1024, 1024, 2048, 4096, 4096, 8192, 65536])
        encoding = like.encoding if like else r.choice(["UTF-8", "UTF-8", "UTF-16le", "UTF-16be"])
        self.encoding, self.mode = encoding, like.mode if like else r.choice(["none", "none", "none", "log", "reset log", "journal"])
        self.vacuum = like.vacuum if like else r.choice([0, 0, 1, 2])
        self.long = r.choice([0, .05, .3])
        self.ever, self.live, self.files = {table: set() for table in TABLES}, {}, {}
        self.older_log = None
        c = self.connection = sqlite3.connect(self.path, isolation_level=None)
        for pragma in (f"page_size={self.page}", f'encoding="{encoding}"', f"auto_vacuum={self.vacuum}",
                       f"secure_delete={int(r.random() < .2)}", "synchronous=OFF"):
            c.execute("PRAGMA " + pragma)
        for table, columns in TABLES.items():
            c.execute(f"CREATE TABLE {table}{columns}")
        c.execute("CREATE INDEX tb ON t(b)")
        c.execute("CREATE INDEX te ON t(e, d DESC) WHERE e > 3")
        c.execute("CREATE VIEW titles AS SELECT a, b FROM t")
        self.fill()
        c.close()

    def text(self, i, share):
        words = f"{self.tag}-{i}-{self.r.choice(WORDS)}"
        return words + f"z{i}." * self.r.randint(50, 1200) if self.r.random() < share else words

    def insert(self, first, last):
        r, c = self.r, self.connection
        few = r.randint(1, 30)
        for i in range(first, last):
            kind = r.random()
            if kind < .4:
                c.execute("INSERT OR IGNORE INTO t VALUES(?,?,?,?,?)", (
                    i * r.choice([1, 1, 1, 1000003]), self.text(i, self.long), r.choice([None, b"", r.randbytes(r.randint(1, 60))]),
                    r.choice([i / 7, float(i), None]), r.choice([0, 1, i, -i, i << 33])))
            elif kind < .55:
                c.execute("INSERT OR IGNORE INTO w VALUES(?,?,?)", (self.text(i, self.long / 3), i, r.choice([None, i, i / 3, f"v{i}", b"b%d" % i])))
            elif kind < .67:
                c.execute("INSERT INTO s(x, y, z) VALUES(?,?,?)", (i, self.text(i, self.long), r.choice([None, i, f"zz{i}", 1.5 * i])))
            elif kind < .78:
                c.execute("INSERT OR IGNORE INTO u(p, q, r) VALUES(?,?,?)", (self.text(i, self.long), f"q{self.tag}{i}", r.choice([1, f"R{i}", None])))
            elif kind < .9:
                c.execute("INSERT OR IGNORE INTO note VALUES(?,?,?,?,?,?)", (
                    i, self.text(i, self.long), r.choice([None, f"2024-{i % 12 + 1:02}-{i % 28 + 1:02}"]), r.choice([i / 10, "n/a", f"{i} stars"]),
                    r.choice([0, 1, "yes"]), r.choice([i / 4, i, f"{i} EUR"])))
            else:
                c.execute("INSERT INTO event VALUES(?,?,?)", (self.text(i, 0), f"2025-01-{i % 28 + 1:02} 10:{i % 60:02}", r.choice([i, f"E{i}"])))
            if i < first + few:
                c.execute("INSERT OR IGNORE INTO setting VALUES(?,?)", (f"{self.tag} key {i}", r.choice([i, f"value {i}", None])))
                c.execute("INSERT INTO tag VALUES(?)", (f"{self.tag} tag {i}",))
                c.execute("INSERT OR IGNORE INTO link VALUES(?,?)", (i, i * 7 % 31))

    def remember(self):
        self.live = rows_of(self.connection)
        for table, rows in self.live.items():
            self.ever[table] |= rows

    def fill(self):
        r, c, count = self.r, self.connection, self.r.randint(30, 600)
        c.execute("BEGIN")
        self.insert(1, count)
        c.execute("COMMIT")
        self.remember()
        if r.random() < .3:
            c.execute("ALTER TABLE u ADD COLUMN more DEFAULT " + r.choice(["'more'", "5", "NULL"]))
            self.remember()
        self.older = open(self.path, "rb").read()
        for turn in range(r.randint(0, 3)):
            c.execute("BEGIN")
            for table in TABLES:
                part = r.choice([0, 3, 7])
                if part:
                    c.execute(f"DELETE FROM {table} WHERE {'n' if table in NOT_BY_ROW_ID else 'rowid'} % {part} = {r.randrange(part)}")
            self.remember()
            if r.random() < .5:
                c.execute(f"UPDATE t SET b = b || '-edited{turn}' WHERE a % 5 = 1")
                c.execute(f"UPDATE note SET title = title || '-edited{turn}' WHERE id % 5 = 1")
            if r.random() < .3:
                self.insert(count + turn * 50, count + turn * 50 + 40)
            c.execute("COMMIT")
            self.remember()
        if r.random() < .15:
            c.execute("VACUUM")
            self.remember()
        if "log" in self.mode:
            c.execute("PRAGMA journal_mode=WAL")
            c.execute("PRAGMA wal_autocheckpoint=0")
            self.commit(count + 300)
            self.older_log = open(self.path + "-wal", "rb").read()
            if self.mode == "reset log":
                c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            c.execute("DELETE FROM t WHERE a % 4 = 2")
            self.commit(count + 320)
            self.take("", "-wal")
        elif self.mode == "journal":
            c.execute("PRAGMA cache_size=1")
            before = self.live
            c.execute("BEGIN")
            c.execute("UPDATE t SET b = b || 'J'")
            self.insert(count + 300, 2 * count + 300)
            c.execute("DELETE FROM w WHERE n % 2 = 0")
            self.remember()
            self.take("", "-journal")
            c.execute("ROLLBACK")
            self.live = before
        else:
            self.take("")

    def commit(self, first):
        self.connection.execute("BEGIN")
        self.insert(first, first + 20)
        self.connection.execute("COMMIT")
        self.remember()

    def take(self, *suffixes):
        for suffix in suffixes:
            if os.path.exists(self.path + suffix):
                self.files[suffix] = open(self.path + suffix, "rb").read()


# --- Damages

class Case:
    """The files of a database while damage is done to them. A damage gives words for what it did, or None where it does not apply."""

    def __init__(self, r, base, other):
        self.r, self.base, self.other, self.size = r, base, other, base.page
        self.files = dict(base.files)
        self.count = len(self.main) // self.size

    @property
    def main(self):
        return self.files[""]

    def put(self, offset, data, suffix=""):
        old = self.files[suffix]
        self.files[suffix] = old[:offset] + bytes(data) + old[offset + len(data):]

    def page(self, number, data=None):
        return (data or self.main)[(number - 1) * self.size:number * self.size]

    def put_page(self, number, data):
        self.put((number - 1) * self.size, data)

    def number(self, offset, form=">I"):
        return struct.unpack_from(form, self.main, offset)[0]

    def header(self, number):
        """Where the b-tree header of a page starts."""
        return (number - 1) * self.size + (100 if number == 1 else 0)

    def trees(self, kinds=(2, 5, 10, 13)):
        return [n for n in range(1, self.count + 1) if self.main[self.header(n)] in kinds]


DAMAGES, ALTERING = {}, set()


def damage(words, alters=False, **options):
    """`alters`: bytes of values can be others than before, so that a wrong value is no fault of the reader's."""
    def register(function):
        name = function.__name__
        DAMAGES[name] = (function, words)
        if alters:
            ALTERING.add(name)
        return function
    return register


@damage("none")
def none(c): return "intact"


@damage("two pages change places")
def pages_swapped(c):
    if c.count < 4: return
    i, j = c.r.sample(range(2, c.count + 1), 2)
    a, b = c.page(i), c.page(j)
    c.put_page(i, b), c.put_page(j, a)
    return f"pages {i} and {j}"


@damage("a page is copied over another")
def page_copied(c):
    if c.count < 4: return
    i, j = c.r.sample(range(2, c.count + 1), 2)
    c.put_page(j, c.page(i))
    return f"page {i} over {j}"


@damage("a page of another database of the same app")
def page_foreign(c):
    theirs = len(c.other.files[""]) // c.size
    if c.count < 3 or theirs < 3: return
    i, j = c.r.randint(2, c.count), c.r.randint(2, theirs)
    c.put_page(i, c.page(j, c.other.files[""]))
    return f"page {i} is page {j} of the other"


@damage("page 1 of an older version")
def stale_page_1(c):
    if c.base.older == c.main or c.count < 2: return
    c.put_page(1, c.page(1, c.base.older))
    return "page 1"


@damage("a page of an older version")
def stale_page(c):
    shared = min(len(c.main), len(c.base.older)) // c.size
    changed = [n for n in range(2, shared + 1) if c.page(n, c.base.older) != c.page(n)]
    if not changed: return
    n = c.r.choice(changed)
    c.put_page(n, c.page(n, c.base.older))
    return f"page {n}"


@damage("all pages from one on of an older version")
def stale_tail(c):
    shared = min(len(c.main), len(c.base.older)) // c.size
    if shared < 4: return
    n = c.r.randint(3, shared)
    c.put((n - 1) * c.size, c.base.older[(n - 1) * c.size:shared * c.size])
    return f"pages from {n}"


@damage("the freelist lists live pages")
def freelist_lies(c):
    if c.count < 5: return
    leaves = [c.r.randint(2, c.count) for _ in range(c.r.randint(1, 3))]
    trunk = struct.pack(">II", c.number(32), len(leaves)) + b"".join(struct.pack(">I", n) for n in leaves)
    count = c.count + 1
    c.files[""] = c.main + trunk + bytes(c.size - len(trunk))
    c.put(28, struct.pack(">III", count, count, c.number(36) + 1 + len(leaves)))
    return f"pages {leaves}"


@damage("512 zero bytes")
def sector_zero(c):
    sectors = len(c.main) // 512
    n = c.r.randrange(1, sectors)
    c.put(n * 512, bytes(512))
    return f"sector {n}"


@damage("the first bytes are zero")
def head_zero(c):
    n = c.r.choice([16, 18, 100, 512])
    c.put(0, bytes(n))
    return f"{n} bytes"


@damage("a bit of a CREATE statement is flipped", alters=True)
def flip_schema(c):
    places = [i for i in range(len(c.main)) if c.main.startswith((b"CREATE", b"C\0R\0E", b"\0C\0R\0E"), i)]
    if not places: return
    i = min(c.r.choice(places) + c.r.randint(0, 60), len(c.main) - 1)
    c.put(i, [c.main[i] ^ 1 << c.r.randrange(8)])
    return f"byte {i}"


@damage("bits are flipped", alters=True)
def flips(c):
    places = [c.r.randrange(len(c.main)) for _ in range(c.r.choice([1, 1, 3, 10]))]
    for i in places:
        c.put(i, [c.main[i] ^ 1 << c.r.randrange(8)])
    return f"bytes {places}"


@damage("a byte of a page's header is another")
def page_header(c):
    n = c.r.choice(c.trees())
    i = c.header(n) + c.r.randrange(12)
    old = c.main[i]
    c.put(i, [c.r.choice([0, 2, 5, 10, 13, 255, old ^ 1, old ^ 2, (old + 1) & 255])])
    return f"page {n}, byte {i}: {old} -> {c.main[i]}"


@damage("cell pointers are swapped, doubled or moved by a few bytes")
def cell_pointers(c):
    pages = [n for n in c.trees() if 2 <= c.number(c.header(n) + 3, ">H") < 200]
    if not pages: return
    n = c.r.choice(pages)
    start = c.header(n) + (8 if c.main[c.header(n)] >= 10 else 12)
    i, j = c.r.sample(range(c.number(c.header(n) + 3, ">H")), 2)
    a, b = c.number(start + 2 * i, ">H"), c.number(start + 2 * j, ">H")
    how = c.r.choice(["swapped", "doubled", "moved"])
    c.put(start + 2 * i, struct.pack(">H", b if how != "moved" else (a + c.r.choice([-3, -2, -1, 1, 2, 3])) & 65535))
    if how == "swapped":
        c.put(start + 2 * j, struct.pack(">H", a))
    return f"page {n}, {how}: {i}, {j}"


@damage("a page's count of cells is another")
def cell_count(c):
    n = c.r.choice(c.trees())
    old = c.number(c.header(n) + 3, ">H")
    new = max(0, old + c.r.choice([-1, -2, 1, 2, -old]))
    c.put(c.header(n) + 3, struct.pack(">H", new))
    return f"page {n}: {old} -> {new}"


@damage("a page's first freeblock is somewhere")
def freeblock(c):
    n = c.r.choice(c.trees())
    at = c.r.randrange(c.size)
    c.put(c.header(n) + 1, struct.pack(">H", at))
    return f"page {n}: {at}"


@damage("the end is cut off")
def cut_end(c):
    n = c.r.choice([c.r.randrange(1, len(c.main)), len(c.main) - c.size, len(c.main) - c.r.randint(1, c.size)])
    c.files[""] = c.main[:max(1, n)]
    return f"at {n}"


@damage("bytes are missing in the middle", alters=True)
def cut_middle(c):
    i, n = c.r.randrange(100, len(c.main)), c.r.choice([1, 2, 16, 512])
    c.files[""] = c.main[:i] + c.main[i + n:]
    return f"{n} at {i}"


@damage("a page is missing, the rest moves up")
def cut_page(c):
    if c.count < 6: return
    n = c.r.randint(2, c.count - 1)
    c.files[""] = c.main[:(n - 1) * c.size] + c.main[n * c.size:]
    return f"page {n}"


@damage("bytes were put in in the middle", alters=True)
def put_middle(c):
    i, n = c.r.randrange(100, len(c.main)), c.r.choice([1, 2, 16, 512])
    c.files[""] = c.main[:i] + c.r.randbytes(n) + c.main[i:]
    return f"{n} at {i}"


@damage("a page stands some pages later than it should")
def page_moved(c):
    if c.count < 6: return
    i = c.r.randint(2, c.count - 3)
    by = c.r.randint(1, min(3, c.count - i))
    pages = [c.page(n) for n in range(1, c.count + 1)]
    pages.insert(i - 1 + by, pages.pop(i - 1))
    c.files[""] = b"".join(pages)
    return f"page {i} by {by}"


@damage("a log of before the last checkpoint")
def older_log(c):
    if c.base.mode != "reset log": return
    c.files["-wal"] = c.base.older_log
    return "log"


def flip_beside(c, suffix, least, choose):
    """Flips a bit of the file beside the main one."""
    data = c.files.get(suffix, b"")
    if len(data) < least: return
    i = choose(data)
    c.put(i, [data[i] ^ 1 << c.r.randrange(8)], suffix)
    return f"byte {i}"


def cut_beside(c, suffix, least):
    """Cuts the file beside the main one off."""
    data = c.files.get(suffix, b"")
    if len(data) < least: return
    n = c.r.randrange(len(data))
    c.files[suffix] = data[:n]
    return f"at {n}"


@damage("a bit of the log is flipped", alters=True)
def flip_log(c):
    r = c.r
    return flip_beside(c, "-wal", 100, lambda log: r.choice([r.randrange(len(log)), r.randrange(32), 32 + r.randrange(24)]))


@damage("the log is cut off")
def cut_log(c): return cut_beside(c, "-wal", 100)


@damage("two frames of the log change places")
def frames_swapped(c):
    log, size = c.files.get("-wal", b""), 24 + c.size
    count = max(0, len(log) - 32) // size
    if count < 2: return
    i, j = c.r.sample(range(count), 2)
    frames = [log[32 + k * size:32 + (k + 1) * size] for k in range(count)]
    frames[i], frames[j] = frames[j], frames[i]
    c.files["-wal"] = log[:32] + b"".join(frames)
    return f"frames {i}, {j}"


@damage("the log of another database")
def foreign_log(c):
    if "-wal" not in c.other.files or "-wal" not in c.files: return
    c.files["-wal"] = c.other.files["-wal"]
    return "log"


@damage("a bit of the journal is flipped", alters=True)
def flip_journal(c):
    r = c.r
    return flip_beside(c, "-journal", 600, lambda journal: r.choice([r.randrange(28), r.randrange(512, len(journal))]))


@damage("the journal is cut off", alters=True)
def cut_journal(c): return cut_beside(c, "-journal", 600)


def change_schema(c, change):
    """Lets SQLite write another schema."""
    if c.base.mode != "none": return
    path = c.base.path + ".schema"
    open(path, "wb").write(c.main)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA writable_schema=1")
        words = change(connection)
    except sqlite3.Error:
        return
    finally:
        connection.close()
    c.files[""] = open(path, "rb").read()
    return words


@damage("two tables or indexes change roots, or have one root")
def roots(c):
    def change(connection):
        (i, root, name), (j, other, second) = c.r.sample(
            connection.execute("SELECT rowid, rootpage, name FROM sqlite_master WHERE rootpage > 0").fetchall(), 2)
        connection.execute("BEGIN")
        connection.execute("UPDATE sqlite_master SET rootpage=? WHERE rowid=?", (other, i))
        both = c.r.random() < .6
        if both:
            connection.execute("UPDATE sqlite_master SET rootpage=? WHERE rowid=?", (root, j))
        connection.execute("COMMIT")
        return f"{name} and {second}, {'both' if both else 'one'}"
    return change_schema(c, change)


@damage("an entry of the schema is gone")
def schema_entry(c):
    def change(connection):
        name = c.r.choice([*TABLES, "tb"])
        connection.execute("DELETE FROM sqlite_master WHERE name=?", (name,))
        return name
    return change_schema(c, change)


@damage("a field of the database header is another", alters=True)
def header_field(c):
    offset, data = c.r.choice([
        (16, struct.pack(">H", c.r.choice([512, 1024, 4096, 1, 0, 3000]))), (18, b"\2\2"), (18, b"\3\3"), (20, bytes([c.r.choice([8, 32, 255])])),
        (28, struct.pack(">I", c.r.choice([0, 1, 3, 10 ** 6]))), (56, struct.pack(">I", c.r.choice([0, 1, 2, 3, 9]))),
        (52, struct.pack(">I", c.r.choice([0, 1, 5]))), (44, struct.pack(">I", c.r.choice([0, 1, 9]))), (36, struct.pack(">I", 5)), (21, b"\0")])
    c.put(offset, data)
    return f"at {offset}: {data.hex()}"


@damage("an overflow page leads elsewhere")
def overflow(c):
    pages = [n for n in range(2, c.count + 1) if c.main[(n - 1) * c.size] == 0 and c.number((n - 1) * c.size) <= c.count]
    if not pages: return
    n = c.r.choice(pages)
    to = c.r.choice([0, c.r.randint(1, c.count), c.count + 5, n])
    c.put((n - 1) * c.size, struct.pack(">I", to))
    return f"page {n} to {to}"


@damage("an interior page's last child is another")
def child(c):
    pages = c.trees((2, 5))
    if not pages: return
    n, to = c.r.choice(pages), c.r.randint(2, c.count)
    c.put(c.header(n) + 8, struct.pack(">I", to))
    return f"page {n} to {to}"


# --- What the commands say

class Judge:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *arguments):
        try:
            process = subprocess.run([self.program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
        except subprocess.TimeoutExpired:
            return None, b"", b"20 seconds"
        return process.returncode, process.stdout, process.stderr

    def sqlite(self, files):
        """What SQLite says of a copy: its check, and the rows it reads before its first error."""
        path = os.path.join(self.folder, "copy.db")
        for suffix in ("", "-wal", "-journal", "-shm"):
            if os.path.exists(path + suffix): os.remove(path + suffix)
        for suffix, data in files.items():
            open(path + suffix, "wb").write(data)
        connection = sqlite3.connect(path)
        try:
            said = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
        except (sqlite3.Error, UnicodeError) as error:
            said = [str(error)]
        rows = rows_of(connection)
        connection.close()
        return said, rows

    def faults(self, name, base, other, files):
        path, out = os.path.join(self.folder, "case.db"), os.path.join(self.folder, "out.db")
        for suffix in ("", "-wal", "-journal"):
            if os.path.exists(path + suffix): os.remove(path + suffix)
        for suffix, data in files.items():
            open(path + suffix, "wb").write(data)
        if os.path.exists(out): os.remove(out)
        said, truth = self.sqlite(files)
        plain_code, plain, plain_words = self.run("rows", "--raw", "--format", "ndjson", path)
        all_code, every, all_words = self.run("rows", "--raw", "--all", "--format", "ndjson", path)
        check_code, report, _ = self.run("check", "--depth", "full", "--json", path)
        recover_code, _, recover_words = self.run("recover", "-q", "--output", out, path)
        for command, code, words in (("rows", plain_code, plain_words), ("rows --all", all_code, all_words),
                                     ("check", check_code, report), ("recover", recover_code, recover_words)):
            if code not in (0, 1, 65):
                yield "ended", f"{command}: {code} {words[-200:]}"
        try:
            plain = [json.loads(line) for line in plain.splitlines()]
            every = [json.loads(line) for line in every.splitlines()]
        except ValueError as error:
            yield "ended", f"{error}"
            return
        if {plain_code, all_code} == {0, 1}:
            yield "exits", f"rows {plain_code}, --all {all_code}: {(plain_words + all_words)[-300:]}"
        values = {id(row): tuple(map(same, row["values"])) for row in plain + every}
        if name != "header_field":
            yield from self.lacks(plain, every, values, base.page)
        for command, code, rows in (("rows", plain_code, plain), ("rows --all", all_code, every)):
            counts = collections.Counter(row["table"] for row in rows if "state" not in row)
            less = [f"{table}: {counts[table]} of {len(truth[table])}" for table in TABLES if counts[table] < len(truth[table])]
            if less and code == 0:
                yield "fewer", f"{command}: {less}"
        live = [row for row in every if not any(mark in row for mark in ("state", "partial", "contradicted", "invalidText"))]
        # A row id that is in doubt is not told.
        live = [row for row in live if row["rowid"] is not None or row["table"] in NOT_BY_ROW_ID]
        yield from self.wrong(name, base, other, live, values, truth, all_code)
        keys = collections.Counter((row["table"], values[id(row)][:2] if row["table"] in NOT_BY_ROW_ID else row["rowid"])
                                   for row in live if row["table"] in TABLES)
        double = [key for key, count in keys.items() if count > 1]
        if double:
            yield "twice", f"{len(double)}, first {double[0]}"
        # What is damaged is so although SQLite does not see it.
        if said == ["ok"] and check_code != 0 and name == "none":
            yield "check", f"SQLite: ok; ours: {check_code} {self.damages(report)}"
        if said != ["ok"] and check_code == 0 and not json.loads(report)["notChecked"]:
            yield "check", f"SQLite: {said[:3]}; ours: sound"
        if recover_code in (0, 1):
            yield from self.recovered(out, base, truth, recover_code)

    @staticmethod
    def damages(report):
        try:
            return [f["id"] for f in json.loads(report)["findings"] if f["severity"] == "damage"][:5]
        except ValueError:
            return [str(report[:200])]

    @staticmethod
    def lacks(plain, every, values, page):
        read = {(row["table"], row["rowid"]) for row in every if "state" not in row}
        counts = collections.Counter((row["table"], row["rowid"], values[id(row)]) for row in every)
        others = collections.defaultdict(list)
        for row in every:
            others[row["table"], row["rowid"]].append(values[id(row)])
        lacking = []
        for (table, key, row), count in collections.Counter((row["table"], row["rowid"], values[id(row)]) for row in plain).items():
            # A value that is in doubt is null.
            def is_told(other): return len(other) == len(row) and all(a == b or a[0] == "NoneType" for a, b in zip(other, row))
            # What plain reading takes from pages that are elsewhere may be read from where they are now.
            is_long = sum(len(text) for _, text in row) > page // 5 and ((table, key) in read or table in NOT_BY_ROW_ID)
            if table and not counts[table, key, row] and not any(map(is_told, others[table, key])) and not is_long:
                lacking.append((table, key, row))
        if lacking:
            yield "lacks", f"{len(lacking)} of {len(plain)}, first {str(lacking[0])[:200]}"

    @staticmethod
    def wrong(name, base, other, live, values, truth, code):
        def bare(rows, table):
            # What stands in the record of an INTEGER PRIMARY KEY is null.
            by_key = "INTEGER PRIMARY KEY" in TABLES[table]
            return {row for _, row in rows} | ({(same(None), *row[1:]) for _, row in rows} if by_key else set())
        ever = set().union(*(bare(base.ever[table], table) for table in TABLES))
        theirs = set().union(*(bare(other.ever[table], table) for table in TABLES))
        kinds = collections.defaultdict(list)
        for row in live:
            table, key = row["table"], (row["rowid"], values[id(row)])
            if table not in TABLES or key in base.live[table]: continue
            # What stands in overflow pages has nothing on it that tells whose it is.
            is_long = sum(len(text) for _, text in key[1]) > base.page // 5
            by_sqlite = key in truth[table] and (code != 0 or is_long or name == "flip_schema")
            # Nothing tells that a page is of an older version, or a log or journal as long as it was.
            if key in base.ever[table]: kind = None if key in truth[table] or "journal" in name else "deleted"
            elif key[1] in ever: kind = None if by_sqlite else "of another table"
            elif key[1] in theirs: kind = None if by_sqlite else "of another file"
            else: kind = None if name in ALTERING or by_sqlite else "never was"
            if kind: kinds[kind].append(row)
        for kind, rows in kinds.items():
            yield "wrong", f"{len(rows)} {kind}, exit {code}, first {json.dumps(rows[0])[:200]}"

    @staticmethod
    def recovered(out, base, truth, code):
        if not os.path.exists(out):
            yield "recover", f"exit {code}, no file"
            return
        connection = sqlite3.connect(out)
        said = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
        if said != ["ok"]:
            yield "recover", f"SQLite says of the file: {said[:3]}"
        found = rows_of(connection)
        # In tables beside them the row's own columns come behind others.
        anywhere = set().union(*found.values())
        for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type='table' AND name LIKE '_lifeboat%'").fetchall():
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                cells = tuple(map(same, row))
                anywhere |= {cells[first:last] for first in range(len(cells)) for last in range(first + 1, len(cells) + 1)}
        connection.close()
        lost, fewer = [], []
        for table in TABLES:
            true = truth[table] & base.live[table]
            lost += [(table, row) for row in true if row not in anywhere
                     and row[1] not in anywhere and (same(None), *row[1][1:]) not in anywhere]
            given = len(true & found[table])
            if given < len(true): fewer.append(f"{table}: {given} of {len(true)}")
        if lost:
            yield "recover", f"exit {code}, {len(lost)} true rows are nowhere, first {str(lost[0])[:200]}"
        if fewer:
            yield "names", f"exit {code}, {fewer}"


def cases(seed, folder, names):
    r = random.Random(seed)
    base = Database(r, folder, "A")
    other = Database(r, folder, "B", like=base)
    chosen = [name for name in DAMAGES if name in names] if names else r.sample(list(DAMAGES), 8)
    for name in chosen:
        case = Case(random.Random(f"{seed}/{name}"), base, other)
        words = DAMAGES[name][0](case)
        if words and case.main:
            yield name, words, base, other, case.files


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("executable")
    ap.add_argument("--seeds", default="1-40")
    ap.add_argument("--damage", default="")
    ap.add_argument("--keep", help="a folder for the files with which something is wrong")
    ap.add_argument("--verbose", action="store_true")
    a = ap.parse_args()
    if a.executable == "list":
        for name, (_, words) in DAMAGES.items():
            print("%-16s %s" % (name, words))
        return 0
    first, _, last = a.seeds.partition("-")
    sums, made = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(os.path.abspath(a.executable), folder)
        for seed in range(int(first), int(last or first) + 1):
            for name, words, base, other, files in cases(seed, folder, a.damage.split(",") if a.damage else None):
                made[name] += 1
                found = list(judge.faults(name, base, other, files))
                for fault, detail in found:
                    sums[fault, name] += 1
                    if a.verbose:
                        print(f"{seed} {name} ({words}; {base.page}, {base.encoding}, {base.mode}): {fault}: {detail}", flush=True)
                if found and a.keep:
                    kept = os.path.join(a.keep, f"{seed}-{name}")
                    os.makedirs(kept, exist_ok=True)
                    for suffix, data in files.items():
                        open(os.path.join(kept, "a.db" + suffix), "wb").write(data)
    kinds = ("ended", "exits", "lacks", "fewer", "wrong", "twice", "check", "recover", "names")
    rows = [("damage", "cases", *kinds)] + [(name, made[name], *(sums[kind, name] or "" for kind in kinds)) for name in DAMAGES if made[name]]
    rows.append(("all", sum(made.values()), *(sum(sums[kind, name] for name in DAMAGES) for kind in kinds)))
    for row in rows:
        print("%-16s" % row[0] + "".join("%9s" % cell for cell in row[1:]))
    return 1 if sums else 0


if __name__ == "__main__":
    sys.exit(main())
