import Fixtures
import Foundation
import SQLiteFile
import Testing

@testable import SQLiteForensics

/// What indexes and full-text tables hold of rows that are gone. SQLite made the files; what the rows once held is known.
@Suite struct IndexedValuesTests {
  private struct Entry: Hashable, CustomStringConvertible {
    let table: String
    let rowID: Int64
    let values: [StoredValue]

    var description: String { "\(table) \(rowID) \(values)" }
  }

  private static func found(_ url: URL) throws -> (entries: [IndexedValues], notes: [String]) {
    var entries: [IndexedValues] = []
    let notes = try DamagedDatabase(path: url.path).forEachIndexedValues {
      entries.append($0)
      return true
    }
    return (entries, notes.texts)
  }

  private static func text(_ string: String) -> StoredValue { .text(StoredText(string)) }

  // MARK: - Indexes

  /// A title of which only the index has remains: other rows took its place in the table.
  @Test func aTitleInFreeSpaceOfAnIndex() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 1024; PRAGMA secure_delete = OFF;
      CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT, body TEXT);
      CREATE INDEX note_title ON note (title);
      WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 300)
        INSERT INTO note SELECT i, printf('m%04d', i), hex(randomblob(40)) FROM i;
      INSERT INTO note VALUES (301, 'zz secret plans', 'short');
      DELETE FROM note WHERE id = 301;
      INSERT INTO note VALUES (302, 'aa harmless one', 'short');
      """)
    connection.close()
    let (entries, notes) = try Self.found(url)
    #expect(notes == [])
    let only = try #require(entries.first)
    #expect(entries.count == 1)
    #expect(only.table == "note" && only.index == "note_title" && only.rowID == 301)
    #expect(only.place == .gap)
    #expect(only.values.map(\.column) == ["title"])
    #expect(only.values.map(\.value) == [Self.text("zz secret plans")])
    let origin = try #require(only.origin)
    let content = try bytes(of: url)
    #expect(
      content[Int(origin.offset)...].starts(with: [20, 3, 43, 2] + Array("zz secret plans".utf8)))
  }

  /// Whatever became of rows, an index holds no more of them than they once had, and nothing that a row still has.
  @Test(arguments: 0..<(Rounds.areLong ? 300 : 12)) func nothingIsInvented(_ seed: Int) throws {
    var generator = SplitMix64(seed: UInt64(900 + seed))
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    let pageSize = [512, 1024, 4096][seed % 3]
    let encoding = seed % 4 == 3 ? "UTF-16le" : "UTF-8"
    try connection.exec(
      """
      PRAGMA encoding = '\(encoding)'; PRAGMA page_size = \(pageSize); PRAGMA secure_delete = OFF;
      CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT, number REAL, parent INTEGER, body TEXT);
      CREATE INDEX note_title ON note (title); CREATE INDEX note_both ON note (parent, number);
      CREATE TABLE other (a, b); CREATE INDEX other_b ON other (b);
      """)
    // What each row once had, by index.
    var once: Set<Entry> = []
    var live: [Int64: (String, Double, Int64)] = [:]
    func note(_ id: Int64, _ row: (String, Double, Int64)) {
      once.insert(Entry(table: "note_title", rowID: id, values: [Self.text(row.0)]))
      once.insert(Entry(table: "note_both", rowID: id, values: [.integer(row.2), .real(row.1)]))
    }
    var next: Int64 = 1
    for _ in 0..<12 {
      try connection.exec("BEGIN")
      for _ in 0..<60 {
        let title =
          "t\(Int.random(in: 0..<40, using: &generator)) "
          + String(
            repeating: "x", count: Int.random(in: 0..<30, using: &generator))
        let row = (
          title, Double(Int.random(in: 0..<100, using: &generator)) / 4,
          Int64.random(in: -3..<300, using: &generator)
        )
        let body = Int.random(in: 0..<200, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0 where !live.isEmpty:
          guard let id = live.keys.sorted().randomElement(using: &generator) else { continue }
          live[id] = nil
          try connection.exec("DELETE FROM note WHERE id = \(id)")
        case 1 where !live.isEmpty:
          guard let id = live.keys.sorted().randomElement(using: &generator) else { continue }
          live[id] = row
          note(id, row)
          try connection.exec(
            "UPDATE note SET title = '\(row.0)', number = \(row.1), parent = \(row.2) WHERE id = \(id)"
          )
        default:
          live[next] = row
          note(next, row)
          try connection.exec(
            "INSERT INTO note VALUES (\(next), '\(row.0)', \(row.1), \(row.2), hex(zeroblob(\(body))))"
          )
          next += 1
        }
      }
      try connection.exec("COMMIT")
      if Int.random(in: 0..<4, using: &generator) == 0 {
        try connection.exec("DELETE FROM note WHERE id % 3 = 0")
        for id in live.keys where id % 3 == 0 { live[id] = nil }
      }
    }
    connection.close()
    let (entries, notes) = try Self.found(url)
    #expect(notes == [])
    for entry in entries {
      let values = entry.values.map(\.value)
      let found = Entry(table: entry.index, rowID: entry.rowID, values: values)
      #expect(entry.place != .entry, "the file is sound")
      guard once.contains(found) else {
        // In free space, parts of two entries may look like one. None of the short round does; of the long one, known.
        #expect(Rounds.areLong && entry.place == .gap, "\(found)")
        print("seed \(seed): \(found) is made of two")
        continue
      }
      guard let row = live[entry.rowID] else { continue }
      #expect(entry.index != "note_title" || values != [Self.text(row.0)])
    }
    print("seed \(seed): \(entries.count) entries of rows that are gone")
  }

  /// Of a page of a table that is lost, the index still has what it holds: exactly the rows of that page.
  @Test func aLostPage() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 1024;
      CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT UNIQUE, body TEXT);
      WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 400)
        INSERT INTO note SELECT i, 'title ' || i, hex(zeroblob(30)) FROM i;
      """)
    let page = try #require(
      try connection.integer(
        "SELECT pageno FROM dbstat WHERE name = 'note' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 5"
      ))
    connection.close()
    var content = try bytes(of: url)
    let start = Int(page - 1) * 1024
    for place in start..<(start + 1024) { content[place] = 0 }
    try Data(content).write(to: url)
    var left: Set<Int64> = []
    try DamagedDatabase(path: url.path).forEachRow(.all, of: ["note"]) { row in
      if let id = row.rowID { left.insert(id) }
      return true
    }
    let lost = (1...400).map(Int64.init).filter { !left.contains($0) }
    try #require(lost.count > 5)
    let (entries, _) = try Self.found(url)
    #expect(entries.map(\.rowID) == lost)
    #expect(entries.allSatisfy { $0.place == .entry })
    #expect(entries.map { $0.values.map(\.value) } == lost.map { [Self.text("title \($0)")] })
  }

  /// Row ids below 1 are row ids, too.
  @Test func aLostPageOfNegativeRowIDs() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 512;
      CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT);
      CREATE INDEX note_title ON note (title);
      WITH RECURSIVE i(i) AS (SELECT -100 UNION ALL SELECT i + 1 FROM i WHERE i < 20)
        INSERT INTO note SELECT i, 'a title ' || i FROM i;
      """)
    let page = try #require(
      try connection.integer(
        "SELECT pageno FROM dbstat WHERE name = 'note' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 1"
      ))
    connection.close()
    try overwrite(url, at: Int(page - 1) * 512, bytes: [UInt8](repeating: 0, count: 512))
    var left: Set<Int64> = []
    try DamagedDatabase(path: url.path).forEachRow(.all, of: ["note"]) { row in
      if let id = row.rowID { left.insert(id) }
      return true
    }
    let lost = (-100...20).map(Int64.init).filter { !left.contains($0) }
    try #require(lost.count > 5 && lost.allSatisfy { $0 < 0 })
    let (entries, _) = try Self.found(url)
    #expect(entries.map(\.rowID) == lost)
    #expect(entries.map { $0.values.map(\.value) } == lost.map { [Self.text("a title \($0)")] })
  }

  /// What is not looked at is told.
  @Test func whatIsNotLookedAt() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 512;
      CREATE TABLE a (x); CREATE INDEX upper_x ON a (upper(x)); CREATE INDEX long_x ON a (x);
      INSERT INTO a VALUES (hex(zeroblob(2000)));
      CREATE VIRTUAL TABLE w USING fts5(t, detail=none);
      CREATE VIRTUAL TABLE n USING fts5(t, content='', columnsize=0);
      INSERT INTO n (rowid, t) VALUES (1, 'x');
      """)
    connection.close()
    let (entries, notes) = try Self.found(url)
    #expect(entries.isEmpty)
    for part in [
      "upper_x", "entries of the index long_x", "detail=none",
      "n, because its row ids are not stored",
    ] {
      #expect(notes.contains { $0.contains(part) }, "\(part): \(notes)")
    }
  }

  // MARK: - Full text

  private static let words = [
    "boat", "harbour", "rope", "anchor", "tide", "grandmother", "s", "lighthouse", "ebb", "crew",
  ]

  private static func sentence(_ count: Int, _ generator: inout SplitMix64) -> String {
    (0..<count).map { _ in words.randomElement(using: &generator) ?? "" }.joined(separator: " ")
  }

  /// The words of every document that was deleted, and of no other.
  @Test(arguments: [
    "fts5(title, body)", "fts5(title, body, prefix='1 2')", "fts4(title, body)",
    "fts3(title, body)", "fts4(title, body, order=desc)", "fts4(title, body, prefix='2,3')",
    "fts5(title, body, content='')",
  ])
  func wordsOfDeletedRows(_ module: String) throws {
    var generator = SplitMix64(seed: 77)
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("CREATE VIRTUAL TABLE f USING \(module)")
    let isFTS5 = module.hasPrefix("fts5")
    // Small leaves, so that lists go over several; no merges, which clear what is deleted.
    if isFTS5 {
      for option in ["'pgsz', 64", "'automerge', 0", "'crisismerge', 1000"] {
        try connection.exec("INSERT INTO f (f, rank) VALUES (\(option))")
      }
    }
    var texts: [Int64: [String]] = [:]
    for _ in 0..<5 {
      try connection.exec("BEGIN")
      for _ in 0..<30 {
        let id = Int64(texts.count * 7 + 1)
        let row = [
          Self.sentence(3, &generator),
          Self.sentence(Int.random(in: 1..<120, using: &generator), &generator),
        ]
        texts[id] = row
        try connection.exec(
          "INSERT INTO f (rowid, title, body) VALUES (\(id), '\(row[0])', '\(row[1])')")
      }
      try connection.exec("COMMIT")
    }
    var gone: Set<Int64> = []
    try connection.exec("BEGIN")
    for (id, row) in texts.sorted(by: { $0.key < $1.key })
    where Bool.random(using: &generator) || id == 1 {
      gone.insert(id)
      if module.contains("content=''") {
        try connection.exec(
          "INSERT INTO f (f, rowid, title, body) VALUES ('delete', \(id), '\(row[0])', '\(row[1])')"
        )
      } else {
        try connection.exec("DELETE FROM f WHERE rowid = \(id)")
      }
    }
    try connection.exec("COMMIT")
    connection.close()
    let (entries, notes) = try Self.found(url)
    #expect(notes == [])
    let found = entries.filter { $0.place == .words }
    #expect(found.map(\.rowID) == gone.sorted())
    for entry in found {
      #expect(entry.table == "f" && entry.values.map(\.column) == ["title", "body"])
      #expect(entry.values.map(\.value) == texts[entry.rowID]?.map(Self.text), "\(entry.rowID)")
    }
  }

  /// The table with the texts says which rows there are: a row may be gone from it behind the index's back.
  @Test(arguments: ["fts5(t)", "fts4(t)", "fts5(t, content='note')", "fts4(t, content=\"note\")"])
  func aTextIsGoneAlone(_ module: String) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    let content = module.contains("content=") ? "note" : "f_content"
    try connection.exec(
      """
      CREATE TABLE note (id INTEGER PRIMARY KEY, t);
      INSERT INTO note VALUES (1, 'first words'), (2, 'second words'), (3, 'third words');
      CREATE VIRTUAL TABLE f USING \(module);
      INSERT INTO f (rowid, t) SELECT id, t FROM note;
      DELETE FROM \(content) WHERE rowid = 2;
      """)
    // What is there is not called gone, whatever became of its size.
    try connection.exec("DELETE FROM f_docsize WHERE rowid = 1")
    connection.close()
    let (entries, _) = try Self.found(url)
    #expect(entries.map(\.rowID) == [2])
    #expect(entries.first?.values.map(\.value) == [Self.text("second words")])
  }

  /// The option `content_rowid` may name a column that is not the row id.
  @Test func wordsUnderTheIDsOfAnotherColumn() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE note (t, num INTEGER);
      INSERT INTO note VALUES ('first words', 101), ('second words', 102), ('third words', 1);
      CREATE VIRTUAL TABLE f USING fts5(t, content='note', content_rowid='num');
      INSERT INTO f (f) VALUES ('rebuild');
      DELETE FROM note WHERE num = 102;
      """)
    connection.close()
    let (entries, _) = try Self.found(url)
    #expect(entries.map(\.rowID) == [102])
    #expect(entries.first?.values.map(\.value) == [Self.text("second words")])
  }

  /// Leaves of the index to which its b-tree no longer leads are read, too.
  @Test func wordsOnLeavesBelowALostPage() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 1024; CREATE TABLE note (id INTEGER PRIMARY KEY, t TEXT);
      CREATE VIRTUAL TABLE f USING fts5(t, content='note', content_rowid='id');
      WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 2000)
        INSERT INTO note SELECT i, 'common word' || i || ' tail' FROM i;
      INSERT INTO f (rowid, t) SELECT id, t FROM note;
      INSERT INTO f (f) VALUES ('optimize');
      DELETE FROM note WHERE id = 1999;
      VACUUM;
      """)
    let root = try #require(
      try connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'f_data'"))
    connection.close()
    let start = Int(root - 1) * 1024
    try #require(try bytes(of: url)[start] == 5)
    try overwrite(url, at: start, bytes: [UInt8](repeating: 0, count: 1024))
    let (entries, _) = try Self.found(url)
    #expect(entries.map(\.rowID) == [1999])
    #expect(entries.first?.values.map(\.value) == [Self.text("common word1999 tail")])
  }

  /// A leaf of 210,000 bytes, in which a thousand words share all bytes of the first one.
  @Test func wordsThatShareAPrefixAreBounded() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    func number(_ value: Int) -> [UInt8] {
      value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7f | 0x80)] + number(value >> 7)
    }
    func document(_ id: Int) -> [UInt8] {
      let list = number(id) + [2, 0]
      return number(list.count) + list
    }
    let length = 200_000
    var leaf: [UInt8] = [0]
    leaf += number(length) + [UInt8](repeating: UInt8(ascii: "a"), count: length) + document(2)
    for id in 3...1000 { leaf += number(length) + [0] + document(id) }
    try connection.exec("CREATE VIRTUAL TABLE f USING fts4(t); INSERT INTO f VALUES ('x')")
    try connection.rows("INSERT INTO f_segments VALUES (1, ?)", [.blob(leaf)])
    connection.close()
    let (entries, notes) = try Self.found(url)
    #expect(!entries.isEmpty && entries.count * length < 100 << 20)
    #expect(notes == ["words of missing rows in f after the first \(entries.count)"])
  }

  /// A value is as the table has it.
  @Test func realsAreReals() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 512; CREATE TABLE t (id INTEGER PRIMARY KEY, r REAL, a TEXT, b);
      CREATE INDEX t_r ON t (r);
      WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 60)
        INSERT INTO t SELECT i, i, 'text', zeroblob(40) FROM i;
      """)
    let root = try #require(
      try connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = 't'"))
    connection.close()
    var content = try bytes(of: url)
    // The first leaf below the root.
    let start = Int(root - 1) * 512
    let cell = start + Int(content[start + 12]) << 8 + Int(content[start + 13])
    let leaf = Int(content[cell + 2]) << 8 + Int(content[cell + 3])
    for place in (leaf - 1) * 512..<leaf * 512 { content[place] = 0 }
    try Data(content).write(to: url)
    let (entries, _) = try Self.found(url)
    #expect(entries.first?.values.map(\.value) == [.real(1)])
    #expect(entries.first?.rowID == 1)
  }

  /// Bytes that are changed at random end in no trap and in bounded work.
  @Test(arguments: ["fts5(title, body)", "fts4(title, body)"])
  func changedBytesEnd(_ module: String) throws {
    var generator = SplitMix64(seed: 3)
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 512; CREATE VIRTUAL TABLE f USING \(module);
      CREATE TABLE n (t); CREATE INDEX n_t ON n (t);
      """)
    for id in 1...60 {
      let text = Self.sentence(20, &generator)
      try connection.exec(
        "INSERT INTO f (rowid, title, body) VALUES (\(id), 'a b', '\(text)'); INSERT INTO n VALUES ('\(text)')"
      )
    }
    try connection.exec("DELETE FROM f WHERE rowid % 2; DELETE FROM n WHERE rowid % 3 = 0")
    connection.close()
    let sound = try bytes(of: url)
    let other = folder.url.appendingPathComponent("b.sqlite")
    for _ in 0..<150 {
      var content = sound
      for _ in 0..<Int.random(in: 1...60, using: &generator) {
        content[Int.random(in: 100..<content.count, using: &generator)] = UInt8.random(
          in: 0...255, using: &generator)
      }
      try Data(content).write(to: other)
      var count = 0
      _ = try? DamagedDatabase(path: other.path).forEachIndexedValues { _ in
        count += 1
        return true
      }
      #expect(count < 20_000)
    }
  }
}
