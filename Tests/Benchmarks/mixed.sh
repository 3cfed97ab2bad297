#!/usr/bin/env bash
# Makes databases of many kinds, damages them in many ways, and holds `rows`, `check` and `recover` against what was in
# them and what SQLite says; mixed.py has the rules. Exits 1 where one is broken.
# Usage: Tests/Benchmarks/mixed.sh [--executable PROGRAM] [--only DAMAGE,DAMAGE] [--seeds 1-40] [--keep FOLDER]
#   --keep: leaves the files there with which something is wrong.
set -euo pipefail
declare -A option=([seeds]=1-40 [keep]=)
source "$(dirname "$0")/begin.sh"
exec python3 -B Tests/Benchmarks/mixed.py "$program" --seeds "${option[seeds]}" --damage "${option[only]}" \
  --keep "${option[keep]}" --verbose
