import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// Rows that one thread reads and another takes, against those that one thread hands over by itself.
@Suite struct RowPipelineTests {
  private struct Row: Hashable {
    let origin: RowOrigin
    let rowID: Int64?
    let values: [StoredValue]
    let partial: [PartialValue]
  }

  private func mixed(_ url: URL) throws {
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE mixed(id INTEGER PRIMARY KEY, body BLOB, title TEXT, size REAL);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO mixed SELECT i, zeroblob(1000), printf('%.900c', 'a'), i / 7.0 FROM n;
      WITH RECURSIVE n(i) AS (SELECT 5000 UNION ALL SELECT i + 1 FROM n WHERE i < 5040)
        INSERT INTO mixed SELECT i, randomblob(300000), 'b', NULL FROM n;
      WITH RECURSIVE n(i) AS (SELECT 9000 UNION ALL SELECT i + 1 FROM n WHERE i < 29000)
        INSERT INTO mixed SELECT i, x'', 'c', i FROM n;
      DELETE FROM mixed WHERE id % 97 = 0;
      """)
    connection.close()
  }

  private func damage(_ url: URL) throws {
    var random = SplitMix64(seed: 5)
    let size = try bytes(of: url).count
    for _ in 0..<80 {
      let offset = Int.random(in: 8192..<size - 64, using: &random)
      try overwrite(url, at: offset, bytes: random.bytes(Int.random(in: 1...48, using: &random)))
    }
  }

  /// Chains that break off, and go on in the page behind: a row that is read twice must not find its pages taken.
  private func breakChains(_ url: URL) throws {
    let content = try bytes(of: url)
    var random = SplitMix64(seed: 6)
    for start in stride(from: 8192, to: content.count - 8192, by: 4096) {
      let next = content[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
      guard next == start / 4096 + 2, Int.random(in: 0..<20, using: &random) == 0 else { continue }
      try overwrite(url, at: start, bytes: [0, 0, 0, 0])
    }
  }

  private func chains(_ url: URL) throws {
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 4096; PRAGMA auto_vacuum = NONE; VACUUM;
      CREATE TABLE long(id INTEGER PRIMARY KEY, body BLOB);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO long SELECT i, randomblob(9000 + i % 7 * 1500) FROM n;
      """)
    connection.close()
  }

  enum Form: CaseIterable { case whole, damaged, brokenChains }

  private func make(_ form: Form, in folder: TemporaryFolder) throws -> URL {
    let store = folder.url.appendingPathComponent("mixed.sqlite")
    if form == .brokenChains {
      try chains(store)
      try breakChains(store)
    } else {
      try mixed(store)
    }
    if form == .damaged { try damage(store) }
    return store
  }

  @Test(arguments: Form.allCases)
  func rowsAndFindingsAreTheSame(_ form: Form) throws {
    let folder = try TemporaryFolder()
    let store = try make(form, in: folder)
    let one = try DamagedDatabase(path: store.path)
    #expect(one.pageCount > 4000)
    var plain: [Row] = []
    try one.forEachRow(.all) {
      plain.append(
        Row(origin: $0.origin, rowID: $0.rowID, values: $0.values, partial: $0.partial))
      return true
    }
    let two = try DamagedDatabase(path: store.path)
    var buffered: [Row] = []
    /// Text that does not decode is given to whoever takes the row as it is, and otherwise counts as not whole.
    var undecodable: Set<Int> = []
    try two.forEachBufferedRow(.all) { row in
      if row.hasInvalidText { undecodable.insert(buffered.count) }
      buffered.append(
        Row(
          origin: row.origin, rowID: row.rowID,
          values: row.values.indices.map { index in
            let value = row.values[index]
            return switch value.kind {
            case .null: .null
            case .integer: .integer(value.bits)
            case .real: .real(Double(bitPattern: UInt64(bitPattern: value.bits)))
            case .text: .text(StoredText(utf8: row.content(of: value)))
            case .blob: .blob(row.content(of: value))
            }
          }, partial: row.partial))
      return true
    }
    #expect(plain.count >= (form == .brokenChains ? 2400 : 20_000))
    #expect(buffered.count == plain.count)
    for (index, (left, right)) in zip(buffered, plain).enumerated() where left != right {
      if undecodable.contains(index), left.origin == right.origin, left.rowID == right.rowID {
        continue
      }
      Issue.record("\(left.origin) \(left.rowID ?? -1) is not \(right.origin) \(right.rowID ?? -1)")
      break
    }
    #expect(undecodable.count < 200)
    #expect(Set(one.findings.kept) == Set(two.findings.kept))
    #expect(one.findings.damageCount == two.findings.damageCount)
    #expect((form != .whole) == (one.findings.damageCount > 0))
  }

  /// Rows of which the record goes over as it stands, and all others, against the same rows one by one.
  @Test(arguments: Form.allCases)
  func recordsAndOtherRowsAreAllRows(_ form: Form) throws {
    let folder = try TemporaryFolder()
    let store = try make(form, in: folder)
    let one = try DamagedDatabase(path: store.path)
    var plain: [String] = []
    try one.forEachRow(.live) {
      plain.append(
        "\($0.origin.table ?? -1) \($0.origin.page) \($0.rowID ?? -1) \($0.values.dropFirst().map(Self.text))"
      )
      return true
    }
    let two = try DamagedDatabase(path: store.path)
    var given: [String] = []
    var recordCount = 0
    var values: ContiguousArray<RecoveredRowBuffer.Value> = []
    let forms = two.tables.map { RecordForm($0, namesFiles: false) }
    try two.forEachReadableRow(as: forms) { batch, stretch in
      for place in stretch.records {
        let record = batch.records[place]
        RecordBatch.read(
          record.offset..<record.offset + record.count, of: batch.bytes,
          two.tables[stretch.table].definition.columns.count, into: &values)
        let texts = values.dropFirst().map { Self.text($0, batch.bytes) }
        given.append("\(stretch.table) \(stretch.page) \(record.rowID) \(texts)")
        recordCount += 1
      }
      return true
    } others: { row in
      let texts = row.values.dropFirst().map { Self.text($0, row.bytes) }
      given.append(
        "\(row.origin.table ?? -1) \(row.origin.page) \(row.rowID ?? -1) \(texts)")
      return true
    }
    #expect(given.count == plain.count)
    if let place = zip(given, plain).enumerated().first(where: { $1.0 != $1.1 })?.offset {
      Issue.record("\(given[place].prefix(200)) is not \(plain[place].prefix(200))")
    }
    #expect(recordCount > given.count * 88 / 100)
    #expect(Set(one.findings.kept) == Set(two.findings.kept))
  }

  /// Whole numbers are the same as integers and as reals: a record has the ones for the others.
  private static func text(_ value: StoredValue) -> String {
    switch value {
    case .null: "null"
    case .integer(let number): "\(Double(number))"
    case .real(let number): "\(number)"
    case .text(let text): "\(text.utf8.count) \(text.utf8.hashValue)"
    case .blob(let bytes): "\(bytes.count) \(bytes.hashValue)"
    }
  }

  private static func text(
    _ value: RecoveredRowBuffer.Value, _ bytes: borrowing ContiguousArray<UInt8>
  ) -> String {
    // One by one, text that does not decode counts as not whole.
    guard value.isValid else { return "null" }
    switch value.kind {
    case .null: return "null"
    case .integer: return "\(Double(value.bits))"
    case .real: return "\(Double(bitPattern: UInt64(bitPattern: value.bits)))"
    case .text, .blob:
      let content = [UInt8](bytes[value.offset..<value.offset + value.count])
      return "\(content.count) \(content.hashValue)"
    }
  }

  /// Texts are counted, not the rows that have them.
  @Test func eachTextThatDoesNotDecodeCounts() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("t.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      CREATE TABLE t(a, b, c);
      INSERT INTO t VALUES(CAST(x'ff' AS TEXT), CAST(x'fe' AS TEXT), 'c');
      """)
    connection.close()
    let database = try DamagedDatabase(path: store.path)
    try database.forEachBufferedRow(.live) { _ in true }
    #expect(
      database.findings.kept.map(\.message) == [
        "2 texts are not valid UTF-8; their bytes are given instead"
      ])
  }

  @Test func itEndsWhenNoMoreRowsAreWanted() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("mixed.sqlite")
    try mixed(store)
    let database = try DamagedDatabase(path: store.path)
    var count = 0
    try database.forEachBufferedRow(.all) { _ in
      count += 1
      return count < 1000
    }
    #expect(count == 1000)
  }

  /// A limit, even one that is never reached, keeps to one thread. Some blocks have more rows than a buffer takes.
  @Test(arguments: Form.allCases)
  func twoThreadsWriteWhatOneWrites(_ form: Form) throws {
    let folder = try TemporaryFolder()
    let store = try make(form, in: folder)
    var written: [[UInt8]] = []
    var findings: [[Finding]] = []
    for limit in [Int.max - 1, nil] {
      let database = try DamagedDatabase(path: store.path)
      written.append(try bytesWritten { try database.writeJSON(.all, limit: limit, to: $0) })
      findings.append(database.findings.kept)
    }
    #expect(written[0].count > 8 << 20)
    // Not compared by the macro, which would look for the least difference of many megabytes. Without optimization the
    // comparison of two arrays takes far longer than that of two `Data`.
    let isSame = Data(written[0]) == Data(written[1])
    #expect(isSame)
    #expect(findings[0] == findings[1])
  }

  /// Both threads end when one cannot write, also while the other waits for its turn.
  @Test func aReaderThatGoesEndsBothThreads() throws {
    signal(SIGPIPE, SIG_IGN)
    let folder = try TemporaryFolder()
    let store = try make(.whole, in: folder)
    let database = try DamagedDatabase(path: store.path)
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    let error = #expect(throws: SQLiteFileError.self) {
      try database.writeJSON(.all, to: pipe.fileHandleForWriting.fileDescriptor)
    }
    #expect(error?.code == .outputClosed)
  }
}
