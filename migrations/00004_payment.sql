-- +goose Up
-- Every verified webhook event, once. The order may be unknown: no foreign key.
CREATE TABLE payment (
    webhook_id   text        NOT NULL,
    payment_id   text        NOT NULL,
    order_id     uuid        NOT NULL,
    sale_id      bigint      NOT NULL, -- the order id names it
    type         text        NOT NULL,
    amount_minor bigint      NOT NULL,
    currency     text        NOT NULL,
    received_at  timestamptz NOT NULL,
    outcome      text        NOT NULL,
    refund_due   boolean     NOT NULL DEFAULT false,
    CONSTRAINT pk_payment_event PRIMARY KEY (webhook_id),
    CONSTRAINT chk_payment_outcome CHECK (outcome IN ('waiting', 'paid', 'duplicate', 'failed', 'refund_due')),
    CONSTRAINT chk_refund_has_its_outcome CHECK (outcome = 'refund_due' OR NOT refund_due)
);

-- An order is paid once, and one payment pays one order.
CREATE UNIQUE INDEX uq_order_paid_once ON payment (order_id) WHERE outcome = 'paid';
CREATE UNIQUE INDEX uq_payment_pays_once ON payment (payment_id) WHERE outcome = 'paid';
CREATE INDEX ix_payment_of_order ON payment (order_id);
CREATE INDEX ix_refund_due ON payment (sale_id) WHERE refund_due;
