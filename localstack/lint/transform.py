"""transform.py TEMPLATE > out.json: what CloudFormation makes of a SAM template, without an account.

So cfn-lint and checkov see the roles, stages and permissions that SAM adds. Runs in the SAM command
line's own environment.
"""
import json
import sys

from cfnlint.decode import decode
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

# SAM names AWS' own policies by their ARNs when it has them from the account.
POLICIES = {
    name: f"arn:aws:iam::aws:policy/service-role/{name}"
    for name in ("AWSLambdaBasicExecutionRole", "AWSLambdaVPCAccessExecutionRole")
}

template = json.loads(json.dumps(decode(sys.argv[1])[0]))
parameters = {
    name: parameter.get("Default", "x") for name, parameter in template["Parameters"].items()
}
for resource in template["Resources"].values():
    # The translator knows no local folders.
    if resource["Type"] == "AWS::Serverless::Function" and "InlineCode" not in resource["Properties"]:
        resource["Properties"]["CodeUri"] = "s3://bucket/code.zip"
    # checkov's exceptions of one resource stand beside it.
    resource["Metadata"] = {k: v for k, v in resource.get("Metadata", {}).items() if k == "checkov"}
template["Globals"]["Function"].pop("CodeUri", None)
result = Translator(POLICIES, Parser()).translate(template, parameter_values=parameters)
result.pop("Transform", None)
json.dump(result, sys.stdout, indent=1)
