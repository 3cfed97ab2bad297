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
rows = sorted(table.select("number", "line").collect())
truth = open(lines).read().splitlines()
assert [row["number"] for row in rows] == list(range(len(truth))), "numbers of inputs are missing or twice"
different = [row["number"] for row, line in zip(rows, truth) if row["line"] != line]
assert not different, f"lines differ: {different[:5]}"
# The columns are those of the catalogue, and so are their values.
database = sqlite3.connect(catalogue)
columns = [column[1] for column in database.execute("PRAGMA table_info(input)") if column[1] not in ("identity", "line")]
assert set(columns) == set(table.columns) - {"number", "line", "by_day", "by_build"}, set(columns) ^ set(table.columns)
def value(cell): return int(cell) if isinstance(cell, bool) else cell
here = [tuple(value(row[name]) for name in columns) for row in table.select(*columns).collect()]
there = list(database.execute(f"SELECT {', '.join(columns)} FROM input"))
key = lambda row: row[0]
assert sorted(here, key=key) == sorted(there, key=key), "values of columns differ"
print(f"{len(rows)} lines and {len(columns)} columns are those of one machine")
