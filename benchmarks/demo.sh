#!/usr/bin/env bash
# The README's demo: a plan, a fair share, and selectors compared with the optimum.
set -euo pipefail

say() { printf '\n# %s\n' "$1"; }
run() { printf '$ schedopt'; printf ' %q' "$@"; printf '\n'; "${PYTHON:-python}" -m schedopt "$@"; }

here=build/demo night=instances/dssp/night.json.gz
rm -rf "$here" && mkdir -p "$here"

say "Eight jobs, six processors, three seats, a cap: what runs tonight, and is it the best?"
run plan instances/dssp/farm.csv --processors 6 --from 20:00 --until 06:00 --seats houdini=3 \
    --cap team:fx=0.4 --output "$here/plan.csv" --report "$here/night.html"
say "A render night asks for more than the farm has, and no team may take over 30% of it."
run solve "$night" --output "$here/result.json"
say "The checker recomputes that result from the instance file alone."
run check "$night" "$here/result.json"
say "Heuristics do not know of fair shares."
run evaluate "$night" --policy greedy,greedy-three-quarters,core
say "How far is each selector from the proven optimum, on twelve other nights?"
run generate dssp --count 12 --seed 1 --output "$here/nights"
run bench "$here/nights" --jobs 2 --policy greedy,greedy-half,greedy-three-quarters,dp-profits,fptas,core
say "And what do dispatchers complete by the deadline, with and without selection?"
run bench "$here/nights" --option fill=0.9 --report build/report.html \
    --policy priority,lcpf,greedy+priority,greedy+stcpu,greedy+cpa,greedy+lcpf,selection+lcpf
say "The whole comparison as a page: open build/report.html in a browser."
