#!/usr/bin/env python3
"""Compares what Spark wrote with the lines of one machine, line by line.

usage: same.py PARQUET LINES CATALOGUE
"""
import sqlite3, sys

from pyspark.sql import SparkSession

parquet, lines, catalogue = sys.argv[1:4]
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
table = spark.read.parquet(parquet)
rows = sorted(row["line"] for row in table.select("line").collect())
truth = sorted(open(lines, encoding="utf-8", newline="\n").read().split("\n")[:-1])
assert len(rows) == len(truth), f"{len(rows)} lines, {len(truth)} on one machine"
different = [here for here, there in zip(rows, truth) if here != there]
assert not different, f"lines differ: {different[:5]}"
# The columns are those of the catalogue, and so are their values.
database = sqlite3.connect(catalogue)
columns = [column[1] for column in database.execute("PRAGMA table_info(input)") if column[1] not in ("identity", "line")]
assert set(columns) == set(table.columns) - {"line", "by_day", "by_build"}, set(columns) ^ set(table.columns)
def value(cell): return int(cell) if isinstance(cell, bool) else cell
here = [tuple(value(row[name]) for name in columns) for row in table.select(*columns).collect()]
there = list(database.execute(f"SELECT {', '.join(columns)} FROM input"))
key = lambda row: row[0]
# A path that is listed twice is one row of the catalogue.
different = set(here) ^ set(there)
assert not different, f"values of columns differ: {sorted(different, key=key)[:4]}"
print(f"{len(rows)} lines and {len(columns)} columns are those of one machine")
