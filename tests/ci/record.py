"""In place of `az`, `gh`, `pulumi`, `sudo` and make's slow targets: records the call, and does what callers rely on.

`gh` answers with $ANSWERS (part of the arguments → the API's JSON), through the caller's own --jq.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

program, arguments = sys.argv[1], sys.argv[2:]
with Path(os.environ["CALLS"]).open("a") as log:
    log.write(json.dumps([program, *arguments]) + "\n")


def after(flag: str) -> str:
    return arguments[arguments.index(flag) + 1]


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(text)


if program == "gh":
    if arguments[:2] == ["run", "download"]:
        shutil.copytree(os.environ["ARTIFACTS"], after("--dir"))
    for argument in arguments:
        if argument.startswith(("body=@", "sarif=@")):
            shutil.copy(argument.partition("@")[2], Path(os.environ["CALLS"]).parent / "sent")
    answers = json.loads(os.environ["ANSWERS"])
    answer = next((answer for key, answer in answers.items() if key in " ".join(arguments)), None)
    if "--jq" in arguments:
        assert answer is not None, f"no answer to {arguments}"
        sys.exit(subprocess.run(["jq", "-rc", after("--jq")], input=json.dumps(answer), text=True).returncode)
elif program == "pulumi":
    sys.stdout.write(f"pulumi at {os.environ.get('PULUMI_BACKEND_URL')}\n")
    sys.stdout.write("+" * int(os.environ.get("PULUMI_OUTPUT", "0")))
    if "--save-plan" in arguments:
        write(after("--save-plan"), '{"resourcePlans": {}}')
    if "--event-log" in arguments:
        write(after("--event-log"), os.environ.get("EVENTS", ""))
    sys.exit(int(os.environ.get("PULUMI_EXIT", "0")))
elif program == "make":
    targets = [argument for argument in arguments if "=" not in argument and not argument.startswith("-")]
    if targets == ["engine"]:
        sys.stdout.write(os.environ["RECORDERS"] + "\n")
    elif targets == ["pr-report"]:
        write("build/pr-report.md", os.environ.get("REPORT", "### dev\n@octocat: 3 resources\n"))
    elif targets == ["scan"]:
        write("build/gate.sarif", "{}")
        sys.exit(int(os.environ.get("SCAN_EXIT", "0")))
    elif targets == ["gate-diff"] and "LOOSER" in os.environ:
        sys.stdout.write(os.environ["LOOSER"])
        sys.exit(int(bool(os.environ["LOOSER"])))
    elif targets[0] not in ("setup", "tools", "preview"):
        # The environment is there; `true` in the place of Python makes none.
        os.execv(os.environ["MAKE"], ["make", "PYTHON=true", *arguments])
