-- Tokens that providers read from and wrote to their prompt caches, and the saving in 10^-6 USD, which
-- is below zero where the premium of writes was higher. Earlier receipts have zeros.
ALTER TABLE receipts ADD COLUMN cache_read_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE receipts ADD COLUMN cache_written_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE receipts ADD COLUMN cache_saved INTEGER NOT NULL DEFAULT 0;
