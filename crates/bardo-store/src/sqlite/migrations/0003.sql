-- What operators sum and filter by, and whether the cost of a request is known: where it is not,
-- `provider_cost` is 0. Earlier receipts stay as they are, so that a large file is opened at once.
ALTER TABLE receipts ADD COLUMN subsystem TEXT;
ALTER TABLE receipts ADD COLUMN session TEXT;
ALTER TABLE receipts ADD COLUMN cost_unknown INTEGER NOT NULL DEFAULT 0;
