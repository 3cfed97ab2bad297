import Foundation

extension StoreFixtures {
  /// Databases whose schemas contain more than plain tables, or are written in unusual ways.
  static let schema: [StoreFixture] = [
    StoreFixture("big-schema", pageSize: 512) { connection in
      try connection.exec("BEGIN")
      for number in 0..<200 {
        try connection.exec(
          """
          CREATE TABLE table_number_\(number)(
            id INTEGER PRIMARY KEY, -- column \(number)
            name VARCHAR(\(number)), amount DECIMAL(10, 2) DEFAULT \(number));
          CREATE INDEX index_number_\(number) ON table_number_\(number)(name);
          INSERT INTO table_number_\(number)(name) VALUES('row in \(number)');
          """)
      }
      // A table whose definition alone needs overflow pages.
      let columns = (0..<300).map { "a_rather_long_column_name_\($0) INTEGER" }
      try connection.exec("CREATE TABLE long_definition(\(columns.joined(separator: ", ")))")
      try connection.exec("INSERT INTO long_definition(a_rather_long_column_name_7) VALUES(7)")
      try connection.exec("COMMIT")
    },
    StoreFixture("odd-names", oddNames),
    StoreFixture("indexes-views-triggers") {
      try $0.exec(
        """
        CREATE TABLE base(id INTEGER PRIMARY KEY, a TEXT, b INTEGER, c REAL);
        CREATE INDEX plain ON base(a);
        CREATE UNIQUE INDEX partial ON base(b) WHERE b > 10;
        CREATE INDEX expression ON base(lower(a) || b, c * 2);
        CREATE INDEX descending ON base(a DESC, b ASC, c COLLATE NOCASE DESC);
        CREATE VIEW looking AS SELECT a, sum(b) AS total FROM base GROUP BY a;
        CREATE TABLE audit(what TEXT, at TEXT);
        CREATE TRIGGER noticed AFTER INSERT ON base WHEN new.b > 5 BEGIN
          INSERT INTO audit VALUES('inserted ' || new.id, 'a;b');
        END;
        CREATE TRIGGER throughview INSTEAD OF INSERT ON looking BEGIN
          INSERT INTO base(a, b) VALUES(new.a, 1);
        END;
        WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 500)
        INSERT INTO base(a, b, c) SELECT 'Name ' || i % 40, i, i / 3.0 FROM c;
        CREATE TABLE vacant(a, b, c);
        ANALYZE;
        """)
    },
    StoreFixture("created-as-select") {
      try numberedRows($0, count: 50)
      try $0.exec(
        """
        CREATE TABLE chosen AS
          SELECT id, upper(note) AS "up per", half, NULL AS void, 'x' || id, x'01' AS b, half + 0
          FROM numbered WHERE id > 25;
        CREATE TABLE chosentypes AS SELECT CAST(id AS TEXT) AS t, CAST(half AS REAL) AS r FROM numbered;
        """)
    },
    StoreFixture("virtual-tables") {
      try $0.exec(
        """
        CREATE TABLE ordinary(id INTEGER PRIMARY KEY, body TEXT);
        INSERT INTO ordinary VALUES(1, 'one'), (2, 'two');
        """)
      let options = try $0.rows("PRAGMA compile_options").compactMap(\.first)
      if options.contains(.string("ENABLE_FTS5")) {
        try $0.exec(
          """
          CREATE VIRTUAL TABLE search USING fts5(title, body, prefix='2 3');
          INSERT INTO search VALUES('first title', 'some words to find'), ('second', 'more words');
          DELETE FROM search WHERE rowid = 1;
          INSERT INTO search VALUES('third', 'words again');
          """)
      }
      if options.contains(.string("ENABLE_FTS4")) || options.contains(.string("ENABLE_FTS3")) {
        try $0.exec(
          """
          CREATE VIRTUAL TABLE oldsearch USING fts4(subject, content);
          INSERT INTO oldsearch VALUES('subject', 'the content of it');
          """)
      }
      if options.contains(.string("ENABLE_RTREE")) {
        try $0.exec(
          """
          CREATE VIRTUAL TABLE places USING rtree(id, minx, maxx, miny, maxy, +name TEXT);
          INSERT INTO places VALUES(1, 0, 1, 0, 1, 'origin'), (2, 5, 6, 5, 6, 'away');
          """)
      }
    },
    StoreFixture("core-data-shape") { try fillNotes($0, count: 500) },
  ]

