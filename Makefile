# Everything that can be done with this repository. `make help` lists it.

FUNCTIONS := $(patsubst functions/%/lambda/main.go,%,$(wildcard functions/*/lambda/main.go))
ARCHES    := arm64 amd64
FUZZTIME  ?= 10s

# A clone that belongs to another user has no version information that Go could read.
export GOFLAGS += -buildvcs=false

.DEFAULT_GOAL := help
.PHONY: help run test test-pure fuzz lint fmt build servers-up servers-down clean FORCE

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## the whole system on this machine; needs only Go (PORT=3000 SALE=file.json)
	@go build -o build/dev ./localstack/dev
	@exec build/dev $(if $(PORT),-port '$(PORT)') $(if $(SALE),-sale '$(SALE)')

test: ## every test, on real Redis, Kafka and PostgreSQL, which it installs and starts
	@localstack/servers/test.sh all

test-pure: ## the tests that need no server, and a list of what was left out
	@localstack/servers/test.sh pure

fuzz: ## each fuzz target for a while (FUZZTIME=10s)
	@localstack/servers/test.sh fuzz $(FUZZTIME)

lint: ## vet, staticcheck, gofumpt, shellcheck, luacheck, and the rules of this repository
	@localstack/lint/lint.sh

fmt: ## formats Go
	@localstack/lint/lint.sh fmt

build: ## each function as a static linux binary: build/<arch>/<function>/bootstrap
build: $(foreach arch,$(ARCHES),$(FUNCTIONS:%=build/$(arch)/%/bootstrap))

# Go knows better than make what is up to date.
define function_rule
build/$(1)/%/bootstrap: FORCE
	CGO_ENABLED=0 GOOS=linux GOARCH=$(1) go build -tags lambda.norpc -trimpath -ldflags '-s -w' -o $$@ ./functions/$$*/lambda
endef
$(foreach arch,$(ARCHES),$(eval $(call function_rule,$(arch))))

servers-up: ## starts the test servers alone
	@localstack/servers/servers.sh up
	@localstack/servers/servers.sh status

servers-down: ## stops them
	@localstack/servers/servers.sh down

clean: ## removes what was built; servers and caches stay
	rm -rf build
