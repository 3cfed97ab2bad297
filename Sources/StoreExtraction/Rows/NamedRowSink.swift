import CoreDataStore
import RowText
import SQLiteFile

/// Writes the values of an entity's rows as JSON or CSV.
struct NamedRowSink: PropertySink, ~Copyable {
  enum Form: Equatable {
    /// A JSON object: `{"entity":"Note","pk":1,"values":{"title":"…","folder":{"entity":"Folder","pk":2}}}`.
    case json(JSONForm)
    /// A JSON object without its closing brace, to which the caller can append more members.
    case members
    /// A CSV line with the key and the properties. A relationship is written as the keys of its destinations, separated
    /// by spaces.
    case csv
  }

  let form: Form
  private let isObject: Bool
  private let storePath: String
  private let blobs: BlobForm
  private let csv: CSVForm
  /// How dates are shown in CSV; nil for ISO 8601 in UTC.
  private let dates: LocalDates?
  /// Makes the tokens that are written in place of hidden values; nil if no values are hidden.
  private let tokens: ValueTokens?
  private var output = OutputBuffer(capacity: 0)

  /// The rendering of the entity whose rows are written now. ``turn(to:number:)`` copies its `roles` and `literals`
  /// into this sink.
  private var entity: EntityRendering?
  private var roles: ContiguousArray<EntityRendering.Column> = []
  private var literals: ContiguousArray<UInt8> = []
  private var hiddenKeys: [[UInt8]] = []
  /// Whether the current row is written as CSV. A row of an unknown entity is written as CSV only among rows of several
  /// entities. Elsewhere it is written as JSON, because the CSV of one entity has no columns for it.
  private var isCSV = false
  /// The row's entity number. It is written only if the entity is unknown.
  private var number: Int64?
  private var isFirst = true
  private var column = 0
  private var rowID: Int64?
  private var key: Int64 = 0
  /// The entity number of a relationship's destination, kept until the key of this destination follows.
  private var destinationEntity: Int64?
  /// The names of the external files that the row refers to.
  var externals: [String] = []

  init(
    _ form: Form, storePath: String, blobs: BlobForm, csv: CSVForm = CSVForm(),
    dates: LocalDates? = nil, tokens: ValueTokens? = nil
  ) {
    self.form = form
    isObject = form == .json(.object)
    self.storePath = storePath
    self.blobs = blobs
    self.csv = csv
    self.dates = dates
    self.tokens = tokens
  }

  init(like other: borrowing NamedRowSink) {
    self.init(
      other.form, storePath: other.storePath, blobs: other.blobs, csv: other.csv,
      dates: other.dates, tokens: other.tokens?.another())
  }

  var isBroken: Bool { output.isBroken }
  let wantsMore = true

  mutating func exchange(with other: inout OutputBuffer) { swap(&output, &other) }

  /// Prepares the sink for the rows of `entity`. `number` is the entity number of these rows.
  mutating func turn(to entity: EntityRendering, number: Int64?) {
    self.number = number
    guard self.entity !== entity else { return }
    self.entity = entity
    roles = entity.roles
    hiddenKeys = entity.hiddenKeys
    literals = entity.literals + [UInt8](repeating: 0, count: OutputBuffer.shortLiteral)
    isCSV = form == .csv && (entity.name != nil || entity.csvName != nil)
  }

  /// Prepares for the next row. `isFirst` says whether the row is the first row of its output.
  mutating func begin(isFirst: Bool) { self.isFirst = isFirst }

  // MARK: - A row

  mutating func beginRow(_ rowID: Int64?) {
    self.rowID = rowID
    column = 0
    destinationEntity = nil
    if isObject, !isFirst { output.append(word: 0x0a2c, length: 2) }
  }

  private mutating func begin(key: Int64) {
    self.key = key
    guard !isCSV else {
      if let name = entity?.csvName {
        if !name.isEmpty {
          output.append(csvField: name.rawSpan, safeForSpreadsheets: csv.isSafeForSpreadsheets)
        }
        output.append(csv.separator)
      }
      return output.append(integer: key)
    }
    if let entity { append(entity.head) }
    if entity?.name == nil, tokens == nil {
      if let number { output.append(integer: number) } else { output.append("null") }
      output.append(",\"pk\":")
    }
    output.append(integer: key)
    output.append(",\"values\":{")
  }

  mutating func endRow() {
    for link in entity?.links ?? [] {
      let keys = link.destinations.destinations(of: key)
      if isCSV {
        appendCommas(link.gap)
        for (index, key) in keys.enumerated() {
          if index > 0 { output.append(UInt8(ascii: " ")) }
          output.append(integer: key)
        }
      } else {
        append(link.lead)
        output.append(UInt8(ascii: "["))
        for (index, key) in keys.enumerated() {
          if index > 0 { output.append(UInt8(ascii: ",")) }
          append(destination: link.destination, key)
        }
        output.append(UInt8(ascii: "]"))
      }
    }
    if isCSV {
      appendCommas(entity?.lineTail ?? 0)
      output.append(word: 0x0a0d, length: 2)
    } else if form == .members {
      output.append(UInt8(ascii: "}"))
    } else {
      output.append(word: 0x0a_7d7d, length: isObject ? 2 : 3)
    }
  }

