"""chain_anew.py LEDGER SQL: runs SQL on a ledger and makes it one of layout 4, as its owner could: the next
opening migrates it, and begins its chain with what is there then."""
import os
import sqlite3
import sys

ledger = sqlite3.connect(sys.argv[1])
ledger.executescript(sys.argv[2])
ledger.executescript("""
DROP TABLE chain; DROP TABLE contents; DROP TABLE public_files; DROP INDEX charges_costs;
CREATE TABLE spent AS SELECT account, epsilon, delta, count(*) AS answers FROM charges WHERE payment IS NULL GROUP BY 1, 2, 3;
ALTER TABLE people RENAME COLUMN hash TO id_hash; ALTER TABLE results RENAME COLUMN id TO payment;
ALTER TABLE sessions RENAME COLUMN id TO payment; PRAGMA user_version = 4;
""")
ledger.close()
os.chmod(sys.argv[1], 0o600)
