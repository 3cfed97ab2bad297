import Foundation

extension StoreFixtures {
  /// Databases with different page sizes, reserved bytes, vacuum modes, depths of b-trees and free space.
  static let layout: [StoreFixture] =
    [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536].map { size in
      StoreFixture("page-\(size)", pageSize: size) { try fillAroundThresholds($0, usable: size) }
    } + [
      StoreFixture("reserved-8-of-4096", reserved: 8) {
        try fillAroundThresholds($0, usable: 4088)
      },
      StoreFixture("reserved-32-of-512", pageSize: 512, reserved: 32) {
        try fillAroundThresholds($0, usable: 480)
      },
      StoreFixture("reserved-255-of-1024", pageSize: 1024, reserved: 255) {
        try fillAroundThresholds($0, usable: 769)
      },
      StoreFixture("auto-vacuum-full", pageSize: 512, pragmas: "PRAGMA auto_vacuum = FULL") {
        try fillAroundThresholds($0, usable: 512)
        try numberedRows($0, count: 6000)
        try $0.exec("DELETE FROM numbered WHERE id % 3 = 0")
      },
      StoreFixture(
        "auto-vacuum-incremental", pageSize: 512, pragmas: "PRAGMA auto_vacuum = INCREMENTAL"
      ) {
        try fillAroundThresholds($0, usable: 512)
        try numberedRows($0, count: 6000)
        try $0.exec("DELETE FROM numbered WHERE id BETWEEN 1000 AND 4000")
        try $0.exec("PRAGMA incremental_vacuum(20)")
      },
      StoreFixture(
        "auto-vacuum-reserved", pageSize: 1024, reserved: 32,
        pragmas: "PRAGMA auto_vacuum = INCREMENTAL"
      ) { try numberedRows($0, count: 24_000) },
      StoreFixture("deep-table", pageSize: 512) { try numberedRows($0, count: 20_000) },
      StoreFixture("deep-index", pageSize: 512) {
        try $0.exec("CREATE TABLE word(text TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID")
        try $0.insert(
          "INSERT INTO word VALUES(?, ?)",
          (0..<4000).lazy.map { [.text(Noise.text(60, salt: $0)), .integer(Int64($0))] })
      },
      StoreFixture("free-pages", pageSize: 512) {
        try numberedRows($0, count: 20_000)
        try $0.exec("CREATE TABLE gone AS SELECT * FROM numbered; DROP TABLE gone")
        try $0.exec("DELETE FROM numbered WHERE id BETWEEN 3000 AND 17000")
      },
      StoreFixture("free-blocks", pageSize: 1024) {
        try numberedRows($0, count: 2000)
        try $0.exec(
          """
          DELETE FROM numbered WHERE id % 5 = 0;
          UPDATE numbered SET note = 'short' WHERE id % 7 = 0;
          UPDATE numbered SET note = note || ' and a good deal longer than before' WHERE id % 11 = 0;
          DELETE FROM numbered WHERE id % 13 = 0;
          """)
      },
      StoreFixture("all-deleted") {
        try numberedRows($0, count: 3000)
        try $0.exec("DELETE FROM numbered")
      },
      StoreFixture("empty-header-only") {
        // A transaction that writes no row still writes the header of an empty database.
        try $0.exec("BEGIN IMMEDIATE; COMMIT")
      },
      StoreFixture("emptied") { connection in
        try connection.exec("CREATE TABLE t(a); DROP TABLE t")
      },
    ]

  /// Fills a table b-tree and an index b-tree. SQLite moves a payload, or one page more of it, to overflow pages at
  /// certain lengths (<https://sqlite.org/fileformat2.html#b_tree_pages>). The rows have payloads just below and just
  /// above each of these lengths.
  static func fillAroundThresholds(_ connection: SQLiteConnection, usable: Int) throws {
    let local = usable - 35
    let indexLocal = (usable - 12) * 64 / 255 - 23
    let least = (usable - 12) * 32 / 255 - 23
    var lengths = [0, 1, 2, 60, 61, 126, 127, 128, 129]
    for center in [least, indexLocal, local, usable, least + usable - 4, least + 2 * (usable - 4)] {
      // For large pages, there are fewer rows around each threshold, so that the file stays below about 10 MB.
      let reach = usable > 8192 ? 1 : 8
      lengths += (-reach...reach).map { max(0, center + $0) }
    }
    lengths += (0..<4).map { local + $0 * (usable - 4) + 1 }
    try connection.exec(
      """
      CREATE TABLE payload(id INTEGER PRIMARY KEY, data BLOB);
      CREATE TABLE keyed(data BLOB, n INTEGER, PRIMARY KEY(data, n)) WITHOUT ROWID;
      CREATE TABLE letters(t TEXT);
      CREATE INDEX letters_t ON letters(t);
      """)
    let numbered = lengths.enumerated()
    try connection.insert(
      "INSERT INTO payload(data) VALUES(?)",
      numbered.map { [.blob(Noise.bytes($0.element, salt: $0.offset))] })
    try connection.insert(
      "INSERT INTO keyed VALUES(?, ?)",
      numbered.map {
        [.blob(Noise.bytes($0.element, salt: 500 + $0.offset)), .integer(Int64($0.offset))]
      })
    try connection.insert(
      "INSERT INTO letters VALUES(?)",
      numbered.map { [.text(Noise.text($0.element, salt: 900 + $0.offset))] })
  }

  /// Fills a table `numbered(id, note, half)` with small rows that are easy to recognise.
  static func numberedRows(
    _ connection: SQLiteConnection, count: Int, table: String = "numbered", mark: String = "note"
  ) throws {
    try connection.exec(
      """
      CREATE TABLE IF NOT EXISTS \(table)(id INTEGER PRIMARY KEY, note TEXT, half REAL);
      WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < \(count))
      INSERT INTO \(table)(note, half) SELECT '\(mark) number ' || i, i / 2.0 FROM c;
      """)
  }
}
