import Foundation

extension StoreFixtures {
  /// Databases with all kinds of keys: a row id, a column that stands for the row id, and a primary key WITHOUT ROWID.
  static let tables: [StoreFixture] = [
    StoreFixture("rowid-alias") {
      try $0.exec(
        """
        CREATE TABLE alias(id INTEGER PRIMARY KEY, v TEXT);
        CREATE TABLE aliaslate(v TEXT, id INTEGER PRIMARY KEY, w TEXT);
        CREATE TABLE aliasasc(id INTEGER PRIMARY KEY ASC, v TEXT);
        CREATE TABLE notalias(id INTEGER PRIMARY KEY DESC, v TEXT);
        CREATE TABLE constrained(v TEXT, id INTEGER, PRIMARY KEY(id));
        CREATE TABLE constraineddesc(v TEXT, id INTEGER, PRIMARY KEY(id DESC));
        CREATE TABLE named(id INTEGER CONSTRAINT pk PRIMARY KEY ON CONFLICT REPLACE, v TEXT);
        CREATE TABLE shortint(id INT PRIMARY KEY, v TEXT);
        CREATE TABLE lower(id integer primary key, v text);
        CREATE TABLE quotedtype(id "INTEGER" PRIMARY KEY, v TEXT);
        CREATE TABLE sized(id INTEGER(8) PRIMARY KEY, v TEXT);
        CREATE TABLE pair(a INTEGER, b INTEGER, PRIMARY KEY(a, b));
        CREATE TABLE uniq(id INTEGER UNIQUE, v TEXT);
        """)
      for table in [
        "alias", "aliaslate", "aliasasc", "notalias", "constrained", "constraineddesc", "named",
        "shortint", "lower", "quotedtype", "sized", "uniq",
      ] {
        try $0.exec("INSERT INTO \(table)(id, v) VALUES(7, 'seven'), (-3, 'minus'), (900, NULL)")
      }
      try $0.exec("INSERT INTO pair VALUES(1, 2), (1, 3), (0, 9)")
      try $0.exec("INSERT INTO notalias(rowid, id, v) VALUES(77, 5, 'row 77')")
    },
    StoreFixture("rowid-hidden") {
      try $0.exec(
        """
        CREATE TABLE one(rowid TEXT, v TEXT);
        CREATE TABLE two(RowID TEXT, _rowid_ TEXT);
        CREATE TABLE three(rowid TEXT, _rowid_ TEXT, oid TEXT);
        CREATE TABLE threekey(rowid TEXT, _rowid_ TEXT, oid INTEGER PRIMARY KEY);
        INSERT INTO one(_rowid_, rowid, v) VALUES(40, 'a', 'b'), (-1, 'c', 'd');
        INSERT INTO two(oid, rowid, _rowid_) VALUES(5, 'a', 'b'), (2, 'c', 'd');
        INSERT INTO three VALUES('a', 'b', 'c'), ('d', 'e', 'f');
        INSERT INTO threekey VALUES('a', 'b', 30), ('d', 'e', 20);
        """)
    },
    StoreFixture("autoincrement") {
      try $0.exec(
        """
        CREATE TABLE auto(id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT);
        CREATE TABLE auto2(v TEXT, id INTEGER PRIMARY KEY AUTOINCREMENT);
        INSERT INTO auto(v) VALUES('a'), ('b'), ('c');
        INSERT INTO auto VALUES(9000000000, 'far');
        DELETE FROM auto WHERE id = 9000000000;
        INSERT INTO auto(v) VALUES('after');
        """)
    },
    StoreFixture("without-rowid", pageSize: 512) {
      try $0.exec(
        """
        CREATE TABLE simple(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
        CREATE TABLE late(a, b, k INTEGER, PRIMARY KEY(k)) WITHOUT ROWID;
        CREATE TABLE composite(a TEXT, b INTEGER, c REAL, d BLOB, PRIMARY KEY(c, a)) WITHOUT ROWID;
        CREATE TABLE descending(a INTEGER, b TEXT, v, PRIMARY KEY(b DESC, a)) WITHOUT ROWID;
        CREATE TABLE collated(k TEXT COLLATE NOCASE PRIMARY KEY, v TEXT COLLATE RTRIM) WITHOUT ROWID;
        CREATE TABLE collated2(a TEXT, b TEXT, v, PRIMARY KEY(a COLLATE NOCASE, b)) WITHOUT ROWID;
        CREATE TABLE redundant(a, b, c, PRIMARY KEY(b, a, b)) WITHOUT ROWID;
        CREATE TABLE twocollations(
          a TEXT, v, PRIMARY KEY(a COLLATE NOCASE, a COLLATE BINARY)) WITHOUT ROWID;
        CREATE TABLE uniq(a, b UNIQUE, c, PRIMARY KEY(c), UNIQUE(a, b)) WITHOUT ROWID;
        CREATE TABLE allkey(a, b, PRIMARY KEY(b, a)) WITHOUT ROWID;
        CREATE TABLE integerkey(id INTEGER PRIMARY KEY, v TEXT) WITHOUT ROWID;
        CREATE TABLE empty(k PRIMARY KEY, v) WITHOUT ROWID;
        """)
      let rows = (0..<300).map { number -> [FixtureValue] in
        [
          .string("key \(number * 7 % 300)"), .integer(Int64(number)), .real(Double(number) / 4),
          .blob(Noise.bytes(number % 40 == 0 ? 3000 : number % 90, salt: number)),
        ]
      }
      try $0.insert("INSERT INTO simple SELECT ?1, ?4 WHERE ?2 >= 0 AND ?3 >= 0", rows)
      try $0.insert("INSERT INTO late SELECT ?1, ?4, ?2 WHERE ?3 >= 0", rows)
      try $0.insert("INSERT INTO composite VALUES(?1, ?2, ?3, ?4)", rows)
      try $0.insert("INSERT INTO descending SELECT ?2 / 10, ?1, ?4 WHERE ?3 >= 0", rows)
      try $0.insert(
        "INSERT INTO collated SELECT upper(?1), ?1 || '  ' WHERE ?2 + ?3 >= length(?4) * 0", rows)
      try $0.insert("INSERT INTO collated2 SELECT ?1, ?2, ?4 WHERE ?3 >= 0", rows)
      try $0.insert("INSERT INTO redundant SELECT ?1, ?2, ?4 WHERE ?3 >= 0", rows)
      try $0.insert("INSERT INTO twocollations SELECT ?1, ?2 WHERE ?3 + length(?4) >= 0", rows)
      try $0.insert("INSERT INTO uniq SELECT ?1, ?2, ?3 WHERE length(?4) >= 0", rows)
      try $0.insert("INSERT INTO allkey SELECT ?1, ?4 WHERE ?2 + ?3 >= 0", rows)
      try $0.insert("INSERT INTO integerkey SELECT ?2 - 150, ?1 WHERE ?3 + length(?4) >= 0", rows)
      try $0.exec("DELETE FROM simple WHERE k LIKE '%3'")
    },
    StoreFixture("added-columns", addedColumns),
    StoreFixture("dropped-columns") {
      try $0.exec(
        """
        CREATE TABLE shrunk(id INTEGER PRIMARY KEY, a TEXT, b TEXT DEFAULT 'bee', c REAL, d BLOB);
        INSERT INTO shrunk(a, c, d) VALUES('one', 1, x'01'), ('two', 2.5, x'02');
        ALTER TABLE shrunk DROP COLUMN c;
        ALTER TABLE shrunk ADD COLUMN e INTEGER DEFAULT 5;
        INSERT INTO shrunk(a) VALUES('three');
        ALTER TABLE shrunk DROP COLUMN a;
        ALTER TABLE shrunk RENAME COLUMN b TO "bee column";
        ALTER TABLE shrunk RENAME TO "shrunk table";
        CREATE TABLE keyed(a, b, k PRIMARY KEY, c) WITHOUT ROWID;
        INSERT INTO keyed VALUES(1, 2, 'k1', 3), (4, 5, 'k2', 6);
        ALTER TABLE keyed DROP COLUMN a;
        ALTER TABLE keyed ADD COLUMN d TEXT DEFAULT 'late';
        INSERT INTO keyed VALUES(7, 'k0', 8, 'given');
        """)
    },
    StoreFixture("generated-columns") {
      try $0.exec(
        """
        CREATE TABLE made(
          id INTEGER PRIMARY KEY, w INTEGER, h INTEGER,
          area INTEGER GENERATED ALWAYS AS (w * h) STORED,
          label TEXT AS (w || ' by ' || h) VIRTUAL,
          twice AS (area * 2),
          last TEXT DEFAULT 'tail');
        CREATE INDEX made_label ON made(label);
        INSERT INTO made(w, h) VALUES(2, 3), (40, 50), (NULL, 1);
        ALTER TABLE made ADD COLUMN later TEXT AS (last || '!') VIRTUAL;
        ALTER TABLE made ADD COLUMN plain INTEGER DEFAULT 9;
        INSERT INTO made(w, h, last, plain) VALUES(1, 1, 'x', 10);
        CREATE TABLE madekey(a, b AS (a + 1) STORED, c AS (a - 1), k PRIMARY KEY) WITHOUT ROWID;
        INSERT INTO madekey(a, k) VALUES(1, 'x'), (5, 'a');
        """)
    },
    StoreFixture("strict") {
      try $0.exec(
        """
        CREATE TABLE exact(id INTEGER PRIMARY KEY, i INT, n INTEGER, r REAL, t TEXT, b BLOB, a ANY) STRICT;
        CREATE TABLE exactkey(k TEXT PRIMARY KEY, a ANY) STRICT, WITHOUT ROWID;
        INSERT INTO exact(i, n, r, t, b, a) VALUES(1, 2, 3, '4', x'05', '006'), ('7', 8.0, 9, 10, NULL, 11.0);
        INSERT INTO exactkey VALUES('k', '1'), ('j', 1);
        """)
    },
    StoreFixture("wide-2000-columns", wide),
    // In this database, the header of a record alone is longer than a page.
    StoreFixture("wide-page-512", pageSize: 512, wide),
  ]

