#!/bin/sh
# One line for each job that runs, the first to be released first: put your command in echo's place.
set -eu
#: each job
echo {{rank}} {{job}} \
  start={{start}} \
  start_time={{start_time}} \
  processors={{processors}} \
  reward={{reward}}
#: end
