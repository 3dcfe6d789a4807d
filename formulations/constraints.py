"""Side constraints for users: all kinds, under this name too.

A kind of your own is a subclass of `Constraint`; `CONTRIBUTING.md` has the recipe.
"""

from schedopt.instances.constraints import *  # noqa: F403