  private static let oddNames: @Sendable (SQLiteConnection) throws -> Void = { connection in
    try connection.exec(
      #"""
      CREATE TABLE "with space"("a b" TEXT, "c,d" INTEGER, "e(f" REAL, "g)h" BLOB);
      CREATE TABLE "quote""inside"("say ""hi""" TEXT, 'single' TEXT);
      CREATE TABLE [brackets here]([col umn] TEXT, [a,b] DECIMAL(10,2));
      CREATE TABLE `back``tick`(`c``d` TEXT);
      CREATE TABLE 'single''quoted'('it''s' TEXT);
      CREATE TABLE "select"("from" TEXT, "where" INTEGER, "primary" TEXT, "constraint" TEXT);
      CREATE TABLE "Größe 日本 😀"("naïve" TEXT, "ключ" INTEGER PRIMARY KEY);
      CREATE TABLE /* before the name */ commented -- after it
      ( -- (first
        a TEXT, -- , not a column
        /* b INTEGER, */ c INTEGER /* ) */ DEFAULT 4,
        d TEXT DEFAULT '-- no comment' -- , last
      );
      CREATE TABLE typed(
        plain, dec DECIMAL(10,2), neg NUMERIC(-5,+3), words UNSIGNED BIG INT,
        dbl DOUBLE PRECISION, chr CHARACTER VARYING(255), pointy "FLOATING POINT", q 'TEXT',
        br [BLOB], charint CHARINT, bool BOOLEAN, "t" "VARCHAR(20)");
      CREATE TABLE checked(
        a INTEGER CHECK(a IN (1, 2, 3) AND (a + (2 * (a))) > 0),
        b TEXT CHECK(b <> ')' AND length(b) < (10 + 5)) COLLATE NOCASE,
        c TEXT DEFAULT (')' || '(') NOT NULL,
        d INTEGER REFERENCES checked(a) ON DELETE SET NULL ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED,
        e TEXT DEFAULT 'a,b' UNIQUE ON CONFLICT REPLACE,
        CHECK(a < 100 OR b = 'x,y'), CONSTRAINT "odd (one" UNIQUE(a, b),
        FOREIGN KEY(a) REFERENCES typed(dec) MATCH SIMPLE);
      create table if not exists lowercase(id integer not null primary key autoincrement, v text null);
      CREATE TABLE main.qualified("main.x" TEXT);
      CREATE TABLE keywordtypes(a GENERATED, key TEXT, "rowid" TEXT, replace INT, [temp] TEXT);
      CREATE TABLE tight(a,b INT,c"TEXT",d[INT]);
      INSERT INTO "with space" VALUES('a', 2, 3, x'04');
      INSERT INTO "quote""inside" VALUES('x', 'y');
      INSERT INTO [brackets here] VALUES('x', '12.50');
      INSERT INTO `back``tick` VALUES('tick');
      INSERT INTO 'single''quoted' VALUES('s');
      INSERT INTO "select" VALUES('f', 1, 'p', 'c');
      INSERT INTO "Größe 日本 😀" VALUES('ü', 12), ('ö', 3);
      INSERT INTO commented(a) VALUES('row');
      INSERT INTO typed VALUES('1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1', '1');
      INSERT INTO typed VALUES(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2);
      INSERT INTO typed VALUES(1.5, '1.50', 3.0, '7.0', 7, 7.5, 9, 9.5, 10, '1e2', 0, 0.25);
      INSERT INTO checked(a, b) VALUES(1, 'one'), (2, 'x,y');
      INSERT INTO lowercase(v) VALUES('v');
      INSERT INTO qualified VALUES('q');
      INSERT INTO keywordtypes VALUES(1, 'k', 'r', 2, 't');
      INSERT INTO tight VALUES(1, 2, 3, 4);
      """#)
  }
}
