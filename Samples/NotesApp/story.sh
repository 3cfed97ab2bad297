#!/usr/bin/env bash
# The whole story of the sample with real processes: 1.0 writes notes, 2.0 cannot open them and starts afresh, 3.0
# brings them back; and what must not happen: notes moved that are locked, too new, or on a full disk.
# Each step is checked by what the app lists, by the files, and by sqlite3 on a copy. Fails at the first surprise.
set -Eeuo pipefail
# The notices come in the user's language.
export LC_ALL=C.UTF-8 LANGUAGE=
trap 'echo "story.sh: line $LINENO failed" >&2' ERR
cd "$(dirname "$0")"
../../.ci/need libsqlite3-dev zlib1g-dev pkg-config sqlite3
# NOTES is the app where it is built already.
if [ -z "${NOTES:-}" ]; then
  swift build
  NOTES="$(swift build --show-bin-path)/notes"
fi
notes=$NOTES

work=$(mktemp -d)
mounted=""
cleanup() {
  [ -z "${session:-}" ] || kill -KILL "$session" 2>/dev/null || true
  [ -z "$mounted" ] || umount "$mounted" || true
  rm -rf "$work"
}
trap cleanup EXIT

# MARK: Tools

step() { echo "- $*"; }
fail() {
  echo "story.sh: $*" >&2
  [ ! -s "$work/err" ] || sed 's/^/  | /' "$work/err" >&2
  exit 1
}
same() { [ "$2" = "$3" ] || fail "$1: found '$2', expected '$3'"; }
says() { grep -qF -- "$2" "$1" || fail "'$2' is not in $(basename "$1"): $(cat "$1")"; }
silent() { ! grep -qF -- "$2" "$1" || fail "'$2' is in $(basename "$1")"; }

# run EXIT-CODE RELEASE FOLDER COMMAND…: output to $work/out, messages to $work/err
run() {
  local expected=$1 release=$2 folder=$3 code=0
  shift 3
  "$notes" --release "$release" --folder "$folder" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  same "exit code of $release $1" "$code" "$expected"
}
lines() { wc -l <"$work/out" | tr -d ' '; }
incidents() { [ ! -d "$1/Incompatible" ] || find "$1/Incompatible" -mindepth 1 -maxdepth 1 -type d | sort; }

# Everything that the database at $1 holds, read from a copy, since sqlite3 would leave its traces.
dump() {
  rm -rf "$work/copy" && mkdir "$work/copy" && cp "$1"* "$work/copy/"
  sqlite3 "$work/copy/$(basename "$1")" "${2:-.dump}"
}
rows() { dump "$1" "SELECT count(*) FROM note"; }

# What must not change where nothing may be moved: which file it is, what it holds, and what lies beside it.
state() {
  stat -c %i "$1/Notes.sqlite"
  dump "$1/Notes.sqlite" | sha256sum
  find "$1" -path '*_SUPPORT*' -type f -exec sha256sum {} +
  incidents "$1"
}

# A process that has the notes of folder $2 open as release $1, until it is killed.
open_session() {
  rm -f "$work/in" "$work/answers" && mkfifo "$work/in" "$work/answers"
  "$notes" --release "$1" --folder "$2" session <"$work/in" >"$work/answers" 2>/dev/null &
  session=$!
  exec 8>"$work/in" 9<"$work/answers"
  answer ready
}
answer() {
  local line
  read -r line <&9 || fail "the session ended"
  same "answer of the session" "$line" "$1"
}
add_in_session() {
  echo "$1" >&8
  answer "added $1"
}
kill_session() {
  kill -KILL "$session"
  wait "$session" 2>/dev/null || true
  session=""
  exec 8>&- 9<&-
}

# MARK: The story

home=$work/home
letter="$home/About your earlier notes.txt"
echo "a picture" >"$work/picture.png"

step "1.0 writes notes with tags and attachments, and is killed: the newest ones are in the log only"
run 0 1.0 "$home" add Shopping "milk, bread" --tag home --attach "$work/picture.png"
run 0 1.0 "$home" add Ideas "a lifeboat" --tag work --tag later
open_session 1.0 "$home"
for number in $(seq 40); do add_in_session "note $number"; done

step "2.0 starts while 1.0 has the notes open: nothing moves, and 1.0 can go on"
run 75 2.0 "$home" list
says "$work/err" "Another program, or another part of Notes, is using your data"
same "incidents" "$(incidents "$home")" ""
add_in_session "note 41"
kill_session
[ -s "$home/Notes.sqlite-wal" ] || fail "the log is empty"
same "notes without the log" "$(sqlite3 "file:$home/Notes.sqlite?immutable=1" "SELECT count(*) FROM note" 2>/dev/null || echo none)" 2

step "2.0 cannot use them: it starts with fresh notes and tells the user"
run 0 2.0 "$home" list
same "notes of 2.0" "$(lines)" 0
for text in "Your earlier data was kept" "saved by a different version" "Nothing was deleted"; do
  says "$work/err" "$text"
  says "$letter" "$text"
done
says "$work/err" "notes earlier"
says "$work/err" "support.zip"
same "number of incidents" "$(incidents "$home" | wc -l)" 1
kept=$(incidents "$home")
id=$(basename "$kept")
same "files kept" "$(cd "$kept" && find . -maxdepth 2 | sort | tr '\n' ' ' | sed 's/\.\/store\/Notes.sqlite-[a-z]* //g')" \
  ". ./incident.json ./incident.txt ./store ./store/.Notes_SUPPORT ./store/Notes.sqlite "
