#!/bin/sh
# Deadline: submits each job as a command line job; render.sh stands for what runs it.
set -eu
IFS=  # what date says is one word
#: each job
deadlinecommand -SubmitCommandLineJob \
  -executable ./render.sh \
  -frames 1 \
  -name {{job}} \
  -prop MachineLimit={{processors}} \
  -prop ScheduledType=Once -prop ScheduledStartDateTime=$(date --date={{start_time}} +%d/%m/%Y\ %H:%M) \
  -priority {{percent}}
#: end
