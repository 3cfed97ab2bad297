#!/usr/bin/env python3
"""Triage of a listing of bundles on Spark.

Each task gives its part of the listing to one `lifeboat triage -`, which reads the bundles in processes of its own, and
turns each line into a row with the columns of the catalogue. The rows go into Parquet, by day and build. A task depends on
nothing but its part of the listing, so Spark may run it twice, side by side or again after a failure: the rows are the same.

What goes over the network between tasks is counts by signature, never a row of a store: no line has one.

The listing has a path on each line, of files that every executor sees: a mounted file system or a mounted object store.
"""
import argparse, subprocess, threading

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, expr, from_json

# What of a line becomes a column, as Spark reads JSON.
LINE = """
    path STRING, kind STRING, contents STRING, isEncrypted BOOLEAN, fix STRING, date STRING, dateSource STRING,
    signature STRUCT<id: STRING, family: STRING, verdict: STRING, problem: STRING, codes: STRING, build: STRING,
        sqlite: STRING, model: STRUCT<writtenBy: STRING, expected: STRING>, damage: ARRAY<STRING>, analysers: ARRAY<STRING>>,
    app STRUCT<name: STRING, version: STRING, build: STRING>, store STRUCT<kind: STRING, uuid: STRING, system: STRING>,
    sizes STRUCT<inputBytes: BIGINT, storeBytes: BIGINT, logBytes: BIGINT, pages: BIGINT>,
    findings STRUCT<damage: BIGINT, notes: BIGINT>, rows STRUCT<live: BIGINT, lost: BIGINT, recoverable: BIGINT>,
    failed STRUCT<code: STRING, message: STRING>
"""

# The columns of the table `input` of a catalogue, as expressions over such a line; man/lifeboat-triage.1 describes them.
COLUMNS = {
    "path": "path", "kind": "kind", "contents": "contents", "is_encrypted": "isEncrypted",
    "signature": "signature.id", "family": "signature.family",
    "words": "concat_ws(', ', signature.verdict, signature.problem, signature.codes, signature.damage, signature.analysers)",
    "needs_care": "failed IS NOT NULL OR signature.verdict != 'healthy'",
    "verdict": "signature.verdict", "problem": "signature.problem", "codes": "signature.codes",
    "model_written_by": "signature.model.writtenBy", "model_expected": "signature.model.expected",
    "build": "signature.build", "sqlite_version": "signature.sqlite", "fix": "fix",
    "app_name": "app.name", "app_version": "app.version", "app_build": "app.build",
    "store_kind": "store.kind", "store_uuid": "store.uuid", "system": "store.system",
    "input_bytes": "sizes.inputBytes", "store_bytes": "sizes.storeBytes", "log_bytes": "sizes.logBytes", "pages": "sizes.pages",
    "damage_count": "findings.damage", "note_count": "findings.notes",
    "rows_live": "rows.live", "rows_lost": "rows.lost", "rows_recoverable": "rows.recoverable",
    "date": "date", "day": "substring(date, 1, 10)", "date_source": "dateSource",
    "failed_code": "failed.code", "failed_message": "failed.message",
}


def triage(program, options, paths):
    """The lines of some inputs, each with the number of its input in the listing."""
    numbered = list(paths)
    if not numbered:
        return
    process = subprocess.Popen([program, "triage", "-", "-0", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)

    def feed():
        with process.stdin as requests:
            for _, path in numbered:
                requests.write(path.encode() + b"\0")
    # Another thread: neither pipe may fill up while nobody reads it.
    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    count = 0
    with process.stdout as lines:
        for (number, path), line in zip(numbered, lines):
            count += 1
            yield number, line.decode().rstrip("\n")
    feeder.join()
    status = process.wait()
    # Spark tries a task again that fails. A listing has no folders, so each path is a line.
    if status not in (0, 1) or count != len(numbered):
        raise RuntimeError(f"triage ended with status {status} after {count} of {len(numbered)} lines")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("listing", help="a file with a path on each line")
    parser.add_argument("output", help="the folder of Parquet files to make")
    parser.add_argument("--lifeboat", default="lifeboat", help="the program, on every executor")
    parser.add_argument("--task", type=int, default=1000, help="inputs of a task")
    parser.add_argument("--option", action="append", default=[], help="an option for triage; may be repeated")
    arguments = parser.parse_args()
    spark = SparkSession.builder.appName("lifeboat triage").getOrCreate()
    context = spark.sparkContext
    listing = open(arguments.listing).read().split("\n")
    numbered = [(number, path) for number, path in enumerate(path for path in listing if path)]
    tasks = max(1, -(-len(numbered) // arguments.task))
    program, options = arguments.lifeboat, arguments.option
    lines = context.parallelize(numbered, tasks).mapPartitions(lambda part: triage(program, options, part))
    # Python hands on the lines as they are: the columns are taken from them in the JVM.
    table = spark.createDataFrame(lines, "number BIGINT, line STRING")
    table = table.withColumn("read", from_json(col("line"), LINE, {"mode": "FAILFAST"})).select("number", "line", "read.*")
    table = table.select(*[expr(value).alias(name) for name, value in COLUMNS.items()], "number", "line")
    # A copy of a partition column stays in the files: the name of a folder is no exact text.
    table = table.withColumn("by_day", table.day).withColumn("by_build", table.build)
    table.write.mode("overwrite").partitionBy("by_day", "by_build").parquet(arguments.output)
    # The shuffle has a family and a number.
    written = spark.read.parquet(arguments.output)
    for found in written.groupBy("family", "words").count().orderBy("count", ascending=False).limit(10).collect():
        print(f"{found['count']:8}  {found['family']}  {found['words']}")
    spark.stop()


if __name__ == "__main__":
    main()
