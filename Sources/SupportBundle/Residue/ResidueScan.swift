import CoreDataStore
import Dispatch
import Foundation
import ObjectModel
import SQLiteFile
import StoreExtraction
import StoreFiles
import StoreRecovery

/// Searches a finished bundle for strings that must not be in the bundle: strings of the store, and personal strings
/// (``PersonalTexts``). The search is a second check, in case the redaction has failed to remove such a string.
///
/// Every entry is decompressed and searched for these strings in every form of ``TextForm``. Two kinds of entries are
/// not searched, because their values were requested: the store's own files, and rows without redaction. Redacted rows
/// must consist of tokens (``TokenRows``). Two kinds of strings of the store are not found: strings of at most six
/// bytes, and strings of at most four words if all these words are ``PublicWords``.
package struct ResidueScan {
  private let store: CoreDataStore?
  private let incident: Incident?
  private let contents: BundleManifest.Contents
  private let redaction: Redaction
  private let nameTokens: NameTokens
  private var words = PublicWords()
  /// A function that calls `body` with each row of the original bundle. Nil if the searched bundle is not a reduced
  /// copy of another bundle.
  private var lines: ((_ body: (ArraySlice<UInt8>) throws -> Void) throws -> Void)?

  /// The number of bytes of an entry that are searched at a time. The last `overlapBytes` bytes of each piece are also
  /// at the start of the next piece, so that a string across the border of two pieces is found.
  private static let pieceBytes = 1 << 20
  private static let overlapBytes = 1 << 10

  /// Prepares to search a bundle.
  ///
  /// `store`: the store that the bundle is about; nil if the store could not be read.
  /// `nameTokens`: the tokens that replace names in the bundle's rows. The search needs the tokens to find the names of
  /// the allow-list in these rows.
  init(
    _ store: CoreDataStore?, _ contents: BundleManifest.Contents, _ redaction: Redaction,
    incident: Incident? = nil, nameTokens: NameTokens = NameTokens()
  ) {
    self.nameTokens = nameTokens
    self.store = store
    self.incident = incident
    self.contents = contents
    self.redaction = redaction
    if let store { words.add(store) }
  }

  /// Prepares to search a reduced copy of a bundle for what must not be in it: the strings in the rows of the original
  /// bundle, and the names that `nameTokens` replaces.
  ///
  /// `lines`: reads the rows of the original bundle, and calls `body` with each row.
  /// `names`: the names of the attributes or columns in these rows, by the name of the entity or table.
  init(
    copying contents: BundleManifest.Contents, _ redaction: Redaction, _ model: ManagedObjectModel?,
    _ names: [ExactText: Set<ExactText>], nameTokens: NameTokens? = nil,
    lines: @escaping (_ body: (ArraySlice<UInt8>) throws -> Void) throws -> Void
  ) {
    self.init(nil, contents, redaction, nameTokens: nameTokens ?? NameTokens())
    self.lines = lines
    words.add(model, names)
  }

  /// Searches a bundle.
  ///
  /// - Throws: `bundle.residue` when a string that must not be in the bundle was found. The error names the entry and
  ///   the kind of string, but does not quote the string. Also throws the errors of reading.
  package func check(_ bundle: PackedBundle) throws {
    try check(try ZipReader(bundle.file))
  }

  func check(_ reader: ZipReader) throws {
    var scan = self
    scan.words.add(try BundleContents(of: reader).manifest, incident)
    try scan.search(reader)
  }

  private func search(_ reader: ZipReader) throws {
    let texts = SecretTexts()
    // If the values were requested, they may be in the bundle, so the bundle is not searched for them.
    if !givesValues {
      try forEachText { text, _ in
        if text.count >= SecretTexts.leastBytes { texts.note(SecretTexts.start(of: text)) }
        return true
      }
    }
    let personal = PersonalTexts(words)
    for entry in reader.entries where !isAsAskedFor(entry.name) {
      if entry.name == "rows.ndjson" {
        try checkTokens(entry, of: reader)
        continue
      }
      try forEachPiece(of: entry, of: reader) { piece in
        for form in TextForm.allCases {
          for bytes in form.decoded(piece) {
            texts.search(bytes, form, in: entry.name)
            if form == .plain || form == .escaped, let kind = personal.kinds(in: bytes).first {
              throw Self.residue(kind.rawValue, form, entry.name)
            }
          }
        }
      }
    }
    try judge(texts)
  }

  /// Returns the manifest of a bundle without the entries for the store's files. These entries are left out of the
  /// search, because a bundle with the store's files may contain their names. Returns nil if `entry` is not the
  /// manifest, or if the bundle does not contain the store's files.
  private func withoutFileNames(
    _ entry: ZipReader.Entry, of reader: ZipReader
  ) throws -> [UInt8]? {
    guard contents == .store, entry.name == BundleManifest.entryName else { return nil }
    let json = try reader.bytes(of: entry, limit: BundleManifest.maxBytes)
    var manifest = try BundleManifest(json: json)
    manifest.entries.removeAll { isAsAskedFor($0.name) }
    return try manifest.json()
  }

  private var givesValues: Bool {
    contents == .store || contents == .rows && redaction == .none
  }

  private func isAsAskedFor(_ entry: String) -> Bool {
    switch contents {
    case .store: entry.utf8.starts(with: "store/".utf8)
    case .rows: redaction == .none && entry == "rows.ndjson"
    case .structure: false
    }
  }

  /// Throws if the bundle contains a string of the store that is not public (``PublicWords``). The strings of the store
  /// are compared with the candidates in `texts`. Also throws if there were too many candidates.
  private func judge(_ texts: SecretTexts) throws {
    guard !texts.isFull else {
      throw BundleError(
        .residue,
        "the bundle cannot be checked for texts of the store, because too many texts look like "
          + "them; nothing was written"
      )
    }
    guard !texts.candidates.isEmpty else { return }
    var found: (candidate: SecretTexts.Candidate, source: Source)?
    try forEachText { text, source in
      guard let place = texts.places(of: text).first, !words.hold(text) else { return true }
      found = (place, source)
      return false
    }
    if let found {
      throw Self.residue(found.source.rawValue, found.candidate.form, found.candidate.entry)
    }
  }

  private static func residue(_ what: String, _ form: TextForm, _ entry: String) -> BundleError {
    BundleError(
      .residue,
      "the bundle would hold \(what), \(form.rawValue), which must not be in this bundle; nothing "
        + "was written",
      entry: entry)
  }

  // MARK: - Entries

  private func checkTokens(_ entry: ZipReader.Entry, of reader: ZipReader) throws {
    var allowed = AllowList.nothing
    if case .values(except: let list) = redaction { allowed = list }
    let rows = TokenRows { name in
      allowed.permissions.contains { permission in
        guard let attribute = permission.attribute else { return true }
        return attribute == ExactText(name)
          || nameTokens.token(of: Array(attribute.text.utf8)[...]) == name
      }
    }
    // Two threads check the lines of a block. The first thread also compares the dates in the lines with the dates in
    // the store.
    let dates = try unshiftedDates()
    let checks = [LineCheck(rows, dates: dates), LineCheck(rows, dates: [:])]
    func check(_ lines: ArraySlice<UInt8>) throws {
      let middle = lines.startIndex + (checks[0].hasComparedDates ? lines.count / 2 : lines.count)
      let border = lines[middle...].firstIndex(of: 0x0a).map { $0 + 1 } ?? lines.endIndex
      let halves = [lines[..<border], lines[border...]]
      DispatchQueue.concurrentPerform(iterations: 2) { checks[$0].read(halves[$0]) }
      guard checks.allSatisfy(\.isClean) else {
        throw Self.residue("a value of a row", .plain, entry.name)
      }
    }
    var block: [UInt8] = []
    try reader.read(entry) { bytes in
      guard block.count + bytes.count >= Self.pieceBytes, let end = bytes.lastIndex(of: 0x0a) else {
        block += bytes
        return
      }
      block += bytes[...end]
      try check(block[...])
      block.removeAll(keepingCapacity: true)
      block += bytes[(end + 1)...]
    }
    try check(block[...])
    guard block.last ?? 0x0a == 0x0a else {
      throw Self.residue("an unfinished row", .plain, entry.name)
    }
  }

  /// Checks that every value in lines of rows is a token. Only one thread at a time uses an object of this class.
  private final class LineCheck: @unchecked Sendable {
    private var rows: TokenRows
    private let dates: [String: String]
    private var compared = 0
    /// Whether all rows so far are redacted: each value is a token, and each date differs from the date in the store.
    private(set) var isClean = true

    init(_ rows: TokenRows, dates: [String: String]) {
      self.rows = rows
      self.dates = dates
    }

    var hasComparedDates: Bool { compared >= ResidueScan.datedRows }

    func read(_ lines: ArraySlice<UInt8>) {
      var start = lines.startIndex
      while isClean, start < lines.endIndex {
        let end = lines[start...].firstIndex(of: 0x0a) ?? lines.endIndex
        let line = lines[start..<end]
        isClean =
          rows.isClean(line) && (hasComparedDates || !ResidueScan.holdsADate(of: dates, line))
        compared += 1
        start = end + 1
      }
    }
  }

  // MARK: - Dates

  /// The number of rows whose dates are compared with the dates in the store. A few rows are enough, because all dates
  /// in a bundle are shifted by the same time.
  private static let datedRows = 200

  /// Returns the dates in the first rows of the store, as ISO 8601. Unlike the dates in a bundle, these dates are not
  /// shifted. A key of the dictionary consists of the entity name, the primary key and the attribute name, with spaces
  /// between them.
  private func unshiftedDates() throws -> [String: String] {
    guard let store, store.kind != .sqlite else { return [:] }
    var dates: [String: String] = [:]
    var left = Self.datedRows
    try store.forEachRow(of: nil) { row in
      for property in row.properties {
        if case .date(let date) = property.value, let text = date.iso8601 {
          dates["\(row.entityName ?? "") \(row.primaryKey) \(property.name)"] = text
        }
      }
      left -= 1
      return left > 0
    }
    return dates
  }

  private static func holdsADate(of dates: [String: String], _ line: ArraySlice<UInt8>) -> Bool {
    guard !dates.isEmpty,
      let row = try? JSONSerialization.jsonObject(with: Data(line)) as? [String: Any],
      let key = row["pk"] as? Int, let values = row["values"] as? [String: Any]
    else { return false }
    return values.contains { name, value in
      let date = (value as? [String: Any])?["date"] as? String
      return date != nil && date == dates["\(row["entity"] as? String ?? "") \(key) \(name)"]
    }
  }

  // MARK: - Pieces

  private func forEachPiece(
    of entry: ZipReader.Entry, of reader: ZipReader, _ body: (ArraySlice<UInt8>) throws -> Void
  ) throws {
    if let manifest = try withoutFileNames(entry, of: reader) { return try body(manifest[...]) }
    var waiting: [UInt8] = []
    try reader.read(entry) { bytes in
      waiting += bytes
      guard waiting.count >= Self.pieceBytes else { return }
      try body(waiting[...])
      waiting.removeFirst(waiting.count - Self.overlapBytes)
    }
    try body(waiting[...])
  }

  // MARK: - Texts of the store

  /// The kind of text in a store that a string comes from. Error messages contain the raw value.
  private enum Source: String {
    case row = "a text of a row"
    case schema = "a literal or comment of the schema"
    case name = "a name that a user may have chosen"
    case metadata = "a value of the metadata"
    case model = "a default value, user info or predicate of the model"
  }

  /// Calls `body` with each string that must not be in the bundle, until `body` returns false. The strings depend on
  /// the bundle:
  ///
  /// - For a reduced copy of a bundle: the names that tokens replace, and the strings in the rows of the original
  ///   bundle.
  /// - For any other bundle: names that a user may have chosen; literals and comments of the schema; default values,
  ///   user info and predicates of the model; strings in rows; and values of metadata keys that are not Core Data's.
  private func forEachText(_ body: @escaping (_ text: [UInt8], _ source: Source) -> Bool) throws {
    if let lines {
      for name in nameTokens.names where !body(name, .name) { return }
      return try forEachText(of: lines, body)
    }
    let isDone = NamedTexts.forEach(of: store, incident) { body(Array($0.utf8), .name) }
    guard isDone, let store else { return }
    // The repaired schema may have literals that the stored schema does not have.
    let schema = store.database.schema
    let statements = (schema.entries + schema.repairedEntries).map(\.sql) + schema.tables.map(\.sql)
    for sql in Set(statements.compactMap { $0.map(ExactText.init) }) {
      for literal in Self.literals(Array(sql.text.utf8)) where !body(literal, .schema) { return }
    }
    for text in store.model.map(ModelTexts.all) ?? [] where !body(Array(text.utf8), .model) {
      return
    }
    for table in store.database.schema.tables where !Self.isOfCoreData(table.name) {
      let rows = TextRows { body($0, .row) }
      do { try store.database.read(table, by: rows) } catch {
        // Rows that are too damaged to be read are not in the bundle either. Only a failed system call is an error
        // here.
        guard error.code != .io else { throw error }
      }
      if !rows.wantsMore { return }
    }
    for text in try Self.metadataTexts(store) where !body(Array(text.utf8), .metadata) { return }
  }

  /// Calls `body` with the string values in lines of JSON until `body` returns false. The keys of JSON objects, the
  /// names of entities and the names of external files are left out.
  private func forEachText(
    of lines: ((ArraySlice<UInt8>) throws -> Void) throws -> Void,
    _ body: @escaping (_ text: [UInt8], _ source: Source) -> Bool
  ) throws {
    struct Enough: Error {}
    func take(_ value: Any) throws {
      switch value {
      case let text as String: if !body(Array(text.utf8), .row) { throw Enough() }
      case let list as [Any]: try list.forEach(take)
      case let object as [String: Any]:
        // The values of these two members are names of entities and of external files. Core Data makes the names of
        // external files from UUIDs.
        for (name, value) in object where name != "entity" && name != "external" { try take(value) }
      default: break
      }
    }
    do {
      try lines { line in
        let row = RowLines.read(line) {
          try? JSONSerialization.jsonObject(with: $0) as? [String: Any]
        }
        // The keys of this object are names of attributes.
        if let values = row?["values"] as? [String: Any] {
          try values.values.forEach(take)
        } else if let values = row?["values"] {
          try take(values)
        }
      }
    } catch is Enough {}
  }

  /// Whether a table is `Z_METADATA`, `Z_PRIMARYKEY` or `Z_MODELCACHE`. The strings in these tables are not treated as
  /// strings in rows, because they are entity names, metadata or parts of the model.
  private static func isOfCoreData(_ table: String) -> Bool {
    ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"].contains { SQLName.isSame(table, $0) }
  }

  /// Returns the string literals and the comments of an SQL statement, without their quotes and comment marks. A literal
  /// with doubled quotes comes twice: as SQLite reads it and as the statement writes it, because a bundle may hold
  /// either.
  private static func literals(_ sql: [UInt8]) -> [[UInt8]] {
    var literals: [[UInt8]] = []
    var place = 0
    /// The bytes from `start` to the next `mark`, and the position after the mark. Without a mark, the bytes reach to
    /// the end of the statement.
    func content(from start: Int, to mark: [UInt8]) -> (bytes: ArraySlice<UInt8>, after: Int) {
      var place = start
      while place + mark.count <= sql.count {
        if sql[place..<place + mark.count].elementsEqual(mark) {
          return (sql[start..<place], place + mark.count)
        }
        place += 1
      }
      return (sql[start...], sql.count)
    }
    while place < sql.count {
      switch sql[place] {
      case UInt8(ascii: "-") where sql[place...].starts(with: [0x2d, 0x2d]):
        let comment = content(from: place + 2, to: [0x0a])
        literals.append(Self.trimmed(comment.bytes))
        place = comment.after
      case UInt8(ascii: "/") where sql[place...].starts(with: [0x2f, 0x2a]):
        let comment = content(from: place + 2, to: [0x2a, 0x2f])
        literals.append(Self.trimmed(comment.bytes))
        place = comment.after
      case UInt8(ascii: "["): place = content(from: place + 1, to: [0x5d]).after
      case UInt8(ascii: "'"):
        let start = place + 1
        var end = start
        var text: [UInt8] = []
        while end < sql.count {
          if sql[end] == 0x27 {
            guard sql[(end + 1)...].first == 0x27 else { break }
            end += 1
          }
          text.append(sql[end])
          end += 1
        }
        if !text.isEmpty { literals.append(text) }
        if text.count < end - start { literals.append(Array(sql[start..<end])) }
        place = end + 1
      case let quote where quote == 0x22 || quote == 0x60:
        place = content(from: place + 1, to: [quote]).after
      default: place += 1
      }
    }
    return literals
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    Array(bytes.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed())
  }

  private static func metadataTexts(_ store: CoreDataStore) throws -> [String] {
    guard let table = store.database.schema.table(named: "Z_METADATA") else { return [] }
    let known = Set(store.metadata?.otherKeyNames ?? [])
    var texts: [String] = []
    try store.database.forEachRow(of: table) { row in
      if row.values.count > 2, case .blob(let bytes) = row.values[2],
        let list = try? PropertyList(bytes: bytes)
      {
        for (key, value) in list.entries ?? [:] where known.contains(key) {
          texts += Self.texts(of: value)
        }
      }
      return true
    }
    return texts
  }

  private static func texts(of list: PropertyList) -> [String] {
    switch list {
    case .string(let text): [text]
    case .array(let elements), .set(let elements): elements.flatMap(texts)
    case .dictionary(let entries): entries.flatMap { [$0.key] + texts(of: $0.value) }
    default: []
    }
  }
}

/// Receives the records of a table and calls `body` with each string in them, until `body` returns false. Strings
/// shorter than ``SecretTexts/leastBytes`` are left out.
private final class TextRows: RecordReceiver {
  private struct Sink: RowSink {
    let body: ([UInt8]) -> Bool
    var wantsMore = true

    mutating func beginRow(_ rowID: Int64?) {}
    mutating func null() {}
    mutating func integer(_ value: Int64) {}
    mutating func real(_ value: Double) {}
    mutating func blob(_ bytes: RawSpan) {}
    mutating func endRow() {}
    mutating func text(_ bytes: RawSpan) {
      guard wantsMore, bytes.byteCount >= SecretTexts.leastBytes else { return }
      wantsMore = body(bytes.array())
    }
  }

  private var sink: Sink

  init(_ body: @escaping ([UInt8]) -> Bool) { sink = Sink(body: body) }

  var wantsMore: Bool { sink.wantsMore }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    sink.take(record, rowID: rowID, layout, &decoder)
  }
}
