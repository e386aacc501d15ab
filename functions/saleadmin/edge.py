#!/usr/bin/env python3
"""edge.py STACK WHAT: tells CloudFront's store what the admission check at the edge must know.

  keys         the admission keys, as the stack's secret has them; after each change of them
  put SALE     the items of a sale with a spread; once it is created
  delete SALE  the same, once it is archived
  show         what is there; of each key only the id

A step may be repeated. One that dies halfway is repeated too. saleadmin cannot do this: it lives in
a network without a way out, and the store has no endpoint there. Needs AWS' command line, version 2,
with the rights cloudformation:DescribeStacks, secretsmanager:GetSecretValue and
cloudfront-keyvaluestore:DescribeKeyValueStore, ListKeys, UpdateKeys.
"""
import json
import subprocess
import sys
import urllib.request

BATCH = 50  # changes in one call, as AWS has it
TRIES = 5  # the store may be changed by somebody else in between


class Refused(Exception):
    """What the operator did wrong, or AWS."""


def aws(*words, given=None):
    """given goes by standard input: a key has no place in a list of processes, nor in a file."""
    if given is not None:
        words += ("--cli-input-json", "file:///dev/stdin")
    done = subprocess.run(
        ["aws", *words, "--output", "json"],
        input=None if given is None else json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Refused(done.stderr.strip() or f"aws {words[0]} {words[1]} failed")
    return json.loads(done.stdout)


class Edge:
    def __init__(self, stack):
        outputs = aws("cloudformation", "describe-stacks", "--stack-name", stack)["Stacks"][0].get("Outputs", [])
        self.outputs = {o["OutputKey"]: o["OutputValue"] for o in outputs}
        if "AdmissionStoreArn" not in self.outputs:
            raise Refused(f"{stack} has no store at the edge: deploy it with Cdn=true and Admission=on")
        self.store = self.outputs["AdmissionStoreArn"]

    def entries(self):
        items = aws("cloudfront-keyvaluestore", "list-keys", "--kvs-arn", self.store).get("Items", [])
        return {item["Key"]: item["Value"] for item in items}

    def change(self, puts, deletes=()):
        """Each call names the version that it changes. Another version is no harm: ask for it again."""
        changes = [("Puts", {"Key": key, "Value": value}) for key, value in puts.items()]
        changes += [("Deletes", {"Key": key}) for key in deletes]
        for begin in range(0, len(changes), BATCH):
            given = {"KvsARN": self.store}
            for kind, change in changes[begin : begin + BATCH]:
                given.setdefault(kind, []).append(change)
            for left in reversed(range(TRIES)):
                version = aws("cloudfront-keyvaluestore", "describe-key-value-store", "--kvs-arn", self.store)["ETag"]
                try:
                    aws("cloudfront-keyvaluestore", "update-keys", given={**given, "IfMatch": version})
                    break
                except Refused as refusal:
                    if left == 0 or "ConflictException" not in str(refusal):
                        raise
        return len(changes)

    def keys(self):
        secret = aws("secretsmanager", "get-secret-value", "--secret-id", self.outputs["SecretsId"])["SecretString"]
        keys = json.loads(secret).get("ADMISSION_KEYS")
        if not keys:
            raise Refused("the secret has no ADMISSION_KEYS")
        self.change({"keys": keys})
        return f"{len(keys.split(','))} keys are at the edge"

    def put(self, sale):
        address = f"{self.outputs['PageUrl']}/api/flash-sales/{sale}"
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                view = json.load(answer)
        except (OSError, ValueError) as fault:
            raise Refused(f"{address}: {fault}; is the sale created?") from None
        if view.get("admission") is not True:
            raise Refused(f"sale {sale} has no spread: at the edge nobody could buy in it")
        if "keys" not in self.entries():
            raise Refused("the store has no keys yet: edge.py STACK keys")
        count = self.change({f"item:{item['itemId']}": sale for item in view["items"]})
        return f"{count} items are at the edge"

    def delete(self, sale):
        found = [key for key, value in self.entries().items() if key.startswith("item:") and value == sale]
        return f"{self.change({}, found)} items are no more at the edge"

    def show(self):
        entries = self.entries()
        ids = [key.strip().partition(":")[0] for key in entries.pop("keys", "").split(",") if key]
        return "\n".join([f"keys {','.join(ids) or 'none'}"] + [f"{key} {entries[key]}" for key in sorted(entries)])


def main(words):
    if len(words) == 2 and words[1] in ("keys", "show"):
        return getattr(Edge(words[0]), words[1])()
    if len(words) == 3 and words[1] in ("put", "delete") and words[2].isdecimal() and words[2] == str(int(words[2])):
        return getattr(Edge(words[0]), words[1])(words[2])
    raise Refused(__doc__)


if __name__ == "__main__":
    try:
        print(main(sys.argv[1:]))
    except Refused as refusal:
        sys.exit(str(refusal))
