-- Old receipts are found without reading all: they lie in the order in which they were kept.
CREATE INDEX receipts_by_age ON bardo.receipts USING brin (at_ms);
