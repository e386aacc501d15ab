# Everything that can be done with this repository. `make help` lists it.

FUNCTIONS := $(patsubst functions/%/lambda/main.go,%,$(wildcard functions/*/lambda/main.go))
ARCHES    := arm64 amd64
ARCH      ?= arm64
FUZZTIME  ?= 10s

# A clone that belongs to another user has no version information that Go could read.
export GOFLAGS += -buildvcs=false

.DEFAULT_GOAL := help
.PHONY: help run test test-pure fuzz lint fmt build servers-up servers-down localstack localstack-down openapi invoke chaos stampede capacity bench clean FORCE

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## the whole system on this machine; needs Go, and a network the first time (PORT=3000 SALE=file.json)
	@[ -x build/dev ] || echo "building; the first time takes some minutes"
	@go build -o build/dev ./localstack/dev
	@exec build/dev $(if $(PORT),-port '$(PORT)') $(if $(SALE),-sale '$(SALE)')

test: ## every test, on real Redis, Kafka and PostgreSQL, which it installs and starts
	@localstack/servers/test.sh all

test-pure: ## the tests that need no server, and a list of what was left out
	@localstack/servers/test.sh pure

fuzz: ## each fuzz target for a while (FUZZTIME=10s)
	@localstack/servers/test.sh fuzz $(FUZZTIME)

lint: ## vet, staticcheck, gofumpt, shellcheck, luacheck, the template, known faults, secrets, and the rules of this repository
	@localstack/lint/lint.sh

fmt: ## formats Go
	@localstack/lint/lint.sh fmt

build: ## each function as a static linux binary: build/<arch>/<function>/bootstrap
build: $(foreach arch,$(ARCHES),$(FUNCTIONS:%=build/$(arch)/%/bootstrap))

# HTTP/2 and aws-lambda-go's old way of calling are never used.
LAMBDA_BUILD := CGO_ENABLED=0 GOOS=linux go build -tags lambda.norpc,nethttpomithttp2 -trimpath -ldflags '-s -w'

# Go knows better than make what is up to date.
define function_rule
build/$(1)/%/bootstrap: FORCE
	GOARCH=$(1) $(LAMBDA_BUILD) -o $$@ ./functions/$$*/lambda
endef
$(foreach arch,$(ARCHES),$(eval $(call function_rule,$(arch))))

# What `sam build` calls, with the function's name in the template. It hands over where the
# program goes but not the architecture: the template's default, or ARCH=amd64 sam build ...
# A program that is up to date is not linked again.
build-%: FORCE
	@program=build/$(ARCH)/$$(echo $* | tr A-Z a-z)/bootstrap && $(MAKE) $$program && cp $$program '$(ARTIFACTS_DIR)/'

# The same program; only what it runs on differs.
build-PurchaseOnInstances: build-Purchase
	@:

servers-up: ## starts the test servers alone
	@localstack/servers/servers.sh up
	@localstack/servers/servers.sh status

servers-down: ## stops them
	@localstack/servers/servers.sh down

localstack: ## the deployed system on LocalStack; its API's address is the last line
	@localstack/deploy/localstack.sh up

localstack-down: ## stops it
	@localstack/deploy/localstack.sh down

openapi: ## the API's description as plain OpenAPI: build/openapi.json
	@mkdir -p build
	@go run ./localstack/openapi/cmd >build/openapi.json
	@echo build/openapi.json

invoke: ## one function as Lambda runs it, with its golden event (FUNCTION=purchase)
	@localstack/deploy/invoke.sh '$(FUNCTION)'

chaos: ## breaks the system while it sells, on servers of its own, and prints what held (FAULT=flushall,failover)
	@go build -o build/chaos ./localstack/chaos
	@build/chaos -markdown build/chaos.md $(if $(KEEP),-keep) $(if $(FAULT),-fault '$(FAULT)')

# Each variable is the flag of its name; docs/loadtest.md explains them.
stampede: ## a load test: a crowd at a sale, an exact account, build/stampede.html (SHOPPERS=20000 ITEMS=400 LOTTERY=30s VIA=http TARGET=address)
	@go build -o build/stampede ./localstack/stampede
	@[ '$(VIA)' != http ] || go build -o build/dev ./localstack/dev
	@build/stampede $(if $(REMOTE),-remote) $(if $(KEEP),-keep) \
		$(foreach flag,SHOPPERS ITEMS LOTTERY TARGET TOKENS PART SALE ITEM PAY_URL OPEN VIA SEED INFLIGHT LIMIT PATIENCE OUT \
		EARLY EARLY_SHARE SPREAD DOUBLE DROPOUT PAY CANCEL,$(if $($(flag)),-$(shell echo $(flag) | tr A-Z_ a-z-) '$($(flag))')) \
		$(if $(MERGE),-merge $(MERGE))

capacity: ## what a sale needs of AWS and costs (PEAK=300000 ITEMS=10000 SPREAD=60s SHOPPERS=500000 SHARDS=1 WARM=0 HAVE=… REGION=prices.json)
	@go build -o build/capacity ./localstack/capacity
	@build/capacity $(if $(PEAK),-peak '$(PEAK)') $(if $(SHOPPERS),-shoppers '$(SHOPPERS)') $(if $(ITEMS),-items '$(ITEMS)') $(if $(SPREAD),-spread '$(SPREAD)') $(if $(SHARDS),-shards '$(SHARDS)') $(if $(WARM),-warm '$(WARM)') $(if $(HAVE),-have '$(HAVE)') $(if $(REGION),-prices '$(REGION)') $(if $(BENCH),-bench '$(BENCH)')

bench: ## the figures of the goals beside those of peers: a table and build/bench.json (ONLY=refusal,reserve PROFILE=build/cpu.out)
	@localstack/bench/bench.sh $(if $(ONLY),-only '$(ONLY)' -out build/bench-only.json) $(if $(PROFILE),-cpuprofile '$(PROFILE)')

clean: ## removes what was built; servers and caches stay
	rm -rf build
