-- +goose Up
-- Who did what to a sale.
CREATE TABLE operator_action (
    id      bigint GENERATED ALWAYS AS IDENTITY,
    at      timestamptz NOT NULL,
    actor   text        NOT NULL,
    action  text        NOT NULL,
    sale_id bigint      NOT NULL,
    detail  text        NOT NULL DEFAULT '',
    CONSTRAINT pk_operator_action PRIMARY KEY (id)
);

CREATE INDEX ix_action_on_sale ON operator_action (sale_id, id);
