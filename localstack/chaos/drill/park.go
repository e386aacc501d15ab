package drill

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"flashsale/localstack/servers"
)

// A Park is the set of servers that drills break. Servers outside it are not broken.
type Park struct {
	Set string // see servers.sh

	// Shared servers, which are not broken and not the park's; or empty.
	Brokers, Database string

	// Starting is shared by parks that are used at once: two must not find the same free port. nil is alone.
	Starting *sync.Mutex
}

// up starts a server or a group if need be and returns its address.
func (p Park) up(name string) (string, error) {
	args := []string{"up", name}
	if isGroup(name) {
		args = []string{name, "up"}
	}
	if p.Starting != nil {
		p.Starting.Lock()
		defer p.Starting.Unlock()
	}
	if _, err := servers.Run(p.Set, args...); err != nil {
		return "", err
	}
	return p.tell("address", name, "")
}

// tell is a verb for a server, or for a node of a group.
func (p Park) tell(verb, name, node string) (string, error) {
	args := []string{verb, name}
	if isGroup(name) {
		args = []string{name, verb}
	}
	if node != "" {
		args = append(args, node)
	}
	return servers.Run(p.Set, args...)
}

// Down stops all servers of the park.
func (p Park) Down() error {
	_, err := servers.Run(p.Set, "down")
	return err
}

func (p Park) kill(name, node string) error {
	_, err := p.tell("kill", name, node)
	return err
}

func (p Park) revive(name, node string) error {
	_, err := p.tell("revive", name, node)
	return err
}

// signal stops a process for a while (SIGSTOP) or lets it go on (SIGCONT).
func (p Park) signal(name, node string, sig syscall.Signal) error {
	text, err := p.tell("pid", name, node)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return fmt.Errorf("pid of %s %s: %w", name, node, err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("%s %s: %w", name, node, err)
	}
	return process.Signal(sig)
}

func isGroup(name string) bool { return name == "cluster" || name == "kafka3" }
