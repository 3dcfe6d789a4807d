"""A real Slurm of one node on this machine, in a temporary folder, with accounting.

Needs Debian's packages slurmctld, slurmd, slurm-client, munge, slurmdbd and mariadb-server.
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged", "slurmdbd", "mariadbd", "mariadb-install-db")
PATIENCE = 60.0  # seconds until a daemon has to respond
SHARED_CONF = """
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={slurmctld}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
PriorityType=priority/basic
CompleteWait=0
MinJobAge=7200
KillWait=2
JobAcctGatherType=jobacct_gather/none
"""
"""Settings of every Slurm that the benchmarks start."""
SLURM_CONF = """
ClusterName=schedopt
SlurmdPort={slurmd}
SlurmdSpoolDir={folder}/spool
SlurmdPidFile={folder}/slurmd.pid
SlurmdLogFile={folder}/slurmd.log
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=0,defer_batch
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
Licenses=houdini:3
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={slurmdbd}
AccountingStoragePass={folder}/munge.socket
NodeName={host} NodeAddr=127.0.0.1 CPUs=6 State=UNKNOWN
PartitionName=night Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""
SLURMDBD_CONF = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={slurmdbd}
SlurmUser={user}
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={mariadb}
StorageUser=root
StoragePass=none
StorageLoc=slurm
"""


def missing(programs: Sequence[str] = PROGRAMS) -> list[str]:
    """Return the programs that are not installed."""
    return [program for program in programs if shutil.which(program, path=_search_path()) is None]


def _search_path() -> str:
    """Return the search path with the folders of daemons."""
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class StartError(RuntimeError):
    """Slurm does not start on this machine."""


@dataclass
class Cluster:
    """A running Slurm."""

    folder: Path
    environment: Mapping[str, str]
    daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def run(self, *command: str, check: bool = True, cwd: Path | None = None) -> str:
        """Run a command on the cluster and return its output."""
        done = subprocess.run(
            command,
            env={**self.environment},
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout

    def accounts(self, since: str = "now-1days") -> str:
        """Return the records of all jobs by `sacct`."""
        fields = "JobID,JobName,State,Submit,Start,End,AllocCPUS"
        return self.run("sacct", "-XPD", f"--starttime={since}", f"--format={fields}")

    def queue(self) -> str:
        """Return the waiting and running jobs."""
        return self.run("squeue", "--noheader", "--format=%i|%j|%T|%r")

    def clear(self) -> None:
        """Cancel all jobs."""
        self.run("scancel", f"--user={getpass.getuser()}", check=False)
        self.wait_for("an empty queue", lambda: not self.queue().strip())

    def start(self, *command: str) -> None:
        """Start a daemon."""
        with (self.folder / "daemons.log").open("ab") as log:
            self.daemons.append(
                subprocess.Popen(
                    command,
                    env={**self.environment},
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def wait_for(self, what: str, done: Callable[[], object], patience: float = PATIENCE) -> None:
        """Wait until ``done`` returns True; `RuntimeError` after ``patience`` seconds."""
        end, why = time.monotonic() + patience, ""
        while time.monotonic() < end:
            try:
                if done():
                    return
            except (OSError, RuntimeError) as error:
                why = f": {error}"
            if died := [daemon.args for daemon in self.daemons if daemon.poll() is not None]:
                raise RuntimeError(f"{died[0]} ended")
            time.sleep(0.2)
        raise RuntimeError(f"no {what} within {patience:g} s{why}")

    def stop(self) -> None:
        """Stop all daemons in reverse order of their start."""
        for daemon in reversed(self.daemons):
            if daemon.poll() is None:
                daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(daemon.pid, signal.SIGKILL)
                daemon.wait()
        self.daemons.clear()


def free_ports(count: int) -> list[int]:
    """Return free ports of this machine."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def host_name() -> str:
    """Return the name of this machine without its domain."""
    return socket.gethostname().partition(".")[0]


