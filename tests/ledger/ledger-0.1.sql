BEGIN TRANSACTION;
CREATE TABLE budget (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  epsilon TEXT NOT NULL,
  neighbours TEXT NOT NULL,
  time TEXT NOT NULL,
  version TEXT NOT NULL
);
INSERT INTO "budget" VALUES(1,'payroll','3','replace-one','2026-11-18T07:02:21.571+00:00','0.1.0');
INSERT INTO "budget" VALUES(2,'Payroll','1/3','add-remove-row','2026-11-18T07:02:21.615+00:00','0.1.0');
INSERT INTO "budget" VALUES(3,'graph','0.7','add-remove-edge','2026-11-18T07:02:21.643+00:00','0.1.0');
CREATE TABLE charge (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  budget TEXT NOT NULL REFERENCES budget (name),
  epsilon TEXT NOT NULL,
  rho TEXT NOT NULL,
  query TEXT NOT NULL,
  mechanism TEXT NOT NULL,
  neighbours TEXT NOT NULL,
  analyst TEXT NOT NULL,
  dataset TEXT NOT NULL,
  time TEXT NOT NULL,
  version TEXT NOT NULL
);
INSERT INTO "charge" VALUES(1,'payroll','0.1','0.005','percentile-label p=50','em','replace-one','ana','salaries.csv','2026-11-18T07:02:21.683+00:00','0.1.0');
INSERT INTO "charge" VALUES(2,'Payroll','1/7','1/98','most-frequent','','add-remove-row','ben','','2026-11-18T07:02:21.697+00:00','0.1.0');
INSERT INTO "charge" VALUES(3,'payroll','1.3','0.2','','','replace-one','','','2026-11-18T07:02:21.720+00:00','0.1.0');
INSERT INTO "charge" VALUES(4,'graph','0.7','0.245','top-k é','','add-remove-edge','Ana','','2026-11-18T07:02:21.743+00:00','0.1.0');
CREATE INDEX charge_sums ON charge (budget, epsilon);
CREATE TRIGGER budget_keeps_values BEFORE UPDATE ON budget
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER budget_keeps_rows BEFORE DELETE ON budget
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER budget_keeps_keys BEFORE INSERT ON budget
  WHEN EXISTS (SELECT 1 FROM budget WHERE name = NEW.name)
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER charge_keeps_values BEFORE UPDATE ON charge
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER charge_keeps_rows BEFORE DELETE ON charge
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER charge_keeps_keys BEFORE INSERT ON charge
  WHEN EXISTS (SELECT 1 FROM charge WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('budget',3);
INSERT INTO "sqlite_sequence" VALUES('charge',4);
COMMIT;
PRAGMA application_id = 1684106608;
PRAGMA user_version = 1;