same "notes kept" "$(rows "$kept/store/Notes.sqlite")" 43
same "attachments kept" "$(cat "$kept"/store/.Notes_SUPPORT/*)" "a picture"
says "$home/events.log" "2.0 notice: the store did not open (incompatible); action: quarantine, rule: host.otherVersion"
says "$home/events.log" "2.0 warning: set the store aside as $id"

step "2.0 goes on with the fresh notes, without another notice"
run 0 2.0 "$home" add "Written in 2.0" "fresh" --attach "$work/picture.png"
run 0 2.0 "$home" add "Also in 2.0" "fresh"
silent "$work/err" "was kept"
run 0 2.0 "$home" list
same "notes of 2.0" "$(lines)" 2
same "messages" "$(cat "$work/err")" ""
run 0 2.0 "$home" earlier
says "$work/out" "$kept/store"

step "1.0 again, a downgrade: it asks for an update, and nothing moves"
before=$(state "$home")
run 65 1.0 "$home" list
says "$work/err" "Please update Notes"
same "state" "$(state "$home")" "$before"
says "$home/events.log" "1.0 warning: the store did not open (newer); action: refuse, rule: host.newerStore"

step "3.0 opens the fresh notes and offers the earlier ones"
run 0 3.0 "$home" list
same "notes of 3.0" "$(lines)" 2
says "$work/err" "There are 43 of them"
says "$work/err" "notes restore $id"
same "notes kept" "$(rows "$kept/store/Notes.sqlite")" 43

step "3.0 brings them back; the fresh notes are kept aside and can be found"
run 0 3.0 "$home" restore "$id"
says "$work/out" "Your earlier notes are back: 43"
run 0 3.0 "$home" list
same "notes of 3.0" "$(lines)" 43
same "first note" "$(head -1 "$work/out")" "$(printf 'Shopping\tmilk, bread\t#home\tpicture.png (10 bytes)')"
same "last note" "$(tail -1 "$work/out" | cut -f1)" "note 41"
same "messages" "$(cat "$work/err")" ""
replaced=$(incidents "$home" | grep replaced)
same "fresh notes kept" "$(rows "$replaced/store/Notes.sqlite")" 2
same "their attachments" "$(cat "$replaced"/store/.Notes_SUPPORT/*)" "a picture"
says "$letter" "It has since been brought back"
says "$letter" "$replaced/store"

step "1.0 and 2.0 meet the notes of 3.0: both ask for an update, and nothing moves"
before=$(state "$home")
for old in 1.0 2.0; do
  run 65 "$old" "$home" list
  says "$work/err" "Please update Notes"
done
same "state" "$(state "$home")" "$before"

# MARK: Other ends

step "a damaged file is kept as it is, and not offered by a release that cannot open it either"
hurt=$work/hurt
run 0 1.0 "$hurt" add One "1"
dd if=/dev/zero of="$hurt/Notes.sqlite" bs=100 count=1 conv=notrunc status=none
sum=$(sha256sum <"$hurt/Notes.sqlite")
run 0 1.0 "$hurt" list
same "notes after the damage" "$(lines)" 0
says "$work/err" "Nothing was deleted"
same "damaged file" "$(sha256sum <"$(incidents "$hurt")/store/Notes.sqlite")" "$sum"
run 0 3.0 "$hurt" list
silent "$work/err" "Good news"

step "the same damage again and again: after the second time 1.0 moves nothing more, and goes on in memory"
loop=$work/loop
run 0 1.0 "$loop" list
for round in 1 2 3 4; do
  dd if=/dev/zero of="$loop/Notes.sqlite" bs=100 count=1 conv=notrunc status=none
  run 0 1.0 "$loop" list
done
same "number of incidents" "$(incidents "$loop" | wc -l)" 2
says "$work/err" "nothing you write now is kept"
says "$loop/events.log" "(foreign); action: openInMemory, rule: hold.repeated"

step "a locked file stays where it is, whoever asks"
locked=$work/locked
run 0 1.0 "$locked" add One "1"
before=$(state "$locked")
rm -f "$work/in" "$work/answers" && mkfifo "$work/in" "$work/answers"
sqlite3 "$locked/Notes.sqlite" <"$work/in" >"$work/answers" &
session=$!
exec 8>"$work/in" 9<"$work/answers"
echo "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; SELECT 'locked';" >&8
answer exclusive
answer locked
for release in 1.0 2.0 3.0; do
  run 75 "$release" "$locked" list
  says "$work/err" "Your data is in use"
done
kill_session
same "state" "$(state "$locked")" "$before"

step "on a full disk nothing moves; with space again the notes are there"
full=$work/full
mkdir "$full"
if mount -t tmpfs -o size=2m tmpfs "$full" 2>/dev/null; then
  mounted=$full
  run 0 1.0 "$full" add One "1"
  before=$(state "$full")
  dd if=/dev/zero of="$full/ballast" bs=4096 status=none 2>/dev/null || true
  for release in 1.0 2.0; do
    run 75 "$release" "$full" list
    says "$work/err" "There is not enough free space"
  done
  rm "$full/ballast"
  same "state" "$(state "$full")" "$before"
  run 0 1.0 "$full" list
  same "notes" "$(lines)" 1
else
  echo "  skipped: this user cannot mount a small file system"
fi

echo "the story is as it should be"
