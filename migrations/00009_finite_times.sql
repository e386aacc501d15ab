-- +goose Up
-- PostgreSQL knows times without end, and no function can read them: one typed by a
-- hand would keep its sale, or all sales, from being looked after.
ALTER TABLE flash_sale
    ADD CONSTRAINT chk_sale_times_are_finite CHECK (isfinite(opens_at) AND isfinite(closes_at)
        AND isfinite(payment_window) AND isfinite(grace) AND isfinite(spread));
ALTER TABLE flash_sale_order
    ADD CONSTRAINT chk_order_times_are_finite CHECK (isfinite(reserved_at) AND isfinite(created_at)
        AND isfinite(expires_at) AND isfinite(settled_at));
