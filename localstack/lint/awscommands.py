"""awscommands.py FILE...: the aws commands of documents and scripts, held against AWS' own service models.

It finds operations that do not exist, options that are not theirs, required ones that are missing, and
names in --query that no answer has. What the AWS CLI adds by itself stands in OWN. Runs in the SAM
command line's own environment, which has botocore.
"""
import re
import shlex
import sys

import botocore.session
import jmespath
from botocore import xform_name

GLOBAL = {"max-items", "query", "output", "region", "endpoint-url", "profile", "cli-read-timeout", "cli-binary-format"}
# Commands of the CLI's own, and what it takes in place of a model's parameter.
OWN = {
    ("s3", "sync"): {"exclude", "include", "cache-control"},
    ("s3", "cp"): {"cache-control"},
    ("logs", "tail"): {"since", "follow", "filter-pattern", "log-stream-name-prefix"},
    ("rds", "generate-db-auth-token"): {"hostname", "port", "username"},
}
MORE = {
    ("rds", "copy-db-snapshot"): {"source-region"},
    ("sns", "subscribe"): {"notification-endpoint"},
}

session = botocore.session.Session()
faults = []


def words(shape, name):
    """The members of an answer that a --query may name, in whatever depth."""
    found, todo = set(), [shape]
    seen = set()
    while todo:
        one = todo.pop()
        if one is None or one.name in seen:
            continue
        seen.add(one.name)
        if one.type_name == "structure":
            found |= set(one.members)
            todo += one.members.values()
        elif one.type_name == "list":
            todo.append(one.member)
        elif one.type_name == "map":
            todo.append(one.value)
    return found


def fields(tree):
    if tree["type"] == "field":
        yield tree["value"]
    for child in tree["children"]:
        yield from fields(child)


def check(where, line):
    def fault(text):
        faults.append(f"{where}: {text}")

    try:
        parts = shlex.split(line)
    except ValueError as e:
        return fault(f"{line}: {e}")
    service, operation, rest = parts[1], parts[2], parts[3:]
    # An option is a word that begins so; a value may not.
    options = {word[2:].split("=")[0] for word in rest if re.match(r"--[a-z]", word)}
    query = rest[rest.index("--query") + 1] if "--query" in rest else None
    if (service, operation) in OWN:
        if unknown := options - OWN[service, operation] - GLOBAL:
            fault(f"{service} {operation} knows no {sorted(unknown)}")
        return None
    name = {"s3api": "s3"}.get(service, service)
    if name not in session.get_available_services():
        return fault(f"there is no service {service}")
    model = session.get_service_model(name)
    if operation == "wait":
        waiters = session.get_waiter_model(name)
        waiter = {xform_name(n, "-"): n for n in waiters.waiter_names}.get(rest[0])
        if not waiter:
            return fault(f"{service} cannot wait for {rest[0]}")
        operation = xform_name(waiters.get_waiter(waiter).operation, "-")
    names = {xform_name(name, "-"): name for name in model.operation_names}
    if operation not in names:
        return fault(f"{service} has no {operation}")
    shape = model.operation_model(names[operation])
    members = shape.input_shape.members if shape.input_shape else {}
    known, switches = {}, set()
    for name, member in members.items():
        option = xform_name(name, "-")
        known[option] = name
        if member.type_name == "boolean":
            switches.add("no-" + option)
    allowed = set(known) | switches | GLOBAL | MORE.get((service, operation), set())
    if unknown := options - allowed:
        fault(f"{service} {operation} knows no {sorted(unknown)}")
    required = {xform_name(n, "-") for n in (shape.input_shape.required_members if shape.input_shape else [])}
    if (service, operation) == ("lambda", "invoke"):
        required = {"function-name"}
    if missing := required - options - {o.removeprefix("no-") for o in options}:
        fault(f"{service} {operation} needs {sorted(missing)}")
    if query:
        try:
            tree = jmespath.compile(re.sub(r"\$\w+", "variable", query)).parsed
        except Exception as e:
            return fault(f"--query {query}: {e}")
        if unknown := set(fields(tree)) - {"variable"} - words(shape.output_shape, operation):
            fault(f"{service} {operation} answers no {sorted(unknown)}")
    return None


def commands(text):
    """Each aws command up to the end of its own part of the line."""
    text = re.sub(r"\\\n\s*", " ", text)
    # A command inside another is judged by itself.
    text = re.sub(r"\$\((?!aws )[^()]*\)", "X", text)
    for line in text.split("\n"):
        line = re.sub(r"\s+#.*", "", line)
        while found := re.search(r"\$\((aws [^()]*(?:\([^()]*\)[^()]*)*)\)", line):
            yield found.group(1)
            line = line[: found.start()] + "X" + line[found.end() :]
        for found in re.finditer(r"(?:^\s*|[`({|;&]\s*|\bdo\s+|\bthen\s+|=)(aws [a-z][a-z0-9-]+ [a-z].*)", line):
            command = found.group(1)
            quoted = re.match(r"""(?:"[^"]*"|'[^']*'|[^"'|;&`<>])*""", command).group(0)
            yield quoted


count = 0
for file in sys.argv[1:]:
    with open(file, encoding="utf-8") as text:
        for command in commands(text.read()):
            count += 1
            check(file, command)
if count == 0:
    faults.append("no command was found, so nothing was checked")
print(*faults, sep="\n") if faults else print(f"{count} commands of aws")
sys.exit(bool(faults))
