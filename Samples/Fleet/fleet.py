#!/usr/bin/env python3
"""Triage of a listing of bundles on Spark.

Each task pipes its part of the listing through one `lifeboat triage -`, which reads the bundles in processes of its own. The
lines become rows with the columns of the catalogue, and these go into Parquet, by day and build. A task depends on nothing
but its part of the listing, so Spark may run it twice, side by side or again after a failure: the rows are the same.

Between tasks go the lines of triage, so that each day and build is written by one task: signatures, sizes and counts, never
a row of a store. Python plans the work; no line goes through it.

The listing has a path on each line, of files that every executor sees: a mounted file system or a mounted object store.
"""
import argparse, os, shlex, subprocess, sys, tempfile, time

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, expr, from_json

# What of a line becomes a column, as Spark reads JSON.
LINE = """
    path STRING, kind STRING, contents STRING, isEncrypted BOOLEAN, fix STRING, date STRING, dateSource STRING,
    signature STRUCT<id: STRING, family: STRING, verdict: STRING, problem: STRING, codes: STRING, build: STRING,
        sqlite: STRING, model: STRUCT<writtenBy: STRING, expected: STRING>, damage: ARRAY<STRING>, analysers: ARRAY<STRING>>,
    app STRUCT<name: STRING, version: STRING, build: STRING>, store STRUCT<kind: STRING, uuid: STRING, system: STRING>,
    sizes STRUCT<inputBytes: BIGINT, storeBytes: BIGINT, logBytes: BIGINT, pages: BIGINT>,
    findings STRUCT<damage: BIGINT, notes: BIGINT>, rows STRUCT<live: BIGINT, lost: BIGINT, recoverable: BIGINT>,
    failed STRUCT<code: STRING, message: STRING>, malformed STRING
"""

# The columns of the table `input` of a catalogue, as expressions over such a line; man/lifeboat-triage.1 describes them.
COLUMNS = {
    "path": "if(malformed IS NULL, path, raise_error(concat('triage wrote a line that is not JSON: ', left(malformed, 200))))",
    "kind": "kind", "contents": "contents", "is_encrypted": "isEncrypted",
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


def paths(listing):
    """The lines of the listing. Other line ends than a line feed are part of a path."""
    found = []
    try:
        with open(listing, "rb") as lines:
            for number, line in enumerate(lines.read().split(b"\n"), 1):
                if line:
                    found.append(line.decode())
    except UnicodeDecodeError:
        sys.exit(f"{listing}: line {number} is not UTF-8, and Spark has no other text: give that file another name")
    except OSError as error:
        sys.exit(f"the listing cannot be read: {error}")
    return found or sys.exit(f"{listing} has no paths")


def command(program, options):
    """What each task runs, as a text of SQL. Status 1 says that an input is bad. Any other fails the task, and Spark runs it
    again."""
    line = shlex.join([program, "triage", "-q", "-", *options])
    line += ' || { status=$?; [ $status = 1 ] || { echo "triage ended with status $status" >&2; exit $status; }; }'
    return "'" + line.replace("\\", "\\\\").replace("'", "\\'") + "'"


def listed(spark, inputs):
    """A table of all paths, made by Java: one that Python makes has a process of Python in each task, which only copies."""
    java = spark._jvm
    texts = java.java.util.Collections.list(java.java.util.StringTokenizer("\n".join(inputs), "\n"))
    return DataFrame(spark._jsparkSession.createDataset(texts, java.org.apache.spark.sql.Encoders.STRING()), spark).toDF("path")


def triage(spark, inputs, tasks, arguments):
    """Writes the rows of all inputs, and returns how many it has written."""
    listed(spark, inputs).createOrReplaceTempView("listing")
    lines = spark.sql(f"SELECT TRANSFORM(path) USING {command(arguments.lifeboat, arguments.option)} AS (line STRING) FROM listing")
    table = lines.withColumn("read", from_json(col("line"), LINE, {"columnNameOfCorruptRecord": "malformed"})).select("line", "read.*")
    table = table.select(*[expr(value).alias(name) for name, value in COLUMNS.items()], "line")
    # Names of folders; builds come from bundles and may be anything. The exact texts stay in the files.
    table = table.withColumn("by_day", table.day)
    table = table.withColumn("by_build", expr("left(regexp_replace(build, '[^A-Za-z0-9 .()-]', '_'), 100)"))
    # A line is small: what ten tasks read is little for one to write.
    table = table.repartition(max(2, tasks // 10), "by_day", "by_build")
    mode = "overwrite" if arguments.overwrite else "error"
    try:
        table.write.mode(mode).partitionBy("by_day", "by_build").parquet(arguments.output)
    except Exception as error:  # Java's and Spark's have no other class in common.
        sys.exit("the output was not made: " + " ".join(str(error).splitlines()[:2]))
    # Each file says in its end how many rows it has, so none is read.
    return spark.read.parquet(arguments.output).count()


def alone(inputs, arguments):
    """Reads all inputs on this machine without Spark."""
    with tempfile.TemporaryFile() as listing, open(os.devnull, "wb") as nowhere:
        listing.write("".join(path + "\n" for path in inputs).encode())
        listing.seek(0)
        status = subprocess.run([arguments.lifeboat, "triage", "-q", "-"], stdin=listing, stdout=nowhere).returncode
    if status not in (0, 1):
        sys.exit(f"triage ended with status {status}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("listing", help="a file with a path on each line")
    parser.add_argument("output", help="the folder of Parquet files to make")
    parser.add_argument("--lifeboat", default="lifeboat", help="the program, on every executor")
    parser.add_argument("--task", type=int, default=1000, help="inputs of a task")
    parser.add_argument("--option", action="append", default=[], help="an option for triage; may be repeated")
    parser.add_argument("--overwrite", action="store_true", help="replace the output if it is there")
    parser.add_argument("--times", type=int, help="do all of it so many times, each time also on this machine without Spark, and "
                        "print the seconds of both; with --overwrite")
    arguments = parser.parse_args()
    if arguments.task < 1:
        parser.error("a task has one input at least")
    if arguments.times is not None and (arguments.times < 1 or not arguments.overwrite):
        parser.error("--times is one at least, and needs --overwrite")
    inputs = paths(arguments.listing)
    tasks = -(-len(inputs) // arguments.task)
    # What is made from a list has as many parts as the first setting says; the second leaves `${` in paths alone.
    spark = (SparkSession.builder.appName("lifeboat triage").config("spark.default.parallelism", tasks)
             .config("spark.sql.variable.substitute", "false").getOrCreate())
    for _ in range(arguments.times or 1):
        start = time.perf_counter()
        written = triage(spark, inputs, tasks, arguments)
        between = time.perf_counter()
        # A listing has no folders, so each path is a line.
        if written != len(inputs):
            if os.path.exists(f"{arguments.output}/_SUCCESS"):
                os.remove(f"{arguments.output}/_SUCCESS")
            sys.exit(f"{arguments.output} is not to be used: {written} lines for {len(inputs)} inputs")
        if arguments.times:
            alone(inputs, arguments)
            print(f"{between - start:.1f} {time.perf_counter() - between:.1f}", flush=True)
    if not arguments.times:
        families = spark.read.parquet(arguments.output).groupBy("family", "words").count()
        for found in families.orderBy(col("count").desc(), "family").limit(10).collect():
            print(f"{found['count']:8}  {found['family']}  {found['words']}")
    spark.stop()


if __name__ == "__main__":
    main()
