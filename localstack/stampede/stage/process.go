package stage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"flashsale/localstack/stampede/target"
)

// loginsAtOnce is how many tokens the development server is asked for at a time.
const loginsAtOnce = 10_000

var ready = regexp.MustCompile(`^ready (http://localhost:\d+)/$`)

// OpenProcess starts a development server, whose program is given, on these servers.
// The crowd reaches it by HTTP.
func OpenProcess(ctx context.Context, on Servers, program string, connections int, log *slog.Logger) (*Stage, error) {
	s := &Stage{way: "http"}
	if err := s.openProcess(ctx, on, program, connections, log); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stage) openProcess(ctx context.Context, on Servers, program string, connections int, log *slog.Logger) error {
	cfg, err := s.openBackends(ctx, on, log)
	if err != nil {
		return err
	}
	command := exec.Command(program, "-port", "0") //nolint:gosec,noctx // stopped by Close, politely
	command.Env = append(os.Environ(),
		"REDIS_URL="+cfg.RedisURL, "KAFKA_BROKERS="+strings.Join(cfg.KafkaBrokers, ","), "DATABASE_URL="+cfg.DatabaseURL,
		"KAFKA_ORDERS_TOPIC="+cfg.OrdersTopic, "KAFKA_DEAD_LETTER_TOPIC="+cfg.DeadLetterTopic, "KAFKA_EVENTS_TOPIC="+cfg.EventsTopic,
		"KAFKA_GROUP="+cfg.Group, "DEV_LOG=error")
	command.Stderr = os.Stderr
	// Its own group: Ctrl-C is for us, who stop it when the account is done.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	s.later(func() { end(command) })
	if s.address, err = awaitReady(ctx, output); err != nil {
		return err
	}
	h := target.NewHTTP(s.address, connections)
	s.target, s.pay = h, h.Pay(s.address+"/dev/pay/{orderId}")
	s.login = s.loginByHTTP
	s.administer = func(ctx context.Context, request map[string]any, into any) error {
		var text json.RawMessage
		if err := s.post(ctx, "/2015-03-31/functions/saleadmin/invocations", request, &text); err != nil {
			return err
		}
		var refusal struct{ Error, Message string }
		if err := json.Unmarshal(text, &refusal); err != nil || refusal.Error != "" {
			return errors.Join(err, fmt.Errorf("stage: %v: %s: %s", request["action"], refusal.Error, refusal.Message))
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal(text, into)
	}
	s.work = func() {} // the development server does
	return nil
}

// awaitReady reads what the server prints until it is ready.
func awaitReady(ctx context.Context, output io.Reader) (string, error) {
	found := make(chan string, 1)
	go func() {
		defer close(found)
		for scan := bufio.NewScanner(output); scan.Scan(); {
			if line := ready.FindStringSubmatch(scan.Text()); line != nil {
				found <- line[1]
			}
		}
	}()
	select {
	case address, ok := <-found:
		if !ok {
			return "", errors.New("stage: the development server ended before it was ready")
		}
		return address, nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(time.Minute):
		return "", errors.New("stage: the development server is not ready after a minute")
	}
}

// end stops a process politely, and not so politely after a while.
func end(command *exec.Cmd) {
	_ = command.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(20*time.Second, func() { _ = command.Process.Kill() })
	defer late.Stop()
	_ = command.Wait()
}

func (s *Stage) loginByHTTP(ctx context.Context, n int, out io.Writer) ([]string, error) {
	tokens := make([]string, 0, n)
	for len(tokens) < n {
		var signed struct{ Tokens []string }
		request := map[string]any{"user": fmt.Sprintf("shopper-%d", len(tokens)), "count": min(loginsAtOnce, n-len(tokens))}
		if err := s.post(ctx, "/dev/login", request, &signed); err != nil {
			return nil, err
		}
		if len(signed.Tokens) == 0 {
			return nil, errors.New("stage: the development server signs no tokens")
		}
		tokens = append(tokens, signed.Tokens...)
		_, _ = fmt.Fprintf(out, "tokens: %d of %d\n", len(tokens), n)
	}
	return tokens, nil
}

// post sends JSON to the development server itself and reads its answer.
func (s *Stage) post(ctx context.Context, path string, request, into any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("stage: %s: %w", path, err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("stage: %s: %w", path, err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("stage: %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK || response.Header.Get("X-Amz-Function-Error") != "" {
		return fmt.Errorf("stage: %s: status %d %s", path, response.StatusCode, response.Header.Get("X-Amz-Function-Error"))
	}
	return json.NewDecoder(response.Body).Decode(into)
}
