import ObjectModel
package import SQLiteFile

/// A row of Z_PRIMARYKEY: an entity's number in this store.
public struct EntityRecord: Sendable, Hashable, Codable {
  /// `Z_ENT`: the entity's number. The entities of the persistent history have fixed numbers that begin at 16001.
  public let number: Int64
  /// `Z_NAME`: the entity's name. After a lightweight migration that renamed the entity, this is still the old name.
  public let name: String
  /// `Z_SUPER`: the number of the parent entity; 0 for a root entity.
  public let superNumber: Int64
  /// `Z_MAX`: the highest primary key that a row of the entity's table has ever had. Only root entities use it.
  public let highestKey: Int64

  package static let firstHistoryNumber: Int64 = 16_001
  /// The maximum number of records that are kept in memory: those of up to 16,000 entities of a model, and those of the
  /// persistent history.
  package static let maxCount = 16_100

  package var isHistory: Bool { number >= Self.firstHistoryNumber }

  package init?(row: StoredRow) {
    guard row.values.count >= 4, case .integer(let number) = row.values[0],
      case .text(let name) = row.values[1]
    else { return nil }
    self.number = number
    self.name = name.string
    superNumber = row.values.integer(at: 2) ?? 0
    highestKey = row.values.integer(at: 3) ?? 0
  }

  package init(number: Int64, name: String, superNumber: Int64, highestKey: Int64) {
    self.number = number
    self.name = name
    self.superNumber = superNumber
    self.highestKey = highestKey
  }

  /// Returns the possible names of the table with the entity's rows, which is that of the root entity. After a migration
  /// that renamed the root entity, the table may have the name in Z_PRIMARYKEY or the current one. `records` are the
  /// entities of the store by number, and `currentName` returns the current name of an entity.
  package func tableNames(
    among records: [Int64: EntityRecord], _ currentName: (_ number: Int64) -> String?
  ) -> Set<SQLName> {
    var root = self
    var steps = 0
    while root.superNumber != 0, let parent = records[root.superNumber],
      steps < ManagedObjectModel.maximumInheritanceDepth
    {
      root = parent
      steps += 1
    }
    return Set([root.name, currentName(root.number) ?? root.name].map(Self.tableName(ofRoot:)))
  }

  /// The name of the table with the rows of a root entity and of all entities below it.
  package static func tableName(ofRoot name: String) -> SQLName { SQLName("Z" + name.uppercased()) }
}
