"""What the benches measured, in one shape, and the tables of the documents.

A row is a dict: `row` (the work), `unit`, `peer` (who did it: assetfs, or whom it is compared with), `median`, `min`, `max`,
`rounds`, and `goal` (a list from goals.py, or None). A file of them has `rows`, and `skipped` with what was not measured and why.
"""
import json
import re
import signal
import statistics
import sys
from pathlib import Path

import goals

ROOT_USER, HELPED, PLAIN = goals.EVERYBODY
# How the lines of a table call these three.
USERS = {ROOT_USER: "root", HELPED: "not root, `assetfs-passthrough`", PLAIN: "not root"}


class Figures:
    """Samples of one run. `whose` is what the drive is called: one of the three above."""

    def __init__(self, whose=ROOT_USER):
        self.whose, self.samples, self.skipped = whose, {}, []

    def note(self, row, unit, value, peer=None):
        self.samples.setdefault((row, unit, peer or self.whose), []).append(value)

    def skip(self, what, why):
        if {"what": what, "why": why} not in self.skipped:
            self.skipped.append({"what": what, "why": why})
            print(f"skipped: {what}: {why}", file=sys.stderr, flush=True)

    def rows(self):
        return [{
            "row": row, "unit": unit, "peer": peer, "median": statistics.median(values), "min": min(values), "max": max(values),
            "rounds": len(values), "goal": goals.of(row, unit, peer),
        } for (row, unit, peer), values in self.samples.items()]

    def write(self, path):
        if path:
            Path(path).write_text(json.dumps({"rows": self.rows(), "skipped": self.skipped}, indent=1) + "\n")


def add_options(parser, user=False):
    parser.add_argument("--json", metavar="FILE", help="the figures of the table, for scripts/bench/all")
    if user:
        parser.add_argument("--whose", choices=USERS, default=ROOT_USER, help="what the figures of the drive are called")


def end_on_signals():
    """Ended by a signal, a script cleans up, too."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit("ended by a signal"))


# --- Tables ---------------------------------------------------------------------------------------------------------------------


def table(runs):
    """The rows of some runs as Markdown: a line for each work and user. What is compared is of the same run."""
    lines, last = [], None
    for rows in runs:
        order = list(dict.fromkeys(row["row"] for row in rows))
        works = {}
        for row in sorted(rows, key=lambda row: order.index(row["row"])):
            works.setdefault((row["row"], row["unit"]), []).append(row)
        for (work, unit), found in works.items():
            ours = [row for row in found if row["peer"] in USERS] or [None]
            others = [row for row in found if row["peer"] not in USERS]
            theirs = "; ".join(f"{row['peer']} {figure(row)}" for row in others)
            for mine in ours:
                lines.append(["the same" if work == last else work, USERS[mine["peer"]] if mine else "", figure(mine), unit,
                              "as above" if theirs and mine is not ours[0] else theirs, verdicts(mine, others),
                              str((mine or others[0])["rounds"])])
                last = work
    heads = ["work", "run by", "assetfs", "unit", "others in the same run", "of the other (goal)", "rounds"]
    kept = [at for at in range(len(heads)) if any(line[at] for line in lines)]
    if {line[1] for line in lines} <= {"", USERS[ROOT_USER]}:
        kept.remove(1)
    pick = lambda line: "| " + " | ".join(line[at] for at in kept) + " |"
    return "\n".join([pick(heads), "|" + "---|" * len(kept), *map(pick, lines)])


def figure(row):
    if row is None:
        return ""
    if row["rounds"] == 1 or row["min"] == row["max"]:
        return number(row["median"])
    return f"{number(row['median'])} ({number(row['min'])} to {number(row['max'])})"


def number(value):
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.1g}"


def verdicts(mine, others):
    """Each goal and how far the drive is; bold where it is short of it. Without a goal, the ratio to the first other."""
    if mine is None:
        return ""
    said = []
    for goal in mine["goal"] or []:
        value = goals.reached(goal, mine, others)
        if value is None:
            continue
        shown = f"{value:.2f}" if goal["of"] else number(value)
        of = f" of {goal['of']}" if goal["of"] else ""
        sign = "≥" if "least" in goal else "≤"
        text = f"{shown}{of} ({sign} {goal.get('least', goal.get('most'))})"
        said.append(text if goals.is_met(goal, value) else f"**{text}, short**")
    if not said and others and others[0]["median"]:
        said.append(f"{mine['median'] / others[0]['median']:.2f} of {others[0]['peer']}")
    return "; ".join(said)


def write_between(document, name, text):
    """Replaces what is between the two markers of that name."""
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    before = document.read_text()
    pattern = re.compile(f"({re.escape(begin)}\n).*?({re.escape(end)})", re.DOTALL)
    after, count = pattern.subn(lambda around: f"{around[1]}{text}\n{around[2]}", before)
    if count != 1:
        sys.exit(f"{document} must have {begin} and {end} once")
    document.write_text(after)


# --- Figures of the tests -------------------------------------------------------------------------------------------------------


def read_lines(lines, found):
    """Lines `WORK: 12.3 ms (12.1, 12.3, 14.0)`, which tests print; what is counted in a second says so in the name of the work."""
    for line in lines:
        print(line, end="", flush=True)
        if said := re.match(r"(.+): ([\d.]+)( ms)?(?: \((.*)\))?$", line.strip()):
            for value in (said[4] or said[2]).split(", "):
                found.note(said[1], (said[3] or " a second").strip(), float(value))
        elif said := re.match(r"(\S+ is missing): only", line):
            found.skip(f"rows of {said[1].split()[0]}", said[1])


if __name__ == "__main__":
    from_tests = Figures()
    read_lines(sys.stdin, from_tests)
    if len(sys.argv) > 2:
        from_tests.write(sys.argv[2])
    if not from_tests.samples:
        sys.exit("no figures")
