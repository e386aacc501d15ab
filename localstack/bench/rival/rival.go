// Package rival has what a shop would build instead: the article's way, one UPDATE in
// PostgreSQL, and SELECT … FOR UPDATE.
//
// It promises honest code: nothing slower than its idea asks for, prepared statements
// and pooled connections as their libraries have them by default, the token's signature
// checked for each purchase, and never a unit too many. Each runs in a process of its own.
package rival

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"flashsale/localstack/servers"
)

// variable makes a process a rival; its value is the Config.
const variable = "FLASHSALE_BENCH_RIVAL"

// Item is the one that is sold.
const Item = 1001

// Path is where it is bought.
const Path = "/api/flash-sales/items/1001/purchase"

// The rivals by their names.
const (
	Article   = "the article's way"
	Update    = "UPDATE … WHERE sold < quantity"
	ForUpdate = "SELECT … FOR UPDATE"
)

// Config is what a rival is told.
type Config struct {
	Name             string
	Redis            string
	Brokers          []string
	Database         string // any on the server: a rival makes one of its own
	Units            int
	JWKS             string
	Issuer, Audience string
}

// Environment makes a process a rival.
func (c Config) Environment() (string, error) {
	text, err := json.Marshal(c)
	return variable + "=" + string(text), err
}

// IsRival tells whether this process is one.
func IsRival() bool { return os.Getenv(variable) != "" }

// Serve is the rival's life. It prints "ready", its address and its database, and ends
// with ctx.
func Serve(ctx context.Context) error {
	var cfg Config
	if err := json.Unmarshal([]byte(os.Getenv(variable)), &cfg); err != nil {
		return fmt.Errorf("rival: %w", err)
	}
	if err := serve(ctx, cfg); err != nil {
		return fmt.Errorf("rival: %s: %w", cfg.Name, err)
	}
	return nil
}

// A counter sells.
type counter interface {
	// buy returns the status of the answer.
	buy(ctx context.Context, shopper string) (status int, err error)
}

func serve(ctx context.Context, cfg Config) error {
	shoppers, err := newVerifier(cfg)
	if err != nil {
		return err
	}
	database, drop, err := servers.MakeDatabase(ctx, cfg.Database)
	if err != nil {
		return err
	}
	defer drop()
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := createTables(ctx, pool, cfg.Units); err != nil {
		return err
	}
	var sells counter
	switch cfg.Name {
	case Article:
		shop, err := openArticle(ctx, cfg, pool)
		if err != nil {
			return err
		}
		defer shop.close()
		sells = shop
	case Update:
		sells = update{pool}
	case ForUpdate:
		sells = forUpdate{pool}
	default:
		return errors.New("no such rival")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/flash-sales/items/{itemId}/purchase", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, shoppers, sells)
	})
	return listen(ctx, mux, database)
}

func listen(ctx context.Context, handler http.Handler, database string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // loopback
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	fmt.Println("ready", l.Addr(), database)
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

var errors410 = map[int]string{http.StatusConflict: "ALREADY_PURCHASED", http.StatusGone: "SOLD_OUT"}

func answer(w http.ResponseWriter, r *http.Request, shoppers *verifier, sells counter) {
	shopper, err := shoppers.shopper(r.Header.Get("Authorization"))
	if err != nil {
		reply(w, http.StatusUnauthorized, map[string]string{"error": "UNAUTHENTICATED"})
		return
	}
	status, err := sells.buy(r.Context(), shopper)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "rival:", err)
		reply(w, http.StatusServiceUnavailable, map[string]string{"error": "TRY_AGAIN"})
	case status == http.StatusAccepted:
		reply(w, status, map[string]string{"status": "PENDING"})
	default:
		reply(w, status, map[string]string{"error": errors410[status]})
	}
}

func reply(w http.ResponseWriter, status int, body map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// createTables makes the article's tables. Its user_id is a number; ours is text,
// because identity providers name users so.
func createTables(ctx context.Context, pool *pgxpool.Pool, units int) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			CREATE TABLE flash_sale_item (
				id bigint PRIMARY KEY, sale_id bigint NOT NULL, product_id bigint NOT NULL,
				quantity int NOT NULL, sold int NOT NULL DEFAULT 0,
				CONSTRAINT chk_not_oversold CHECK (sold <= quantity)
			);
			CREATE TABLE flash_sale_order (
				id uuid PRIMARY KEY, item_id bigint NOT NULL REFERENCES flash_sale_item (id),
				user_id text NOT NULL, status varchar(16) NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
				CONSTRAINT uq_item_user UNIQUE (item_id, user_id)
			)`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO flash_sale_item VALUES ($1, 7, 55, $2)`, Item, units)
		return err
	})
}
