"""The record of a problem: formulations, engines, policies, converters, tables and pictures.

Each problem's folder has a subclass of `Problem`, which overrides the methods whose defaults do
not suit it. Methods import what they need when they are called, so that a record costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Generic, get_args

from typing_extensions import TypeVar

from schedopt.formats import percent
from schedopt.instances import plugins
from schedopt.instances.errors import InputError, at_parameter, pick_name, quote
from schedopt.instances.files import module_path
from schedopt.instances.options import Options
from schedopt.instances.protocol import AnyInstance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from schedopt.formulations.protocol import Formulation, FormulationType, Sense
    from schedopt.instances.constraints import Constraint
    from schedopt.instances.recipes import Recipe
    from schedopt.instances.starts import StartTimes, WrongStart
    from schedopt.policies.registry import Policy
    from schedopt.problems import summary
    from schedopt.solvers.result import Limits, Result
    from schedopt.sweep.rows import BenchRow
    from schedopt.tables import Table

T = TypeVar("T")
I = TypeVar("I", bound=AnyInstance, default=Any)  # the type of a problem's instances
LOG = "an instance of a log"


@dataclass(frozen=True)
class ReferenceQuestion(Generic[I]):
    """The problem whose optimum a policy is compared with."""

    instance: I
    formulation: str | None = None  # the default one
    options: Options = field(default_factory=dict)
    ruled: bool = True  # whether side constraints beyond the instance's apply to it
    bounding: bool = True  # whether no policy can be better than its optimum


@dataclass(frozen=True)
class Converter:
    """A module that makes instances of files in another format."""

    home: str  # the module, which has ``OPTIONS`` and ``convert(path, *, name, **options)``
    several: bool = False  # whether ``convert`` makes one instance of a sequence of paths
    tells: bool = False  # whether it takes ``tell``, for lines on what became of the file


class Problem(Generic[I]):
    """A problem: its formulations, policies, converters, and the display of its results."""

    name: ClassVar[str]  # in files and on the command line
    title: ClassVar[str]  # the question that it asks
    objective: ClassVar[str] = "the objective"  # such as ``reward``
    objectives: ClassVar[Mapping[str, str]] = {}  # others that an instance may ask for
    tiny: ClassVar[bytes]  # an instance small enough to try a policy or a solver on
    formulations: ClassVar[Mapping[str, Any]]  # by name; the first is the default
    explained: ClassVar[Sequence[str]] = ()  # those whose prices are known, for --explain
    # By format: ``table`` (.csv), ``log`` (.swf) or ``workflow`` (.json).
    converters: ClassVar[Mapping[str, Converter]] = {}
    # Formulations whose solutions are the best of what policies do: gaps are from their bounds.
    from_bounds: ClassVar[Sequence[str]] = ()

    # What there is, by name.

    @property
    def formulation_names(self) -> Sequence[str]:
        """The names of the formulations; the first is the default."""
        return tuple(self.formulations)

    def formulation(self, name: str | None = None) -> FormulationType:
        """Return a formulation by name, the default without one; `InputError` if there is none."""
        names = self.formulation_names
        with at_parameter("formulation"):
            chosen = pick_name(name, names, f"a formulation of {self.name}") if name else names[0]
        kind: FormulationType = self.formulations[chosen]
        return kind

    def default_formulation(self, instance: I) -> str:
        """Return the name of the formulation that solves an instance if none is named."""
        return self.formulation_names[0]

    @property
    def sense(self) -> Sense:
        """Whether the objective is maximized or minimized: ``maximize`` or ``minimize``."""
        return self.formulation().sense

    def goal(self, instance: I) -> str:
        """Return the objective of an instance in words, and whether more or less is better."""
        what = self.objectives.get(str(getattr(instance, "objective", "")), self.objective)
        return f"{what}; {'more' if self.sense == 'maximize' else 'less'} is better"

    def policies(self) -> Mapping[str, Policy]:
        """Return the registered policies by name."""
        from schedopt.policies.registry import registered

        return registered(self.name)

    def policy(self, name: str, constraints: Sequence[Constraint] = ()) -> Policy:
        """Return a policy by name, given additional side constraints."""
        policies = self.policies()
        with at_parameter("policy"):
            return policies[pick_name(name, policies, f"a policy of {self.name}")]

    def generators(self) -> Mapping[str, Recipe]:
        """Return the generators of random instances by name; the first is the default."""
        generators: Mapping[str, Recipe] = import_module(
            f"{module_path('instances', self.name)}.generators"
        ).GENERATORS
        return generators

    def generator(self, name: str | None = None) -> Recipe:
        """Return a generator by name, the default without one; `InputError` if there is none."""
        kinds = self.generators()
        if not kinds:
            raise InputError(f"a problem with generators: {self.name} has none")
        with at_parameter("generator"):
            return kinds[pick_name(name or next(iter(kinds)), kinds, f"a generator of {self.name}")]

    def known_converters(self) -> Mapping[str, Converter]:
        """Return the converters by format; those of plug-ins by the ending of the file."""
        more = plugins.of("converters", self.name)
        return {**self.converters, **{f".{end}": Converter(p.value) for end, p in more.items()}}

    def constraint_kinds(self) -> dict[str, type[Constraint]]:
        """Return the kinds of side constraints of the problem, by name."""
        union = import_module(module_path("instances", self.name)).SideConstraint
        more = [plugins.load(point) for point in plugins.of("constraints", self.name).values()]
        return {kind.kind(): kind for kind in (*(get_args(union) or (union,)), *more)}

    def commented(self) -> bytes:
        """Return a small instance file with comments to start from."""
        from importlib.resources import files

        file = files(module_path("problems", self.name)) / "new.json"
        return file.read_bytes() if file.is_file() else self.tiny + b"\n"

    # How it is solved.

    def hint(self, model: Formulation, seconds: float | None = None) -> Any | None:
        """Return a warm start, or None if there is no time to compute one."""
        return None

    def fallback(self, model: Formulation) -> tuple[Any | None, float | None]:
        """Return a solution and a bound that need no search; None for each that is not known."""
        return None, None

    def explain(self, model: Formulation, result: Result, limits: Limits) -> summary.Explanation:
        """Explain a result by solving again without each rule and with each job."""
        raise InputError("an instance of dssp to explain", found=f"an instance of {self.name}")

    def expect_explained(self, model: Formulation) -> None:
        """Raise `InputError` if a formulation cannot be explained."""
        if model.name not in self.explained:
            expected = "a selection, a schedule or a season of dssp: no others are explained"
            raise InputError(expected, found=f"{self.name} {model.name}", parameter="explain")

    def quantity(self, text: str, instance: Any) -> float:
        """Return ``12h`` or a time of day as a number; `InputError` if the problem has no times."""
        raise InputError("a number", found=quote(text))

    # How policies are run, and what they are measured against.

    def settings(self, instance: I, settings: Options) -> dict[str, Any]:
        """Return a policy's options as result documents write them."""
        return dict(settings)

    def measured_by(self, policy: Policy) -> Options:
        """Return the options of the formulation that change the reference of a policy."""
        return self.formulation().known_options

    def question(
        self,
        instance: I,
        policy: Policy,
        options: Options,
        constraints: Sequence[Constraint] = (),
    ) -> ReferenceQuestion[I] | None:
        """Return the problem that a policy with these options is compared with, or None.

        ``options`` may contain options of the formulation; ``constraints`` are beyond the
        instance's.
        """
        own = self.measured_by(policy)
        return ReferenceQuestion(instance, options={k: v for k, v in options.items() if k in own})

    def comparable(self, result: Result, reference: Result) -> bool:
        """Return True if a policy's result and its reference solve the same problem."""
        return True

    # How a result is shown and drawn: by functions of ``to_tables`` and ``to_figure`` in the
    # problem's folder, which have the names of these methods.

    def _own(self, module: str) -> Any:
        """Return a module of the problem's folder; None if there is none."""
        name = f"{module_path('problems', self.name)}.{module}"
        return import_module(name) if find_spec(name) else None

    def _shown(self, function: str, default: T, *given: Any) -> T:
        """Return what a function of ``to_tables`` returns; the default if there is none."""
        own: Callable[..., T] | None = getattr(self._own("to_tables"), function, None)
        return own(*given) if own else default

    def measures(self, result: Result) -> dict[str, float]:
        """Return numbers beyond the objective, by name."""
        return self._shown("measures", {}, result)

    def shares(self, result: Result) -> Mapping[str, Mapping[str, float]]:
        """Return the share of the machine of each group, by grouping."""
        return self._shown("shares", {}, result)

    def done(self, instance: I, result: Result) -> str:
        """Return how many jobs complete on time, in words, or an empty text."""
        return self._shown("done", "", instance, result)

    def lines(self, instance: I, result: Result) -> summary.Lines:
        """Return the lines that a terminal and a page print beside the objective."""
        return self._shown("lines", (), instance, result)

    def caution(self, instance: I, result: Result, run: Any) -> str:
        """Return a warning about a plan as it is carried out, or an empty text."""
        return self._shown("caution", "", instance, result, run)

    def tables(self, instance: I, result: Result) -> summary.Tables:
        """Return the tables of a result."""
        return self._shown("tables", (), instance, result)

    def dropped(self, instance: I, result: Result) -> Table | None:
        """Return the table of jobs that are left out, with reasons."""
        return self._shown("dropped", None, instance, result)

    # What is done with it.

    def start_times(self, *args: Any, **options: Any) -> StartTimes:
        """Predict when waiting jobs of a log start: see `schedopt.start_times`."""
        raise InputError(LOG, found=f"an instance of {self.name}")

    def wrong_start(self, *args: Any, **options: Any) -> WrongStart | None:
        """Return the first start of a log that is not the policy's: see `schedopt.check_starts`."""
        raise InputError(LOG, found=f"an instance of {self.name}")

    def carried_out(self, instance: I, result: Result) -> Result | None:
        """Return a result with times, dispatched if it has none; None without a solution."""
        return None if result.solution is None else result

    def plan(self, instance: I, result: Result, run: Result | None) -> summary.Plan:
        """Return a row for each job: whether it runs, the reason if not, and its times.

        Parameters
        ----------
        run : Result or None
            The result that `carried_out` returned.

        Raises
        ------
        InputError
            If the problem does not choose jobs.
        """
        raise InputError(f"a problem that chooses jobs: {self.name} has no plan; write .json")

    def sections(
        self, instance: I, result: Result, run: Result | None
    ) -> Iterator[summary.Section]:
        """Yield the parts of a page of one result; ``run`` is what `carried_out` returned."""
        from schedopt.problems import summary

        if result.solution is not None:
            pictures = (("The solution", lambda: self.draw_results([result], instance)),)
            tables = tuple(table.without_empty_columns() for table in self.tables(instance, result))
            yield summary.Section("The result", pictures=pictures, tables=tables)

    def bench_sections(self, file: str, rows: Sequence[BenchRow]) -> Iterator[summary.Section]:
        """Yield the parts of a bench's page on the rows of one instance, read from its file."""
        yield from ()

    def gap_in_words(self, result: Result) -> str:
        """Return how far a result's objective is from its bound."""
        if result.formulation in self.from_bounds and result.bound and result.objective is not None:
            return f"{percent(result.objective / result.bound - 1)} over the bound"
        return f"gap {percent(result.gap)}{' of the objective' if result.gap else ''}"

    def draw(self, instance: I) -> Figure:
        """Draw an instance."""
        from schedopt.pictures.style import sizes

        own = self._own("to_figure")
        figure: Figure = own.jobs(instance) if own else sizes(instance)
        return figure

    def draw_results(self, results: Sequence[Result], instance: I | None = None) -> Figure:
        """Draw results with a solution, all of one instance."""
        from schedopt.pictures.style import objectives

        own = self._own("to_figure")
        figure: Figure = own.results(results, instance) if own else objectives(results)
        return figure
