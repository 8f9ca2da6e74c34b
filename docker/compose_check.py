"""Checks docker/compose.yaml: that it parses, and that its services are as closed as we say."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml


def faults(path: Path) -> list[str]:
    """What is wrong; an empty list when nothing is."""
    document = yaml.safe_load(path.read_text())
    services, found = document["services"], []
    server = services["gradserve"]
    build = server["build"]
    if not (path.parent / build["context"] / build["dockerfile"]).is_file():
        found.append("the Dockerfile it builds is missing")
    if not all(str(port).startswith("127.0.0.1:") for port in server["ports"]):
        found.append("a port is published beyond loopback")
    for name in server["depends_on"]:
        if "healthcheck" not in services[name]:
            found.append(f"{name} has no health check to wait for")
    for name, service in services.items():
        if "no-new-privileges:true" not in service.get("security_opt", []):
            found.append(f"{name} may gain privileges")
        if service.get("cap_drop") != ["ALL"]:
            found.append(f"{name} keeps capabilities")
        named = [
            v.split(":")[0] for v in service.get("volumes", []) if not v.startswith((".", "/"))
        ]
        found += [f"volume {v} is not declared" for v in named if v not in document["volumes"]]
    return found


def main() -> int:
    """Print every fault; the exit status says whether there was one."""
    found = faults(Path(__file__).parent / "compose.yaml")
    print("\n".join(found) or "compose.yaml: nothing wrong", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