@contextmanager
def running(
    files: Callable[[dict[str, object]], Mapping[str, str]],
    start: Callable[[Cluster], None],
    **environment: str,
) -> Iterator[Cluster]:
    """Run a Slurm in a temporary folder; it is stopped at the end in any case.

    ``files`` returns the configuration files by name, from the values ``folder``, ``user``,
    ``host`` and ``slurmctld`` (a free port). ``start`` starts the daemons; munge already runs.
    `StartError` if one does not start.
    """
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    folder.chmod(0o755)
    values = {"folder": folder, "user": getpass.getuser(), "host": host_name()}
    for name, text in files(values | {"slurmctld": free_ports(1)[0]}).items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600 if name == "slurmdbd.conf" else 0o644)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    environment |= {"PATH": _search_path(), "SLURM_CONF": str(folder / "slurm.conf")}
    slurm = Cluster(folder, {**os.environ, **environment})
    try:
        try:
            slurm.start(
                "munged", "--foreground", "--force", f"--socket={folder}/munge.socket",
                f"--key-file={folder}/munge.key", f"--pid-file={folder}/munge.pid",
                f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed",
            )  # fmt: skip
            start(slurm)
        except (RuntimeError, OSError) as error:
            raise StartError(str(error)) from error
        yield slurm
    except BaseException:
        for log in sorted(folder.glob("*.log")):
            print(f"--- {log.name}", *log.read_text(errors="replace").splitlines()[-20:], sep="\n")
        raise
    finally:
        slurm.stop()
        shutil.rmtree(folder, ignore_errors=True)


def start_controller(slurm: Cluster) -> None:
    """Start slurmctld and wait until it responds."""
    slurm.start("slurmctld", "-D", "-c")
    slurm.wait_for("slurmctld", lambda: "UP" in slurm.run("scontrol", "ping"))


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Run a Slurm of one node with accounting; it is stopped at the end."""
    ports = dict(zip(("slurmd", "slurmdbd", "mariadb"), free_ports(3), strict=True))

    def files(values: dict[str, object]) -> dict[str, str]:
        texts = {"slurm.conf": SHARED_CONF + SLURM_CONF, "slurmdbd.conf": SLURMDBD_CONF}
        return {name: text.lstrip().format(**values, **ports) for name, text in texts.items()}

    with running(files, partial(_start, port=ports["mariadb"])) as slurm:
        yield slurm


def _start(slurm: Cluster, port: int) -> None:
    """Start the database, the accounting daemon, the controller and the node."""
    folder, user = slurm.folder, getpass.getuser()
    data = folder / "mariadb"
    slurm.run(
        "mariadb-install-db", "--no-defaults", f"--user={user}", f"--datadir={data}",
        "--skip-test-db", "--auth-root-authentication-method=normal",
    )  # fmt: skip
    slurm.start(
        "mariadbd", "--no-defaults", f"--user={user}", f"--datadir={data}",
        f"--socket={folder}/mariadb.socket", f"--port={port}", "--bind-address=127.0.0.1",
        "--skip-grant-tables", "--innodb-buffer-pool-size=32M", "--innodb-lock-wait-timeout=900",
        f"--pid-file={folder}/mariadb.pid",
    )  # fmt: skip
    slurm.wait_for(
        "database", lambda: socket.create_connection(("127.0.0.1", port), 1).close() or True
    )
    slurm.start("slurmdbd", "-D")
    slurm.wait_for(
        "slurmdbd", lambda: slurm.run("sacctmgr", "--immediate", "show", "cluster") or True
    )
    slurm.run("sacctmgr", "--immediate", "add", "cluster", "schedopt", check=False)
    start_controller(slurm)
    slurm.start("slurmd", "-D", "-N", host_name())
    slurm.wait_for("node", lambda: "idle" in slurm.run("sinfo", "--noheader", "--format=%T"))
