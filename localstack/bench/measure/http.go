package measure

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"flashsale/localstack/bench/rival"
	"flashsale/localstack/bench/rush"
	"flashsale/localstack/bench/table"
	"flashsale/localstack/deploy/stage"
	"flashsale/localstack/stampede/crowd"
	stampede "flashsale/localstack/stampede/stage"
)

// losers press after the sell-out. They have not won, since they come to no opening. They
// are so many that none of them presses as often as the limit of one shopper forbids.
const losers = 20_000

// http sells by HTTP to the same crowd, ours through the development server, each rival
// in a process of its own.
func (b *bench) http(ctx context.Context) ([]table.Row, error) {
	tokens, err := b.sign(b.HTTPShoppers + losers)
	if err != nil {
		return nil, err
	}
	names := []string{"", rival.Article, rival.Update, rival.ForUpdate} // "" is ours
	rows, refusals := map[string][]float64{}, map[string][]float64{}
	for range rounds(b.HTTPRounds) {
		for _, name := range names {
			var sold shopping
			if name == "" {
				sold, err = b.shopOurs(ctx)
			} else {
				sold, err = b.shopRival(ctx, name, tokens)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			rows[name] = append(rows[name], sold.row.Seconds())
			refusals[name] = append(refusals[name], sold.refusals)
		}
	}
	goals := map[string]table.Goal{rival.Article: {AtMost: 1.0 / 8}, rival.Update: {AtMost: 1.0 / 4}, rival.ForUpdate: {AtMost: 1.0 / 6}}
	var found []table.Row
	for _, name := range names[1:] {
		found = append(found, table.Beside("http", table.Median(rows[""]...), fmt.Sprintf("s to row %d", b.HTTPUnits), name, table.Median(rows[name]...), goals[name]))
	}
	for _, name := range names[1:] {
		found = append(found, table.Beside("http", table.Median(refusals[""]...), "refusals a second", name, table.Median(refusals[name]...), table.Goal{AtLeast: 5}))
	}
	return found, nil
}

// A shopping is what one contender did.
type shopping struct {
	row      time.Duration
	refusals float64
}

// shop brings the crowd to an address.
func (b *bench) shop(ctx context.Context, address, path string, tokens []string, opens time.Time, count func(context.Context) (int, error)) (shopping, error) {
	door := rush.HTTP(address, path)
	rows := watch(ctx, opens, b.HTTPUnits, count)
	result, err := rush.Run(ctx, door, b.Doors, tokens[:b.HTTPShoppers], opens)
	if err != nil {
		return shopping{}, err
	}
	written := <-rows
	if written.err != nil {
		return shopping{}, written.err
	}
	if err := exact(result, b.HTTPShoppers, b.HTTPUnits); err != nil {
		return shopping{}, err
	}
	refusals, err := rush.Refusals(ctx, door, b.Doors, tokens[b.HTTPShoppers:], b.Refusing)
	if n, again := count(ctx); again != nil || n != b.HTTPUnits {
		err = errors.Join(err, again, fmt.Errorf("%d rows after all, want %d", n, b.HTTPUnits))
	}
	return shopping{written.after, refusals}, err
}

// shopOurs sells through the development server.
func (b *bench) shopOurs(ctx context.Context) (shopping, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	on := stampede.Servers{Redis: b.parts.RedisURL, Brokers: stage.Brokers(), Database: b.parts.DatabaseURL}
	s, err := stampede.OpenProcess(ctx, on, b.Dev, b.Doors, log)
	if err != nil {
		return shopping{}, err
	}
	defer s.Close()
	tokens, err := s.Login(ctx, b.HTTPShoppers+losers, io.Discard)
	if err != nil {
		return shopping{}, err
	}
	opens := time.Now().Add(lead).Truncate(time.Millisecond)
	if err := s.Start(ctx, b.HTTPUnits, opens, 0); err != nil {
		return shopping{}, err
	}
	cfg, _ := s.Attract(crowd.Config{})
	at, err := url.Parse(cfg.Target)
	if err != nil {
		return shopping{}, err
	}
	return b.shop(ctx, at.Host, fmt.Sprintf("/api/flash-sales/items/%d/purchase", cfg.Item), tokens, opens, cfg.Rows)
}

// shopRival starts a rival and sells there.
func (b *bench) shopRival(ctx context.Context, name string, tokens []string) (_ shopping, err error) {
	variable, err := rival.Config{
		Name: name, Redis: b.parts.RedisURL, Brokers: stage.Brokers(), Database: b.parts.DatabaseURL,
		Units: b.HTTPUnits, JWKS: b.jwks, Issuer: b.provider.Issuer(), Audience: audience,
	}.Environment()
	if err != nil {
		return shopping{}, err
	}
	program, err := os.Executable()
	if err != nil {
		return shopping{}, err
	}
	command := exec.Command(program) //nolint:gosec,noctx // ourselves, ended below
	command.Env, command.Stderr = append(os.Environ(), variable), os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	output, err := command.StdoutPipe()
	if err != nil {
		return shopping{}, err
	}
	if err := command.Start(); err != nil {
		return shopping{}, err
	}
	defer func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(20*time.Second, func() { _ = command.Process.Kill() })
		defer late.Stop()
		_ = command.Wait()
	}()
	line, err := bufio.NewReader(output).ReadString('\n')
	fields := strings.Fields(line)
	if err != nil || len(fields) != 3 {
		return shopping{}, fmt.Errorf("it is not ready: %q, %w", line, err)
	}
	pool, err := pgxpool.New(ctx, fields[2])
	if err != nil {
		return shopping{}, err
	}
	defer pool.Close()
	return b.shop(ctx, fields[1], rival.Path, tokens, time.Now(), func(ctx context.Context) (n int, err error) {
		err = pool.QueryRow(ctx, `SELECT count(*) FROM flash_sale_order`).Scan(&n)
		return n, err
	})
}
