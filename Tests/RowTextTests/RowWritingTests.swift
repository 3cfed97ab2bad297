import CLibrary
import Fixtures
import Foundation
import RowText
import SQLiteFile
import Testing

/// What the writers write, read back by other means and compared with the values.
@Suite struct RowWritingTests {
  /// Those of megabytes are left out unless there is time: what they have more of is more of the same. So are those
  /// with auto-vacuum, and all but one with a log and one with a journal: their rows are not of another kind.
  private static let fixtures = StoreFixtures.all.filter {
    let isLarge =
      ["overflow-1MB", "65536", "32768", "16384", "8192", "auto-vacuum", "wide"].contains(
        where: $0.name.contains) || ["deep-table", "free-pages"].contains($0.name)
      || ["wal-", "journal-"].contains(where: $0.name.hasPrefix)
        && !["wal-committed", "journal-truncated"].contains($0.name)
    return $0.name != "journal-hot-from-nothing" && $0.name != "empty-header-only"
      && (!isLarge || Rounds.areLong)
  }

  // Outside the long rounds, half of the fixtures are read back from JSON, and the others from CSV.
  @Test(arguments: Rounds.part(of: fixtures, every: 2))
  func jsonLinesReadBackAsTheValues(_ fixture: StoreFixture) throws {
    let folder = try TemporaryFolder()
    let database = try SQLiteDatabase(path: try fixture.make(folder.url).path)
    for table in database.schema.tables {
      let (bytes, counts) = try Self.written(to: folder) {
        try database.writeJSON(of: [table], to: $0)
      }
      let rows = try database.rows(of: table)
      #expect(counts == [rows.count])
      let lines = bytes.split(separator: 0x0a)
      #expect(bytes.isEmpty || bytes.last == 0x0a)
      try #require(lines.count == rows.count, "\(table.name)")
      for (line, row) in zip(lines, rows) {
        let json = try MiniJSON(line)
        #expect(json["table"] == .string(Array(table.name.utf8)))
        #expect(json["rowid"] == row.rowID.map { .number("\($0)") } ?? .null)
        let values = try #require(json["values"]?.elements)
        try #require(values.count == row.values.count)
        var invalid: [String: MiniJSON] = [:]
        for (column, (value, stored)) in zip(values, row.values).enumerated() {
          let name = table.columnNames[column]
          if case .text(let text) = stored, !text.isValid { invalid[name] = Self.hex(text.utf8) }
          guard !Self.is(value, stored) else { continue }
          Issue.record("\(table.name) \(row.rowID ?? -1) \(name): \(value) is not \(stored)")
        }
        #expect(json["invalidText"] == (invalid.isEmpty ? nil : .object(invalid)))
      }
    }
  }

  @Test(arguments: Rounds.part(of: fixtures, every: 2, from: 1))
  func csvReadsBackAsTheValues(_ fixture: StoreFixture) throws {
    let folder = try TemporaryFolder()
    let database = try SQLiteDatabase(path: try fixture.make(folder.url).path)
    for table in database.schema.tables {
      let (bytes, count) = try Self.written(to: folder) {
        try database.writeCSV(of: table, to: $0)
      }
      let rows = try database.rows(of: table)
      #expect(count == rows.count)
      let records = try #require(MiniCSV.records(bytes), "\(table.name)")
      #expect(records.first?.map(\.bytes) == table.columnNames.map { Array($0.utf8) })
      try #require(records.count == rows.count + 1, "\(table.name)")
      for (record, row) in zip(records.dropFirst(), rows) {
        let wanted = row.values.map { Self.field($0) }
        guard record.map(\.bytes) != wanted.map(\.bytes) || record[0].isQuoted != wanted[0].isQuoted
        else { continue }
        Issue.record("\(table.name) \(row.rowID ?? -1): \(record) is not \(wanted)")
        break
      }
    }
  }

