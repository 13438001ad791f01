# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What scripts share that work for minutes: lines with the time, and ends that leave nothing behind.

SECONDS=0
step() {
  printf '[%3d s] %s\n' "$SECONDS" "$*"
}

# A process and all below it.
kill_tree() {
  local below
  for below in $(cat "/proc/$1/task/$1/children" 2>/dev/null || true); do
    kill_tree "$below"
  done
  kill "$1" 2>/dev/null || true
}

# Every 20 s how far a build is, by the last count of ninja's in its log.
# usage: watch_build LOG &
watch_build() {
  local due=$((SECONDS + 20)) count
  while sleep 1 >/dev/null 2>&1; do
    ((SECONDS >= due)) || continue
    due=$((SECONDS + 20))
    count=$(grep -o '^\[[0-9]*/[0-9]*\]' "$1" | tail -n 1 || true)
    step "  still building${count:+ $count} (all of it: tail -f $1)"
  done
}
