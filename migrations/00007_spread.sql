-- +goose Up
-- Shoppers are admitted over this time, all of them before the sale closes.
ALTER TABLE flash_sale
    ADD COLUMN spread interval NOT NULL DEFAULT interval '0',
    ADD CONSTRAINT chk_spread_is_not_negative CHECK (spread >= interval '0'),
    ADD CONSTRAINT chk_window_outlasts_spread CHECK (closes_at > opens_at + spread OR closed_at IS NOT NULL);
