import CoreDataStore
import ModelTools

/// How an old primary key becomes the new one: it stays, unless a new table takes the rows of several old tables, or
/// several rows for one old row.
struct KeyShift: Hashable {
  /// What is added.
  var offset: Int64 = 0
  /// The highest old key with room below the keys of the next table's rows; nil where there is no next table.
  var highest: Int64?

  /// The new key of an old one, as SQL. An old key without room leads to no row, which is found and told later: as it is,
  /// it would lead to a row of the next table.
  func key(_ old: String) -> String {
    guard let highest else { return old }
    let plus = offset == 0 ? "" : " + \(offset)"
    return
      "CASE WHEN \(old) BETWEEN 1 AND \(highest) THEN \(old)\(plus) ELSE \(Self.nowhere(old)) END"
  }

  /// The new key of an old one; nil for one without room.
  func newKey(of old: Int64) -> Int64? { hasRoom(for: old) ? old + offset : nil }

  /// The old key of a new one; nil for one that is of no row that this shift moved.
  func oldKey(of new: Int64) -> Int64? {
    let (old, overflow) = new.subtractingReportingOverflow(offset)
    return !overflow && hasRoom(for: old) ? old : nil
  }

  /// A key that no row has, another for each old key; NULL for NULL.
  static func nowhere(_ old: String) -> String { "(\(old) | -9223372036854775808)" }

  /// Whether a row with this key has room.
  func hasRoom(for key: Int64) -> Bool { highest.map { key >= 1 && key <= $0 } ?? true }
}

/// The shifts of all mappings.
struct KeyShifts {
  private var shifts: [String: KeyShift] = [:]
  /// Keys beyond are damage where tables come together: one of them would leave no room for other rows.
  private static let highestKey: Int64 = 1 << 40
  /// New tables whose keys are those of one old table, unchanged; by new table.
  private(set) var keptKeys: [String: String] = [:]

  init(
    _ mappings: [EntityMapping], _ source: SourceTables, _ destination: TableLayout,
    _ highestKey: (_ table: String) throws -> Int64
  ) throws {
    /// Rows of one old table that stay apart from each other in a new one.
    struct Stream: Hashable {
      let table: String
      let turn: Int
    }
    var streams: [String: [Stream]] = [:]
    var turns: [String: Int] = [:]
    var places: [(mapping: String, target: String, stream: Stream)] = []
    for mapping in mappings {
      guard let from = mapping.sourceEntityName, let to = mapping.destinationEntityName,
        let table = source.layout.table(of: from)?.name,
        let target = destination.table(of: to)?.name
      else { continue }
      let turn = turns[target + "\u{0}" + from, default: 0]
      turns[target + "\u{0}" + from] = turn + 1
      let stream = Stream(table: table, turn: turn)
      if !(streams[target] ?? []).contains(stream) { streams[target, default: []].append(stream) }
      places.append((mapping.name, target, stream))
    }
    var offsets: [String: [Stream: KeyShift]] = [:]
    for (target, list) in streams {
      if list.count == 1 {
        keptKeys[target] = list[0].table
        continue
      }
      var offset: Int64 = 0
      for stream in list {
        let highest = min(max(0, try highestKey(stream.table)), Self.highestKey)
        offsets[target, default: [:]][stream] = KeyShift(offset: offset, highest: highest)
        offset += highest
      }
    }
    for place in places { shifts[place.mapping] = offsets[place.target]?[place.stream] }
  }

  func shift(of mapping: EntityMapping) -> KeyShift { shifts[mapping.name] ?? KeyShift() }
}
