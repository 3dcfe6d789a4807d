#!/bin/sh
# Slurm: submits the tasks of each stage as job arrays, to begin when the plan starts them.
# ./render.sh gets the job and its stage, from 1; the task's number is $SLURM_ARRAY_TASK_ID, from 1.
# The larger --nice, the later. The time limit is the planned length and a quarter of it; what has
# not begun by its deadline leaves the queue.
# It prints the command that reads Slurm's account of all that it has submitted.
set -eu
ids=
trap 'test -z "$ids" || echo "sacct -XP --jobs=$ids --format=JobID,JobName,State,Submit,Start,End"' EXIT
clock() { date --date="$1" +%Y-%m-%dT%H:%M:%S; }
#: each change
scancel --me --state=PENDING --jobname={{job}}:{{stage}}
#: end
#: each release
id_{{order}}=$(sbatch --parsable \
  --job-name={{job}}:{{stage}} \
  --array={{array}} \
  --cpus-per-task={{processors}} \
  --begin="$(clock {{start_time}})" \
  --time={{minutes}} \
  --deadline="$(clock {{due_time}})" \
  --dependency=afterok:{{after}} --kill-on-invalid-dep=yes \
  --licenses={{licences}} \
  --partition={{pool}} \
  --account={{account}} \
  --nice={{order}} \
  ./render.sh {{job}} {{stage}})
ids="${ids:+$ids,}$id_{{order}}"
#: end
