package main_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// outside skips what looks at LocalStack's processes and files where they are in a container.
func outside(t *testing.T, s stack) {
	t.Helper()
	if _, err := os.Stat(s.logs + "/emulator/docker"); err == nil {
		t.Skip("left out: LocalStack runs in a container")
	}
}

// testKilled ends the process of a function that nothing else here waits for.
func testKilled(t *testing.T, s stack) {
	outside(t, s)
	ask := func() (string, error) {
		answer, err := s.functions.Invoke(t.Context(), "migrate", []byte("{}"))
		return string(answer), err
	}
	if _, err := ask(); err != nil {
		t.Fatal(err)
	}
	killed := 0
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range environments {
		text, _ := os.ReadFile(file) // those of other users cannot be read
		if !bytes.Contains(text, []byte("\x00AWS_LAMBDA_FUNCTION_NAME=flash-sale-test-migrate\x00")) {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("kill %d: %v", pid, err)
		}
		// One that is still dying would be given the next event, and take it with it.
		eventually(t, "the process is gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
		killed++
	}
	if killed == 0 {
		t.Fatal("no process of migrate")
	}
	if got, err := ask(); err != nil {
		t.Errorf("after the kill: got %s, %v", got, err)
	}
}

// testOwnFiles: what all LocalStacks of a machine shared, a second user could not write.
func testOwnFiles(t *testing.T, s stack) {
	outside(t, s)
	if buckets, err := filepath.Glob(s.logs + "/emulator/tmp/s3-*/deployments"); err != nil || len(buckets) != 1 {
		t.Errorf("got %v, %v, want the bucket of the functions' programs", buckets, err)
	}
}
