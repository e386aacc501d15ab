package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ClusterURL returns the address of a real Redis Cluster, in the form of REDIS_URL. It starts three
// masters and three replicas if they are not up; they stay up, as the other servers do. It is left
// out where there is no Redis: a run without servers starts none.
func ClusterURL(t testing.TB) string {
	t.Helper()
	address(t, "REDIS_URL")
	if _, err := Run("", "cluster", "up"); err != nil {
		t.Fatal(err)
	}
	url, err := Run("", "cluster", "address")
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// Run calls servers.sh for a set of servers and returns what it printed. "" is the set that tests
// share; whoever breaks servers takes another one.
func Run(set string, args ...string) (string, error) {
	path, err := script()
	if err != nil {
		return "", fmt.Errorf("servers: %w", err)
	}
	command := exec.Command(path, args...) //nolint:gosec,noctx // ours; it has its own patience
	command.Env = append(os.Environ(), "FLASHSALE_SERVERS="+set)
	var complaint strings.Builder
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("servers.sh %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// script finds servers.sh from whatever folder of the module a test runs in.
func script() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		path := filepath.Join(dir, "localstack", "servers", "servers.sh")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("servers.sh is not above this folder")
		}
		dir = filepath.Dir(dir)
	}
}
