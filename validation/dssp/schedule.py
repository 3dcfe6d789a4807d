"""Checker of schedules: tasks, stages, processors, seats, completion times, reward, constraints.

Everything is recomputed from the raw fields of the instance, and no code is shared with the
solvers. Late jobs are not violations, since a dispatcher may be given too many jobs.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from math import fsum

from schedopt.instances.constraints import Constraint, Seats, label
from schedopt.instances.dssp import Instance, PlacedTask, Scheduled
from schedopt.solvers.result import Document
from schedopt.validation.dssp.chosen import check_chosen, check_objectives
from schedopt.validation.dssp.facts import Chosen, Facts, facts_of
from schedopt.validation.dssp.machine import processors_of
from schedopt.validation.report import Report, same

ROUNDING = 1e-9  # allowed rounding error of sums of lengths, relative to the latest time
Placed = dict[tuple[str, int, int], PlacedTask]


def check(
    night: Instance,
    solution: Scheduled,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a schedule under all side constraints; `InputError` if ``fill`` is not positive."""
    ends, slack = check_tasks(facts_of(night, claim), solution, constraints, report)
    least, most = earned_interval(night, ends, slack)
    if claim.formulation:  # a schedule of the formulation runs only jobs that earn
        _check_paid(night, ends, slack, report)
    report.expect(not claim.risk, "risk: given, although the question has none")
    objective = claim.objective
    near = objective is not None and (
        least <= objective <= most or same(objective, least) or same(objective, most)
    )
    report.expect(near, f"objective: the schedule earns {most:.12g}, not {objective}")


def violations_of(night: Instance, schedule: Scheduled, facts: Facts | None = None) -> list[str]:
    """Return the violations of a schedule, without checking its objective."""
    report = Report()
    ends, slack = check_tasks(facts or Facts(night, 1.0), schedule, night.constraints, report)
    _check_paid(night, ends, slack, report)
    return report.violations


def _check_paid(night: Instance, ends: dict[str, float], slack: float, report: Report) -> None:
    """Check that no job completes too late to earn a reward."""
    due = {job.name: job.deadline or night.deadline for job in night.jobs}
    last = night.late[-1][0] if night.late else 0.0
    far = [n for n, end in ends.items() if end - slack > (due[n] + last) * (1 + 1e-11)]
    _report_first(report, "complete too late to be paid", far)


def check_tasks(
    facts: Facts, solution: Scheduled, constraints: Sequence[Constraint], report: Report
) -> tuple[dict[str, float], float]:
    """Check all but the objective; return each job's completion time, and the rounding error."""
    night = facts.night
    chosen = check_chosen(solution, facts, constraints, report)
    check_objectives(solution, facts, chosen, report)
    slack = ROUNDING * max((abs(task.end) for task in solution.tasks), default=0.0)
    placed = _check_lengths(night, solution, chosen, slack, report)
    _check_stage_order(placed, slack, report)
    _check_processors(facts, solution, slack, report)
    if night.features:
        _report_first(report, "the machine", list(facts.machine.misplaced_tasks(solution, slack)))
        report.violations.extend(facts.machine.missing_predecessors(chosen))
    _check_seats(solution, constraints, slack, report)
    ends: dict[str, float] = dict.fromkeys(chosen, 0.0)
    for (job, _, _), task in placed.items():
        ends[job] = max(ends[job], task.end)
    _check_completions(night, solution, ends, slack, report)
    busy = fsum(
        (min(task.end, night.deadline) - min(task.start, night.deadline)) * len(processors_of(task))
        for task in solution.tasks
    )
    share = busy / float(facts.capacity / facts.fill)
    report.expect(
        same(share, solution.utilization, 1.0),
        f"utilization: {share:.12g}, not {solution.utilization:.12g}",
    )
    return ends, slack


def _check_lengths(
    night: Instance, solution: Scheduled, chosen: Chosen, slack: float, report: Report
) -> Placed:
    """Check that every task of every chosen job appears once, with its length."""
    lengths = {
        (job.name, s, i): length
        for job in night.jobs
        if job.name in chosen
        for s, stage in enumerate(job.stages or ())
        for i, length in enumerate(stage)
    }
    releases = {job.name: job.release for job in night.jobs}
    unknown, twice, wrong, early = [], [], [], []
    placed: Placed = {}
    for task in solution.tasks:
        key = (task.job, task.stage, task.task)
        if key not in lengths:
            unknown.append(_task_label(key))
            continue
        if key in placed:
            twice.append(_task_label(key))
        placed[key] = task
        if not abs(task.end - task.start - lengths[key]) <= slack:
            wrong.append(f"{_task_label(key)} {task.end - task.start:.12g} for {lengths[key]:.12g}")
        if not task.start >= 0:
            early.append(_task_label(key))
        elif task.start < releases[task.job] - slack:
            early.append(f"{_task_label(key)}, released at {releases[task.job]:.12g}")
    _report_first(report, "tasks that are not of a job that is run", unknown)
    _report_first(report, "tasks that are listed twice", twice)
    _report_first(report, "tasks of another length", wrong)
    _report_first(report, "tasks that start before 0 or their job's release", early)
    _report_first(
        report, "tasks that are missing", [_task_label(key) for key in lengths if key not in placed]
    )
    return placed


