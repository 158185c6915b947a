"""Tables of GPU figures as the tools print them: columns, units, gaps, several cards, and what cannot be read."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta

import pytest
from serverlogs import knowledge

from diagnoser.api import Session
from diagnoser.knowledge.metricref import MetricRefError, parse_ref
from diagnoser.model import Problem
from diagnoser.observations import Claim, Measure
from diagnoser.sources import open_inputs
from diagnoser.traces import reader_of


def read(text: str):
    (source,) = open_inputs(["-"], io.BytesIO(text.encode()))
    reader = reader_of(source)
    given = [] if reader is None else list(reader.read(source, lambda name: True))
    rows = [one for one in given if isinstance(one, Measure)]
    claims = {one.name: one.value for one in given if isinstance(one, Claim)}
    return reader, rows, claims, [one.text for one in given if isinstance(one, Problem)]


SMI = "timestamp, index, utilization.gpu [%], memory.used [MiB]\n"
T = "2026/11/29 10:00:0"
BOTH = {"utilization.gpu": 0.97, "memory.used": 2.0}

# text, what the first row's values are, rows, what is wrong
NVIDIA = {
    "units in cells and header": (SMI + T + "0.500, 0, 97 %, 2048 MiB\n", BOTH, 1),
    "nounits": (SMI + T + "0.500, 0, 97, 2048\n", BOTH, 1),
    "missing in every spelling": (
        "index, power.draw [W], temperature.memory, ecc.errors.uncorrected.volatile.total, fan.speed [%], "
        "utilization.gpu [%]\n"
        "0, [N/A], N/A, [Not Supported], [Unknown Error], 3 %\n",
        {"utilization.gpu": 0.03},
        1,
    ),
    "columns in another order, no time": ("clocks.sm [MHz], index\n1980 MHz, 3\n", {"clocks.sm": 1980.0}, 1),
    "one column": ("utilization.gpu [%]\n97 %\n96 %\n", {"utilization.gpu": 0.97}, 2),
    "CRLF and a BOM": ("\ufeff" + (SMI + T + "0.500, 0, 97 %, 2048 MiB\n").replace("\n", "\r\n"), BOTH, 1),
    "headers again, with other columns": (
        SMI + T + "0.5, 0, 97 %, 2048 MiB\n" + "index, power.draw [W]\n"
            "0, 350.10 W\n" + SMI + T + "1.5, 0, 96 %, 2048 MiB\n",
        BOTH,
        3,
    ),
    "columns from the command line": (
        "+ nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used --format=csv,noheader,nounits -l 1\n"
        + T + "0.500, 0, 97, 2048\n" + T + "1.500, 0, 97, 2048\n",
        BOTH,
        2,
    ),
    "flags": (
        "index, clocks_throttle_reasons.hw_slowdown, clocks_throttle_reasons.sw_power_cap, remapped_rows.failure\n"
        "0, Active, Not Active, No\n",
        {"clocks_throttle_reasons.hw_slowdown": 1.0, "clocks_throttle_reasons.sw_power_cap": 0.0,
            "remapped_rows.failure": 0.0},
        1,
    ),
    "a mask of reasons": (
        "index, clocks_event_reasons.active\n0, 0x0000000000000048\n",
        {
            "clocks_event_reasons.sw_power_cap": 0.0, "clocks_event_reasons.hw_slowdown": 1.0,
            "clocks_event_reasons.sw_thermal_slowdown": 0.0, "clocks_event_reasons.hw_thermal_slowdown": 1.0,
            "clocks_event_reasons.hw_power_brake_slowdown": 0.0,
        },
        1,
    ),
    "a lost card": ("index, temperature.gpu\n0, [GPU is lost]\n", {"lost": 1.0}, 1),
    "texts are no numbers": ("index, pstate, driver_version, temperature.gpu\n"
        "0, P0, 570.86.15, 61\n", {"temperature.gpu": 61.0}, 1),
    "separated by semicolons": ("index;utilization.gpu [%]\n0;97 %\n", {"utilization.gpu": 0.97}, 1),
    "no rows": (SMI, None, 0),
}  # fmt: skip


@pytest.mark.parametrize("case", NVIDIA)
def test_nvidia_smi(case):
    text, values, number = NVIDIA[case]
    reader, rows, _, problems = read(text)
    assert reader.NAME == "nvidia-smi"
    assert problems == []
    assert len(rows) == number
    if rows:
        assert rows[0].values == pytest.approx(values)
        assert rows[0].medium == "gpu"


def test_cards_are_told_apart_and_their_kind_is_a_fact():
    head = "timestamp, index, name, memory.total [MiB], utilization.gpu [%]\n"
    row = T + "0.{ms}, {card}, NVIDIA H100 80GB HBM3, 81559 MiB, {busy} %\n"
    text = head + "".join(row.format(ms=100 + card, card=card, busy=card) for card in range(8))
    _, rows, claims, _ = read(text)
    assert [one.group for one in rows] == [(("gpu", str(card)),) for card in range(8)]
    assert rows[3].time == datetime(2026, 11, 29, 10, 0, 0, 103000, UTC).timestamp()
    assert claims == {"name": "NVIDIA H100 80GB HBM3", "memory.total": pytest.approx(81559 / 1024)}
    _, _, claims, _ = read(text + row.format(ms=109, card=8, busy=1).replace("H100 80GB HBM3", "L4"))
    assert "name" not in claims, "cards of two kinds: which one serves is not known"


def test_cards_without_a_name_are_counted_by_their_moment():
    head, row = "timestamp, utilization.gpu [%]\n", "2026/11/29 10:00:{s:06.3f}, 97 %\n"
    text = head + "".join(row.format(s=second + card / 200) for second in range(3) for card in range(4))
    _, rows, _, _ = read(text)
    assert [one.group[0][1] for one in rows] == ["0", "1", "2", "3"] * 3


REPORT = """==============NVSMI LOG==============