  private static let wide: @Sendable (SQLiteConnection) throws -> Void = { connection in
    let columns = (0..<2000).map { "c\($0)" }
    try connection.exec("CREATE TABLE wide(\(columns.joined(separator: ", ")))")
    let given = (0..<2000).map { $0 % 3 == 0 ? "NULL" : $0 % 3 == 1 ? "\($0)" : "'text \($0)'" }
    try connection.exec("INSERT INTO wide VALUES(\(given.joined(separator: ", ")))")
    try connection.exec("INSERT INTO wide(c1999) VALUES('only the last')")
  }

  private static let addedColumns: @Sendable (SQLiteConnection) throws -> Void = { connection in
    let defaults = [
      "INTEGER DEFAULT 42", "INTEGER DEFAULT -7", "DEFAULT +3", "REAL DEFAULT 1.5",
      "REAL DEFAULT -2.25e-3", "TEXT DEFAULT 'it''s'", "BLOB DEFAULT x'00ff10'",
      "TEXT DEFAULT NULL", "INTEGER DEFAULT 0x10", "BOOLEAN DEFAULT TRUE",
      "BOOLEAN DEFAULT false", "TEXT DEFAULT \"double quoted\"", "TEXT DEFAULT 5",
      "INTEGER DEFAULT '7'", "REAL DEFAULT 1", "NUMERIC DEFAULT '3.0'", "INTEGER DEFAULT (5)",
      "TEXT DEFAULT bare", "INTEGER DEFAULT 9223372036854775808",
      "INTEGER DEFAULT -9223372036854775808", "TEXT NOT NULL DEFAULT ''", "", "REAL DEFAULT '1e2'",
      "INTEGER DEFAULT 'not a number'", "INTEGER DEFAULT 2.0", "INTEGER DEFAULT 2.5",
      "BLOB DEFAULT 'text in blob'", "TEXT DEFAULT 1.50", "TEXT DEFAULT x'4142'",
      "VARCHAR(20) DEFAULT 'sized' COLLATE NOCASE", "DECIMAL(10,2) DEFAULT 12.30",
      "FLOAT DEFAULT 3", "INTEGER CONSTRAINT named DEFAULT 8 CHECK(1)", "TEXT DEFAULT 'Grüße 😀'",
      "TEXT DEFAULT `backtick`", "TEXT DEFAULT [bracket]", "INTEGER DEFAULT - 5",
      "TEXT DEFAULT -5", "REAL DEFAULT -0.0", "INTEGER DEFAULT .5", "INTEGER DEFAULT 5.",
      "INTEGER DEFAULT 1e3",
    ]
    try connection.exec("CREATE TABLE grown(id INTEGER PRIMARY KEY, a TEXT)")
    try connection.exec("CREATE TABLE grownkey(k TEXT PRIMARY KEY, a TEXT) WITHOUT ROWID")
    for (number, definition) in defaults.enumerated() {
      try connection.exec("INSERT INTO grown(a) VALUES('before \(number)')")
      try connection.exec("INSERT INTO grownkey(k, a) VALUES('\(900 - number)', 'before')")
      try connection.exec("ALTER TABLE grown ADD COLUMN d\(number) \(definition)")
      try connection.exec("ALTER TABLE grownkey ADD COLUMN d\(number) \(definition)")
    }
    try connection.exec("INSERT INTO grown(a) VALUES('after all')")
  }
}
