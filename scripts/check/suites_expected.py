"""The tests that may fail, each under the sentence of docs/semantics.md that says why."""
import re
import tomllib

from suites_drive import ROOT


def plain(text):
    return re.sub(r"\s+", " ", text)


def names(pattern):
    """The tests that a line names."""
    before, brace, rest = pattern.partition("{")
    if not brace:
        return [pattern]
    kinds, _, after = rest.partition("}")
    return [f"{before}{kind}{after}" for kind in kinds.split(",")]


class Expected:
    def __init__(self):
        with open(ROOT / "scripts/check/suites_expected.toml", "rb") as file:
            self.rules = tomllib.load(file)["rule"]
        for rule in self.rules:
            rule["tests"] = {name for pattern in rule["tests"] for name in names(pattern)}

    def unknown_sentences(self):
        semantics = plain((ROOT / "docs/semantics.md").read_text())
        return [rule["sentence"] for rule in self.rules if plain(rule["sentence"]) not in semantics]

    def judge(self, suite, place, user, test, outcome):
        """What a test counts as: passed, expected, skipped or failed."""
        if outcome == "skipped":
            return "skipped"
        is_named = any(
            rule["suite"] == suite and rule.get("place", place) == place and rule.get("user", user) == user
            and test in rule["tests"]
            for rule in self.rules
        )
        return {("passed", False): "passed", ("failed", True): "expected"}.get((outcome, is_named), "failed")
