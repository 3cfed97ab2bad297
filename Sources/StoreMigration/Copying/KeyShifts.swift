import CoreDataStore
import ModelTools

/// The rule that computes the primary key of a new row from the key of its old row. The key changes only if a new table
/// receives rows from several old tables, or several new rows for one old row.
struct KeyShift: Hashable {
  var offset: Int64 = 0
  /// The highest old key that can be shifted. A higher key plus ``offset`` could be the key of a row from another old
  /// table. Nil if keys stay the same.
  var highest: Int64?

  /// Returns an SQL expression that computes the new key from the old key `old`. If `old` cannot be shifted, the
  /// expression gives a key that no row has (``nowhere(_:)``). A reference with such a key is later set to NULL and
  /// reported.
  func key(_ old: String) -> String {
    guard let highest else { return old }
    let plus = offset == 0 ? "" : " + \(offset)"
    return
      "CASE WHEN \(old) BETWEEN 1 AND \(highest) THEN \(old)\(plus) ELSE \(Self.nowhere(old)) END"
  }

  /// Returns the new key for an old key; nil if this rule cannot shift the old key.
  func newKey(of old: Int64) -> Int64? { hasRoom(for: old) ? old + offset : nil }

  /// Returns the old key from which this rule computes the new key `new`; nil when there is no such old key.
  func oldKey(of new: Int64) -> Int64? {
    let (old, overflow) = new.subtractingReportingOverflow(offset)
    return !overflow && hasRoom(for: old) ? old : nil
  }

  /// Returns an SQL expression for a replacement key that no row has. Different old keys give different replacement
  /// keys, and NULL gives NULL.
  static func nowhere(_ old: String) -> String { "(\(old) | -9223372036854775808)" }

  /// Whether this rule can shift the old primary key `key`. A key out of range cannot be shifted, because the sum could
  /// be the key of another new row.
  func hasRoom(for key: Int64) -> Bool { highest.map { key >= 1 && key <= $0 } ?? true }
}

/// For each entity mapping of a mapping model, the rule that computes new primary keys from old ones.
struct KeyShifts {
  private var shifts: [String: KeyShift] = [:]
  /// The highest old key that counts as sound when a new table receives rows from several old tables. A higher key is
  /// taken for damage, because it would leave no keys for the rows of the other tables.
  private static let highestKey: Int64 = 1 << 40
  /// The new tables whose rows all come from the same old table and keep their keys. The key is the name of the new
  /// table, and the value is the name of the old table. For such a table, the old table's `Z_MAX` is copied: the
  /// highest key that was ever assigned.
  private(set) var keptKeys: [String: String] = [:]
  /// For each new table whose rows do not simply keep the keys of one old table: the highest key that a row made from
  /// an old row can get. The dictionary is keyed by the name of the new table.
  private(set) var sharedKeys: [String: Int64] = [:]

  init(
    _ mappings: [EntityMapping], _ source: SourceTables, _ destination: TableLayout,
    _ highestKey: (_ table: String) throws -> Int64
  ) throws {
    /// The rows that mappings make in one new table from the rows of one old table, with one key shift. If several
    /// mappings make rows of the new table from the same old entity, their streams differ in `turn`: 0 for the first
    /// mapping, 1 for the second, and so on.
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
      sharedKeys[target] = offset
    }
    for place in places { shifts[place.mapping] = offsets[place.target]?[place.stream] }
  }

  func shift(of mapping: EntityMapping) -> KeyShift { shifts[mapping.name] ?? KeyShift() }
}
