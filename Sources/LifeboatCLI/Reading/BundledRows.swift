import Foundation
import SQLiteFile
import SafeText
import StoreExtraction
import SupportBundle
import Terminal

/// The rows in a support bundle that holds rows instead of the store. Tokens replace the values of the rows, unless the
/// bundle was made with `--redact none`.
struct BundledRows {
  private let path: String
  private let given: String

  /// Finds the rows in a bundle. Nil if the input is not a bundle, or is a bundle that contains no rows. Throws a
  /// failure if the bundle's file of rows has changed since the bundle was packed.
  init?(_ input: StoreInput) throws {
    guard let bundle = input.bundle, bundle.manifest.contents == .rows
    else { return nil }
    path = PathText.joined(bundle.path, StoreBundle.rowsName)
    given = input.given
    try input.requireAsPacked(StoreBundle.rowsName)
  }

  /// Writes the rows that `options` select to standard output. Throws `usage.bundledRows` if the format is CSV.
  func write(_ format: Rows.Format, _ options: RowOptions, _ display: DisplayOptions) throws {
    let output = StandardStream(descriptor: 1)
    var left = options.limit ?? .max
    switch format {
    case .csv:
      throw Failure(
        64, "usage.bundledRows", "the rows of a bundle cannot be written as CSV",
        hint: "use --format ndjson, or text")
    case .text:
      var texts: [ExactText: RowText] = [:]
      var groups: [ExactText] = []
      try forEachRow(of: options.entity) { row, _ in
        // A table may have the same name as an entity, and rows of unknown entities have the columns of their tables.
        let group = ExactText(([row.kind, row.name] + row.columns).joined(separator: "\0"))
        if texts[group] == nil { groups.append(group) }
        texts[group, default: RowText(row.name, row.columns, limit: options.limit ?? 50)]
          .add { row.cells }
        return true
      }
      for group in groups {
        if let text = texts[group] { try output.write(text.text(display)) }
      }
    case .ndjson:
      try forEachRow(of: options.entity) { _, line in
        guard left > 0 else { return false }
        left -= 1
        try output.write(json: line + "\n")
        return true
      }
    case .json:
      try output.write(json: "{\"schema\":\"lifeboat.bundledRows\",\"version\":1,\"rows\":[")
      var separator = "\n"
      try forEachRow(of: options.entity) { _, line in
        guard left > 0 else { return false }
        left -= 1
        try output.write(json: separator + line)
        separator = ",\n"
        return true
      }
      try output.write(json: "\n]}\n")
    }
    try output.flush()
  }

  // MARK: - Lines

  private struct Row {
    /// `entity` for a row of an entity, `table` for a row of a table.
    let kind: String
    /// The name of the entity or table; `unknown entity` for a row whose entity is not known.
    let name: String
    let key: String
    let values: [(name: String, text: String)]

    var columns: [String] { [kind == "entity" ? "pk" : "rowid"] + values.map(\.name) }
    var cells: [String] { [key] + values.map(\.text) }

    /// Parses a line. Nil when the line is not a JSON object with values and with the name of an entity or a table.
    init?(_ line: ArraySlice<UInt8>) {
      guard
        let object = RowLines.read(
          line, { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] }),
        let kind = ["entity", "table"].first(where: { object[$0] != nil })
      else { return nil }
      self.kind = kind
      switch object[kind] {
      case let name as String: self.name = name
      case is NSNull where kind == "entity": name = "unknown entity"
      default: return nil
      }
      key = (object["pk"] ?? object["rowid"]).map(Self.text) ?? ""
      switch object["values"] {
      case let values as [String: Any]:
        self.values = values.sorted { $0.key < $1.key }.map { ($0.key, Self.text($0.value)) }
      // A row of a table as SQLite stores it is an array, because its values have no column names.
      case let values as [Any]:
        self.values = values.enumerated().map { ("c\($0)", Self.text($1)) }
      default: return nil
      }
    }

    /// Returns the text that a cell shows for a JSON value. For a value that a token replaces, the text is the token,
    /// followed by what the bundle says about the value. For a reference to another row, the text is the entity and the
    /// key of the other row.
    private static func text(_ value: Any) -> String {
      switch value {
      case is NSNull: return ""
      case let list as [Any]: return list.map(text).joined(separator: " ")
      case let object as [String: Any]:
        if let entity = object["entity"] {
          return (entity is NSNull ? "?" : "\(entity)") + " \(object["pk"] ?? "")"
        }
        // An infinite number, which the JSON has as `9e999`.
        if object.count == 1, let sign = object["infinite"] as? Int {
          return sign < 0 ? "-inf" : "inf"
        }
        // The token comes first, then what is known of the replaced value.
        let about = ["length", "bytes", "range", "script", "rank"]
        let parts =
          object.keys.filter { !about.contains($0) }.sorted() + about.filter { object[$0] != nil }
        return parts.compactMap { object[$0] }.map(text).joined(separator: " ")
      default: return "\(value)"
      }
    }
  }

  /// Calls `body` with each row of the named entities or tables, and with the line of JSON that the row was read from,
  /// until `body` returns false. Without names, all rows are passed. Throws `input.unknownName` if the bundle has no
  /// rows for one of the names.
  private func forEachRow(
    of names: [String], _ body: (Row, String) throws -> Bool
  ) throws {
    let wanted = names.isEmpty ? [] : try exactNames(of: names)
    try forEachLine { row, line in
      guard wanted.isEmpty || wanted.contains(ExactText(row.name)) else { return true }
      return try body(row, String(decoding: line, as: UTF8.self))
    }
  }

  /// Returns the names in the bundle that match `names`. A name with the same bytes takes precedence over a name that
  /// is only equal by Swift's `==`. So the names of all rows are collected before any name is matched.
  private func exactNames(of names: [String]) throws -> Set<ExactText> {
    var seen: Set<ExactText> = []
    try forEachLine { row, _ in
      seen.insert(ExactText(row.name))
      return true
    }
    let known = seen.sorted().map(\.text)
    return try Set(
      names.map { name in
        guard let place = ExactText.place(of: name, in: known, { $0 }) else {
          throw ExtractionError(
            .unknownName, "the bundle has no rows of \(name)", path: given,
            nearest: NearestName.of(name, among: known))
        }
        return ExactText(known[place])
      })
  }

  private func forEachLine(_ body: (Row, ArraySlice<UInt8>) throws -> Bool) throws {
    try RowLines.forEach(at: path) { line in
      guard !line.isEmpty else { return true }
      guard let row = Row(line) else {
        throw Failure(
          65, "bundle.badRecord",
          "\(given): this version of lifeboat cannot read the rows in \(StoreBundle.rowsName)")
      }
      return try body(row, line)
    }
  }
}
