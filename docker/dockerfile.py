"""Reads a Dockerfile: its stages, each with its instructions; and what must hold for ours.

Used by ``docker/check.sh``, which tries the steps where no container engine is at hand.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

INSTRUCTIONS = set(
    "ARG FROM RUN COPY ENV WORKDIR USER EXPOSE VOLUME HEALTHCHECK CMD STOPSIGNAL".split()
)


@dataclass
class Stage:
    """One ``FROM``: what it starts from, its name, and (instruction, rest) in order."""

    base: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)


def read(path: Path) -> list[Stage]:
    """The stages of a Dockerfile; an unknown instruction raises ValueError."""
    text = "\n".join(
        line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")
    )
    stages: list[Stage] = []
    for line in filter(None, (part.strip() for part in text.replace("\\\n", " ").splitlines())):
        word, _, rest = line.partition(" ")
        if word not in INSTRUCTIONS:
            raise ValueError(f"unknown instruction {word!r}")
        if word == "FROM":
            match = re.fullmatch(r"(\S+) AS (\S+)", rest)
            if match is None:
                raise ValueError(f"FROM without a name: {rest!r}")
            stages.append(Stage(match[1], match[2]))
        elif stages:
            stages[-1].steps.append((word, rest.strip()))
        elif word != "ARG":
            raise ValueError(f"{word} before the first FROM")
    return stages


def chain(stages: list[Stage], name: str) -> list[Stage]:
    """A stage and those it starts from, first things first."""
    by_name = {stage.name: stage for stage in stages}
    found = [by_name[name]]
    while found[0].base in by_name:
        found.insert(0, by_name[found[0].base])
    return found


def faults(stages: list[Stage], root: Path) -> list[str]:
    """What is wrong with our Dockerfile; an empty list when nothing is."""
    found = []
    names = [stage.name for stage in stages]
    for place, stage in enumerate(stages):
        for word, rest in stage.steps:
            if word == "COPY":
                found += _copy_faults(rest, names[:place], root)
    for target in ("cpu", "cuda", "tpu"):
        steps = [step for stage in chain(stages, target) for step in stage.steps]
        words = [word for word, _ in steps]
        users = [rest for word, rest in steps if word == "USER"]
        if not users or users[-1] in {"root", "0"}:
            found.append(f"{target} runs as root")
        found += [f"{target} has no {word}" for word in ("HEALTHCHECK", "CMD") if word not in words]
        if ("ENV", f"GRADSERVE_PLATFORM={target}") not in steps:
            found.append(f"{target} does not set GRADSERVE_PLATFORM")
    if names[-1] != "cpu":
        found.append("the last stage is not cpu, so a plain build makes something else")
    return found


def _copy_faults(rest: str, earlier: list[str], root: Path) -> list[str]:
    words = shlex.split(rest)
    source = [word for word in words if word.startswith("--from=")]
    if source:
        stage = source[0].removeprefix("--from=")
        return [] if stage in earlier else [f"COPY from {stage}, which is not made before"]
    return [
        f"COPY of {path}, which is missing" for path in words[:-1] if not (root / path).exists()
    ]


def command(stages: list[Stage], target: str, word: str) -> list[str]:
    """The words of a target's CMD or HEALTHCHECK, which must be in exec form."""
    rests = [r for stage in chain(stages, target) for w, r in stage.steps if w == word]
    return json.loads(rests[-1][rests[-1].index("[") :])


def main() -> int:
    """``check``: print faults. ``runs STAGE``: its RUN lines. ``words TARGET CMD``: the words."""
    here = Path(__file__).parent
    stages = read(here / "Dockerfile")
    what, *rest = sys.argv[1:]
    if what == "check":
        found = faults(stages, here.parent)
        print("\n".join(found) or "Dockerfile: nothing wrong", file=sys.stderr)
        return 1 if found else 0
    if what == "runs":
        stage = chain(stages, rest[0])[-1]
        print("\n".join(rest for word, rest in stage.steps if word == "RUN"))
    else:
        print("\n".join(command(stages, *rest)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
