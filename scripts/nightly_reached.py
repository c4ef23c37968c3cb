"""Which tests reach which function that has mutants, and the tests that are to notice a mutant, the quickest first: a mutant costs those tests
that run the code it changes, and one that no test reaches costs nothing.

The tests run once without a mutant, each in a process of its own, while every function with a switch writes down that it was reached, also
in the programs that a test starts."""
import collections
import concurrent.futures
import pathlib
import tempfile
import time

import nightly_switched as switches

# Tests of one process, by the seconds that they took in all: most mutants are noticed by the first ones.
FIRST_SECONDS, FACTOR = 0.3, 4
# So many times what its tests took, and at least so many seconds of processor time: what takes longer runs for ever.
TIMES, LEAST = 20, 20


def list_tests(program, folder, run):
    code, said = run([program, "--list", "--format", "terse"], folder)
    assert code == 0, said
    return [line.removesuffix(": test") for line in said.splitlines() if line.endswith(": test")]


def reached_by(program, folder, tests, jobs, run):
    """The seconds that each test takes, and the tests that reach each function. A test that fails without any mutant is left out, and named."""
    took, by_function, failed = {}, collections.defaultdict(set), []

    def play(test):
        with tempfile.NamedTemporaryFile() as file:
            began = time.monotonic()
            code, _ = run([program, "--exact", test, "--test-threads", "1"], folder,
                          {switches.VARIABLE: str(switches.RECORD), switches.REACHED: file.name})
            return test, code, time.monotonic() - began, set(map(int, pathlib.Path(file.name).read_text().split()))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for test, code, seconds, functions in pool.map(play, tests):
            if code:
                failed.append(test)
                continue
            took[test] = seconds
            for function in functions:
                by_function[function].add(test)
    return took, by_function, failed


def batches(tests, took):
    """The tests in the order of their time, in parts of which each takes several times as long as the one before."""
    part, seconds, most = [], 0, FIRST_SECONDS
    for test in sorted(tests, key=lambda test: (took[test], test)):
        if part and seconds + took[test] > most:
            yield part, seconds
            part, seconds, most = [], 0, most * FACTOR
        part.append(test)
        seconds += took[test]
    if part:
        yield part, seconds


def play(program, folder, tests, took, mutant, run, most=float("inf")):
    """Runs the tests that reach a mutant, part after part, as long as the parts before took no more than `most` seconds. Yields exit codes
    and what was printed."""
    spent = 0
    for part, seconds in batches(tests, took):
        if spent > most:
            return
        spent += seconds
        # By processor time, so that a busy machine makes nothing endless.
        limited = ["prlimit", f"--cpu={int(max(LEAST, TIMES * seconds))}"]
        yield run([*limited, program, "--exact", *part, "--test-threads", "1"], folder, {switches.VARIABLE: str(mutant)},
                  longest=40 + 10 * seconds)