  /// NULL and empty text are two things; only quotes tell them apart.
  @Test func csvTellsNullFromEmptyText() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      "CREATE TABLE t(a, b, c); INSERT INTO t VALUES(NULL, '', 'a\"b,c' || char(13, 10))")
    connection.close()
    let database = try SQLiteDatabase(path: url.path)
    let table = try #require(database.schema.table(named: "T"))
    let (bytes, _) = try Self.written(to: folder) { try database.writeCSV(of: table, to: $0) }
    #expect(String(decoding: bytes, as: UTF8.self) == "a,b,c\r\n,\"\",\"a\"\"b,c\r\n\"\r\n")
  }

  @Test func severalTablesGoIntoOneStream() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("odd-names").make(folder.url)
    let database = try SQLiteDatabase(path: url.path)
    let (bytes, counts) = try Self.written(to: folder) {
      try database.writeJSON(of: database.schema.tables, to: $0)
    }
    let names = try bytes.split(separator: 0x0a).map { try MiniJSON($0)["table"]?.text }
    let wanted = zip(database.schema.tables, counts).flatMap {
      Array(repeating: $0.name, count: $1)
    }
    #expect(names == wanted)
  }

  /// A closed pipe ends the work with an error that says so, not with a signal.
  @Test func aReaderThatGoesIsAnError() throws {
    signal(SIGPIPE, SIG_IGN)
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("page-512").make(folder.url)
    let database = try SQLiteDatabase(path: url.path)
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    let error = #expect(throws: SQLiteFileError.self) {
      try database.writeJSON(
        of: database.schema.tables, to: pipe.fileHandleForWriting.fileDescriptor)
    }
    #expect(error?.code == .outputClosed)
    #expect(throws: SQLiteFileError.self) {
      try database.writeCSV(of: database.schema.tables[0], to: -1)
    }
  }

  /// Whoever says that it wants no more rows gets none, wherever on its page the row stands.
  @Test(arguments: ["deep-table", "without-rowid", "deep-index", "core-data-shape"])
  func noRowComesAfterTheLastWanted(_ name: String) throws {
    let folder = try TemporaryFolder()
    let database = try SQLiteDatabase(path: try StoreFixtures.named(name).make(folder.url).path)
    for table in database.schema.tables {
      let all = try database.rows(of: table)
      for wanted in [1, 2, 50] where wanted <= all.count {
        var rows: [StoredRow] = []
        try database.forEachRow(of: table) { row in
          rows.append(row)
          return rows.count < wanted
        }
        #expect(rows == Array(all.prefix(wanted)), "\(table.name)")
      }
    }
  }

  // MARK: - Comparing

  /// Where the device fails, the rows that were read before are written, and then the error is thrown.
  @Test(arguments: [true, false]) func rowsBeforeAFailedReadAreWritten(_ isJSON: Bool) throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("store.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
        INSERT INTO t SELECT i, printf('row %020d', i) FROM n;
      """)
    connection.close()
    let database = try SQLiteDatabase(path: store.path)
    let table = try #require(database.schema.table(named: "t"))
    let url = folder.url.appendingPathComponent("rows")
    try Data().write(to: url)
    let file = try FileHandle(forWritingTo: url)
    let target = file.fileDescriptor
    let error = #expect(throws: SQLiteFileError.self) {
      if isJSON {
        try database.writeJSON(of: [table], to: target) { FailingDevice($0, store, file) }
      } else {
        try database.writeCSV(of: table, to: target) { FailingDevice($0, store, file) }
      }
    }
    #expect(error?.code == .io)
    try file.close()
    let written = try bytes(of: url)
    #expect(written.last == 0x0a)
    let lines = written.split(separator: 0x0a).dropFirst(isJSON ? 0 : 1)
    #expect(lines.count >= FailingDevice.after && lines.count < 9000, "\(lines.count)")
    for (row, line) in zip(1..., lines) {
      let lead = isJSON ? "{\"table\":\"t\",\"rowid\":\(row)," : "\(row),row"
      #expect(line.starts(with: lead.utf8), "\(row)")
    }
  }

  private static func written<Result>(to folder: TemporaryFolder, _ write: (Int32) throws -> Result)
    throws -> ([UInt8], Result)
  {
    let url = folder.url.appendingPathComponent("written")
    try Data().write(to: url)
    let file = try FileHandle(forWritingTo: url)
    let result = try write(file.fileDescriptor)
    try file.close()
    return (try bytes(of: url), result)
  }

  private static func hex(_ bytes: [UInt8]) -> MiniJSON {
    let digits = Array("0123456789abcdef".utf8)
    return .object(["hex": .string(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })])
  }

  private static func `is`(_ json: MiniJSON, _ stored: StoredValue) -> Bool {
    switch (json, stored) {
    case (.null, .null): true
    case (.number(let digits), .integer(let value)): digits == "\(value)"
    case (.number(let digits), .real(let value)):
      // Int64 would not take it: a real stays a real.
      Int64(digits) == nil && Double(digits)?.bitPattern == value.bitPattern
        && (!value.isInfinite || digits == (value < 0 ? "-9e999" : "9e999"))
    case (.string(let bytes), .text(let text)):
      bytes == (text.isValid ? text.utf8 : replaced(text.utf8))
    case (_, .blob(let bytes)): json == hex(bytes)
    default: false
    }
  }

  /// A U+FFFD for each byte that begins no well-formed sequence.
  private static func replaced(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      let length = (1...4).first { count in
        index + count <= bytes.count
          && String(validating: bytes[index..<index + count], as: UTF8.self)?.unicodeScalars.count
            == 1
      }
      result += length.map { Array(bytes[index..<index + $0]) } ?? [0xef, 0xbf, 0xbd]
      index += length ?? 1
    }
    return result
  }

  private static func field(_ stored: StoredValue) -> MiniCSV.Field {
    switch stored {
    case .null: MiniCSV.Field(bytes: [], isQuoted: false)
    case .integer(let value): MiniCSV.Field(bytes: Array("\(value)".utf8), isQuoted: false)
    case .real(let value): MiniCSV.Field(bytes: Array("\(value)".utf8), isQuoted: false)
    case .text(let text):
      MiniCSV.Field(
        bytes: text.utf8,
        isQuoted: text.utf8.isEmpty || text.utf8.contains { [0x22, 0x2c, 0x0a, 0x0d].contains($0) })
    case .blob(let bytes):
      MiniCSV.Field(
        bytes: bytes.flatMap { byte in
          Array((byte < 16 ? "0" : "").utf8) + Array(String(byte, radix: 16).utf8)
        }, isQuoted: false)
    }
  }
}

/// Passes records on and, after some of them, makes all further reads of the store fail.
private final class FailingDevice: RecordReceiver {
  static let after = 500
  private let receiver: any RecordReceiver
  private let store: URL
  private let writable: FileHandle
  private var count = 0

  init(_ receiver: any RecordReceiver, _ store: URL, _ writable: FileHandle) {
    self.receiver = receiver
    self.store = store
    self.writable = writable
  }

  var wantsMore: Bool { receiver.wantsMore }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    count += 1
    if count == Self.after { fail() }
    return receiver.take(record, rowID: rowID, layout, &decoder)
  }

  /// Puts a descriptor that cannot be read from in the place of each descriptor of the store.
  private func fail() {
    let facts = try? FileManager.default.attributesOfItem(atPath: store.path)
    let number = (facts?[.systemFileNumber] as? NSNumber)?.uint64Value
    let device = (facts?[.systemNumber] as? NSNumber)?.uint64Value
    for descriptor in 3..<max(1024, min(getdtablesize(), 65_536)) {
      var status = stat()
      if unsafe fstat(descriptor, &status) == 0, UInt64(status.st_ino) == number,
        UInt64(truncatingIfNeeded: status.st_dev) == device,
        status.st_size == (facts?[.size] as? NSNumber)?.int64Value ?? -1
      {
        _ = dup2(writable.fileDescriptor, descriptor)
      }
    }
  }
}
