"""An exact engine for integer programs: prices, reduced-cost fixing, and a growing core.

1. `relaxation`: HiGHS solves the linear relaxation. Its dual values are the prices of the rows.
2. `bounds`: integer multipliers close to the prices give a bound without rounding, and what each
   column loses where it differs from the value that the prices prefer.
3. `blocks`: disjoint rows are knapsacks of their own. The least loss of each lowers the bound;
   combinations of choices that lose little are enumerated.
4. Columns that would lose more than the gap between bound and incumbent are fixed.
5. `core`: a MIP solver chooses among the columns that lose least, then among more of them.
6. `exact`: CP-SAT or branch and bound proves what is left in integers.

`search` runs these steps, `in_order` maximizes several objectives one after another, and
`dominance` removes columns that better ones make useless.

Source of the core: D. Pisinger, "A minimal algorithm for the 0-1 knapsack problem", Operations
Research 45, 1997; here it is over several rows.
"""
