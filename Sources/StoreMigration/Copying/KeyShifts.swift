import CoreDataStore
import ModelTools

/// How an old primary key becomes the new one. The key stays, unless a new table takes the rows of several old tables,
/// or several rows for one old row.
struct KeyShift: Hashable {
  /// The number that is added to the old key.
  var offset: Int64 = 0
  /// The highest old key that has room: a higher one, with ``offset`` added, could be the key of another row. Nil when
  /// no other rows go into the new table.
  var highest: Int64?

  /// The new key for an old one, as SQL. An old key without room becomes a key that no row has, so that the reference
  /// is found and reported later: unchanged, it would lead to another row.
  func key(_ old: String) -> String {
    guard let highest else { return old }
    let plus = offset == 0 ? "" : " + \(offset)"
    return
      "CASE WHEN \(old) BETWEEN 1 AND \(highest) THEN \(old)\(plus) ELSE \(Self.nowhere(old)) END"
  }

  /// The new key for an old one; nil for an old key without room.
  func newKey(of old: Int64) -> Int64? { hasRoom(for: old) ? old + offset : nil }

  /// The old key for a new one; nil when this shift gives that key to no row.
  func oldKey(of new: Int64) -> Int64? {
    let (old, overflow) = new.subtractingReportingOverflow(offset)
    return !overflow && hasRoom(for: old) ? old : nil
  }

  /// A key that no row has, as SQL: a different one for each old key, and NULL for NULL.
  static func nowhere(_ old: String) -> String { "(\(old) | -9223372036854775808)" }

  /// Whether an old key has room, so that no other row can get the same new key.
  func hasRoom(for key: Int64) -> Bool { highest.map { key >= 1 && key <= $0 } ?? true }
}

/// The key shifts of all entity mappings of a mapping model.
struct KeyShifts {
  private var shifts: [String: KeyShift] = [:]
  /// The highest old key that counts as sound where a new table takes the rows of several old tables. A higher key
  /// counts as damage, because it would leave no room for the keys of other rows.
  private static let highestKey: Int64 = 1 << 40
  /// The old table, by new table, for each new table whose rows all keep the keys of one old table.
  private(set) var keptKeys: [String: String] = [:]

  init(
    _ mappings: [EntityMapping], _ source: SourceTables, _ destination: TableLayout,
    _ highestKey: (_ table: String) throws -> Int64
  ) throws {
    /// The rows that one old table gives to a new table under one shift. `turn` counts, from 0, the mappings of the
    /// same old entity into the new table.
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
