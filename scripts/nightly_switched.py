"""Mutants that are compiled together: each function gets a switch between its own body and those of its mutants, so that the tests are built
once and a mutant costs no more than the tests that run. The variable WATCHDOG_MUTANT chooses the mutant, also in programs that a test starts.

A mutant that does not compile is found by the place of the compiler's error, and taken out. What a switch cannot hold (a constant function,
a constant, a type that the compiler infers from the body) is left to whoever compiles it alone."""
import collections
import json
import pathlib
import re
import subprocess

VARIABLE = "WATCHDOG_MUTANT"
# With this number no mutant plays, and each function with a switch writes its own number into the file that REACHED names.
RECORD, REACHED = 2**32 - 1, "WATCHDOG_MUTANT_REACHED"
MODULE = """
#[doc(hidden)]
pub mod mutant_switch {
    use std::collections::HashSet;
    use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
    static CHOSEN: OnceLock<u32> = OnceLock::new();
    static REACHED: LazyLock<Mutex<HashSet<u32>>> = LazyLock::new(Mutex::default);
    /// The number of the mutant that plays; 0 where none does.
    pub fn chosen(function: u32) -> u32 {
        let chosen = *CHOSEN.get_or_init(|| std::env::var("%s").ok().and_then(|text| text.parse().ok()).unwrap_or(0));
        if chosen == %d {
            record(function);
        }
        chosen
    }
    #[cold]
    fn record(function: u32) {
        use std::io::Write;
        if REACHED.lock().unwrap_or_else(PoisonError::into_inner).insert(function) {
            let file = std::env::var_os("%s").and_then(|path| std::fs::OpenOptions::new().append(true).open(path).ok());
            // In one write, as several programs may write at once.
            let _ = file.map(|mut file| file.write_all(format!("{function}\\n").as_bytes()));
        }
    }
}
""" % (VARIABLE, RECORD, REACHED)
# A line comment, a block comment, a string, a raw string, a character: in them no bracket counts. A lifetime is no character.
SKIPPED = re.compile(r"//[^\n]*|/\*.*?\*/|b?r(#*)\".*?\"\1|b?\"(?:\\.|[^\"\\])*\"|b?'(?:\\.[^']*|[^'\\])'", re.S)


class Source:
    """A file, and where each of its lines begins. Columns count characters from 1, as cargo-mutants counts them."""

    def __init__(self, text):
        self.text = text
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def at(self, place):
        return self.starts[place["line"] - 1] + place["column"] - 1

    def span(self, span):
        return self.at(span["start"]), self.at(span["end"])


def body_of(text):
    """Where the body of the function begins behind its brace, in its text; None where it has none."""
    depth, at = 0, 0
    while at < len(text):
        if skipped := SKIPPED.match(text, at):
            at = skipped.end()
            continue
        if text[at] in "([":
            depth += 1
        elif text[at] in ")]":
            depth -= 1
        elif text[at] == "{" and depth == 0:
            return at + 1
        elif text[at] == ";" and depth == 0:
            return None
        at += 1
    return None


def alone(signature):
    """Whether a switch cannot stand in a function of this signature: it must be known while compiling, or its type is that of its body."""
    plain = SKIPPED.sub("", signature)
    return re.search(r"\bconst\s+(?:unsafe\s+|extern\s+)*fn\b", plain) or re.search(r"->.*\bimpl\b", plain, re.S)


