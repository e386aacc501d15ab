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
    payload      jsonb       NOT NULL,
    published_at timestamptz,
    CONSTRAINT pk_order_event PRIMARY KEY (id),
    CONSTRAINT chk_event_kind CHECK (kind IN ('placed', 'paid', 'expired', 'cancelled', 'rejected', 'refund_due'))
);

CREATE INDEX ix_event_unpublished ON order_event (id) WHERE published_at IS NULL;
CREATE INDEX ix_event_of_order ON order_event (order_id);

-- What every event says of its order, in one place for all that write one.
CREATE FUNCTION order_event_payload(o flash_sale_order) RETURNS jsonb LANGUAGE sql IMMUTABLE AS
$$ SELECT jsonb_strip_nulls(jsonb_build_object('itemId', o.item_id, 'userId', o.user_id,
    'priceMinor', o.price_minor, 'currency', o.currency, 'reason', o.reason)) $$;
