package connect_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/sigv4/sigv4test"
)

// role is the one that sigv4test knows.
var role = config.AWS{
	Region: sigv4test.Region, AccessKeyID: sigv4test.KeyID,
	SecretAccessKey: sigv4test.Secret, SessionToken: sigv4test.Session,
}

// TestMain says where the tests are: the Kafka client asks the environment when
// a broker's name does not tell its region.
func TestMain(m *testing.M) {
	_ = os.Setenv("AWS_REGION", sigv4test.Region)
	os.Exit(m.Run())
}

// A clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// An identityCard is a certificate for 127.0.0.1 and the authority that signed it: itself.
type identityCard struct {
	server *tls.Config
	roots  *x509.CertPool
	file   string // the authority as PEM
}

func newCard(t *testing.T) identityCard {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	card := identityCard{
		server: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		roots:  x509.NewCertPool(), file: filepath.Join(t.TempDir(), "ca.pem"),
	}
	card.roots.AppendCertsFromPEM(text)
	if err := os.WriteFile(card.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return card
}

// tlsBefore speaks TLS for a server that does not, and returns its host:port.
func tlsBefore(t *testing.T, card identityCard, server string) string {
	t.Helper()
	listener := listen(t)
	go serve(t, tls.NewListener(listener, card.server), func(client net.Conn) {
		if behind, err := net.Dial("tcp", server); err == nil {
			join(client, behind)
		}
	})
	return listener.Addr().String()
}

func serve(t *testing.T, listener net.Listener, talk func(net.Conn)) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
		go func() {
			defer func() { _ = conn.Close() }()
			talk(conn)
		}()
	}
}

// join passes on what either says, until one ends.
func join(a, b net.Conn) {
	defer func() { _, _ = a.Close(), b.Close() }()
	go func() {
		_, _ = io.Copy(b, a)
		_ = b.Close()
	}()
	_, _ = io.Copy(a, b)
}
