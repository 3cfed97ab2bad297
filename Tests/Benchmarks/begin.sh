# The beginning of found.sh, images.sh and signals.sh, which source it. Before, each names its own options besides
# --executable PROGRAM and --only TEXT, with what they are by default: declare -A option=([workers]=2)
# After, `option` has their values, `program` is what to run, built when none was given, and the arguments are left.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
option[executable]=
option[only]=
while [[ ${1-} == --* ]]; do
  name=${1#--}
  if [ -z "${option[$name]+known}" ] || [ $# -lt 2 ]; then
    echo "$(basename "$0"): no such option, or nothing behind it: $1" >&2
    exit 64
  fi
  option[$name]=$2
  shift 2
done
program=${option[executable]}
if [ -z "$program" ]; then
  swift build -c release --product lifeboat
  program="$(swift build -c release --show-bin-path)/lifeboat"
fi
