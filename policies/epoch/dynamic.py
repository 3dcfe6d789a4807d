"""OPT-EPOCH(k) by dynamic programming over sizes: polynomial for a fixed inequity k.

Our own; an exact method that shares nothing with the models, and nothing with the paper's search.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from schedopt.instances.arithmetic import divisors
from schedopt.instances.epoch import Instance, Partitioned, partitioned
from schedopt.policies.registry import NotApplicableError, Policy, register

MOST_STEPS = 2_000_000
"""The method gives up after so many openings of epochs: some seconds."""

MOST_INEQUITY = 16
"""Beyond this k the states have too many parts for any instance of interest."""

State = tuple[int, ...]
"""How many slots are open for jobs of the next size, of one less, ..., of k less: cumulative."""


def _openings(leader: int, sizes: Collection[int], nodes: int, inequity: int) -> Iterator[State]:
    """Yield the slots of an epoch led by a job of size v: of v, v-1, ..., v-k.

    With k = 0 an epoch of h jobs offers h equal slots. With k >= 1 every job has v - k nodes at
    least, and 1; what is left over may widen slots, to widths that are sizes of jobs.
    """
    if inequity == 0:
        yield from ((h,) for h in divisors(nodes) if leader * h <= nodes)
        return
    floor = max(1, leader - inequity)
    widths = [w for w in range(leader, floor - 1, -1) if w in sizes or w == floor]

    def cuts(i: int, left: int) -> Iterator[dict[int, int]]:
        width = widths[i]
        if width == floor:
            narrowest = {floor: left // floor}
            yield narrowest
            return
        for count in range(left // width, -1, -1):
            for rest in cuts(i + 1, left - count * width):
                yield {width: count, **rest}

    for looked_at, slots in enumerate(cuts(0, nodes - leader)):
        if looked_at > MOST_STEPS:
            raise NotApplicableError(f"no end after {MOST_STEPS} steps: k is too large")
        spare = nodes - leader - sum(w * n for w, n in slots.items())
        if any(slots[w] and wider - w <= spare for wider, w in pairwise(widths)):
            continue  # that slot could be wider: another way offers as much and more
        slots[leader] += 1
        yield tuple(slots.get(leader - i, 0) for i in range(inequity + 1))


class _Sizes:
    """The states by size, from the largest job down; each with its fewest epochs and its origin."""

    def __init__(self, descending: Sequence[int], nodes: int, inequity: int) -> None:
        self.nodes, self.inequity, self.steps = nodes, inequity, 0
        self.counts: dict[int, int] = {}
        for size in descending:
            self.counts[size] = self.counts.get(size, 0) + 1
        self.origins: list[tuple[int, dict[State, tuple[State, tuple[State, ...]]]]] = []

    def solve(self) -> list[list[int]]:
        """Return the slots of each epoch of an optimal partition."""
        states: dict[State, int] = {(0,) * (self.inequity + 1): 0}
        left = sum(self.counts.values())
        for size in range(max(self.counts), 0, -1):
            states = self._opened(states, size, left)
            left -= self.counts.get(size, 0)
            states = self._served(states, size, left)
        if self.inequity == 0:  # every slot must have been taken
            states = {state: n for state, n in states.items() if not any(state)}
        return self._traced(min(states, key=lambda state: states[state]))

    def _opened(self, states: dict[State, int], size: int, left: int) -> dict[State, int]:
        """Open as many epochs led by jobs of this size as are useful."""
        self.opened: dict[State, tuple[State, tuple[State, ...]]] = {s: (s, ()) for s in states}
        fewest, fresh = dict(states), list(states)
        mine = self.counts.get(size, 0)
        offers = list(_openings(size, self.counts, self.nodes, self.inequity)) if mine else []
        for _ in range(mine):
            wave: dict[State, int] = {}
            for state in fresh:
                if self.inequity > 0 and state[0] >= mine:
                    continue  # hereditary: a leader is opened only where one is needed
                self.steps += len(offers)
                if self.steps > MOST_STEPS:
                    raise NotApplicableError(f"no end after {MOST_STEPS} steps: k is too large")
                for offer in offers:
                    after = self._added(state, offer, left)
                    if after is None or (after in fewest and fewest[after] <= fewest[state] + 1):
                        continue
                    fewest[after] = wave[after] = fewest[state] + 1
                    origin, opened = self.opened[state]
                    self.opened[after] = (origin, (*opened, offer))
            if not wave:
                break
            fresh = list(wave)
        return fewest

    def _added(self, state: State, offer: State, left: int) -> State | None:
        """Add an epoch's slots, at most as many as jobs are left."""
        total, after = 0, []
        for have, more in zip(state, offer, strict=True):
            total += more
            after.append(min(have + total, left) if self.inequity else have + total)
        return None if after[-1] > left else tuple(after)

    def _served(self, states: dict[State, int], size: int, left: int) -> dict[State, int]:
        """Assign slots to the jobs of this size, and go on to the next size."""
        mine = self.counts.get(size, 0)
        after: dict[State, int] = {}
        came: dict[State, tuple[State, tuple[State, ...]]] = {}
        for state, n in states.items():
            if state[0] < mine:
                continue
            rest = [have - mine for have in state]
            if self.inequity:
                rest = [min(have, left) for have in rest]
            elif rest[0] > left:
                continue
            following = (*rest[1:], rest[-1]) if self.inequity else tuple(rest)
            if after.get(following, n + 1) > n:
                after[following] = n
                came[following] = self.opened[state]
        self.origins.append((size, came))
        return after

    def _traced(self, state: State) -> list[list[int]]:
        """Go back through the states that led to one, and return the slots of their epochs."""
        epochs = []
        for size, came in reversed(self.origins):
            state, opened = came[state]
            for offer in opened:
                widths = [[size - i] * n for i, n in enumerate(offer)]
                epochs.append([width for some in widths for width in some])
        return epochs


def dp_epochs(descending: Sequence[int], nodes: int, inequity: int) -> list[list[int]]:
    """Return the epochs of an optimal partition, by index; minima do not increase.

    Jobs are served by non-increasing size. All that matters of the open epochs is how many slots
    they still have for jobs of each of the next k sizes, and for all smaller ones; so for a fixed k
    there are at most J^(k+1) states at a size, and at most N^k ways to open an epoch.
    `NotApplicableError` if there are too many.
    """
    if inequity > 0:  # more than the largest job allows changes nothing
        inequity = max(1, min(inequity, descending[0] - 1))
    if inequity > MOST_INEQUITY:
        raise NotApplicableError(f"for an inequity of at most {MOST_INEQUITY}")
    slots = _Sizes(descending, nodes, inequity).solve()
    wide = sorted(((w, e) for e, some in enumerate(slots) for w in some), reverse=True)
    epochs: list[list[int]] = [[] for _ in slots]
    for i, (_, e) in zip(range(len(descending)), wide, strict=False):
        epochs[e].append(i)
    return [epoch for epoch in epochs if epoch]


def _run(instance: Instance) -> Partitioned:
    order = instance.descending
    epochs = dp_epochs(instance.minima[order].tolist(), instance.nodes, instance.inequity)
    return partitioned(instance, [[order[i] for i in epoch] for epoch in epochs])


register(
    Policy(
        name="dp",
        problem="epoch",
        run=_run,
        source="our own",
        summary="the exact optimum by dynamic programming over sizes, for a small inequity k",
    )
)