Timestamp                                 : Mon Dec 22 14:06:40 2025
Driver Version                            : 570.124.06
Attached GPUs                             : 2
GPU 00000000:18:00.0
    Product Name                              : NVIDIA A100-SXM4-80GB
    FB Memory Usage
        Total                                 : 81920 MiB
        Reserved                              : 640 MiB
        Used                                  : 76800 MiB
    BAR1 Memory Usage
        Used                                  : 4 MiB
    Utilization
        GPU                                   : 97 %
    ECC Errors
        Volatile
            SRAM Uncorrectable Parity         : 1
            SRAM Uncorrectable SEC-DED        : 0
            DRAM Correctable                  : 9
            DRAM Uncorrectable                : 2
        Aggregate
            DRAM Uncorrectable                : 40
    Clocks Event Reasons
        SW Power Cap                          : Not Active
        HW Slowdown                           : Active
            HW Thermal Slowdown               : Active
            HW Power Brake Slowdown           : Not Active
    Temperature
        GPU Current Temp                      : 92 C
        Memory Current Temp                   : N/A
    Clocks
        Graphics                              : 340 MHz
        SM                                    : 345 MHz
    Max Clocks
        SM                                    : 1410 MHz
    Processes
        GPU instance ID                       : N/A
        Process ID                            : 9044
            Type                              : C
            Name                              : /usr/bin/python3
            Used GPU Memory                   : 46080 MiB
        Process ID                            : 3121
            Type                              : C
            Name                              : python
            Used GPU Memory                   : 30720 MiB
GPU 00000000:2A:00.0
    Product Name                              : NVIDIA A100-SXM4-80GB
    Clocks
        SM                                    : [Unknown Error]
    Temperature
        GPU Current Temp                      : 61 C