def _check_stage_order(placed: Placed, slack: float, report: Report) -> None:
    """Check that no task starts before all tasks of the stage before have ended."""
    starts: dict[tuple[str, int], float] = {}
    ends: dict[tuple[str, int], float] = {}
    for (job, stage, _), task in placed.items():
        at = (job, stage)
        starts[at] = min(starts.get(at, task.start), task.start)
        ends[at] = max(ends.get(at, task.end), task.end)
    broken = [
        f"{job} stage {stage} at {start:.12g}, before {ends[job, stage - 1]:.12g}"
        for (job, stage), start in starts.items()
        if (job, stage - 1) in ends and start < ends[job, stage - 1] - slack
    ]
    _report_first(report, "stages that start before the one before has ended", broken)


def _check_processors(facts: Facts, solution: Scheduled, slack: float, report: Report) -> None:
    """Check that processors exist and run one task at a time.

    Tasks of length 0 need no processor; only their release and stage order are checked.
    """
    on: dict[int, list[PlacedTask]] = defaultdict(list)
    wide = {job.name: job.processors for job in facts.night.jobs}
    for task in solution.tasks:
        held = processors_of(task)
        takes = wide.get(task.job, 1)
        if task.start < task.end and (len({*held}) != takes or task.processor != held[0]):
            named = f"{task.job}[{task.stage}][{task.task}]"
            report.expect(False, f"{named}: on processors {list(held)}, and it takes {takes}")
        for processor in held:
            on[processor].append(task)
    count = facts.night.processors if not facts.night.features else facts.machine.count
    strange = [str(p) for p in sorted(on) if not 0 <= p < count]
    _report_first(report, f"processors that are not among {count}", strange)
    overlaps = []
    for processor, found in sorted(on.items()):
        tasks = [task for task in found if task.start < task.end - slack]
        tasks.sort(key=lambda task: (task.start, task.end))
        overlaps += [
            f"{processor} at {after.start:.12g}"
            for before, after in pairwise(tasks)
            if after.start < before.end - slack
        ]
    _report_first(report, "processors with two tasks at a time", overlaps)


def _check_seats(
    solution: Scheduled, constraints: Sequence[Constraint], slack: float, report: Report
) -> None:
    """Check that concurrent tasks hold no more seats than there are."""
    for position, rule in enumerate(constraints):
        if not isinstance(rule, Seats):
            continue
        changes = [
            change
            for task in solution.tasks
            if rule.use.get(task.job, 0) and task.start < task.end - slack
            for change in (
                (task.start, rule.use[task.job]),
                (task.end - slack, -rule.use[task.job]),
            )
        ]
        held, over = 0, []
        for time, change in sorted(changes):  # released seats can be taken at once
            held += change
            if change > 0 and held > rule.capacity:
                over.append(f"{held} at {time:.12g}")
        _report_first(
            report, f"{label(rule, position)}: more held than the {rule.capacity} there are", over
        )


def _check_completions(
    night: Instance, solution: Scheduled, ends: dict[str, float], slack: float, report: Report
) -> None:
    """Check the stated completion time of each job."""
    stated = solution.completion
    unknown = sorted(stated.keys() - ends.keys())
    wrong = unknown + [
        job.name
        for job in night.jobs
        if job.name in ends
        and not (job.name in stated and abs(stated[job.name] - ends[job.name]) <= slack)
    ]
    _report_first(report, "completion: wrong for", wrong)
    makespan = max(ends.values(), default=0.0)
    report.expect(
        abs(makespan - solution.makespan) <= slack,
        f"makespan: {makespan:.12g}, not {solution.makespan:.12g}",
    )


def earned_interval(night: Instance, ends: dict[str, float], slack: float) -> tuple[float, float]:
    """Return bounds on the reward of a schedule, since rounding may move a jump of U_D."""
    reward = {job.name: job.reward for job in night.jobs}
    due = {job.name: job.deadline or night.deadline for job in night.jobs}
    least = fsum(reward[n] * _paid_fraction(night, due[n], end + slack) for n, end in ends.items())
    most = fsum(reward[n] * _paid_fraction(night, due[n], end - slack) for n, end in ends.items())
    return least, most


def _paid_fraction(night: Instance, deadline: float, completion: float) -> float:
    """Return U_D as a fraction of the reward: 1 by the deadline, then the points of ``late``."""
    if completion <= deadline * (1 + 1e-11):
        return 1.0
    delay, points = completion - deadline, list(night.late)
    while len(points) > 1 and points[1][0] < delay:
        points.pop(0)
    if len(points) < 2:
        return 0.0
    (x0, y0), (x1, y1) = points[:2]
    return y0 + (delay - x0) / (x1 - x0) * (y1 - y0)


def _task_label(key: tuple[str, int, int]) -> str:
    """Return the name of a task in messages."""
    return f"{key[0]}[{key[1]}][{key[2]}]"


def _report_first(report: Report, what: str, found: list[str], most: int = 10) -> None:
    """Report the first violations of a kind, and the number of the others."""
    if found:
        more = f" and {len(found) - most} more" if len(found) > most else ""
        report.violations.append(f"{what}: {', '.join(found[:most])}{more}")
