"""architectures.py TEMPLATE ARCHITECTURE: one line "FUNCTION PROCESSOR" for each function.

ARCHITECTURE is the parameter's value. A function may say otherwise, and would then not start.
"""
import sys

from cfnlint.decode import decode

template = decode(sys.argv[1])[0]
default = template["Globals"]["Function"]["Architectures"]
for name, resource in template["Resources"].items():
    if resource["Type"] == "AWS::Serverless::Function":
        processor = resource["Properties"].get("Architectures", default)[0]
        print(name, sys.argv[2] if processor == {"Ref": "Architecture"} else processor)
