package connect

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/config"
)

// Logins by IAM: a token instead of a password, signed anew for each connection,
// since it opens one within 15 minutes only. Signing takes microseconds and asks
// nobody, so no token is kept.

// redisLife, give or take the jitter, ends a connection before ElastiCache does,
// which is 12 hours after its login, and not all at once.
const (
	redisLife       = 11 * time.Hour
	redisLifeJitter = 30 * time.Minute
)

type redisLogin func(context.Context) (user, token string, err error)

// redisIAM is nil where the URL's password is the login.
func redisIAM(cfg config.Redis, u *url.URL, now func() time.Time) (redisLogin, error) {
	if cfg.Auth != config.IAM {
		return nil, nil
	}
	user := u.User.Username()
	_, password := u.User.Password()
	cache := cfg.Cache
	if cache == "" {
		cache = cacheName(u.Hostname())
	}
	switch {
	case u.Scheme != "rediss" || user == "" || password:
		return nil, errors.New("connect: REDIS_URL: with REDIS_AUTH=iam it must be rediss://user@host:port, without a password")
	case cache == "":
		return nil, errors.New("connect: REDIS_CACHE is missing: the host in REDIS_URL does not have ElastiCache's name of the cluster")
	}
	signer := cfg.AWS.Signer(now)
	return func(context.Context) (string, string, error) {
		return user, signer.Token("elasticache", cache, url.Values{"Action": {"connect"}, "User": {user}}), nil
	}, nil
}

// cacheName takes the cluster's name from ElastiCache's addresses with TLS:
// clustercfg.NAME.id.region.cache.amazonaws.com, or master. in front.
func cacheName(host string) string {
	labels := strings.Split(host, ".")
	if strings.HasSuffix(host, ".cache.amazonaws.com") && slices.Contains([]string{"clustercfg", "master"}, labels[0]) {
		return labels[1]
	}
	return ""
}

// postgresIAM is what signs in each new connection; nil where the URL's password does.
func postgresIAM(cfg config.Postgres, c *pgx.ConnConfig, now func() time.Time) (func(context.Context, *pgx.ConnConfig) error, error) {
	if cfg.Auth != config.IAM {
		return nil, nil
	}
	// A token in the clear, or for whoever answers, would let others in. And it is
	// signed for one host.
	if c.TLSConfig == nil || c.TLSConfig.InsecureSkipVerify || len(c.Fallbacks) > 0 || c.Password != "" {
		return nil, errors.New("connect: DATABASE_URL: with DATABASE_AUTH=iam it must be postgres://user@host:port/database?sslmode=verify-full, without a password")
	}
	signer := cfg.AWS.Signer(now)
	return func(_ context.Context, c *pgx.ConnConfig) error {
		host := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
		c.Password = signer.Token("rds-db", host, url.Values{"Action": {"connect"}, "DBUser": {c.User}})
		return nil
	}, nil
}
