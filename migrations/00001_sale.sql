-- +goose Up
-- A sale as its operator described it, and where it stands.
CREATE TABLE flash_sale (
    id               bigint      NOT NULL,
    name             text        NOT NULL,
    opens_at         timestamptz NOT NULL,
    closes_at        timestamptz NOT NULL,
    closed_at        timestamptz,          -- an operator ended it early
    payment_window   interval    NOT NULL,
    grace            interval    NOT NULL,
    shards           integer     NOT NULL,
    definition       text        NOT NULL, -- the sale file as given: a second create is judged by it
    ledger_version   bigint      NOT NULL DEFAULT 1,
    settings_version bigint      NOT NULL DEFAULT 1,
    loaded_at        timestamptz,          -- set before the first load: from then on it is rebuilt, never loaded
    archived_at      timestamptz,
    created_at       timestamptz NOT NULL,
    CONSTRAINT pk_sale PRIMARY KEY (id),
    CONSTRAINT chk_sale_id_fits_order_id CHECK (id BETWEEN 1 AND 4294967295),
    CONSTRAINT chk_window_is_not_empty CHECK (closes_at > opens_at OR closed_at IS NOT NULL),
    CONSTRAINT chk_payment_takes_time CHECK (payment_window > interval '0' AND grace >= interval '0'),
    CONSTRAINT chk_at_least_one_shard CHECK (shards >= 1)
);

-- What stops a sale, or one item of it. Each row must be lifted by itself.
CREATE TABLE flash_sale_pause (
    sale_id          bigint      NOT NULL,
    reason           text        NOT NULL,
    item_id          bigint,
    since            timestamptz NOT NULL,
    by               text        NOT NULL,
    settings_version bigint      NOT NULL, -- the version that this row made
    CONSTRAINT fk_pause_of_sale FOREIGN KEY (sale_id) REFERENCES flash_sale (id),
    CONSTRAINT uq_one_pause_per_reason UNIQUE NULLS NOT DISTINCT (sale_id, reason, item_id),
    CONSTRAINT chk_pause_reason CHECK (reason IN ('operator', 'rebuild', 'doubt')),
    CONSTRAINT chk_only_doubt_names_item CHECK ((reason = 'doubt') = (item_id IS NOT NULL))
);

-- sold counts the item's PENDING and PAID orders. It changes with every batch,
-- so its pages keep room for updates in place.
CREATE TABLE flash_sale_item (
    id          bigint  NOT NULL,
    sale_id     bigint  NOT NULL,
    product_id  bigint  NOT NULL,
    name        text    NOT NULL,
    price_minor bigint  NOT NULL,
    currency    text    NOT NULL,
    quantity    integer NOT NULL,
    sold        integer NOT NULL DEFAULT 0,
    CONSTRAINT pk_item PRIMARY KEY (id),
    CONSTRAINT fk_item_of_sale FOREIGN KEY (sale_id) REFERENCES flash_sale (id),
    CONSTRAINT uq_item_in_sale UNIQUE (sale_id, id),
    CONSTRAINT chk_item_id_is_positive CHECK (id >= 1),
    CONSTRAINT chk_price_is_positive CHECK (price_minor > 0),
    CONSTRAINT chk_currency_is_a_code CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT chk_quantity_is_positive CHECK (quantity >= 1),
    CONSTRAINT chk_not_oversold CHECK (sold BETWEEN 0 AND quantity)
) WITH (fillfactor = 50);

-- How an item's units are divided over the sale's shards.
CREATE TABLE flash_sale_quota (
    item_id bigint  NOT NULL,
    sale_id bigint  NOT NULL,
    shard   integer NOT NULL,
    quota   integer NOT NULL,
    CONSTRAINT pk_quota PRIMARY KEY (sale_id, item_id, shard),
    CONSTRAINT fk_quota_of_item FOREIGN KEY (sale_id, item_id) REFERENCES flash_sale_item (sale_id, id),
    CONSTRAINT chk_shard_is_not_negative CHECK (shard >= 0),
    CONSTRAINT chk_quota_is_not_negative CHECK (quota >= 0)
);
