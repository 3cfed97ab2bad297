import Foundation

extension StoreFixtures {
  /// Databases with different encodings, storage classes, long values and row ids.
  static let values: [StoreFixture] =
    [("utf8", "UTF-8"), ("utf16le", "UTF-16le"), ("utf16be", "UTF-16be")].map { name, encoding in
      StoreFixture("text-" + name, pageSize: 1024, pragmas: "PRAGMA encoding = '\(encoding)'") {
        try texts($0)
      }
    } + [
      StoreFixture("text-utf8-invalid") {
        try casts(
          $0,
          [
            "ff", "80", "c080", "eda080", "edbfbf", "f8888080", "e282", "f09f98", "00ff00", "00",
            "41c3", "c3e941", "efbfbe", "fffe4100", "f4908080",
          ])
      },
      StoreFixture("text-utf16le-surrogates", pragmas: "PRAGMA encoding = 'UTF-16le'") {
        try casts($0, ["00d8", "410000dc", "00dc00d8", "3dd8", "3dd84100", "0000", "410000004200"])
      },
      StoreFixture("text-utf16be-surrogates", pragmas: "PRAGMA encoding = 'UTF-16be'") {
        try casts($0, ["d800", "0041dc00", "dc00d800", "d83d", "d83d0041", "0000", "004100000042"])
      },
      StoreFixture("serial-types", serialTypes),
      StoreFixture("overflow-1MB-page-512", pageSize: 512, longValues),
      StoreFixture("overflow-1MB-page-4096", longValues),
      StoreFixture("overflow-utf16", pageSize: 512, pragmas: "PRAGMA encoding = 'UTF-16be'") {
        try longValues($0)
      },
      StoreFixture("rowids-extreme", pageSize: 512) {
        try $0.exec("CREATE TABLE far(note TEXT)")
        try $0.exec("CREATE TABLE farkey(id INTEGER PRIMARY KEY, note TEXT)")
        var ids: [Int64] = [.min, .min + 1, .max, .max - 1, 0, -1, 1, 127, 128, -128, -129]
        for bits in stride(from: 7, through: 62, by: 1) {
          ids += [1 << Int64(bits), (1 << Int64(bits)) - 1, -(1 << Int64(bits))]
        }
        let rows = Set(ids).sorted().map { [FixtureValue.integer($0), .string("row \($0)")] }
        try $0.insert("INSERT INTO far(rowid, note) VALUES(?, ?)", rows)
        try $0.insert("INSERT INTO farkey VALUES(?, ?)", rows)
      },
    ]

  private static func texts(_ connection: SQLiteConnection) throws {
    try connection.exec("CREATE TABLE text(id INTEGER PRIMARY KEY, t TEXT, u)")
    try connection.exec("CREATE INDEX text_t ON text(t)")
    let samples = [
      "", "a", "plain ASCII", "Grüße, Jürgen", "日本語のテキスト", "😀 beyond the BMP 🏴‍☠️ 𝔘𝔫𝔦",
      "e\u{301} combining", "\u{feff}begins with a BOM", "embedded\0NUL", "\0", "a\0", "\u{ffff}",
      "\u{10ffff}", "right\u{202e}to left", "line\nbreak\r\n\ttab", "مرحبا",
    ]
    try connection.insert(
      "INSERT INTO text(t, u) VALUES(?, ?)",
      samples.map { [.string($0), .string(String(repeating: $0, count: 90))] })
  }

  private static func casts(_ connection: SQLiteConnection, _ hex: [String]) throws {
    try connection.exec("CREATE TABLE text(id INTEGER PRIMARY KEY, t TEXT, raw BLOB)")
    for digits in hex {
      try connection.exec(
        "INSERT INTO text(t, raw) VALUES(CAST(x'\(digits)' AS TEXT), x'\(digits)')")
    }
  }

  private static let serialTypes: @Sendable (SQLiteConnection) throws -> Void = { connection in
    try connection.exec(
      """
      CREATE TABLE value(
        id INTEGER PRIMARY KEY, none, i INTEGER, r REAL, n NUMERIC, t TEXT, b BLOB);
      CREATE INDEX value_none ON value(none);
      """)
    var integers: [Int64] = [0, 1, 2, -1, -2, .min, .max]
    // These values need the widths of serial types 1 to 6: 8, 16, 24, 32, 48 and 64 bits.
    for bits in [7, 15, 23, 31, 47] as [Int64] {
      integers += [(1 << bits) - 1, 1 << bits, -(1 << bits), -(1 << bits) - 1]
    }
    let reals: [Double] = [
      0, -0.0, 1, -1, 0.1, .infinity, -.infinity, .leastNonzeroMagnitude, -.leastNonzeroMagnitude,
      .leastNormalMagnitude, .greatestFiniteMagnitude, .pi, 1e15, 1e18, 9_007_199_254_740_992,
      140_737_488_355_327, 140_737_488_355_328, 9_223_372_036_854_775_808, 3, -42, 1e300,
    ]
    var samples: [FixtureValue] = [.null, .text([]), .blob([])]
    samples += integers.map { .integer($0) } + reals.map { .real($0) }
    for count in [1, 2, 57, 58, 59, 200] {
      samples += [.text(Noise.text(count)), .blob(Noise.bytes(count))]
    }
    samples += ["1", "-7", "1.5", "1e3", " 12 ", "0x10", "9223372036854775808"].map { .string($0) }
    try connection.insert(
      "INSERT INTO value(none, i, r, n, t, b) VALUES(?1, ?1, ?1, ?1, ?1, ?1)",
      samples.map { [$0] })
  }

  private static let longValues: @Sendable (SQLiteConnection) throws -> Void = { connection in
    try connection.exec(
      """
      CREATE TABLE long(id INTEGER PRIMARY KEY, before TEXT, data BLOB, after INTEGER);
      CREATE TABLE longkey(k TEXT PRIMARY KEY, data BLOB) WITHOUT ROWID;
      """)
    let sizes = [1_000_000, 1 << 20, 300_000, 70_000]
    try connection.insert(
      "INSERT INTO long(before, data, after) VALUES(?, ?, ?)",
      sizes.map {
        [.string("before \($0)"), .blob(Noise.bytes($0, salt: $0)), .integer(Int64($0))]
      })
    try connection.insert(
      "INSERT INTO long(before, data, after) VALUES(?, ?, ?)",
      [
        [.text(Noise.text(500_000)), .null, .integer(-1)],
        [.text(Noise.text(90_000)), .text(Noise.text(90_000, salt: 2)), .real(0.5)],
      ])
    try connection.insert(
      "INSERT INTO longkey VALUES(?, ?)",
      (0..<12).map {
        [.text(Noise.text(100 + $0 * 900, salt: $0)), .blob(Noise.bytes(40_000, salt: $0))]
      })
  }
}
