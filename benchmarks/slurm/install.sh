#!/bin/sh
# Installs Slurm and what its accounting needs, where apt can; fails where it cannot.
set -eu
have() { PATH="$PATH:/usr/sbin:/sbin" command -v "$@" >/dev/null; }
if have slurmctld && have slurmd && have sbatch && have munged && have slurmdbd && have mariadbd; then
  exit 0
fi
root=
[ "$(id -u)" -eq 0 ] || root="sudo -n"
$root apt-get update -qq
$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  slurmctld slurmd slurm-client munge slurmdbd mariadb-server
