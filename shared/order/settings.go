package order

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// Settings reads what governs the sale's shards: one version, one snapshot.
func (s *Store) Settings(ctx context.Context, id sale.ID) (sale.Settings, error) {
	var set sale.Settings
	err := s.pool.QueryRow(ctx, `
		SELECT settings_version, opens_at, closes_at,
		       ARRAY(SELECT reason FROM flash_sale_pause WHERE sale_id = s.id AND reason <> 'doubt' ORDER BY reason),
		       ARRAY(SELECT item_id FROM flash_sale_pause WHERE sale_id = s.id AND reason = 'doubt' ORDER BY item_id)
		FROM flash_sale s WHERE id = $1::bigint`, int64(id)).
		Scan(&set.Version, &set.OpensAt, &set.ClosesAt, &set.Paused, &set.Doubts)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrUnknownSale
	}
	set.OpensAt, set.ClosesAt = set.OpensAt.UTC(), set.ClosesAt.UTC()
	return set, wrap("settings", err)
}

// Pause stops the sale for that reason. A reason that already stands stays as it is.
func (s *Store) Pause(ctx context.Context, id sale.ID, reason sale.PauseReason, by string) error {
	return wrap("pause", s.steer(ctx, id, by, "pause", string(reason), `
		INSERT INTO flash_sale_pause (sale_id, reason, since, by, settings_version)
		SELECT id, $2::text, COALESCE($3::timestamptz, now()), $4::text, settings_version + 1
		FROM flash_sale WHERE id = $1::bigint
		ON CONFLICT DO NOTHING`, string(reason), s.now(), by))
}

// Resume lifts that reason; the sale sells once no other one stands.
func (s *Store) Resume(ctx context.Context, id sale.ID, reason sale.PauseReason, by string) error {
	return wrap("resume", s.steer(ctx, id, by, "resume", string(reason), `
		DELETE FROM flash_sale_pause WHERE sale_id = $1::bigint AND reason = $2::text`, string(reason)))
}

// Close ends the purchases now. Unpaid orders keep their window. A sale that is
// over stays as it is.
func (s *Store) Close(ctx context.Context, id sale.ID, by string) error {
	return wrap("close", s.steer(ctx, id, by, "close", "", `
		UPDATE flash_sale SET closes_at = c.now, closed_at = c.now
		FROM (SELECT date_trunc('milliseconds', COALESCE($2::timestamptz, now())) AS now) c
		WHERE id = $1::bigint AND closes_at > c.now`, s.now()))
}

// Doubt stops one item: Redis and the rows disagree about it. A doubt that
// stands already is made anew, so that a reconcile pass under way does not lift it.
func (s *Store) Doubt(ctx context.Context, id sale.ID, item sale.ItemID) error {
	err := s.change(ctx, func(tx pgx.Tx) error {
		marked, err := s.doubt(ctx, tx, []int64{int64(id)}, []int64{int64(item)})
		if err == nil && marked == 0 {
			err = ErrUnknownSale
		}
		return err
	})
	return wrap("doubt", err)
}

// doubt marks items, each with its sale, and tells how many it found.
func (s *Store) doubt(ctx context.Context, tx pgx.Tx, sales, items []int64) (int64, error) {
	tag, err := tx.Exec(ctx, `
		WITH doubted AS (
			SELECT i.id, i.sale_id FROM flash_sale_item i
			JOIN unnest($1::bigint[], $2::bigint[]) AS p (sale_id, id) ON i.sale_id = p.sale_id AND i.id = p.id
		), bumped AS (
			UPDATE flash_sale SET settings_version = settings_version + 1
			WHERE id IN (SELECT sale_id FROM doubted)
			RETURNING id, settings_version
		)
		INSERT INTO flash_sale_pause (sale_id, reason, item_id, since, by, settings_version)
		SELECT d.sale_id, 'doubt', d.id, COALESCE($3::timestamptz, now()), 'guard', b.settings_version
		FROM doubted d JOIN bumped b ON b.id = d.sale_id
		ORDER BY d.id
		ON CONFLICT ON CONSTRAINT uq_one_pause_per_reason
		DO UPDATE SET since = EXCLUDED.since, settings_version = EXCLUDED.settings_version`, sales, items, s.now())
	return tag.RowsAffected(), err
}

