#!/bin/sh
# Slurm, for jobs that are in the queue already: by id, from a column `id` that --keep carries along.
# Each job gets its start and its place in the order; what is left out tonight is held.
set -eu
clock() { date --date="$1" +%Y-%m-%dT%H:%M:%S; }
#: each left out
scontrol hold {{id}}
#: end
#: each job
scontrol update JobId={{id}} Nice={{rank}} StartTime="$(clock {{start_time}})"
scontrol release {{id}}
#: end
