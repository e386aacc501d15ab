"""awscalls.py FILE: what our own program asks AWS, held against AWS' own service models.

FILE is the stand-in that its tests ask: "SERVICE PATH?QUERY" or "SERVICE TARGET" with an answer for each.
A stand-in that knows what AWS does not would let the program ask for it too. Runs in the SAM command
line's own environment, which has botocore.
"""
import json
import re
import sys
from urllib.parse import parse_qsl

import botocore.session

NAMES = {"servicequotas": "service-quotas"}  # botocore's own
session = botocore.session.Session()
faults = []


def find(model, what):
    """The operation that is asked so, and its parameters in path and query."""
    if not what.startswith("/"):
        prefix, _, name = what.partition(".")
        known = prefix == model.metadata["targetPrefix"] and name in model.operation_names
        return (model.operation_model(name), {}) if known else (None, {})
    path, _, query = what.partition("?")
    asked, best = dict(parse_qsl(query)), (-1, None, {})
    for operation in map(model.operation_model, model.operation_names):
        pattern, _, fixed = operation.http["requestUri"].partition("?")
        found = re.fullmatch(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(pattern)), path)
        fixed = dict(parse_qsl(fixed))
        # Two operations may have one path; a fixed part of the query then tells them apart.
        if operation.http["method"] == "GET" and found and fixed.items() <= asked.items() and len(fixed) > best[0]:
            rest = {key: value for key, value in asked.items() if key not in fixed}
            best = len(fixed), operation, found.groupdict() | rest
    return best[1:]


def check(where, operation, parameters):
    known = {m.serialization.get("name", name): m for name, m in operation.input_shape.members.items()}
    for name, value in parameters.items():
        if name not in known:
            faults.append(f"{where}: {operation.name} knows no {name}")
        elif not re.fullmatch(known[name].metadata.get("pattern", ".*"), value):
            faults.append(f"{where}: {operation.name} takes no {name} such as {value}")


KINDS = {"structure": dict, "list": list, "boolean": bool, "string": str}


def answer(where, shape, value):
    """Every field of an answer is one of AWS', and of its kind."""
    if not isinstance(value, KINDS.get(shape.type_name, (int, float))):
        faults.append(f"{where}: {shape.name} is a {shape.type_name}")
    elif shape.type_name == "list":
        for one in value:
            answer(where, shape.member, one)
    elif shape.type_name == "structure":
        for name, one in value.items():
            if name in shape.members:
                answer(where, shape.members[name], one)
            else:
                faults.append(f"{where}: {shape.name} has no {name}")
    elif shape.type_name == "string" and shape.enum and value not in shape.enum:
        faults.append(f"{where}: {shape.name} is never {value}")


with open(sys.argv[1], encoding="utf-8") as text:
    asked = json.load(text)
for question, said in asked.items():
    service, what = question.split(" ", 1)
    operation, parameters = find(session.get_service_model(NAMES.get(service, service)), what)
    if operation is None:
        faults.append(f"{question}: AWS knows no such call")
        continue
    check(question, operation, parameters)
    answer(question, operation.output_shape, said)
if not asked:
    faults.append("there was nothing to check")
print(*faults, sep="\n") if faults else print(f"{len(asked)} calls of AWS")
sys.exit(bool(faults))
