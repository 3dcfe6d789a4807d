#!/bin/sh
# Deadline: jobs by the column `id` that --keep carries along. All are suspended, and each is
# resumed at its start. The script waits for that: leave it running.
set -eu
until_time() {
  [ $# -gt 0 ] || return 0
  seconds=$(($(date --date="$1" +%s) - $(date +%s)))
  if [ "$seconds" -gt 0 ]; then sleep "$seconds"; fi
}
#: each left out
deadlinecommand -SuspendJob {{id}}
#: end
#: each job
deadlinecommand -SuspendJob {{id}}
deadlinecommand -SetJobSetting {{id}} Priority {{percent}}
#: end
#: each job
until_time \
  {{start_time}} \
  </dev/null
deadlinecommand -ResumeJob {{id}}
#: end
