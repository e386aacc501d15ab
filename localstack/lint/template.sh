#!/usr/bin/env bash
# template.sh PART: one check of template.yaml; `make lint` runs them all.
#
#   validate    SAM's own reading of it
#   sam-lint    the same with cfn-lint on the template as it is written
#   cfn-lint    cfn-lint on what CloudFormation makes of it; finds what the others do not see
#   checkov     policies; exceptions stand in checkov.yaml
#   commands    the aws commands of the documents, held against AWS' service models
#   calls       the same for what saleadmin asks AWS
#   programs    `sam build` for both architectures: right processor, no program too large
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# The region is only a name here; nothing calls AWS.
export SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=eu-central-1
here=localstack/lint
programs=$(localstack/deploy/python.sh sam)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# quietly COMMAND…: shows what it said only if it fails.
quietly() { "$@" >"$work/said" 2>&1 || { cat "$work/said" && return 1; }; }

transform() { "$programs/python" "$here/transform.py" template.yaml 2>"$work/said" >"$work/template.json" || { cat "$work/said" && return 1; }; }

# mega FILE LIMIT: fails if the file is larger, in 10^6 bytes.
mega() {
	local size
	size=$(($(stat -c %s "$1") / 100000))
	[ "$size" -le "$(($2 * 10))" ] || {
		echo "$1 has $((size / 10)).$((size % 10)) MB, $2 are allowed"
		return 1
	}
}

# limit FUNCTION: MB. docs/decisions.md says what they are made of.
limit() {
	case $1 in
	SaleInfo) echo 10 ;;
	Migrate | Payment) echo 12 ;;
	Purchase | PurchaseOnInstances | OrderStatus | Expirer) echo 15 ;;
	OrderWriter | StockKeeper) echo 18 ;; # all three clients
	SaleAdmin) echo 19 ;;                 # and calls to AWS; nobody waits for it
	*) echo 8 ;;
	esac
}

# machine FILE: the processor that an ELF file names.
machine() {
	case $(od -An -j18 -N2 -tx1 "$1" | tr -d ' ') in
	3e00) echo x86_64 ;;
	b700) echo arm64 ;;
	*) echo unknown ;;
	esac
}

build_for() { # build_for MACHINE GOARCH
	local function wanted failed=0
	mkdir -p build
	quietly env ARCH="$2" flock build/lock "$programs/sam" build --config-env default --parameter-overrides "Architecture=$1" -b "$work/$1" || return 1
	"$programs/python" "$here/architectures.py" template.yaml "$1" >"$work/architectures"
	for function in "$work/$1"/*/; do
		function=$(basename "$function")
		wanted=$(sed -n "s/^$function //p" "$work/architectures")
		[ "$(machine "$work/$1/$function/bootstrap")" = "$wanted" ] || {
			echo "$function was built for $(machine "$work/$1/$function/bootstrap"), the template says $wanted"
			failed=1
		}
		mega "$work/$1/$function/bootstrap" "$(limit "$function")" || failed=1
	done
	# PurchaseOnInstances is purchase again.
	[ "$(find "$work/$1" -name bootstrap -not -path '*/PurchaseOnInstances/*' | wc -l)" = "$(find functions -path '*/lambda/main.go' | wc -l)" ] || {
		echo "$1: template.yaml does not build every folder of functions/"
		failed=1
	}
	return $failed
}

case ${1:-} in
validate) quietly "$programs/sam" validate ;;
sam-lint) quietly "$programs/sam" validate --lint ;;
cfn-lint)
	# W1028: a global's choice by stage has a side that a function of one stage never takes. W1030: see
	# the template, whose own list the option replaces.
	transform && "$programs/cfn-lint" -t "$work/template.json" --regions eu-central-1 us-east-1 --ignore-checks W1028 W1030
	;;
checkov)
	checkov=$(localstack/deploy/python.sh checkov)
	transform && quietly "$checkov/checkov" -f "$work/template.json" --config-file "$here/checkov.yaml"
	;;
commands)
	printf 'aws iam get-rol\naws sns create-topic --nam x --query TopicArm\n' >"$work/wrong"
	if "$programs/python" "$here/awscommands.py" "$work/wrong" >"$work/said" || [ "$(wc -l <"$work/said")" != 4 ]; then
		cat "$work/said" && echo "four planted mistakes were not found, so nothing would be" && exit 1
	fi
	quietly "$programs/python" "$here/awscommands.py" README.md docs/*.md
	;;
calls)
	cat >"$work/wrong" <<-'END'
		{"lambda /2025-11-30/functions/x/function-scaling-config?Qualifier=live": {"Applied": {}},
		 "lambda /2015-03-31/functions/x/alias/live": {}, "servicequotas ServiceQuotasV20190624.GetQuota": {}}
	END
	if "$programs/python" "$here/awscalls.py" "$work/wrong" >"$work/said" || [ "$(wc -l <"$work/said")" != 4 ]; then
		cat "$work/said" && echo "four planted mistakes were not found, so nothing would be" && exit 1
	fi
	quietly "$programs/python" "$here/awscalls.py" functions/saleadmin/testdata/account.json
	;;
programs) build_for arm64 arm64 && build_for x86_64 amd64 ;;
*)
	echo "usage: $0 validate|sam-lint|cfn-lint|checkov|commands|programs" >&2
	exit 2
	;;
esac
