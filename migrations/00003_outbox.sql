-- +goose Up
-- Units to give back in Redis: written with the order's end, deleted once given back.
CREATE TABLE stock_release (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    order_id   uuid        NOT NULL,
    sale_id    bigint      NOT NULL,
    user_id    text        NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT pk_release PRIMARY KEY (id),
    CONSTRAINT uq_one_release_per_order UNIQUE (order_id)
);

-- What the shop is told about its orders. Published rows stay as an order's history.
CREATE TABLE order_event (
    id           bigint GENERATED ALWAYS AS IDENTITY,
    order_id     uuid        NOT NULL,
    sale_id      bigint      NOT NULL,
    kind         text        NOT NULL,
    at           timestamptz NOT NULL,
    payload      json        NOT NULL, -- written once, never searched: cheaper than jsonb
    published_at timestamptz,
    CONSTRAINT pk_order_event PRIMARY KEY (id),
    CONSTRAINT chk_event_kind CHECK (kind IN ('placed', 'paid', 'expired', 'cancelled', 'rejected', 'refund_due'))
);

CREATE INDEX ix_event_unpublished ON order_event (id) WHERE published_at IS NULL;
CREATE INDEX ix_event_of_order ON order_event (order_id);

-- What every event says of its order, in one place for all that write one.
-- STABLE as the functions it calls: only so is it inlined into their statements.
CREATE FUNCTION order_event_payload(o flash_sale_order) RETURNS json LANGUAGE sql STABLE AS
$$ SELECT json_strip_nulls(json_build_object('itemId', o.item_id, 'userId', o.user_id,
    'priceMinor', o.price_minor, 'currency', o.currency, 'reason', o.reason)) $$;
