"""An exact engine for integer programs: prices, reduced-cost fixing, and exact search.

1. `relaxation`: HiGHS solves the linear relaxation. Its dual values are the prices of the rows.
2. `bounds`: integer multipliers close to the prices give an exact bound, and the reduced costs.
3. Columns whose reduced cost exceeds the gap between bound and incumbent are fixed.
4. `exact`: CP-SAT improves the incumbent over the columns with the smallest reduced costs, so that
   more columns are fixed. CP-SAT, HiGHS, or branch and bound proves the optimum over the remaining
   columns, the core, in integers.

`search` runs these steps, and `in_order` maximizes several objectives one after another.

| symbol | meaning |
| --- | --- |
| x_j, R_j | value and reward of column j |
| A, a_ij | coefficients of the rows |
| y_i | integer multiplier of row i, close to its dual value |
| S | scale of the multipliers |
| r_j | reduced cost, S·R_j - Σ_i y_i a_ij |
| loss | how far the reward of a solution, times S, is below the Lagrangian bound |
| slack | the largest loss of a solution that is better than the incumbent |

Source of the core: D. Pisinger, "A minimal algorithm for the 0-1 knapsack problem", Operations
Research 45, 1997; here it is over several rows.
"""
