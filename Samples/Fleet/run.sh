#!/usr/bin/env bash
# Triage on Spark, from end to end: makes bundles, reads them on this machine, with Spark in one process and on a cluster
# of two workers of which one is killed on the way, and compares the results line by line; then times triage on this machine
# against unzip and jq. Writes the figures.
# Usage: [LIFEBOAT=PROGRAM] Samples/Fleet/run.sh [COUNT] > Samples/Fleet/RESULTS.md
set -euo pipefail
lifeboat=${LIFEBOAT:+$(realpath "$LIFEBOAT")}
cd "$(dirname "$0")/../.."
count=${1:-10000}
lifeboat=${lifeboat:-$(.ci/release)}
folder=$(mktemp -d)
started=()
clean() {
  # What Spark says is of use only if it fails.
  [ $? = 0 ] || tail -n 20 "$folder/spark.log" >&2 || true
  for process in "${started[@]}"; do kill "$process" 2> /dev/null || true; done
  rm -rf "$folder"
}
trap clean EXIT

# Spark is fetched once, beside the build.
place=${FLEET_PYTHON:-.build/fleet}
"$place/bin/python" -c "import pyspark" 2> /dev/null || { python3 -m venv "$place"; "$place/bin/pip" install -q -r Samples/Fleet/requirements.txt >&2; }
python=$(realpath "$place")/bin/python
export PYSPARK_PYTHON=$python PYSPARK_DRIVER_PYTHON=$python SPARK_LOCAL_IP=127.0.0.1
SPARK_HOME=$("$python" -c 'import pyspark, os; print(os.path.dirname(pyspark.__file__))')
export SPARK_HOME
# Java has little garbage to collect here, and the cores have other work than its threads for that.
java=-XX:+UseSerialGC
options=(--conf spark.ui.enabled=false --conf spark.ui.showConsoleProgress=false --conf "spark.local.dir=$folder/spark"
  --driver-java-options "$java" --conf "spark.executor.extraJavaOptions=$java")
submit() { "$SPARK_HOME/bin/spark-submit" "${options[@]}" "$@" 2>> "$folder/spark.log"; }
now() { date +%s.%N; }
# Waits until a command is true, three minutes at most.
wait_until() {
  for _ in $(seq 900); do "$@" > /dev/null 2>&1 && return; sleep 0.2; done
  echo "waited in vain for: $*" >&2
  exit 1
}
since() { "$python" -c "print(f'{$(now) - $1:.1f}')"; }

mkdir "$folder/bundles"
hostile=$((count / 50))
"$python" Samples/Fleet/bundles.py "$lifeboat" "$folder/bundles" "$count" 1 "$hostile" >&2
list=$folder/bundles/list

# On one machine, and with Spark in one process, where each task has one process that reads, because there is a task for each
# core.
one=(--lifeboat "$lifeboat" --option=--workers --option=1)
alone() { "$lifeboat" triage -q - < "$1" > "$2" || [ $? = 1 ]; }
spark() { submit --master 'local[2]' Samples/Fleet/fleet.py "$1" "$2" "${one[@]}" "${@:3}"; }
start=$(now)
alone "$list" "$folder/lines"
alone=$(since "$start")
start=$(now)
spark "$list" "$folder/local" >&2
local=$(since "$start")
# What one more bundle costs where Spark runs already: the listing three times over, seven times in one session, in turn with
# the same without Spark. The first two do not count, because Java compiles what it runs.
for _ in 1 2 3; do cat "$list"; done > "$folder/three"
spark "$folder/three" "$folder/warm" --overwrite --times 7 > "$folder/pairs"
"$lifeboat" triage -q - --catalog "$folder/cases.sqlite" < "$list" || [ $? = 1 ]
"$python" Samples/Fleet/same.py "$folder/local" "$folder/lines" "$folder/cases.sqlite" >&2

# A cluster of two workers on this machine. One of them is killed while the tasks run.
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
run() { "$SPARK_HOME/bin/spark-class" "$@" >> "$folder/cluster.log" 2>&1 & started+=($!); }
run org.apache.spark.deploy.master.Master --host 127.0.0.1 --port "$port" --webui-port 0
for number in 1 2; do
  run org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --webui-port 0 --cores 1 --memory 1g --work-dir "$folder/work$number" \
    "spark://127.0.0.1:$port"
done
victim=${started[-1]}
registered() { [ "$(grep -c 'Registering worker' "$folder/cluster.log")" = 2 ]; }
wait_until registered
mv "$folder/spark.log" "$folder/local.log"
start=$(now)
submit --master "spark://127.0.0.1:$port" --executor-memory 700m --conf spark.speculation=true --conf spark.task.maxFailures=8 \
  Samples/Fleet/fleet.py "$list" "$folder/cluster" "${one[@]}" --task $((count / 20 + 1)) > "$folder/cluster.out" &
job=$!
started+=("$job")
# As soon as both workers read bundles, one is killed with what it has started.
both_read() { [ "$(grep -o 'Starting task .* executor [0-9]*' "$folder/spark.log" | grep -o 'executor [0-9]*' | sort -u | wc -l)" = 2 ]; }
touch "$folder/spark.log"
wait_until both_read
for child in $(pgrep -P "$victim") "$victim"; do kill -KILL "$child" 2> /dev/null || true; done
wait "$job"
cluster=$(since "$start")
"$python" Samples/Fleet/same.py "$folder/cluster" "$folder/lines" "$folder/cases.sqlite" >&2
lost=$(grep -c 'Lost executor\|Lost task' "$folder/spark.log") || { echo "no worker was lost: the cluster was not tested" >&2; exit 1; }

# The figures, and what they mean for a billion bundles a year.
"$python" Samples/Fleet/paper.py "$count" "$hostile" "$alone" "$local" "$cluster" "$lost" \
  "$folder/pairs" "$lifeboat" "$list"

echo
LIFEBOAT=$lifeboat Tests/Benchmarks/triage.sh "$count" "$hostile" | sed 's/^# Triage$/## Against unzip and jq/'