"""


def test_nvidia_smi_q():
    reader, rows, claims, problems = read(REPORT)
    assert reader.NAME == "nvidia-smi-report"
    assert problems == []
    assert [one.group for one in rows] == [(("gpu", "0"),), (("gpu", "1"),)]
    assert rows[0].time == datetime(2025, 12, 22, 14, 6, 40, tzinfo=UTC).timestamp()
    assert rows[0].values == pytest.approx(
        {
            "memory.total": 80.0, "memory.used": 75.0, "utilization.gpu": 0.97, "temperature.gpu": 92.0,
            "clocks.sm": 345.0, "clocks.max.sm": 1410.0, "ecc.errors.uncorrected.volatile.total": 3.0,
            "clocks_event_reasons.sw_power_cap": 0.0, "clocks_event_reasons.hw_slowdown": 1.0,
            "clocks_event_reasons.hw_thermal_slowdown": 1.0, "clocks_event_reasons.hw_power_brake_slowdown": 0.0,
            "memory.others": 30.0,
        }
    )  # fmt: skip
    assert rows[1].values == {"temperature.gpu": 61.0}
    assert claims == {"name": "NVIDIA A100-SXM4-80GB", "memory.total": pytest.approx(80.0)}
    lines = REPORT.splitlines()
    line, text = rows[0].places["clocks.sm"]
    assert lines[line - 1].split() == ["SM", ":", "345", "MHz"]
    assert text == "gpu 0: SM : 345 MHz"
    again = REPORT.replace("14:06:40", "14:06:45")
    _, rows, _, _ = read(REPORT + again)
    assert [(one.group[0][1], one.time - rows[0].time) for one in rows] == [("0", 0), ("1", 0), ("0", 5), ("1", 5)]


@pytest.mark.parametrize(
    ("was", "now", "values", "told"),
    [
        ("    Product Name                              : NVIDIA A100-SXM4-80GB\n", "    GPU is lost\n", "lost", None),
        ("Clocks Event Reasons", "Clocks Throttle Reasons", "clocks_event_reasons.hw_thermal_slowdown", None),
        (": 345 MHz", ": 345 furlongs", "memory.used", "clocks.sm"),
    ],
)
def test_nvidia_smi_q_of_other_drivers_and_broken_ones(was, now, values, told):
    _, rows, _, problems = read(REPORT.replace(was, now))
    assert values in rows[0].values
    assert any(told in one for one in problems) if told else problems == []


TABLE = """Thu Feb 20 09:06:12 2025
| NVIDIA-SMI 550.127.05             Driver Version: 550.127.05     CUDA Version: 12.4     |
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |
| N/A   58C    P0            311W /  400W |   76993MiB /  81920MiB |     97%      Default |
|   1  NVIDIA A100-SXM4-80GB          On  |   00000000:0F:00.0 Off |                    0 |
| N/A   58C    P0            311W /  400W |   30993MiB /  81920MiB |     97%      Default |
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
"""
#: What stands below, and what further processes hold of each card.
LISTED = {
    "none, in a container": ("|  No running processes found                                                |\n", []),
    "two on one card, one on the other": (
        "|    0   N/A  N/A      3121      C   python                                      46080MiB |\n"
        "|    0   N/A  N/A      9044      C   /usr/bin/python3                            30720MiB |\n"
        "|    1   N/A  N/A      9101      C   .../bin/python a name                       30720MiB |\n",
        [30.0, 0.0],
    ),
    "a driver without the columns of MIG": (
        "|    0      3121      C   python                                      46080MiB |\n"
        "|    0      9044    C+G   VLLM::EngineCore                             1024MiB |\n"
        "|    0      9045    M+C   VLLM::Worker_TP0                             2048MiB |\n"
        "|    0      2201      G   /usr/lib/xorg/Xorg                             63MiB |\n",
        [3.0],
    ),
}


@pytest.mark.parametrize("case", LISTED)
def test_processes_of_a_table(case):
    listed, held = LISTED[case]
    reader, rows, _, problems = read(TABLE + listed)
    assert reader.NAME == "nvidia-smi-table"
    assert problems == []
    others = [one for one in rows if "memory.others" in one.values]
    assert [one.values["memory.others"] for one in others] == held
    assert len(rows) - len(others) == 2
    assert all(one.time == rows[0].time for one in rows)


APPS = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
#: What stands below the header, and what further processes hold, row by row.
LISTED_APART = {
    "one, then two": (
        "2026/11/29 10:00:00.118, GPU-a, 188214, VLLM::EngineCore, 27830 MiB\n"
        "2026/11/29 10:01:00.118, GPU-a, 188214, VLLM::EngineCore, 27830 MiB\n"
        "2026/11/29 10:01:00.118, GPU-a, 201977, /opt/conda/bin/python, 16384 MiB\n",
        [0.0, 16.0],
        None,
    ),
    "a card each": (
        "2026/11/29 10:00:00.118, GPU-a, 1, a, 27830 MiB\n2026/11/29 10:00:00.118, GPU-b, 2, b, 27830 MiB\n",
        [0.0, 0.0],
        None,
    ),
    "the header again": (
        "2026/11/29 10:00:00.118, GPU-a, 1, a, 27830 MiB\n" + APPS + "2026/11/29 10:00:00.118, GPU-a, 2, b, 1024 MiB\n",
        [1.0],
        None,
    ),
    "in a container": ("2026/11/29 10:00:00.118, GPU-a, 1, [Not Found], [N/A]\n", [], None),
    "no number": ("2026/11/29 10:00:00.118, GPU-a, 1, a, many\n", [], "used_memory: 'many' is no number"),
    "a row cut off": (
        "2026/11/29 09:00:00.118, GPU-a, 1, a, 27830 MiB\n" * 60 + "2026/11/29 10:00:00.118, GPU-a, 1\n",
        [59 * 27830 / 1024],
        "5: '2026/11/29 10:00:00.118, GPU-a, 1'",
    ),
}


@pytest.mark.parametrize("case", LISTED_APART)
def test_processes_queried(case):
    listed, held, told = LISTED_APART[case]
    reader, rows, _, problems = read(APPS + listed)
    assert reader.NAME == "nvidia-smi-apps"
    assert [one.values["memory.others"] for one in rows] == held
    assert any(told in one for one in problems) if told else problems == []


DMON = {
    "units, gaps, headers again": (
        "# gpu    pwr  gtemp  mtemp     sm    mem     fb  rxpci\n"
        "# Idx      W      C      C      %      %     MB   MB/s\n"
        "    0    365     44      -     95      7   1024   2048\n"
        "# gpu    pwr  gtemp  mtemp     sm    mem     fb  rxpci\n"
        "# Idx      W      C      C      %      %     MB   MB/s\n"
        "    1    365     44      -     95      7   1024   2048\n",
        {"pwr": 365.0, "gtemp": 44.0, "sm": 0.95, "mem": 0.07, "fb": 1.0, "rxpci": 2.0},
        2,
        None,
    ),
    "date and time": (
        "#Date       Time        gpu    sm  pviol  tviol\n#YYYYMMDD   HH:MM:SS    Idx     %      %   bool\n"
        " 20261129   10:00:05      0    95     12      1\n",
        {"sm": 0.95, "pviol": 0.12, "tviol": 1.0},
        1,
        datetime(2026, 11, 29, 10, 0, 5, tzinfo=UTC).timestamp(),
    ),
    "profiling metrics": (
        "# gpu     sm    smutil    mmaact      dram     nvlrx\n"
        "# Idx      %     GPM:%     GPM:%     GPM:% GPM:MiB/s\n    0     99        81         7        74      1024\n",
        {"sm": 0.99, "smutil": 0.81, "mmaact": 0.07, "dram": 0.74, "nvlrx": 1.0},
        1,
        None,
    ),
    "no line of units": ("# gpu    sm   pwr\n    0    95   350\n", {"sm": 0.95, "pwr": 350.0}, 1, None),
    "CRLF, no rows": ("# gpu    sm   pwr\r\n# Idx     %     W\r\n", None, 0, None),
}  # fmt: skip


@pytest.mark.parametrize("case", DMON)
def test_dmon(case):
    text, values, number, time = DMON[case]
    reader, rows, _, problems = read(text)
    assert (reader.NAME, problems, len(rows)) == ("nvidia-smi-dmon", [], number)
    if rows:
        assert rows[0].values == pytest.approx(values)
        assert rows[0].time == time


def test_a_time_of_day_goes_on_past_midnight():
    _, rows, _, _ = read(
        "#Time        gpu    sm\n#HH:MM:SS    Idx     %\n 23:59:58      0    95\n 00:00:03      0    95\n"
    )
    assert rows[1].time - rows[0].time == 5


ROCM = {
    "rocm-smi": (
        "device,Temperature (Sensor junction) (C),sclk clock speed:,sclk clock level:,GPU use (%),GPU Memory "
        "Allocated (VRAM%),"
        "VRAM Total Used Memory (B),Card Series,Card Model\n"
        "card0,61.0,(2100Mhz),1,82,71,1073741824,AMD Instinct MI300X,0x74a1\n",
        {
            "Temperature (Sensor junction) (C)": 61.0, "sclk clock speed:": 2100.0, "GPU use (%)": 0.82,
            "GPU Memory Allocated (VRAM%)": 0.71, "VRAM Total Used Memory (B)": 1.0,
        },
        1,
    ),
    "blocks, blank lines and warnings": (
        "WARNING: AMD GPU device(s) is/are in a low-power state.\n\ndevice,GPU use (%)\ncard0,82\ncard1,3\n\n"
        "device,Average Graphics Package Power (W)\ncard0,612.0\ncard1,N/A\n",
        {"GPU use (%)": 0.82},
        3,
    ),
    "amd-smi with lists in cells": (
        "timestamp,gpu,gfx_activity,umc_activity,vcn_activity,socket_power,throttle_status,gfx_0_clk,hotspot,mem\n"
        "1795946400,0,95,80,\"['N/A', 'N/A']\",1180,N/A,2100,78,60\n",
        {"gfx_activity": 0.95, "umc_activity": 0.8, "socket_power": 1180.0, "gfx_0_clk": 2100.0, "hotspot": 78.0,
            "mem": 60.0},
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ROCM)
def test_rocm(case):
    text, values, number = ROCM[case]
    reader, rows, _, problems = read(text)
    assert (reader.NAME, problems, len(rows)) == ("rocm-smi", [], number)
    assert rows[0].values == pytest.approx(values)
    assert rows[0].group == (("gpu", "0"),)


FAULTY = {
    "decimal comma": ("index;power.draw [W]\n0;350,12 W\n", "decimal comma"),
    "decimal comma between commas": (SMI + T + "0.500, 0, 97,5 %, 2048 MiB\n", "decimal comma"),
    "half a line": (SMI + T + "0.500, 0, 97 %, 2048 MiB\n" + T + "1.5", "1 cells under 4 columns"),
    "no column names": (T + "0.500, 0, 97, 2048\n" + T + "1.500, 0, 97, 2048\n", "run nvidia-smi without noheader"),
    "an unknown unit": ("index, power.draw [W]\n0, 12 furlongs\n", "unit that is not known"),
    "words between rows": (SMI + T + "0.5, 0, 9 %, 20 MiB\n"
        "Unable to determine the device handle\n" + SMI + T + "1.5, 0, 9 %, 20 MiB\n", "Unable"),
    "dmon, cut": ("# gpu    sm   pwr\n    0    95   350\n    0    95   3x\n    0", "1 cells under 3 columns"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTY)
def test_what_cannot_be_read_is_told_once_and_the_rest_counts(case):
    text, told = FAULTY[case]
    _, _, _, problems = read(text)
    assert any(told in problem for problem in problems)
    _, _, _, problems = read(text + text.splitlines()[-1] * 50)
    assert len(problems) <= 5


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (SMI, "csv"),
        (T + "0.500, 0, 97, 2048\n" * 2, "csv"),
        ("0, 97 %, 2048 MiB\n0, 96 %, 2048 MiB\n", "csv"),
        ("# gpu    pwr  gtemp\n# Idx      W      C\n    0    365     44\n", "csv"),
        ("device,GPU use (%)\ncard0,7\n", "csv"),
        # A server's log whose start script looked at the cards first.
        ("# gpu    pwr  gtemp\n# Idx      W      C\n"
            "    0    365     44\n" + "INFO 07-12 10:00:00 [a.py:1] starting\n" * 9, "log"),
        ("utilization.gpu [%]\n0 %\n" + "INFO 07-12 10:00:00 [a.py:1] starting, soon\n" * 9, "log"),
        ("free, 512 MiB of it\nINFO: x\nnothing, at all\n", "log"),
        (REPORT, "printed"),
        (REPORT[:900] + "INFO 07-12 10:00:00 [a.py:1] starting\n" * 99, "log"),
    ],
)  # fmt: skip
def test_tables_are_told_from_logs(text, kind):
    (source,) = open_inputs(["-"], io.BytesIO(text.encode()))
    assert source.kind == kind


@pytest.mark.parametrize("text", ["NAME & 0x40", "NAME & 8", 'NAME{gpu="0"} & 0x1'])
def test_bits_of_a_metric(text):
    assert parse_ref(text).bits in (0x40, 8, 1)
    with pytest.raises(MetricRefError):
        parse_ref("NAME & eight")


START = datetime(2026, 7, 12, 10, 0, tzinfo=UTC)
LINE = (
    "(APIServer pid=1) INFO {t:%m-%d %H:%M:%S} [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg "
    "generation "
    "throughput: {tps} tokens/s, Running: {run} reqs, Waiting: 0 reqs, GPU KV cache usage: {kv}%, Prefix cache hit "
    "rate: 0.0%\n"
)


def server(loads, kv=10.0) -> str:
    head = "INFO 07-12 09:59:00 [api_server.py:1] vLLM API server version 0.12.0\n"
    head += "INFO:     Application startup complete.\n"
    return head + "".join(
        LINE.format(t=START + timedelta(seconds=10 * at), tps=50.0 * run, run=run, kv=kv)
        for at, run in enumerate(loads)
    )


def table(busy, shift=timedelta(), memory=70000) -> str:
    rows = (
        f"{START + shift + timedelta(seconds=5 * at):%Y/%m/%d %H:%M:%S}.000, 0, {value} %, {memory} MiB, 81559 MiB\n"
        for at, value in enumerate(busy)
    )
    return "timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n" + "".join(rows)


def session(folder, **files: str) -> Session:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return Session([folder / name.replace("_", ".") for name in files], knowledge=knowledge())


def median(made: Session, name: str = "gpu.util") -> float:
    return made.report.runs[0].figures[name].median


def test_rows_count_while_the_server_has_work(tmp_path):
    """The log has no year, the table has no load: together they tell which rows are of an idle server."""
    loads, busy = [8] * 10 + [0] * 20, [97] * 20 + [0] * 40
    assert median(session(tmp_path, server_log=server(loads), gpu_csv=table(busy))) == pytest.approx(0.97)


@pytest.mark.parametrize(
    "shift", [timedelta(days=30), timedelta(hours=5), timedelta(seconds=150)], ids=["weeks", "zone", "contrary"]
)
def test_clocks_that_have_nothing_in_common_leave_all_rows(tmp_path, shift):
    loads, busy = [8] * 15 + [0] * 15, [97] * 20 + [0] * 40
    assert median(session(tmp_path, server_log=server(loads), gpu_csv=table(busy, shift))) == 0


def test_two_tools_on_one_card_do_not_mix(tmp_path):
    dmon = "#Date       Time        gpu   pwr\n#YYYYMMDD   HH:MM:SS    Idx     W\n" + "".join(
        f" 20260712   10:00:{second:02}      0   350\n" for second in range(60)
    )
    made = session(tmp_path, server_log=server([8] * 30), gpu_csv=table([97] * 60), dmon_txt=dmon)
    (run,) = {id(one.run): one.run for one in made.judgements}.values()
    assert len([key for key in run.tables if key[0] == "gpu"]) == 2
    assert median(made, "gpu.power") == 350


@pytest.mark.parametrize("used", [81000, 40000])
def test_memory_in_use_is_no_sign_of_a_full_kv_cache(tmp_path, used):
    """A7: engines take their pool at the start; nvidia-smi shows the same whether it is empty or full."""
    made = session(tmp_path, server_log=server([8] * 30), gpu_csv=table([97] * 60, memory=used))
    assert [one.id for one in made.report.findings] == []


def test_a_full_kv_cache_is_found_whatever_the_memory_in_use(tmp_path):
    waits = server([8] * 30, kv=99.7).replace("Waiting: 0", "Waiting: 40")
    alone = session(tmp_path, server_log=waits).report.findings
    beside = session(tmp_path, server_log=waits, gpu_csv=table([97] * 60, memory=9000)).report.findings
    assert "memory.kv_cache_exhausted" in [one.id for one in alone]
    assert [one.id for one in beside if one.id.startswith("memory.")] == [
        one.id for one in alone if one.id.startswith("memory.")
    ]


def test_figures_of_gpus_alone_are_judged_but_nobody_is_called_healthy():
    report = Session(["-"], stdin=io.BytesIO(table([97] * 60).encode()), knowledge=knowledge()).report
    assert report.healthy is None
    assert report.runs[0].figures["gpu.util"].median == pytest.approx(0.97)


def test_cards_of_other_pods_are_left_out(tmp_path):
    """One exporter tells of every card of a node; the log says which pod is meant."""
    page = "".join(
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="{card}",pod="{pod}"}} {value}\n'
        for card, pod, value in ((0, "llm-a-0", 90), (1, "llm-b-0", 10))
    )
    log = "".join(f"[pod/llm-a-0/vllm] {line}\n" for line in server([8] * 30).splitlines())
    made = session(tmp_path, server_log=log, dcgm_prom="# HELP DCGM_FI_DEV_GPU_UTIL busy\n" + page)
    assert median(made) == pytest.approx(0.9)


def test_a_capture_of_days_stays_small(tmp_path):
    rows = "".join(
        f"{second % 86400 // 3600:02}:{second % 3600 // 60:02}:{second % 60:02} 0 95\n" for second in range(30000)
    )
    made = session(tmp_path, dmon_txt="#Time gpu sm\n#HH:MM:SS Idx %\n" + rows)
    (table_,) = made.judgements[0].run.tables.values()
    assert len(table_) <= 8192
    assert sum(table_.weight) == 30000


def test_slices_of_a_card_are_not_added_up(tmp_path):
    """MIG: dcgm-exporter repeats what is told of the whole card for each slice; the card is not twice as hot."""
    told = {"POWER_USAGE": (350.5, 350.5), "GPU_TEMP": (60, 60), "SM_CLOCK": (1980, 1980), "FB_USED": (30000, 10000)}
    page = "".join(
        f'DCGM_FI_DEV_{name}{{gpu="0",UUID="GPU-1",GPU_I_PROFILE="3g.40gb",GPU_I_ID="{at}"}} {value}\n'
        for name, values in told.items()
        for at, value in enumerate(values, 1)
    )
    for second in (0, 30):
        (tmp_path / f"dcgm-20260505T0815{second:02d}Z.prom").write_text(page)
    figures = Session(sorted(tmp_path.iterdir()), knowledge=knowledge()).report.runs[0].figures
    assert {name: figures[name].max for name in ("gpu.power", "gpu.temperature", "gpu.sm_clock")} == {
        "gpu.power": 350.5,
        "gpu.temperature": 60,
        "gpu.sm_clock": 1980,
    }
    assert figures["gpu.memory_used"].max == pytest.approx(30000 / 1024)
    assert figures["gpu.memory_used"].min == pytest.approx(10000 / 1024)
