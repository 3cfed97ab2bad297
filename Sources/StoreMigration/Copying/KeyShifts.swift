import CoreDataStore
import ModelTools

/// What is added to an old primary key to get the new one: nothing, unless a new table takes the rows of several old
/// tables, or several rows for one old row.
struct KeyShifts {
  private var shifts: [String: Int64] = [:]
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
    var offsets: [String: [Stream: Int64]] = [:]
    for (target, list) in streams {
      if list.count == 1 { keptKeys[target] = list[0].table }
      var next: Int64 = 0
      for stream in list {
        offsets[target, default: [:]][stream] = next
        guard list.count > 1 else { break }
        let (sum, overflow) = next.addingReportingOverflow(max(0, try highestKey(stream.table)))
        guard !overflow, sum < 1 << 62 else {
          throw MigrationError(
            .keysTooLarge, ["the keys of several tables do not fit into the one table \(target)"])
        }
        next = sum
      }
    }
    for place in places { shifts[place.mapping] = offsets[place.target]?[place.stream] ?? 0 }
  }

  func shift(of mapping: EntityMapping) -> Int64 { shifts[mapping.name] ?? 0 }

  /// The shift as the end of an SQL expression.
  static func text(_ shift: Int64) -> String { shift == 0 ? "" : " + \(shift)" }
}
