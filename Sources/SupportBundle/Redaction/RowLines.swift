import StoreExtraction
import CoreDataStore
package import Foundation
import ObjectModel
import RowText
import SQLiteFile
import SafeText

/// Copies the rows of a bundle as JSON lines. A token replaces each value that the allow-list does not name. Values
/// that are tokens already are kept.
///
/// The JSON of a value determines the type of its token. A string in the form of a date or a UUID gets the token of a
/// date or a UUID.
package struct RowLines {
  static let unreadable = BundleError(
    .badRecord, "the rows of the bundle are not in the form that this version reads",
    entry: StoreBundle.rowsName)
  private static let maxLineBytes = 64 << 20
  private static let tooLong = BundleError(
    .badRecord,
    "a row of the bundle has more than 64 MiB of JSON, which is the limit for one row",
    entry: StoreBundle.rowsName)

  private let tokens = ValueTokens()
  private let allowed: AllowList
  private let entities: Set<ExactText>?
  private let lineage: (String) -> [String]
  /// The names of all entities of the model and of the rows read so far. The set is complete before the first row
  /// without an entity is read, because such rows come last in a bundle.
  private var entityNames: Set<ExactText>

  /// The number of values that were replaced by tokens.
  private(set) var tokenCount = 0
  /// The number of rows that were left out because the request does not name their entity or table.
  private(set) var droppedRowCount = 0
  /// Whether tokens were already in the rows of the original bundle.
  private(set) var hasOlderTokens = false
  /// The names of the attributes or columns in the rows, keyed by the name of the entity or table.
  private(set) var names: [ExactText: Set<ExactText>] = [:]
  private(set) var nameTokens: NameTokens

  /// Prepares to copy rows. `entities` names the entities and tables whose rows are kept, including rows of
  /// subentities; nil for all. `model` says which entities inherit from which; nil when the bundle has no model.
  init(
    of entities: [String]?, allowing allowed: AllowList, _ model: ManagedObjectModel?,
    _ nameTokens: NameTokens
  ) {
    self.entities = entities.map { Set($0.map { ExactText($0) }) }
    self.allowed = allowed
    self.nameTokens = nameTokens
    entityNames = Set((model?.entityNames ?? []).map { ExactText($0) })
    lineage = { name in [name] + (model?.ancestors(of: name).map(\.name) ?? []) }
  }

  /// Calls `body` with each line of a file, without its line feed, until `body` returns false.
  ///
  /// - Throws: `bundle.badRecord` for a line of more than 64 MiB, and the errors of reading.
  package static func forEach(
    at path: String, _ body: (ArraySlice<UInt8>) throws -> Bool
  ) throws {
    try forEach(in: try InputFile(path: path, followsLink: false), body)
  }

  static func forEach(in file: InputFile, _ body: (ArraySlice<UInt8>) throws -> Bool) throws {
    let source = SequentialInput(file)
    var rest: [UInt8] = []
    while true {
      let bytes = try source.next(1 << 18)
      var start = bytes.startIndex
      while let end = bytes[start...].firstIndex(of: 0x0a) {
        rest += bytes[start..<end]
        guard try body(rest[...]) else { return }
        rest.removeAll(keepingCapacity: true)
        start = end + 1
      }
      rest += bytes[start...]
      guard rest.count <= maxLineBytes else { throw tooLong }
      if bytes.isEmpty { break }
    }
    if !rest.isEmpty { _ = try body(rest[...]) }
  }

  // MARK: - Rows

  private struct Row {
    /// The JSON key that names the row's entity or table: `entity` or `table`.
    let kind: String
    /// The name of the entity or table; nil for a row of an unknown entity.
    let name: String?
    let key: Int64?
    let values: [(name: String, value: JSONValue)]

    init(_ line: ArraySlice<UInt8>) throws {
      guard
        case .object(let members)? = RowLines.read(
          line, { try? JSONDecoder().decode(JSONValue.self, from: $0) }),
        let kind = ["entity", "table"].first(where: { members[$0] != nil })
      else { throw RowLines.unreadable }
      self.kind = kind
      switch members[kind] {
      case .string(let name)?: self.name = name
      case .null? where kind == "entity": name = nil
      default: throw RowLines.unreadable
      }
      key = if case .integer(let key)? = members["pk"] { key } else { nil }
      switch members["values"] {
      case .object(let values)?:
        self.values = values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
      // In a row of a table without an entity, the values may be an array without column names.
      case .array(let values)?: self.values = values.enumerated().map { ("c\($0)", $1) }
      default: throw RowLines.unreadable
      }
    }
  }

  /// Writes the row in `line` to `output`, with a token in place of each value that the allow-list does not name. Drops
  /// the row if the request does not name its entity or table.
  mutating func append(_ line: ArraySlice<UInt8>, to output: inout OutputBuffer) throws {
    guard !line.isEmpty else { return }
    let row = try Row(line)
    let rowName = row.name.map { ExactText($0) }
    if let rowName {
      names[rowName, default: []].formUnion(row.values.map { ExactText($0.name) })
    }
    let lineage = row.name.map(lineage) ?? []
    guard entities.map({ !$0.isDisjoint(with: lineage.map { ExactText($0) }) }) ?? true else {
      droppedRowCount += 1
      return
    }
    if row.kind == "entity", let rowName { entityNames.insert(rowName) }
    // If a table has the same name as an entity, a permission for this name applies only to the entity.
    let mayShow = row.kind == "entity" || rowName.map { !entityNames.contains($0) } ?? true
    output.append("{\"\(row.kind)\":")
    append(name: row.name, row.kind == "entity" ? .entity : .schema, to: &output)
    if row.kind == "entity", let key = row.key {
      output.append(",\"pk\":")
      output.append(integer: key)
    }
    output.append(",\"values\":{")
    for (place, (name, value)) in row.values.enumerated() {
      if place > 0 { output.append(UInt8(ascii: ",")) }
      append(name: name, .schema, to: &output)
      output.append(UInt8(ascii: ":"))
      append(
        value, isShown: mayShow && allowed.allows(name, of: lineage),
        of: HiddenColumn(name, of: lineage.last ?? "").key, to: &output)
    }
    output.append("}}\n")
  }

  /// Writes `name`, or its token if a user may have chosen the name; writes `null` for nil.
  private mutating func append(
    name: String?, _ kind: NameTokens.Kind, to output: inout OutputBuffer
  ) {
    guard let name else { return output.append("null") }
    let isUsual = NameForm.isIdentifier(name) || NameTokens.number(of: name) != nil
    output.append(jsonString: isUsual ? name : nameTokens.token(for: name, kind))
  }

  private mutating func append(
    _ value: JSONValue, isShown: Bool, of column: [UInt8], to output: inout OutputBuffer
  ) {
    switch value {
    case .null: output.append("null")
    case .object(let members) where append(reference: members, to: &output): break
    case .array(let list) where list.allSatisfy({ Self.reference($0) != nil }):
      output.append("[")
      for (place, element) in list.enumerated() {
        if place > 0 { output.append(UInt8(ascii: ",")) }
        if case .object(let members) = element { append(reference: members, to: &output) }
      }
      output.append("]")
    case .object(let members) where append(token: members, to: &output): hasOlderTokens = true
    case _ where isShown:
      if let number = Self.infinity(value) {
        output.append(jsonReal: number)
      } else {
        output.append(Self.json(value))
      }
    default:
      tokenCount += 1
      tokens.append(Self.property(value), of: column, to: &output)
    }
  }

  /// Decodes a line of JSON with `decode`, which returns nil on failure. Foundation fails on `9e999` and `-9e999`,
  /// which a line has for infinite numbers. So after a failure, `decode` is called again with `{"infinite":1}` or
  /// `{"infinite":-1}` in place of each of these numbers.
  package static func read<Row>(
    _ line: ArraySlice<UInt8>, _ decode: (Data) -> Row?
  ) -> Row? {
    decode(Data(line)) ?? decode(Data(withoutInfinity(line)))
  }

  private static func withoutInfinity(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let digits = Array("9e999".utf8)
    var result: [UInt8] = []
    var isInString = false
    var place = line.startIndex
    while place < line.endIndex {
      let byte = line[place]
      if isInString, byte == UInt8(ascii: "\\"), place + 1 < line.endIndex {
        result += line[place...(place + 1)]
        place += 2
        continue
      }
      if byte == UInt8(ascii: "\"") { isInString.toggle() }
      if !isInString, byte == digits[0], line[place...].starts(with: digits) {
        let isNegative = result.last == UInt8(ascii: "-")
        if isNegative { result.removeLast() }
        result += Array("{\"infinite\":\(isNegative ? -1 : 1)}".utf8)
        place += digits.count
        continue
      }
      result.append(byte)
      place += 1
    }
    return result[...]
  }

  /// Returns infinity for `{"infinite":1}` and minus infinity for `{"infinite":-1}`; nil for any other value. The
  /// method ``read(_:_:)`` puts these objects in place of infinite numbers.
  private static func infinity(_ value: JSONValue) -> Double? {
    guard case .object(let members) = value, members.count == 1,
      case .integer(let sign)? = members["infinite"]
    else { return nil }
    return sign < 0 ? -Double.infinity : Double.infinity
  }

  private static func json(_ value: JSONValue) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(value)).map { [UInt8]($0) } ?? Array("null".utf8)
  }

  // MARK: - References

  private static func reference(_ value: JSONValue) -> (String?, Int64)? {
    guard case .object(let members) = value, members.count == 2,
      case .integer(let key)? = members["pk"]
    else { return nil }
    switch members["entity"] {
    case .string(let name)?: return (name, key)
    case .null?: return (nil, key)
    default: return nil
    }
  }

  @discardableResult
  private mutating func append(
    reference members: [String: JSONValue], to output: inout OutputBuffer
  ) -> Bool {
    guard let (name, key) = Self.reference(.object(members)) else { return false }
    output.append("{\"entity\":")
    append(name: name, .entity, to: &output)
    output.append(",\"pk\":")
    output.append(integer: key)
    output.append("}")
    return true
  }

  // MARK: - Tokens

  /// The forms of tokens. A token is a JSON object. `kind` is the key of the first member of the object. `more` are the
  /// keys of the members that may follow, in the order in which they are written.
  private static let kinds: [(kind: String, more: [String])] = [
    ("text", ["length", "script"]), ("integer", ["range", "rank"]), ("real", ["range", "rank"]),
    ("data", ["bytes"]), ("file", ["bytes"]), ("boolean", []), ("uuid", []), ("date", []),
  ]

  /// If `members` is the JSON object of a token, writes the object unchanged and returns true. Otherwise writes nothing
  /// and returns false. The values in the object are checked later, when ``ResidueScan`` searches the finished bundle.
  private func append(token members: [String: JSONValue], to output: inout OutputBuffer) -> Bool {
    guard let (kind, more) = Self.kinds.first(where: { members[$0.kind] != nil }),
      case .string(let token)? = members[kind],
      kind == "date" || Hex.isLowercase(token.utf8, count: 16),
      members.keys.allSatisfy({ $0 == kind || more.contains($0) })
    else { return false }
    output.append("{\"\(kind)\":")
    output.append(jsonString: token)
    for name in more {
      guard let value = members[name] else { continue }
      output.append(",\"\(name)\":")
      output.append(Self.json(value))
    }
    output.append("}")
    return true
  }

  // MARK: - Values

  private static func property(_ value: JSONValue) -> PropertyValue {
    if let number = infinity(value) { return .real(number) }
    switch value {
    case .null: return .null
    case .boolean(let flag): return .boolean(flag)
    case .integer(let number): return .integer(number)
    case .unsigned(let number): return .real(Double(number))
    case .real(let number): return .real(number)
    case .string(let text): return .init(text)
    case .object(let members):
      if case .string(let digits)? = members["hex"], let bytes = Hex.bytes(digits) {
        return .binary(bytes)
      }
    case .array: break
    }
    return .string(StoredText(utf8: json(value)))
  }
}

extension PropertyValue {
  /// Makes a value from a JSON string: a date or a UUID if the JSON string has exactly such a form, otherwise a string.
  fileprivate init(_ text: String) {
    let bytes = Array(text.utf8)
    if bytes.count == 36, let uuid = UUID(uuidString: text), text == uuid.uuidString {
      self = .uuid(unsafe withUnsafeBytes(of: uuid.uuid) { unsafe Array($0) })
    } else if (20...30).contains(bytes.count), bytes.last == UInt8(ascii: "Z"),
      bytes[10] == UInt8(ascii: "T"),
      let date = Self.date(text)
    {
      self = .date(date)
    } else {
      self = .string(StoredText(text))
    }
  }

  private static func date(_ text: String) -> ReferenceDate? {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.utf8.contains(0x2e))
    return (try? style.parse(text)).map {
      ReferenceDate(seconds: $0.timeIntervalSinceReferenceDate)
    }
  }
}
