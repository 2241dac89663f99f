"""What scripts/piglit and scripts/cts share: programs on a chip, result lists and their comparison, bisecting of lists.

A line of a result list is `CHIP STATUS NAME`. A line of a baseline is `CHIP STATUS PATTERN  # cause`: CHIP may be `*`,
PATTERN is as in a shell. Such a result counts as explained.
"""

import fnmatch
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

GOOD = ("pass", "skip")
ROOT = Path(__file__).resolve().parent.parent


def add_options(parser, known):
    """The options of both scripts, and the name of the file of explained failures."""
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="seconds for a test (default 60)")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only tests whose name contains this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth test")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="of these, beginning with test N (default 0)")
    parser.add_argument("--list", metavar="FILE", help="only tests whose names, or lines of a result list, are in FILE")
    parser.add_argument("--output", metavar="FILE", help="write the result list here")
    parser.add_argument("--compare", metavar="FILE", help="an earlier result list: what changed")
    parser.add_argument("--reference", metavar="FILE", help="a result list of llvmpipe: what passes there and not here")
    parser.add_argument("--baseline", metavar="FILE", default=ROOT / "scripts/known" / known,
                        help=f"failures that are explained (default scripts/known/{known})")
    parser.add_argument("--bisect", metavar="NAME", help="the shortest list of tests before NAME with which it fails in one process")
    parser.add_argument("--logs", metavar="DIR", help="write the output of each test that does not pass here")
    parser.add_argument("--nvir", metavar="PROGRAM", help="default: the newest build below target/")
    parser.add_argument("--engine", metavar="NAME", help="what executes programs: interpreter, compiled or both (default: nvir's)")
    parser.add_argument("--library", metavar="FILE", help="load this libnvir_vgpu.so, without nvir")


def find_programs(options, chips):
    """Makes paths absolute, and finds nvir if none is given."""
    builds = sorted(ROOT.glob("target/*/nvir"), key=lambda p: p.stat().st_mtime)
    options.nvir = os.path.abspath(options.nvir) if options.nvir else builds and str(builds[-1])
    options.library = options.library and os.path.abspath(options.library)
    if not (options.nvir or options.library) and any(c != "llvmpipe" for c in chips):
        sys.exit("there is no nvir: cargo build --release")


def on_chip(chip, command, options):
    """A command that runs on a chip or llvmpipe, and its environment."""
    env = dict(os.environ, MESA_SHADER_CACHE_DISABLE="true", EGL_PLATFORM="surfaceless")
    if chip == "llvmpipe":
        env["LIBGL_ALWAYS_SOFTWARE"] = "1"
    elif options.library:
        env.update(LD_PRELOAD=options.library, NOUVEAU_CHIPSET=chip)
        if options.engine:
            env["NVIR_VGPU_ENGINE"] = options.engine
    else:
        engine = ["--engine", options.engine] if options.engine else []
        command = [options.nvir, "gpu", "-t", chip, *engine, "--"] + command
    return command, env


def start(command, env, cwd):
    """A process of a group of its own, whose output of both kinds is read as one."""
    return subprocess.Popen(
        command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def kill(process):
    """Ends a process that `start` made, with its children."""
    os.killpg(process.pid, signal.SIGKILL)


def select(names, options):
    """The indices of the tests that were asked for."""
    listed = None
    if options.list:
        lines = Path(options.list).read_text().splitlines()
        listed = {line.split(" ", 2)[-1] for line in lines if line.strip()}
    wanted = [i for i, n in enumerate(names) if options.filter in n and (listed is None or n in listed)]
    return wanted[options.offset :: options.every]


def write_log(folder, chip, name, out):
    log = Path(folder) / chip / (name.replace("/", "@") + ".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(out)


def read_results(file):
    results = {}
    for line in Path(file).read_text().splitlines():
        chip, status, name = line.split(" ", 2)
        results[chip, name] = status
    return results


def compare(old_file, new):
    """Prints what changed; the number of tests that got worse."""
    old = read_results(old_file)
    better, worse, other = [], [], []
    for key, status in new.items():
        before = old.get(key)
        if before in (None, status):
            continue
        line = f"{key[0]} {before} -> {status}: {key[1]}"
        (worse if status not in GOOD else better if before not in GOOD else other).append(line)
    added = sum(key not in old for key in new)
    gone = sum(key not in new for key in old)
    for title, lines in (("better", better), ("worse", worse), ("changed", other)):
        print(f"{title}: {len(lines)}", *lines, sep="\n  ")
    print(f"new: {added}\ngone: {gone}")
    return len(worse)


def explained(file, new):
    """Which results a baseline explains."""
    rules = []
    for line in Path(file).read_text().splitlines():
        if line := line.split("#")[0].strip():
            rules.append(line.split(None, 2))
    return {
        key for key, status in new.items()
        if any(r[0] in ("*", key[0]) and r[1] == status and fnmatch.fnmatchcase(key[1], r[2]) for r in rules)
    }


def finish(options, new):
    """Writes and compares the results; how many count as failures."""
    if options.output:
        Path(options.output).write_text("".join(f"{c} {s} {n}\n" for (c, n), s in sorted(new.items())))
    failed = {key for key, status in new.items() if status not in GOOD}
    if options.baseline:
        known = explained(options.baseline, new)
        print(f"not passed: {len(failed)}, explained: {len(failed & known)}")
        failed -= known
        print(*(f"{c} {new[c, n]} {n}" for c, n in sorted(failed)), sep="\n")
    if options.reference:
        reference = read_results(options.reference)
        passes = {name for (_, name), status in reference.items() if status == "pass"}
        worse = sorted(f"{c} {s} {n}" for (c, n), s in new.items() if n in passes and s != "pass")
        counts = Counter(reference.get(("llvmpipe", n)) for _, n in new)
        print(f"the reference: {dict(counts)}; passed there and not here: {len(worse)}", *worse, sep="\n  ")
    if options.compare:
        return compare(options.compare, new)
    return len(failed)


def bisect(tests, last, fails):
    """The shortest list of `tests` before `last` with which it still fails; none: it does not. `fails` runs a list."""
    if not fails(tests + [last]):
        return None
    if fails([last]):
        return [last]
    parts = 2
    while True:
        size = -(-len(tests) // parts)
        for at in range(0, len(tests), size):
            left = tests[:at] + tests[at + size :]
            if fails(left + [last]):
                tests, parts = left, max(parts - 1, 2)
                print(f"{len(tests) + 1} tests fail", flush=True)
                break
        else:
            if size <= 1:
                return tests + [last]
            parts = min(2 * parts, len(tests))
