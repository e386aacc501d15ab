package connect

// The tests move the clock by which tokens are signed.
var (
	RedisAt    = redisAt
	PostgresAt = postgresAt
	CacheName  = cacheName
	RDSPEM     = rdsPEM
)