def switched(text, mutants):
    """The text of a file with a switch in each function that has mutants; the line ranges of each mutant by its number, and of each
    function; those that stay alone."""
    source, functions, left = Source(text), collections.defaultdict(list), []
    for mutant in mutants:
        if mutant["function"]:
            functions[source.span(mutant["function"]["span"])].append(mutant)
        else:
            left.append(mutant)
    # A function inside of another one is a part of its body.
    outer = {}
    for begin, end in sorted(functions, key=lambda span: (span[0], -span[1])):
        over = next((span for span in outer if span[0] <= begin and end <= span[1]), (begin, end))
        outer.setdefault(over, []).extend(functions[(begin, end)])
    out, at, ranges, whole = [], 0, {}, {}
    lines = lambda: "".join(out).count("\n") + 1
    for (begin, end), inside in sorted(outer.items()):
        function = text[begin:end]
        brace = body_of(function)
        if brace is None or not function.endswith("}") or alone(function[:brace]):
            left += inside
            continue
        out.append(text[at:begin + brace])
        function_begin = lines()
        out.append(f"\nmatch crate::mutant_switch::chosen({inside[0]['number']}) {{\n")
        for mutant in inside:
            mutant["reached_as"] = inside[0]["number"]
            first, last = source.span(mutant["span"])
            if first < begin + brace or last > end - 1:
                left.append(mutant)
                continue
            mutant_begin = lines()
            out.append(f"{mutant['number']}u32 => {{\n{text[begin + brace:first]}{mutant['replacement']}{text[last:end - 1]}\n}}\n")
            ranges[mutant["number"]] = (mutant_begin, lines() - 1)
        out.append(f"_ => {{{text[begin + brace:end - 1]}}}\n}}\n")
        whole[(function_begin, lines())] = [mutant["number"] for mutant in inside]
        at = end - 1
    out.append(text[at:])
    return "".join(out), ranges, whole, left


def place_switches(tree, mutants, commands, run):
    """Puts the switches of the mutants, which are numbered, into the tree, and compiles until all that are left compile. Returns the numbers
    of those that are in it, of those that do not compile, and of those that a switch cannot hold."""
    by_file, broken, left = collections.defaultdict(list), {}, set()
    for mutant in mutants:
        by_file[mutant["file"]].append(mutant)
    texts = {file: (tree / file).read_text() for file in by_file}
    for crate in {file.partition("src/")[0] for file in by_file}:
        root = f"{crate}src/lib.rs"
        texts.setdefault(root, (tree / root).read_text())
        by_file.setdefault(root, [])
    while True:
        ranges, functions, inside = {}, {}, set()
        for file, here in by_file.items():
            text, ranges[file], functions[file], alone_here = switched(texts[file], [mutant for mutant in here if mutant["number"] not in broken
                                                                                       and mutant["number"] not in left])
            left |= {mutant["number"] for mutant in alone_here}
            inside |= set(ranges[file])
            # On the line of what follows, so that no line moves. A mutant is not asked for good style, and may panic: that is for the tests.
            written = f"#![allow(warnings, clippy::all, arithmetic_overflow, unconditional_panic)] {text}{MODULE}" if file.endswith("src/lib.rs") else text
            if (tree / file).read_text() != written:
                (tree / file).write_text(written)
        found, unknown = set(), []
        for command in commands:
            code, said = run(command)
            if code == 0:
                continue
            for message in (json.loads(line) for line in said.splitlines() if line.startswith("{")):
                message = message.get("message") if message.get("reason") == "compiler-message" else None
                if not isinstance(message, dict) or message.get("level") != "error" or not message.get("spans"):
                    continue
                at, number = blamed(message, ranges)
                if number:
                    found.add(number)
                    broken[number] = message["message"]
                elif of := next((numbers for span in at for lines, numbers in functions.get(span[0], {}).items()
                                 if lines[0] <= span[1] <= lines[1]), None):
                    # The error is of the switch and not of one mutant.
                    found |= set(of)
                    left.update(number for number in of if number not in broken)
                else:
                    unknown.append(message.get("rendered") or message["message"])
            if found:
                break
            raise SystemExit("scripts/nightly: the tree with its switches does not compile:\n" + ("\n".join(unknown) or said)[-5000:])
        if not found:
            return inside, broken, left
        print(f"         {len(found)} mutants do not compile, {len(inside) - len(found)} are left", flush=True)


def blamed(message, ranges):
    """The places that a message names, main ones first, and the mutant in which the first of them is."""
    spans = sorted(message["spans"], key=lambda span: not span["is_primary"])
    at = [(span["file_name"], span["line_start"]) for span in spans]
    for span in spans:
        # What a macro expands to is an error where it is called.
        while span.get("expansion") and span["file_name"] not in ranges:
            span = span["expansion"]["span"]
        for number, (begin, end) in ranges.get(span["file_name"], {}).items():
            if begin <= span["line_start"] <= end:
                return at, number
        if span["is_primary"]:
            break
    return at, None
