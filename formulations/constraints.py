"""Side constraints for users: the declarations that every formulation shares.

What a declaration means on a selection of jobs is in `formulations.dssp.rows`. A kind of your own
is a subclass of `Constraint`; `CONTRIBUTING.md` has the recipe.
"""

from schedopt.instances.constraints import *  # noqa: F403  all of them, under this name too
