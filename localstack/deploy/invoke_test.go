package main_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"flashsale/localstack/servers"
)

// fakeSam notes how it is called, does what the next step needs, and answers. From "inside the
// container" it asks Redis at the address that it was given.
const fakeSam = `#!/usr/bin/env bash
echo "ARCH=$ARCH $*" >>"$NOTES/sam"
case $1 in
build)
	while [ "$1" != -b ]; do shift; done
	mkdir -p "$2" && touch "$2/template.yaml"
	;;
local)
	while [ "$1" != --env-vars ]; do shift; done
	cp "$2" "$NOTES/variables.json"
	address=$(sed 's/.*"REDIS_URL":"redis:\/\/\([^/"]*\).*/\1/' "$2")
	exec 3<>"/dev/tcp/${address%:*}/${address#*:}" && printf 'PING\r\n' >&3 && head -n 1 <&3 >"$NOTES/redis"
	echo "$ANSWER"
	;;
esac
`

const fakeDocker = `#!/usr/bin/env bash
echo "$*" >>"$NOTES/docker"
case $1 in
info) ;;
network) echo 127.0.0.1 ;;
*) exit 1 ;;
esac
`

// TestSamLocalInvoke is about what invoke.sh does where Docker is, and needs none.
func TestSamLocalInvoke(t *testing.T) {
	t.Parallel()
	redis, kafka, database := servers.RedisURL(t), servers.KafkaBrokers(t), servers.DatabaseURL(t)
	cache, notes, bin := t.TempDir(), t.TempDir(), t.TempDir()
	list, err := os.ReadFile("python/sam.txt")
	if err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	installed := fmt.Sprintf("%s/flashsale/tools/python-sam-%.12s", cache, fmt.Sprintf("%x", sha256.Sum256(list)))
	write(installed+"/complete", "")
	write(installed+"/bin/sam", fakeSam)
	write(bin+"/docker", fakeDocker)
	goCache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	invoke := func(answer string) (string, error) {
		c := exec.CommandContext(t.Context(), "./invoke.sh", "saleinfo")
		c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+cache, "NOTES="+notes, "ANSWER="+answer,
			"GOCACHE="+strings.TrimSpace(string(goCache)), "REDIS_URL="+redis, "KAFKA_BROKERS="+strings.Join(kafka, ","), "DATABASE_URL="+database)
		out, err := c.Output()
		return string(out), err
	}
	if out, err := invoke(`{"statusCode":404}`); err != nil || out != "{\"statusCode\":404}\n" {
		t.Fatalf("got %q, %v, want the answer alone", out, err)
	}
	note := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(notes, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	overrides := "--parameter-overrides Stage=local Architecture=" + machine
	calls := strings.Split(note("sam"), "\n")
	if want := fmt.Sprintf("ARCH=%s build SaleInfo --config-env local %s -b ", runtime.GOARCH, overrides); !strings.HasPrefix(calls[0], want) {
		t.Errorf("got %q, want %q", calls[0], want)
	}
	for _, want := range []string{"local invoke SaleInfo -t ", overrides, "--event functions/saleinfo/testdata/event.json", "--env-vars "} {
		if !strings.Contains(calls[1], want) {
			t.Errorf("got %q, want %q in it", calls[1], want)
		}
	}
	if got := note("redis"); got != "+PONG\r\n" {
		t.Errorf("from inside the container Redis says %q, want +PONG", got)
	}
	if host := strings.Split(redis, "/")[2]; strings.Contains(note("variables.json"), host) {
		t.Errorf("the container is told %s, where only this machine is", host)
	}
	if out, err := invoke(`{"errorType":"Runtime.ExitError","errorMessage":"x"}`); err == nil {
		t.Errorf("a function's failure: got %q and success", out)
	}
}
