import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteForensics
import StoreExtraction
import Terminal

/// Writes what indexes and full-text tables still hold of rows that are gone.
struct IndexedRows {
  let path: String
  let format: Rows.Format
  let options: RowOptions
  let store: StoreOptions
  let display: DisplayOptions

  /// Writes them.
  /// - Returns: what was found while reading.
  func run() throws -> FindingList {
    let database = try DamagedDatabase(path: path, logView: store.wal)
    let output = StandardStream(descriptor: 1)
    var failure: (any Error)?
    var count = 0
    var isFirst = true
    var block: (title: String, text: RowText)?
    func endBlock() throws {
      guard let text = block?.text else { return }
      try display.write(text.text(display))
      block = nil
    }
    if format == .json { try output.write(#"{"schema":"lifeboat.rows","version":1,"rows":["#) }
    let notes = try database.forEachIndexedValues { found in
      guard isWanted(found) else { return true }
      do {
        switch format {
        case .text, .csv:
          let title = Self.title(found)
          if block?.title != title {
            try endBlock()
            let names = ["rowid", "found in"] + found.values.map(\.column)
            block = (title, RowText(title, names, limit: options.limit ?? 50))
          }
          block?.text.add {
            [String(found.rowID), Self.words(found.place)]
              + found.values.map { options.cell(PropertyValue($0.value, isDate: false)) }
          }
        case .ndjson, .json:
          guard count < options.limit ?? .max else { return false }
          if format == .json { try output.write(isFirst ? "\n" : ",\n") }
          let line = try JSONText.line(Self.json(found))
          try output.write(json: format == .json ? String(line.dropLast()) : line)
          isFirst = false
        }
        count += 1
        return true
      } catch {
        failure = error
        return false
      }
    }
    if let failure { throw failure }
    try endBlock()
    if format == .json { try output.write("\n]}\n") }
    try output.flush()
    if count == 0 { display.note("note: no index holds anything of a row that is gone") }
    for note in notes.texts { display.note("note: not looked at: \(note)") }
    return database.findings
  }

  /// Whether an entity or table was asked for.
  private func isWanted(_ found: IndexedValues) -> Bool {
    options.entity.isEmpty
      || options.entity.contains {
        SQLName.isSame($0, found.table) || SQLName.isSame("Z" + $0, found.table)
      }
  }

  private static func title(_ found: IndexedValues) -> String {
    found.table
      + (found.place == .words ? ", words of rows that are gone" : ", by the index \(found.index)")
  }

  private static func words(_ place: IndexedValues.Place) -> String {
    switch place {
    case .entry: "entry"
    case .gap: "free space"
    case .freePage: "free page"
    case .words: "words"
    }
  }

  private static func json(_ found: IndexedValues) -> JSONValue {
    var values: [String: JSONValue] = [:]
    for (column, value) in found.values { values[column] = json(value) }
    var members: [String: JSONValue] = [
      "table": .string(found.table), "rowid": .integer(found.rowID), "state": .string("indexed"),
      "index": .string(found.index), "place": .string(found.place.rawValue),
      "values": .object(values),
    ]
    if let origin = found.origin {
      members["member"] = .string(origin.member.rawValue)
      members["page"] = .integer(Int64(origin.page))
      members["offset"] = .integer(origin.offset)
    }
    return .object(members)
  }

  private static func json(_ value: StoredValue) -> JSONValue {
    switch value {
    case .null: .null
    case .integer(let number): .integer(number)
    case .real(let number): number.isFinite ? .real(number) : .string("\(number)")
    case .text(let text) where !text.isValid:
      .object(["text": .string(text.string), "hex": .string(Hex.string(text.utf8))])
    case .text(let text): .string(text.string)
    case .blob(let bytes): .object(["hex": .string(Hex.string(bytes))])
    }
  }
}
