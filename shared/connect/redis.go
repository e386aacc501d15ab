// Package connect makes the clients of Redis, Kafka and PostgreSQL.
//
// It promises that a client costs nothing until it is used, that no call
// outlives its context, and that an environment which Lambda has frozen for an
// hour, so that all its sockets are dead, gets an answer within two seconds of
// waking if the server is well.
package connect

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"flashsale/shared/config"
)

const (
	redisDial = 500 * time.Millisecond
	redisRead = 800 * time.Millisecond

	// idleLimit is below the 350 s after which AWS forgets an idle flow. A socket
	// older than that looks open and swallows what is written to it.
	idleLimit = 4 * time.Minute
)

// Redis makes a client of one server or of a cluster; see [config.Redis]. A login
// by IAM has a fresh token for each connection.
//
// After a freeze: sockets that were closed by the server, or idle for four
// minutes, are replaced before use. Those that died unnoticed cost one read
// timeout (0.8 s) together and the one retry. A command may so run twice: every
// script is safe to repeat. A server that never answers costs 1.7 s.
func Redis(cfg config.Redis) (redis.UniversalClient, error) { return redisAt(cfg, time.Now) }

func redisAt(cfg config.Redis, now func() time.Time) (redis.UniversalClient, error) {
	u, err := url.Parse(cfg.URL.Reveal())
	if err != nil {
		// The error would quote the URL and the password in it.
		return nil, errors.New("connect: REDIS_URL is not of the form redis://user:password@host:port/db")
	}
	login, err := redisIAM(cfg, u, now)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	cluster := query.Get("cluster") == "true" || query.Has("addr")
	query.Del("cluster")
	u.RawQuery = query.Encode()
	if cluster {
		return redisCluster(u.String(), cfg, login)
	}
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, fmt.Errorf("connect: REDIS_URL: %w", err)
	}
	o.DialTimeout, o.DialerRetries = redisDial, 1
	o.ReadTimeout, o.WriteTimeout, o.ContextTimeoutEnabled = redisRead, redisRead, true
	o.MaxRetries, o.ConnMaxIdleTime = 1, idleLimit
	o.PoolSize, o.PoolTimeout = cfg.PoolSize, redisRead
	// Both cost a round trip on each new connection.
	o.DisableIdentity, o.MaintNotificationsConfig = true, noNotifications()
	o.Dialer = new(sockets).dialer(redis.NewDialer(o))
	if login != nil {
		o.CredentialsProviderContext = login
		o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = redisLife, redisLifeJitter
	}
	return redis.NewClient(o), nil
}

// redisCluster differs by what finds a promoted replica quickly: the library's
// defaults take more than 12 s, these about 4 s, election included.
func redisCluster(address string, cfg config.Redis, login redisLogin) (redis.UniversalClient, error) {
	o, err := redis.ParseClusterURL(address)
	if err != nil {
		return nil, fmt.Errorf("connect: REDIS_URL: %w", err)
	}
	o.ClusterStateReloadInterval = 500 * time.Millisecond
	o.DialTimeout, o.DialerRetries = redisDial, 1
	o.ReadTimeout, o.WriteTimeout, o.ContextTimeoutEnabled = redisRead, redisRead, true
	o.MaxRetries, o.ConnMaxIdleTime = 1, idleLimit
	o.PoolSize, o.PoolTimeout = cfg.PoolSize, redisRead
	o.DisableIdentity, o.MaintNotificationsConfig = true, noNotifications()
	o.Dialer = new(sockets).dialer(redis.NewDialer(&redis.Options{DialTimeout: o.DialTimeout, TLSConfig: o.TLSConfig}))
	if login != nil {
		o.CredentialsProviderContext = login
		o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = redisLife, redisLifeJitter
	}
	return redis.NewClusterClient(o), nil
}

func noNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}
