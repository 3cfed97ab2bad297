#!/usr/bin/env python3
"""Triage of a listing of bundles on Spark.

Each task gives its part of the listing to one `lifeboat triage -`, which reads the bundles in processes of its own, and
turns each line into a row with the columns of the catalogue. The rows go into Parquet, by day and build. A task depends on
nothing but its part of the listing, so Spark may run it twice, side by side or again after a failure: the rows are the same.

What goes over the network between tasks is counts by signature, never a row of a store: no line has one.

The listing has a path on each line, of files that every executor sees: a mounted file system or a mounted object store.
"""
import argparse, json, os, subprocess, sys, threading

from pyspark.sql import SparkSession
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

TEXT, NUMBER, FLAG = StringType(), LongType(), BooleanType()


def inside(*keys):
    def value(line):
        for key in keys:
            line = (line or {}).get(key)
        return line
    return value


def words(line):
    signature = line["signature"]
    parts = [signature["verdict"], signature.get("problem"), signature.get("codes")]
    return ", ".join([part for part in parts if part] + signature["damage"] + signature["analysers"])


# The columns of the table `input` of a catalogue; man/lifeboat-triage.1 describes them.
COLUMNS = [
    ("path", TEXT, inside("path")),
    ("kind", TEXT, inside("kind")),
    ("contents", TEXT, inside("contents")),
    ("is_encrypted", FLAG, inside("isEncrypted")),
    ("signature", TEXT, inside("signature", "id")),
    ("family", TEXT, inside("signature", "family")),
    ("words", TEXT, words),
    ("needs_care", FLAG, lambda line: "failed" in line or line["signature"]["verdict"] != "healthy"),
    ("verdict", TEXT, inside("signature", "verdict")),
    ("problem", TEXT, inside("signature", "problem")),
    ("codes", TEXT, inside("signature", "codes")),
    ("model_written_by", TEXT, inside("signature", "model", "writtenBy")),
    ("model_expected", TEXT, inside("signature", "model", "expected")),
    ("build", TEXT, inside("signature", "build")),
    ("sqlite_version", TEXT, inside("signature", "sqlite")),
    ("fix", TEXT, inside("fix")),
    ("app_name", TEXT, inside("app", "name")),
    ("app_version", TEXT, inside("app", "version")),
    ("app_build", TEXT, inside("app", "build")),
    ("store_kind", TEXT, inside("store", "kind")),
    ("store_uuid", TEXT, inside("store", "uuid")),
    ("system", TEXT, inside("store", "system")),
    ("input_bytes", NUMBER, inside("sizes", "inputBytes")),
    ("store_bytes", NUMBER, inside("sizes", "storeBytes")),
    ("log_bytes", NUMBER, inside("sizes", "logBytes")),
    ("pages", NUMBER, inside("sizes", "pages")),
    ("damage_count", NUMBER, inside("findings", "damage")),
    ("note_count", NUMBER, inside("findings", "notes")),
    ("rows_live", NUMBER, inside("rows", "live")),
    ("rows_lost", NUMBER, inside("rows", "lost")),
    ("rows_recoverable", NUMBER, inside("rows", "recoverable")),
    ("date", TEXT, inside("date")),
    ("day", TEXT, lambda line: (line.get("date") or "")[:10] or None),
    ("date_source", TEXT, inside("dateSource")),
    ("failed_code", TEXT, inside("failed", "code")),
    ("failed_message", TEXT, inside("failed", "message")),
]


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


def row(number, text):
    line = json.loads(text)
    return tuple(value(line) for _, _, value in COLUMNS) + (number, text)


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
    rows = lines.map(lambda pair: row(*pair))
    fields = [StructField(name, kind) for name, kind, _ in COLUMNS]
    table = spark.createDataFrame(rows, StructType(fields + [StructField("number", NUMBER), StructField("line", TEXT)]))
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
