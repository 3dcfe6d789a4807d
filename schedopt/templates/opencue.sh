#!/bin/sh
# OpenCue: jobs were launched paused under these names; each gets its priority and runs.
set -eu
#: each job
cueadmin -priority {{job}} {{priority}} -force
cueadmin -unpause {{job}}
#: end
