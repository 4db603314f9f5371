# make demo     a cluster in one process with sample data
# make test     all tests
# make bench    Sherd beside PostgreSQL 15 in one run, also by the loads of pgbench and sysbench (installs what is missing)
# make compare  runs the comparison queries on PostgreSQL 15 and rewrites nothing: it fails where the golden answers differ
# make kill     the long form of the kill loop: 50 rounds
# make large    transactions of a million rows and of a GiB, with what memory they take
# make history  random histories on 1, 3 and 16 fragments, bank totals and linearizability, under kill -9: HISTORY each (200s), 13 minutes in all
# make soak     three nodes in network namespaces, with faults at random: SOAK=30m with STOCK=8000 documents; wants root and iproute2
# make resharding  split documents, former ids, segments and zones on four nodes, with faults at random: RESHARDING=10m; wants root and iproute2
# make failover how long writes to a fragment pause when its leader dies (FAILOVER=10 trials), and what an idle cluster takes; 5 minutes
# make arrows   kill -9 at each arrow of a move between three nodes, of each that takes part, and of all: ARROWS='fenced|aborted: all' for some
# make moves    what moving buckets costs those who read and write meanwhile, and how fast it is: DOCS=1000000 documents on three nodes, then a fourth (SHERD_PROFILE=directory for profiles of each phase)
# make tenants  what many small databases take of a node: TENANTS, flags of integration/tenants
# make planner  everyday statements beside PostgreSQL 15, with the ratio of their times; PLANNER=keyset chooses by a regular expression, SCALE=0.1 loads fewer rows
# make tpch     the 22 queries of TPC-H beside PostgreSQL 15, with primary keys alone and with placed tables and indexes; SCALE=0.2, TPCH='q3|q18' chooses
# make documents  statements over 300,000 orders with lines beside PostgreSQL 15, placed by id and by customer; SCALE=0.1, DOCUMENTS='window|join' chooses
# make regress  PostgreSQL 15's own regression scripts, statement by statement, on PostgreSQL and on Sherd; REGRESS='^json' chooses scripts; installs PostgreSQL and fetches its source
# make fuzz     random definitions, and rows between them, on a server in the test's process: FUZZ=10m
# make broken   for each rule of the transaction protocol: the build without it must be caught
.PHONY: build demo test race lint bench compare kill large history broken soak resharding failover arrows moves tenants planner tpch documents regress generate static fuzz

GO ?= go
# Packages whose code runs concurrently.
CONCURRENT = ./raftgroup ./raftlog ./txn ./txn/locks ./storage/... ./catalog ./cluster/... ./fragment ./kv ./rebalance/... ./pgwire ./internal/recent ./sql/parse ./sql ./sql/autoanalyze ./sql/distexec ./sql/monitor/... ./sql/notify/... ./sql/schemachange ./sql/stmt ./sql/taskserver ./sql/tx ./sql/verify/...
# Packages whose tests start processes or clusters on real clocks. They run after the others, one package
# at a time, so that packages do not load each other; four clusters of node/nodetest at once, which
# mostly wait. They run each time: their processes are built by the tests, so a cached result may be
# that of an earlier program.
REAL = ./node/... ./integration/...
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0

build:
	$(GO) build -o bin/sherd ./cmd/sherd

demo: build
	./bin/sherd demo

# Without the checks of go vet that go test makes by itself: lint makes all of them.
test: build
	$(GO) test -vet=off -timeout 20m $$($(GO) list ./... | grep -vE '/(node|integration)(/|$$)')
	$(GO) test -vet=off -p 1 -count=1 -parallel 4 -timeout 20m $(REAL)

race:
	$(GO) test -vet=off -timeout 20m -race -short $(CONCURRENT)

lint:
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

bench: build
	$(GO) run ./integration/bench $(BENCH)

compare: build
	integration/compare

kill: build
	SHERD_KILL_ROUNDS=50 $(GO) test -count=1 -timeout 30m -run Kill ./storage ./integration

TENANTS ?=

tenants:
	$(GO) run ./integration/tenants $(TENANTS)

large:
	$(GO) run ./integration/large $(LARGE)

HISTORY ?= 200s

history: build
	SHERD_BINARY=$(CURDIR)/bin/sherd SHERD_HISTORY=$(HISTORY) $(GO) test -count=1 -timeout 120m -v -run 'TestHistories|TestLinearizable' ./integration

SOAK ?= 30m
STOCK ?= 8000

soak: build
	SHERD_BINARY=$(CURDIR)/bin/sherd SHERD_SOAK=$(SOAK) SHERD_STOCK=$(STOCK) $(GO) test -count=1 -timeout 180m -v -run 'TestFaults|TestFullDisk|TestMovesFromFullDisk|TestWithoutMajority|TestClockJumps' ./integration/fault
	SHERD_BINARY=$(CURDIR)/bin/sherd SHERD_PAUSES=200 $(GO) test -count=1 -timeout 60m -v -run TestReadsAfterPause ./integration/fault
	SHERD_BINARY=$(CURDIR)/bin/sherd SHERD_ROLLS=10 $(GO) test -count=1 -timeout 30m -v -run TestRollingRestart ./integration/fault

RESHARDING ?= 10m

resharding: build
	SHERD_BINARY=$(CURDIR)/bin/sherd SHERD_RESHARDING=$(RESHARDING) $(GO) test -count=1 -timeout 120m -v -run 'TestResharding|TestFullDiskWhileReplacing' ./integration/fault

FAILOVER ?= 10

failover: build
	SHERD_BINARY=$(CURDIR)/bin/sherd SHERD_MEASURE=$(FAILOVER) $(GO) test -count=1 -timeout 30m -v -run 'TestFailover|TestIdle' ./integration/fault

ARROWS ?= .

arrows:
	SHERD_BINARY=none SHERD_ARROWS='$(ARROWS)' $(GO) test -count=1 -timeout 60m -v -run TestCrashAtArrows ./integration/fault

DOCS ?= 1000000

moves: build
	SHERD_BINARY=$(CURDIR)/bin/sherd SHERD_MOVES=$(DOCS) $(GO) test -count=1 -timeout 60m -v -run TestMoves ./integration/fault

PLANNER ?= .
SCALED = $(if $(SCALE),-scale $(SCALE))

planner: build
	$(GO) run ./integration/planner -binary bin/sherd $(SCALED) -only '$(PLANNER)'

TPCH ?= .

tpch: build
	$(GO) run ./integration/tpch -binary bin/sherd $(SCALED) -only '$(TPCH)'

DOCUMENTS ?= .

documents: build
	$(GO) run ./integration/documents -binary bin/sherd $(SCALED) -only '$(DOCUMENTS)'

REGRESS ?= .

regress: build
	$(GO) run ./integration/pgregress -binary bin/sherd -only '$(REGRESS)'

FUZZ ?= 10m

fuzz:
	SHERD_FUZZ=$(FUZZ) $(GO) test -count=1 -timeout 0 -run 'TestRandomDefinitions$$' ./sql

broken:
	$(GO) run ./integration/broken

generate:
	$(GO) generate ./...

static:
	$(GO) build -tags netgo,osusergo -ldflags '-linkmode external -extldflags "-static"' -o bin/sherd ./cmd/sherd