// LiftDoubts lifts the doubts that stood in the settings of version seen. A
// reconcile pass reads the settings first and lifts at its end: what was doubted
// meanwhile waits for the next pass.
func (s *Store) LiftDoubts(ctx context.Context, id sale.ID, seen int64, by string) error {
	return wrap("lift doubts", s.steer(ctx, id, by, "lift doubts", "", `
		DELETE FROM flash_sale_pause
		WHERE sale_id = $1::bigint AND reason = 'doubt' AND settings_version <= $2::bigint`, seen))
}

// BeginRebuild pauses the sale for a rebuild and returns the version that [Store.EndRebuild] is to be
// told. With anew a pause that stands already is made anew: Redis has lost the sale once more, and
// the rebuild of the loss before must not lift it.
func (s *Store) BeginRebuild(ctx context.Context, id sale.ID, anew bool, by string) (seen int64, err error) {
	if anew {
		err = wrap("begin rebuild", s.steer(ctx, id, by, "pause", string(sale.PausedByRebuild), `
			INSERT INTO flash_sale_pause (sale_id, reason, since, by, settings_version)
			SELECT id, 'rebuild', COALESCE($2::timestamptz, now()), $3::text, settings_version + 1
			FROM flash_sale WHERE id = $1::bigint
			ON CONFLICT ON CONSTRAINT uq_one_pause_per_reason
			DO UPDATE SET settings_version = EXCLUDED.settings_version`, s.now(), by))
	} else {
		err = s.Pause(ctx, id, sale.PausedByRebuild, by)
	}
	if err != nil {
		return 0, err
	}
	settings, err := s.Settings(ctx, id)
	return settings.Version, err
}

// EndRebuild lifts the pause of the rebuild that began with the version seen, unless it was made
// anew since: then whoever did so lifts it.
func (s *Store) EndRebuild(ctx context.Context, id sale.ID, seen int64, by string) error {
	return wrap("end rebuild", s.steer(ctx, id, by, "resume", string(sale.PausedByRebuild), `
		DELETE FROM flash_sale_pause
		WHERE sale_id = $1::bigint AND reason = 'rebuild' AND settings_version <= $2::bigint`, seen))
}

// RaiseSettings gives the settings a version above seen, which a shard has, if
// they have none yet: a restored database is behind Redis, and would be ignored.
func (s *Store) RaiseSettings(ctx context.Context, id sale.ID, seen int64) error {
	return wrap("raise settings", s.change(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			UPDATE flash_sale SET settings_version = $2::bigint + 1
			WHERE id = $1::bigint AND settings_version < $2::bigint`, int64(id), seen)
		return err
	}))
}

// steer runs a statement that changes a sale's settings; $1 is the sale. Only if
// it touched a row is the version raised and the action noted. Nothing governs an
// archived sale.
func (s *Store) steer(ctx context.Context, id sale.ID, by, action, detail, statement string, args ...any) error {
	return s.change(ctx, func(tx pgx.Tx) error {
		// The sale's row first: versions then follow the changes' own sequence.
		var archived bool
		err := tx.QueryRow(ctx, `
			SELECT archived_at IS NOT NULL FROM flash_sale WHERE id = $1::bigint FOR NO KEY UPDATE`, int64(id)).Scan(&archived)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return ErrUnknownSale
		case err != nil:
			return err
		case archived:
			return ErrArchived
		}
		tag, err := tx.Exec(ctx, statement, append([]any{int64(id)}, args...)...)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE flash_sale SET settings_version = settings_version + 1 WHERE id = $1::bigint`, int64(id))
		if err != nil {
			return err
		}
		return s.audit(ctx, tx, id, by, action, detail)
	})
}

// Note writes down that somebody is about to do something to a sale that leaves
// no row itself. The note comes first: what was done is then never unnoted.
func (s *Store) Note(ctx context.Context, id sale.ID, by, action string) error {
	err := s.change(ctx, func(tx pgx.Tx) error {
		var archived bool
		err := tx.QueryRow(ctx, `SELECT archived_at IS NOT NULL FROM flash_sale WHERE id = $1::bigint`, int64(id)).Scan(&archived)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return ErrUnknownSale
		case err != nil:
			return err
		case archived:
			return ErrArchived
		}
		return s.audit(ctx, tx, id, by, action, "")
	})
	return wrap("note", err)
}

// audit notes who did what, in the transaction that does it.
func (s *Store) audit(ctx context.Context, tx pgx.Tx, id sale.ID, by, action, detail string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO operator_action (at, actor, action, sale_id, detail)
		VALUES (COALESCE($1::timestamptz, now()), $2::text, $3::text, $4::bigint, $5::text)`,
		s.now(), by, action, int64(id), detail)
	return err
}
