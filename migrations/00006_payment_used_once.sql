-- +goose Up
-- A payment's money is used once, however many events carry it: it pays an order
-- or it is due back, never both. This replaces the rule for paid alone.
DROP INDEX uq_payment_pays_once;
CREATE UNIQUE INDEX uq_payment_used_once ON payment (payment_id) WHERE outcome IN ('paid', 'refund_due');