  // MARK: - Values

  @inline(__always)
  mutating func next(key: Int64?) -> EntityRendering.Column? {
    guard column < roles.count else { return nil }
    let next = roles[column]
    column &+= 1
    switch next.role {
    case .key:
      begin(key: key ?? rowID ?? 0)
      return nil
    case .destinationEntity:
      destinationEntity = key
      return nil
    default: break
    }
    if isCSV { appendCommas(next.gap) } else { append(next.lead) }
    return next
  }

  @inline(__always)
  private mutating func appendCommas(_ count: Int) {
    for _ in 0..<count { output.append(csv.separator) }
  }

  mutating func end(_ column: EntityRendering.Column, isInteger: Bool) { destinationEntity = nil }

  mutating func appendNull() {
    if !isCSV { output.append(word: 0x6c6c_756e, length: 4) }
  }

  @inline(__always)
  mutating func append(toOne key: Int64, _ column: EntityRendering.Column) {
    guard !isCSV else { return append(integer: key, column) }
    let named = destinationEntity.flatMap { entity?.destinations[$0] }
    append(destination: named ?? column.destination, key)
  }

  @inline(__always)
  mutating func append(text bytes: RawSpan, _ column: EntityRendering.Column) {
    if column.isHidden {
      tokens?.append(text: bytes, to: &output)
    } else if isCSV {
      output.append(csvField: bytes, safeForSpreadsheets: csv.isSafeForSpreadsheets)
    } else if !output.appendIfValid(jsonString: bytes) {
      output.append(json: StoredText(utf8: bytes.array()))
    }
  }

  @inline(__always)
  private mutating func append(_ literal: Range<Int>) {
    output.append(literal: literal, of: literals)
  }

  private mutating func append(destination: Range<Int>, _ key: Int64) {
    append(destination)
    output.append(integer: key)
    output.append(UInt8(ascii: "}"))
  }

  /// The ``HiddenColumn/key`` of the column that the last value belongs to.
  private var hiddenKey: [UInt8] { hiddenKeys[column &- 1] }

  mutating func append(boolean value: Bool, _ column: EntityRendering.Column) {
    if column.isHidden {
      tokens?.append(boolean: value, of: hiddenKey, to: &output)
    } else {
      output.append(value ? "true" : "false")
    }
  }

  mutating func append(integer value: Int64, _ column: EntityRendering.Column) {
    if column.isHidden {
      tokens?.append(integer: value, of: hiddenKey, to: &output)
    } else {
      output.append(integer: value)
    }
  }

  mutating func append(real value: Double, _ column: EntityRendering.Column) {
    if column.isHidden {
      tokens?.append(real: value, of: hiddenKey, to: &output)
    } else if isCSV {
      output.append(csvReal: value, csv)
    } else {
      output.append(jsonReal: value)
    }
  }

  mutating func append(date seconds: Double, _ column: EntityRendering.Column) {
    let date = ReferenceDate(seconds: seconds)
    if column.isHidden {
      tokens?.append(date: date, to: &output)
    } else if !isCSV {
      output.append(json: date)
    } else if let dates, let text = dates.text(of: date) {
      output.append(text)
    } else if dates == nil, let moment = date.moment {
      output.append(iso8601: moment)
    } else {
      output.append(csvReal: seconds, csv)
    }
  }

  mutating func append(uuid bytes: RawSpan, _ column: EntityRendering.Column) {
    if column.isHidden {
      tokens?.append(uuid: bytes, to: &output)
    } else if isCSV {
      output.append(uuid: bytes)
    } else {
      output.append(UInt8(ascii: "\""))
      output.append(uuid: bytes)
      output.append(UInt8(ascii: "\""))
    }
  }

  mutating func append(binary bytes: RawSpan, _ column: EntityRendering.Column) {
    if column.isHidden {
      tokens?.append(data: bytes, to: &output)
    } else if isCSV {
      output.append(hexadecimal: bytes)
    } else {
      output.append(json: bytes, blobs: blobs)
    }
  }

  mutating func append(external file: String, _ column: EntityRendering.Column) {
    externals.append(file)
    if column.isHidden {
      tokens?.append(file: ExternalBlob(identifier: file, storePath: storePath), to: &output)
    } else if isCSV {
      output.append("external:" + file)
    } else {
      output.append(json: ExternalBlob(identifier: file, storePath: storePath), blobs: blobs)
    }
  }
}
