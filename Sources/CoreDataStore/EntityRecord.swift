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
}
