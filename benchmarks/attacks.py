"""Four recorded intrusions: an analyst's patterns, and the known events.

Conditions give the order of the events, not SEQ, because most clocks show whole seconds:
SEQ means "later by the clock", which is false for events of the same second, and for what a program
(its start is known to the millisecond) did within that second. `a.earliest < b.latest` says "may
have been before"; for all pairs it holds just when the events can be put in that order, and with
exact clocks it is what SEQ says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class Step:
    """An event of an attack.

    Attributes:
        variable: Its name in the pattern.
        type: Channel and number.
        number: The arrival number of the known event.
        condition: What an analyst knows about it, beside its type.
    """

    variable: str
    type: str
    number: int
    condition: str = ""


@dataclass(frozen=True)
class Attack:
    """An attack: its recording, its events in order, and which hosts they are on."""

    recording: str
    steps: tuple[Step, ...]
    hosts: tuple[str, ...] = ()
    by_host: bool = False

    @property
    def known(self) -> tuple[int, ...]:
        """The arrival numbers of the known events, in the order of the steps."""
        return tuple(step.number for step in self.steps)


def _start(variable: str, number: int, image: str, parent: str) -> Step:
    """Return the start of a program by another."""
    condition = f"{variable}.image = '{image}' AND {variable}.parent_image = '{parent}'"
    return Step(variable, "sysmon 1", number, condition)


def _logon(number: int) -> Step:
    return Step("logon", "security 4624", number, "logon.logon_type = '3'")  # over the network


PSEXEC = Attack(
    "psexec",
    (
        _logon(1209),
        Step("service", "security 4697", 1213, "service.logon_id = logon.logon_id"),
        Step("installed", "system 7045", 1251, "installed.service_name = service.service_name"),
        _start("cmd", 1057, "cmd.exe", "services.exe"),
        _start("shell", 1073, "powershell.exe", "cmd.exe"),
        _start("whoami", 2901, "whoami.exe", "powershell.exe"),
    ),
    by_host=True,
)
SMBEXEC = Attack(
    "smbexec",
    (
        _logon(543),
        Step("share", "security 5145", 552, r"share.object_name = '\\*\IPC$'"),
        Step("service", "security 4697", 786, "service.logon_id = logon.logon_id"),
        _start("cmd", 772, "cmd.exe", "services.exe"),
        _start("batch", 851, "cmd.exe", "cmd.exe"),
        _start("shell", 1029, "powershell.exe", "cmd.exe"),
        _start("whoami", 5743, "whoami.exe", "powershell.exe"),
    ),
    by_host=True,
)
WMIC = Attack(
    "wmic_backdoor",
    (
        _start("wmic", 165, "WMIC.exe", "powershell.exe"),
        _logon(262),
        _start("net", 414, "net.exe", "WmiPrvSE.exe"),
        Step("added", "security 4720", 781, "added.logon_id = net.logon_id"),
    ),
    hosts=("wmic.host != logon.host", "logon.host = net.host", "net.host = added.host"),
)
DCSYNC = Attack(
    "dcsync",
    (
        _start("whoami", 558, "whoami.exe", "powershell.exe"),
        _logon(5115),
        Step("d1", "security 4662", 5126, "NOT d1.machine AND d1.logon_id = logon.logon_id"),
        Step("d2", "security 4662", 5127, "NOT d2.machine AND d2.logon_id = logon.logon_id"),
        Step("d3", "security 4662", 5128, "NOT d3.machine AND d3.logon_id = logon.logon_id"),
    ),
    # Three events that nothing distinguishes, each set of three once.
    hosts=(
        "whoami.host != logon.host",
        "logon.host = d1.host",
        "d1.host = d2.host",
        "d2.host = d3.host",
        "d1.seq < d2.seq",
        "d2.seq < d3.seq",
    ),
)
ATTACKS = (PSEXEC, SMBEXEC, WMIC, DCSYNC)

FIRST_LOGON = (
    "earlier.logon_type = '3'",
    "earlier.host = logon.host",
    "earlier.seq < logon.seq",
    "wmic.earliest < earlier.latest",
)
"""The conditions on an absent logon, so that `logon` is the first after wmic.exe."""


def pattern(attack: Attack, *, narrow: bool = True, sequence: bool = False) -> str:
    """Return the text of an attack's pattern.

    Args:
        attack: The attack.
        narrow: Whether the pattern has what an analyst knows about the events, or only their types,
            hosts and order.
        sequence: Whether it is a SEQ, for exact clocks.
    """
    items = ", ".join(f'"{step.type}" {step.variable}' for step in attack.steps)
    conditions = [*attack.hosts]
    if narrow:
        conditions += [step.condition for step in attack.steps if step.condition]
    if not sequence:
        conditions += order(step.variable for step in attack.steps)
    lines = [f"PATTERN {'SEQ' if sequence else 'AND'}({items})"]
    lines += ["WHERE " + "\n  AND ".join(conditions)] if conditions else []
    lines += ["WITHIN 1 minute", *(["PARTITION BY host"] if attack.by_host else [])]
    return "\n".join(lines)


def order(variables: Iterable[str]) -> list[str]:
    """Return the conditions that say that events may have been in this order."""
    return [f"{x}.earliest < {y}.latest" for x, y in combinations(variables, 2)]


def wmic_with_first_logon() -> str:
    """Return the pattern of wmic_backdoor with only the first logon that fits."""
    text = pattern(WMIC).replace("AND(", 'AND(NOT("security 4624" earlier), ', 1)
    return text.replace("WHERE ", "WHERE " + "\n  AND ".join(FIRST_LOGON) + "\n  AND ", 1)


def wmic_with_own_logon() -> str:
    """Return the pattern of wmic_backdoor with the logon whose session added the user."""
    return pattern(WMIC).replace("WHERE ", "WHERE logon.logon_id = added.logon_id\n  AND ", 1)


def dcsync_with_set() -> str:
    """Return the pattern of dcsync with its three equal events as a set of three."""
    conditions = (
        "whoami.host != logon.host",
        "logon.host = d.host",
        *(step.condition for step in DCSYNC.steps[:2]),
        "NOT d.machine",
        "d.logon_id = logon.logon_id",
        *order(("whoami", "logon", "d")),
    )
    return (
        'PATTERN AND("sysmon 1" whoami, "security 4624" logon, KL("security 4662" d){3})\n'
        "WHERE " + "\n  AND ".join(conditions) + "\nWITHIN 1 minute"
    )
