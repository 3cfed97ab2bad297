#!/usr/bin/env python3
"""Scores tools on the SQLite Forensic Corpus as the shared benchmark does, against what the stores' scripts insert.

  corpus.py BENCH CORPUS --tools tools.json --work W --json out.json

The answer keys of the corpus leave out the values of columns that are NULL (category 15), so that what
follows them stands under the column before, and have the numbers of an R*Tree as they were written, not as 32 bits hold
them (06). So the live rows of a table are those that SQLite has after the `.sql` beside the key. Rows that the script
deletes come from the key, which alone says which of them are left. Tables that the key does not name, those behind a
virtual table, count too.
"""
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop(1))
import nemetz
import truth

key = nemetz.key


def inserted(xml):
    """What `nemetz.key` yields, the live rows by the script."""
    con = sqlite3.connect(":memory:")
    con.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
    script = open(xml[:-4] + ".sql", encoding="utf-8", errors="surrogateescape").read()
    try:
        con.executescript(script)
    except (sqlite3.Error, UnicodeError) as error:
        print(f"{os.path.basename(xml)}: key as it is, the script fails: {error}", file=sys.stderr)
        yield from key(xml)
        return
    made = {name: cols for name, cols, _, _ in truth.tables_of(con)}
    has_virtual = con.execute("SELECT count(*) FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'").fetchone()[0] > 0

    def rows(name):
        quoted = name.replace('"', '""')
        return [(False, list(row)) for row in con.execute(f'SELECT * FROM "{quoted}"')]

    for name, gone, cols, types, keyed in key(xml):
        if gone or name not in made:
            yield name, gone, cols, types, keyed
            continue
        dead = [(True, row) for is_dead, row in keyed if is_dead]
        yield name, gone, made.pop(name), types, rows(name) + dead
    for name, cols in made.items() if has_virtual else ():
        yield name, False, cols, [], rows(name)


def value(stored, kind):
    """Values that SQLite gave are what they are; those of a key are text."""
    return text_value(stored, kind) if isinstance(stored, str) else stored


text_value = nemetz.value
nemetz.key = inserted
nemetz.value = value
nemetz.main()
