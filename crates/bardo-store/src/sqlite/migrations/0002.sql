-- The name of these books, by which their journal knows them, and the number of the last entry of
-- the journal that is in here.
CREATE TABLE ledger (
    no INTEGER PRIMARY KEY CHECK (no = 1),
    name BLOB NOT NULL CHECK (length(name) = 16),
    applied INTEGER NOT NULL CHECK (applied >= 0)
) STRICT;
INSERT INTO ledger (no, name, applied) VALUES (1, randomblob(16), 0);

-- Entries of the journal that no row may say. There is none, unless something else wrote in here.
CREATE TABLE refused (
    seq INTEGER PRIMARY KEY,
    why TEXT NOT NULL,
    entry BLOB NOT NULL
) STRICT;
