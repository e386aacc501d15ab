package connect

import (
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"flashsale/shared/config"
)

// Amazon's own authorities, which no system knows; made by rds.sh. Regions that
// are younger than it are missing: for those make it anew of Amazon's own file, or
// name that one by sslrootcert.
//
//go:embed rds.pem
var rdsPEM []byte

func ofRDS(host string) bool { return strings.HasSuffix(strings.ToLower(host), ".rds.amazonaws.com") }

// trustRDS lets a server of RDS be verified. What the address itself says, by
// sslrootcert, stays; sslmode=require stays unverified.
func trustRDS(host string, c *tls.Config) {
	if c != nil && c.RootCAs == nil && ofRDS(host) {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM(rdsPEM)
	}
}

// PostgresURL is the address for those who connect by themselves, as the
// migrations do. For a server of RDS it names a file with Amazon's authorities,
// which it puts into dir. There is no login by IAM: a token in it would run out.
func PostgresURL(cfg config.Postgres, dir string) (string, error) {
	u, err := url.Parse(cfg.URL.Reveal())
	switch {
	case err != nil: // it would quote the password
		return "", errors.New("connect: DATABASE_URL is not of the form postgres://user:password@host:port/database")
	case cfg.Auth == config.IAM:
		return "", errors.New("connect: DATABASE_AUTH is iam, but schema changes need a login by password")
	case !ofRDS(u.Hostname()) || u.Query().Has("sslrootcert"):
		return cfg.URL.Reveal(), nil
	}
	file := filepath.Join(dir, "rds.pem")
	if err := os.WriteFile(file, rdsPEM, 0o644); err != nil { //nolint:gosec // public keys
		return "", fmt.Errorf("connect: authorities of RDS: %w", err)
	}
	query := u.Query()
	query.Set("sslrootcert", file)
	u.RawQuery = query.Encode()
	return u.String(), nil
}
