"""Every figure, table, theorem, lemma and worked example of the five papers, and its entry.

The lists follow the papers from front to back. A test holds them against the ledger, both ways, and
against the papers' own text where that is at hand.
"""

from __future__ import annotations

from typing import NamedTuple


class Paper(NamedTuple):
    """A paper, and what of it the ledger answers for.

    Attributes
    ----------
    title : str
        Authors, title, place and year.
    problem : str
        The row of the house that it belongs to.
    items : dict of str to str
        For each item, as the paper calls it, the name of its entry.
    """

    title: str
    problem: str
    items: dict[str, str]


def _numbered(problem: str, kind: str, last: int, first: int = 1) -> dict[str, str]:
    return {
        f"{kind} {number}": f"{problem}/{kind.lower()}-{number}"
        for number in range(first, last + 1)
    }


PAPERS: dict[str, Paper] = {
    "dssp-2005": Paper(
        "Anderson et al., Value-Maximizing Deadline Scheduling and its Application to Animation "
        "Rendering, SPAA 2005",
        "dssp",
        {
            **_numbered("dssp", "Figure", 10),
            **_numbered("dssp", "Theorem", 4),
            "Greedy against optimal selection (section 5.2)": "dssp/section-5.2",
        },
    ),
    "hesrpt-2019-full": Paper(
        "Berg, Vesilo and Harchol-Balter, heSRPT: Optimal Scheduling of Parallel Jobs with Known "
        "Sizes, 2019 (full)",
        "hesrpt",
        {
            **_numbered("hesrpt", "Figure", 4),
            "Two equal jobs (section 1)": "hesrpt/example-75-25",
            "Two equal jobs under Amdahl's law (section 1)": "hesrpt/example-amdahl",
            **_numbered("hesrpt", "Theorem", 8),
            **_numbered("hesrpt", "Lemma", 5),
            "Definition 1": "hesrpt/definition-1",
        },
    ),
    "hesrpt-2019-summary": Paper(
        "Berg, Vesilo and Harchol-Balter, heSRPT, 2019 (the summary, numbered otherwise)",
        "hesrpt",
        {
            **_numbered("hesrpt", "Figure", 2),
            "Theorem 1": "hesrpt/theorem-3",
            "Theorem 2": "hesrpt/theorem-5",
            "Theorem 3": "hesrpt/theorem-4",
            "Theorem 4": "hesrpt/theorem-6",
            "Theorem 5": "hesrpt/theorem-7",
            "Theorem 6": "hesrpt/theorem-8",
        },
    ),
    "epoch-1994": Paper(
        "McCann and Zahorjan, Scheduling Memory Constrained Jobs on Distributed Memory Parallel "
        "Computers, TR 94-10-05, University of Washington, 1994",
        "epoch",
        {
            **_numbered("epoch", "Figure", 18),
            **_numbered("epoch", "Table", 3),
            **_numbered("epoch", "Theorem", 2),
            "Lemma 1": "epoch/lemma-1",
            "Seven jobs (section 4.2)": "epoch/example-seven-jobs",
            "OPT-EPOCH(k) is optimal (section 4.2)": "epoch/opt-epoch",
            "Assignments tested (section 4.2)": "epoch/section-4.2",
        },
    ),
    "msfq-2025": Paper(
        "Chen et al., Improving Nonpreemptive Multiserver Job Scheduling with Quickswap, 2025",
        "msfq",
        {
            **_numbered("msfq", "Figure", 6),
            "Theorem (throughput-optimality, section 5)": "msfq/theorem-1",
            **_numbered("msfq", "Theorem", 2),
            "Theorem (summary, section 5)": "msfq/theorem-summary",
            "Theorem (extended renewal reward, section 5.3)": "msfq/theorem-renewal",
            "Remark 1": "msfq/remark-1",
            "Lemma (fractions of time, section 5.3)": "msfq/lemma-fractions",
            "Remark (exceptional first service, section 5.3)": "msfq/remark-exceptional-first",
            "Lemma (response in phases 1 and 2, section 5.3)": "msfq/lemma-response-1-2",
            "Lemma (response by excess, section 5.3)": "msfq/lemma-response-excess",
            "Lemma (response in phase 3, section 5.3)": "msfq/lemma-response-3",
            "Remark (busy periods, section 5.4)": "msfq/remark-busy-periods",
            "Lemma (lengths of phases 1 and 2, section 5.4)": "msfq/lemma-phase-lengths",
            "Lemma (numbers of jobs, section 5.4)": "msfq/lemma-phase-numbers",
            "Lemma (phase 3, section 5.4)": "msfq/lemma-phase-3",
            "Lemma (phase 4, section 5.4)": "msfq/lemma-phase-4",
        },
    ),
}
"""The papers, by the name of their file."""
