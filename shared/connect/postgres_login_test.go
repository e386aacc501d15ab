package connect_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/sigv4"
	"flashsale/shared/sigv4/sigv4test"
)

func cleanUp(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
}

// An rds is a door before a real PostgreSQL that lets in who has a token, as RDS
// does: it asks for it in the clear, but over TLS only.
type rds struct {
	address string // host:port
	server  *url.URL
	now     func() time.Time

	mu     sync.Mutex
	tokens []string
}

func newRDS(t *testing.T, card identityCard, now func() time.Time) *rds {
	t.Helper()
	server, err := url.Parse(database(t))
	if err != nil {
		t.Fatal(err)
	}
	listener := listen(t)
	door := &rds{address: listener.Addr().String(), server: server, now: now}
	go serve(t, listener, func(client net.Conn) { door.open(client, card.server) })
	return door
}

func (r *rds) open(plain net.Conn, card *tls.Config) {
	first := pgproto3.NewBackend(plain, plain)
	if message, err := first.ReceiveStartupMessage(); err != nil || !isTLS(message) {
		return
	}
	if _, err := plain.Write([]byte("S")); err != nil {
		return
	}
	client := tls.Server(plain, card)
	desk := pgproto3.NewBackend(client, client)
	message, err := desk.ReceiveStartupMessage()
	startup, ok := message.(*pgproto3.StartupMessage)
	if err != nil || !ok {
		return
	}
	user := startup.Parameters["user"]
	desk.Send(&pgproto3.AuthenticationCleartextPassword{})
	if desk.Flush() != nil || desk.SetAuthType(pgproto3.AuthTypeCleartextPassword) != nil {
		return
	}
	answer, err := desk.Receive()
	password, ok := answer.(*pgproto3.PasswordMessage)
	if err != nil || !ok {
		return
	}
	if err := r.judge(user, password.Password); err != nil {
		desk.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: "PAM authentication failed for user " + user})
		_ = desk.Flush()
		return
	}
	server, err := net.Dial("tcp", r.server.Host)
	if err != nil {
		return
	}
	startup.Parameters["user"] = r.server.User.Username()
	text, err := startup.Encode(nil)
	if err == nil {
		_, err = server.Write(text)
	}
	if err == nil {
		join(client, server)
	}
}

func isTLS(message pgproto3.FrontendMessage) bool {
	_, ok := message.(*pgproto3.SSLRequest)
	return ok
}

func (r *rds) judge(user, token string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens = append(r.tokens, token)
	return sigv4test.CheckToken(token, "rds-db", r.address, url.Values{"Action": {"connect"}, "DBUser": {user}}, r.now())
}

func (r *rds) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.tokens...)
}

func (r *rds) url(card identityCard, user string) string {
	return fmt.Sprintf("postgres://%s@%s%s?sslmode=verify-full&sslrootcert=%s", user, r.address, r.server.Path, url.QueryEscape(card.file))
}

func TestPostgresByIAM(t *testing.T) {
	t.Parallel()
	card, now := newCard(t), newClock()
	door := newRDS(t, card, now.Now)
	cfg := config.Postgres{URL: config.Secret(door.url(card, "flashsale_app")), PoolSize: 4, Auth: config.IAM, AWS: role}
	pool, err := connect.PostgresAt(t.Context(), cfg, now.Now)
	if err != nil {
		t.Fatalf("Postgres: %v", err)
	}
	t.Cleanup(pool.Close)
	first, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatalf("log in: %v", err)
	}
	if _, err := first.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("query: %v", err)
	}
	// The first token has run out; the connection is held, so that another is made.
	now.pass(sigv4.TokenLife)
	second, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatalf("log in after 15 minutes: %v", err)
	}
	if _, err := first.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("query on the old connection: %v", err)
	}
	first.Release()
	second.Release()
	if tokens := door.seen(); len(tokens) != 2 || tokens[0] == tokens[1] {
		t.Errorf("tokens: got %d, want two different ones: %q", len(tokens), tokens)
	}
	// The door does look.
	strange := cfg
	strange.AWS.SecretAccessKey = "another key"
	other, err := connect.PostgresAt(t.Context(), strange, now.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	err = other.Ping(t.Context())
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "28P01" {
		t.Errorf("with another key: got %v, want 28P01", err)
	}
	if err != nil && strings.Contains(err.Error(), "X-Amz-Signature") {
		t.Errorf("the error shows the token: %v", err)
	}
}

func TestPostgresRefusesHalfAnIAM(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://u@h/d", "postgres://u@h/d?sslmode=disable", "postgres://u@h/d?sslmode=require",
		"postgres://u@h,i/d?sslmode=verify-full", "postgres://u:hunter2@h/d?sslmode=verify-full",
	} {
		_, err := connect.Postgres(t.Context(), config.Postgres{URL: config.Secret(address), PoolSize: 1, Auth: config.IAM, AWS: role})
		if err == nil || !strings.Contains(err.Error(), "sslmode=verify-full") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want an error about sslmode", address, err)
		}
	}
}

func TestPostgresTrustsRDS(t *testing.T) {
	t.Parallel()
	card := newCard(t)
	const host = "shop.abc.eu-central-1.rds.amazonaws.com"
	frankfurt := func(pool *x509.CertPool) bool {
		for rest := connect.RDSPEM; ; {
			c, tail := nextCertificate(t, rest)
			if c == nil {
				return false
			}
			if strings.Contains(c.Subject.CommonName, "eu-central-1 Root CA ECC384") {
				_, err := c.Verify(x509.VerifyOptions{Roots: pool})
				return err == nil
			}
			rest = tail
		}
	}
	for address, want := range map[string]bool{
		"postgres://u:p@" + host + "/d?sslmode=verify-full":                          true,
		"postgres://u:p@" + host + "/d?sslmode=verify-full&sslrootcert=" + card.file: false,
		"postgres://u:p@shop.example/d?sslmode=verify-full":                          false,
	} {
		pool := newPostgres(t, address, "")
		roots := pool.Config().ConnConfig.TLSConfig.RootCAs
		if got := roots != nil && frankfurt(roots); got != want {
			t.Errorf("%s: trusts Amazon %t, want %t", address, got, want)
		}
	}
}

func TestPostgresURL(t *testing.T) {
	t.Parallel()
	const amazon, other = "postgres://u:p@shop.abc.eu-central-1.rds.amazonaws.com/d?sslmode=verify-full", "postgres://u:p@h/d"
	dir := t.TempDir()
	got, err := connect.PostgresURL(config.Postgres{URL: amazon}, dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgconn.ParseConfig(got)
	if err != nil || c.TLSConfig == nil || c.TLSConfig.RootCAs == nil || c.Password != "p" {
		t.Errorf("of RDS: got %v, want the same with authorities", err)
	}
	if text, err := os.ReadFile(dir + "/rds.pem"); err != nil || len(text) != len(connect.RDSPEM) {
		t.Errorf("the file: %d bytes, %v", len(text), err)
	}
	if got, err := connect.PostgresURL(config.Postgres{URL: other}, dir); err != nil || got != other {
		t.Errorf("of another server: got %s, %v", got, err)
	}
	for _, cfg := range []config.Postgres{{URL: amazon, Auth: config.IAM}, {URL: "postgres://u:hunter2%zz@h/d"}} {
		if _, err := connect.PostgresURL(cfg, dir); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: got %v, want an error without the password", cfg, err)
		}
	}
}

// nextCertificate is nil at the end.
func nextCertificate(t *testing.T, text []byte) (*x509.Certificate, []byte) {
	t.Helper()
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, nil
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c, rest
}
