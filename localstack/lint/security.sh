#!/usr/bin/env bash
# security.sh PART: one check of `make lint`. Each first shows that it can fail.
#
#   vulnerabilities  known faults that the deployed programs can reach, by govulncheck
#   secrets          what looks like a password, by gitleaks; exceptions stand in gitleaks.toml
#
# The faults are those of the Go vulnerability database as the module golang.org/x/vulndb has
# them: a module can be had wherever dependencies can. Its newest version is asked for each
# time. Without a network the newest one of the module cache serves, for 30 days, and the line
# says so; without any the check fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.9.0
gitleaks=github.com/zricethezav/gitleaks/v8@v8.30.1

here=localstack/lint
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# database: prints the folder of the newest reports.
database() {
	local folder made
	folder=$(cd "$work" && go mod download -json golang.org/x/vulndb@latest 2>/dev/null | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p') || true
	if [ -z "$folder" ]; then
		folder=$(find "$(go env GOMODCACHE)/golang.org/x" -maxdepth 1 -name 'vulndb@*' 2>/dev/null | sort | tail -n 1)
		[ -n "$folder" ] || { echo "the vulnerability database cannot be had; is there a network?" >&2 && return 1; }
		made=${folder##*@v0.0.0-} && made=${made:0:8}
		echo "no newer vulnerability database can be had; this one is of $made" >&2
		[ "$made" -ge "$(date -d '-30 days' +%Y%m%d)" ] || { echo "that is too old to tell anything" >&2 && return 1; }
	fi
	echo "$folder/data/osv"
}

vulnerabilities() {
	local program db
	program=$($here/tool.sh "$govulncheck")
	db=$(database)
	go build -o "$work/judge" ./$here/vulnerable/cmd
	if (cd $here/vulnerable/testdata/canary && "$program" -db "file://$db" -format json ./...) >"$work/canary" && "$work/judge" <"$work/canary" >"$work/said"; then
		echo "the fault of testdata/canary was not found, so nothing would be" && return 1
	fi
	grep -q GO-2021-0113 "$work/said" || { cat "$work/said" && return 1; }
	"$program" -db "file://$db" -format json ./functions/... >"$work/report"
	"$work/judge" <"$work/report"
}

secrets() {
	local program
	program=$($here/tool.sh "$gitleaks")
	look() { "$program" dir "$1" --config $here/gitleaks.toml --no-banner --redact --verbose >"$work/said" 2>&1; }
	mkdir "$work/planted"
	# Put together here, so that this file holds none.
	local random
	random=$(sha256sum <<<planted | head -c 40)
	printf 'aws_secret_access_key = "%s"\nPAYMENT_SECRETS=whsec_%s\n' "$random" "$random" >"$work/planted/settings.env"
	if look "$work/planted" || [ "$(grep -c '^Secret:' "$work/said")" != 2 ]; then
		cat "$work/said" && echo "two planted secrets were not found, so nothing would be" && return 1
	fi
	look . || { cat "$work/said" && return 1; }
}

case ${1:-} in
vulnerabilities | secrets) "$1" ;;
*)
	echo "usage: $0 vulnerabilities|secrets" >&2
	exit 2
	;;
esac
