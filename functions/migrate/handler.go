// Package migrate brings the database to the newest schema, and the role that
// the functions log in as to its rights. It runs once per deployment, before the
// functions that need the schema; running it again or twice at once is harmless.
package migrate

import (
	"context"
	"encoding/json"

	"flashsale/migrations"
	"flashsale/shared/config"
)

// Config is what the function takes from its environment.
type Config struct {
	config.Postgres
	config.DatabaseRole
}

// A Handler applies the migrations to one database.
type Handler struct {
	DatabaseURL string          // a postgres:// address whose user may change the schema
	Role        migrations.Role // for the other functions; without a name they have one of their own
}

// Invoke takes any event and answers {"applied":n}: how many files were new.
func (h *Handler) Invoke(ctx context.Context, _ []byte) ([]byte, error) {
	applied, err := migrations.Up(ctx, h.DatabaseURL)
	if err != nil {
		return nil, err
	}
	if h.Role.Name != "" {
		if err := h.Role.Grant(ctx, h.DatabaseURL); err != nil {
			return nil, err
		}
	}
	return json.Marshal(struct {
		Applied int `json:"applied"`
	}{applied})
}
