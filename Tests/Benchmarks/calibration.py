#!/usr/bin/env python3
"""Runs the shared benchmark and counts beside its scores how often a confidence that was stated was deserved.

  calibration.py BENCH run ... (as bench.py)

Each result gets `calibration`: for each stated confidence the rows that were given with it and those of them that are
right. A row is right when it is a row that was true once, of the table that is named, under the row id that is given, and each
value that is given whole is that row's. Rows of transactions that were never finished are left out: they were never true,
and the truth does not have them.
"""
import json
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop(1))
import adapters
import bench
import truth


class Versions:
    """All rows that were ever true, by what of them may be known."""

    def __init__(self, path):
        self.truth = bench.Truth(path, False)
        self.contents = {}
        self.values = None
        for place, row in enumerate(self.truth.rows):
            self.contents.setdefault((row[0], self.content(row[0], self.columns(row))), []).append(place)

    @staticmethod
    def columns(row):
        return [row[4][k * 8:k * 8 + 8] for k in range(row[3])]

    def content(self, table, columns):
        key = self.truth.tables[table]["ipk"]
        return truth.rowhash([c for k, c in enumerate(columns) if k != key])

    def candidates(self, table, rowid, columns, whole):
        if table is None:
            for name, known in self.truth.tables.items():
                if known["ncol"] >= len(columns):
                    yield from self.candidates(name, rowid, columns, whole)
        elif rowid is not None:
            yield from self.truth.at.get((table, rowid), [])
        elif whole:
            padded = columns + [truth.NULLH] * (self.truth.tables[table]["ncol"] - len(columns))
            yield from self.contents.get((table, self.content(table, padded)), [])
        else:
            known = self.by_value()
            places = [known.get((table, k, column), []) for k, column in enumerate(columns) if column != truth.NULLH]
            yield from min(places, key=len, default=[])

    def by_value(self):
        """The rows that have a value in a column, for rows that came without their row ids and without some values."""
        if self.values is None:
            self.values = {}
            for place, row in enumerate(self.truth.rows):
                for k, column in enumerate(self.columns(row)):
                    if column != truth.NULLH:
                        self.values.setdefault((row[0], k, column), []).append(place)
        return self.values

    def hold(self, table, rowid, values, missing):
        columns = [truth.colhash(value) for value in values]
        for place in self.candidates(table, rowid, columns, not missing):
            row = self.truth.rows[place]
            key = self.truth.tables[row[0]]["ipk"]
            true = self.columns(row)
            given = columns + [truth.NULLH] * (len(true) - len(columns))
            if table not in (None, row[0]) or rowid not in (None, row[1]) and row[1] is not None:
                continue
            if all(k in missing or k == key or given[k] == true[k] for k in range(len(true))):
                return True
        return False


def calibrate(path, out):
    versions = Versions(path)
    counts = {}
    with open(out, encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            # The first of two states is lifeboat's own, the second what the scorer is told of partial rows.
            row = json.loads(line, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
            if "confidence" not in row or row.get("state", "partial") in ("partial", "uncommitted"):
                continue
            table, values = row.get("table"), row.get("values") or []
            names = versions.truth.tables[table]["cols"] if table in versions.truth.tables else []
            if isinstance(values, dict):
                values = [values.get(name) for name in names or values]
            partial = row.get("partial") or {}
            missing = {names.index(name) if name in names else int("".join(filter(str.isdigit, name)) or -1) for name in partial}
            isKnown = table is None or table in versions.truth.tables
            isRight = isKnown and versions.hold(table, row.get("rowid"), [adapters._val(v) for v in values], missing)
            count = counts.setdefault(f"{row['confidence']:.2f}", [0, 0])
            count[0] += 1
            count[1] += isRight
    return counts


def score(path, adapter, out, *more, **named):
    result = scored(path, adapter, out, *more, **named)
    if adapter == "ndjson":
        result["calibration"] = calibrate(path, out)
    return result


scored = bench.score
bench.score = score
bench.main()
