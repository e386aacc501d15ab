-- +goose Up
-- One row per order, written in batches. There is no foreign key: it would lock
-- the item's row once per order, where the guard needs it once per batch. The
-- writer's join lets no order of an unknown item through, and items are never deleted.
CREATE TABLE flash_sale_order (
    id          uuid             NOT NULL,
    sale_id     bigint           NOT NULL,
    item_id     bigint           NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    status      text COLLATE "C" NOT NULL,
    reason      text,                     -- why it was REJECTED
    price_minor bigint           NOT NULL,
    currency    text             NOT NULL,
    reserved_at timestamptz      NOT NULL,
    created_at  timestamptz      NOT NULL,
    expires_at  timestamptz,              -- payBy: created_at and the payment window
    settled_at  timestamptz,              -- when it was paid, expired, cancelled or rejected
    CONSTRAINT pk_order PRIMARY KEY (id),
    CONSTRAINT chk_order_state CHECK (status IN ('PENDING', 'PAID', 'EXPIRED', 'CANCELLED', 'REJECTED')),
    CONSTRAINT chk_rejected_says_why CHECK ((status = 'REJECTED') = (reason IS NOT NULL)),
    CONSTRAINT chk_rejected_is_not_payable CHECK ((status = 'REJECTED') = (expires_at IS NULL)),
    CONSTRAINT chk_pending_is_not_settled CHECK ((status = 'PENDING') = (settled_at IS NULL)),
    CONSTRAINT chk_user_id_length CHECK (octet_length(user_id) BETWEEN 1 AND 255)
);

-- One product per shopper per sale, over all its items. Partial: who let an
-- order expire or cancelled it may buy again.
CREATE UNIQUE INDEX uq_sale_user_active ON flash_sale_order (sale_id, user_id)
    WHERE status IN ('PENDING', 'PAID');

-- The expirer's scan: unpaid orders, the longest waiting first.
CREATE INDEX ix_order_unpaid ON flash_sale_order (expires_at) WHERE status = 'PENDING';

-- A shopper's orders; the included columns let a report count a sale from the index alone.
CREATE INDEX ix_order_of_shopper ON flash_sale_order (sale_id, user_id) INCLUDE (item_id, status);
