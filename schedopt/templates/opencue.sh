#!/bin/sh
# OpenCue: jobs by the column `id` that --keep carries along, else by name. The jobs were launched:
# all are paused, and each is resumed at its start. The script waits for that: leave it running.
set -eu
until_time() {
  [ $# -gt 0 ] || return 0
  seconds=$(($(date --date="$1" +%s) - $(date +%s)))
  if [ "$seconds" -gt 0 ]; then sleep "$seconds"; fi
}
#: each left out
cueadmin -force -pause {{id}}
#: end
#: each job
cueadmin -force -pause {{id}}
cueadmin -force -priority {{id}} {{priority}}
#: end
#: each job
until_time \
  {{start_time}} \
  </dev/null
cueadmin -force -unpause {{id}}
#: end
