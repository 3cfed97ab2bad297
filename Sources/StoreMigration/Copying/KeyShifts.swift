import CoreDataStore
import ModelTools

/// The rule that computes the primary key of a new row from the key of its old row. The key stays the same, except when
/// a new table receives rows from several old tables, or several new rows for one old row.
struct KeyShift: Hashable {
  var offset: Int64 = 0
  /// The highest old key that can be shifted. The sum of a higher key and ``offset`` could be the key of a row from
  /// another table. Nil if the new table keeps all keys.
  var highest: Int64?

  /// Returns an SQL expression for the new key that belongs to the old key `old`. If `old` cannot be shifted, the
  /// expression gives a key that no row has (``nowhere(_:)``), because the unshifted key could be the key of another
  /// row. A reference with such a key is later set to NULL and reported.
  func key(_ old: String) -> String {
    guard let highest else { return old }
    let plus = offset == 0 ? "" : " + \(offset)"
    return
      "CASE WHEN \(old) BETWEEN 1 AND \(highest) THEN \(old)\(plus) ELSE \(Self.nowhere(old)) END"
  }

  /// Returns the new key that belongs to an old key; nil when the old key cannot be shifted.
  func newKey(of old: Int64) -> Int64? { hasRoom(for: old) ? old + offset : nil }

  /// Returns the old key that belongs to a new key; nil when this rule gives the new key for no old key.
  func oldKey(of new: Int64) -> Int64? {
    let (old, overflow) = new.subtractingReportingOverflow(offset)
    return !overflow && hasRoom(for: old) ? old : nil
  }

  /// Returns an SQL expression for a key that no row has. The expression gives a different key for each old key, and
  /// NULL if the old key is NULL.
  static func nowhere(_ old: String) -> String { "(\(old) | -9223372036854775808)" }

  /// Whether the old key `key` can be shifted without becoming the new key of another row.
  func hasRoom(for key: Int64) -> Bool { highest.map { key >= 1 && key <= $0 } ?? true }
}

/// The key shifts of all entity mappings of a mapping model.
struct KeyShifts {
  private var shifts: [String: KeyShift] = [:]
  /// The highest old key that counts as sound when a new table receives rows from several old tables. A higher key is
  /// taken for damage, because it would leave no keys for the rows of the other tables.
  private static let highestKey: Int64 = 1 << 40
  /// The new tables whose rows all come from the same old table and keep their keys. The key is the name of the new
  /// table, and the value is the name of the old table.
  private(set) var keptKeys: [String: String] = [:]
  /// For each new table that receives rows from several old tables, or several rows for one old row: the highest key
  /// that a row made from an old row can have. The keys of the dictionary are the names of the new tables.
  private(set) var sharedKeys: [String: Int64] = [:]

  init(
    _ mappings: [EntityMapping], _ source: SourceTables, _ destination: TableLayout,
    _ highestKey: (_ table: String) throws -> Int64
  ) throws {
    /// The rows of one old table whose keys in a new table are computed by the same key shift. If several mappings make
    /// rows in the new table from the same old entity, the first of them has `turn` 0, the second has `turn` 1, and so
    /// on.
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
