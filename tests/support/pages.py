"""pages.py CLONE HOLDFAST [PROGRAM…]: runs what stands in the pages of CLONE, for tests/batch/pages.sh; of the PROGRAMs
there are none here, whatever the PATH says."""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

clone, holdfast, lacking = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
folders = ["jobs", "dist", "kernels", "models", "slurm", "tests", "tools"]
pages = ["README.md", *(f"{folder}/README.md" for folder in folders), ".github/CONTRIBUTING.md", ".github/CHANGELOG.md"]
of_others = {"--mca", "--install", "--prefix"}  # options of mpirun and cmake
failures, ran, left_out = 0, 0, []


def fail(page, words):
    global failures
    failures += 1
    print(f"FAILED: {page}: {words}")


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, cwd=clone).stdout


# What there is: the options of each command, the settings, the words of tools.
commands = re.findall(r"(?m)^  ([a-z]+) ", output_of(holdfast, "--help"))
helps = {command: output_of(holdfast, command, "--help") for command in commands}
tools = "".join(file.read_text(errors="replace") for folder in ("tools", "tools/checks", "tools/python", "slurm")
                for file in sorted((clone / folder).iterdir()) if file.is_file())
everything = "".join(helps.values()) + output_of(holdfast, "--help") + tools
settings = set(re.findall(r"\b[a-z]+\.[a-z_]+\b", helps["train"]))
sections = {setting.split(".")[0] for setting in re.findall(r"(?m)^ +([a-z]+\.[a-z_]+)", helps["train"])}


def says(text, option):
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text)


def check_words(page, text):
    """Paths, options, settings and links outside of blocks."""
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        if not (clone / page).parent.joinpath(link).exists() and not (clone / link).exists():
            fail(page, f"a link to {link}, which is not there")
    for code in re.findall(r"`([^`]+)`", text):
        words = re.sub(r"[\"',;()]", " ", code).split()
        known = helps.get(words[0].removeprefix("holdfast ") if words else "", everything)
        if words[:1] == ["holdfast"] and len(words) > 1:
            known = helps.get(words[1], everything)
        for word in words:
            option = re.match(r"--[a-z][a-z-]*", word)
            if option and option[0] not in of_others and not says(known, option[0]):
                fail(page, f"no option {option[0]}: {code}")
            if re.fullmatch(rf"({'|'.join(folders)})/[\w./-]+", word) and not re.search(r"\b[A-Z]{3,}\b", word.replace("_", " ")) \
                    and not (clone / word).exists():
                fail(page, f"no file {word}")
            setting = re.match(r"([a-z]+)\.[a-z_]+(?=$|=)", word)
            if setting and setting[1] in sections and setting[0] not in settings:
                fail(page, f"no setting {setting[0]}")


def check_by_hand(page, block):
    for line in block.splitlines():
        program, *words = shlex.split(line)
        mine = clone / program
        if not (mine if "/" in program else pathlib.Path(shutil.which(program) or "/nowhere")).exists():
            fail(page, f"no program {program}")
        if "/" in program and program != "build/holdfast":
            sources = [mine, *(clone / "tools/checks").glob(f"{mine.name}*")]
            for option in (word.split("=")[0] for word in words if word.startswith("--")):
                if not any(says(file.read_text(), option) for file in sources):
                    fail(page, f"{program} has no {option}")
        left_out.append(f"{line} (by hand)")


def as_pattern(text):
    """… is anything within a line, a line ... any lines."""
    lines = [r"(?:.*\n)*?" if line == "..." else
             ".*".join(re.escape(part) for part in line.rstrip().split("…")) + r"\n" for line in text.splitlines()]
    return "".join(lines)


def wait_for_queue():
    for _ in range(1200):
        if not output_of("squeue", "--noheader"):
            return
        time.sleep(0.25)


def is_lacking(need):
    program, _, modules = need.partition(":")
    return program in lacking or not shutil.which(program) or \
        modules and subprocess.run([program, "-c", f"import {modules}"], capture_output=True).returncode != 0


def run_block(page, number, kind, block):
    """What it prints on stdout, None if it is not run."""
    global ran
    need = re.fullmatch(r"needs=(\S+)", kind)
    if kind and not need:
        return fail(page, f"a block marked {kind}")
    if need and is_lacking(need[1]):
        left_out.extend(f"{line} (no {need[1]} here)" for line in block.splitlines())
        return None
    if need and need[1] == "sbatch":
        wait_for_queue()
    began = time.time()
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=clone, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    ran += 1
    print(f"{page}, block {number}: {time.time() - began:.1f} s", flush=True)
    if done.returncode != 0:
        fail(page, f"exit {done.returncode} of\n{block}{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def run_page(page):
    text = (clone / page).read_text()
    if "sbatch" not in lacking:
        wait_for_queue()
    shutil.rmtree(clone / "build", ignore_errors=True)
    (clone / "build").mkdir()
    (clone / "build/holdfast").symlink_to(holdfast)
    said, before, outside = None, 0, []
    for number, match in enumerate(re.finditer(r"(?ms)^```(\w*) *([^\n]*)\n(.*?)^```$", text), 1):
        language, kind, block = match[1], match[2], match[3]
        outside.append(text[before:match.start()])
        before = match.end()
        if language == "sh" and kind == "by-hand":
            check_by_hand(page, block)
        elif language == "sh":
            said = run_block(page, number, kind, block)
        elif language == "text":
            printed = None if said is None else "".join(line.rstrip() + "\n" for line in said.splitlines())
            if printed is not None and not re.fullmatch(as_pattern(block), printed):
                fail(page, f"block {number} is not what is printed:\n{said}")
        elif language == "cpp":
            file = re.findall(r"\(`([^`]+)`\)", outside[-1])[-1]
            lines = "\n".join(line.strip() for line in block.splitlines())
            if lines not in "\n".join(line.strip() for line in (clone / file).read_text().splitlines()):
                fail(page, f"not in {file}:\n{block}")
        else:
            fail(page, f"a block of {language or 'no language'}")
    outside.append(text[before:])
    words = "".join(outside)
    if re.search(r"(?m)^    (build|tools|slurm)/\S+ ", words):
        fail(page, "a command outside of a block")
    check_words(page, words)


for page in pages:
    run_page(page)
readme = (clone / "README.md").read_text()
if readme.count("\n") > 150:
    fail("README.md", f"{readme.count(chr(10))} lines")
recipes = re.split(r"(?m)^\*\*", readme.partition("## Five recipes")[2].partition("\n## ")[0])[1:]
lengths = [sum(block.count("\n") for block in re.findall(r"(?ms)^```sh[^\n]*\n(.*?)^```$", recipe)) for recipe in recipes]
if len(lengths) != 5 or not all(0 < length <= 6 for length in lengths):
    fail("README.md", f"recipes of {lengths} lines")
for line in left_out:
    print(f"not run: {line}")
print(f"{ran} blocks of {len(pages)} pages were run")
sys.exit(failures > 0)
