#!/bin/sh
# Slurm: submits each job, the first to be released first; ./render.sh stands for what runs it.
# The larger --nice, the later; who may raise priorities writes --priority={{priority}} instead.
set -eu
#: each job
sbatch \
  --job-name={{job}} \
  --begin=$(date --date={{start_time}} +%Y-%m-%dT%H:%M:%S) \
  --ntasks={{processors}} \
  --nice={{rank}} \
  ./render.sh {{job}}
#: end
