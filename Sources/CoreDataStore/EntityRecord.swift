package import SQLiteFile

/// A row of Z_PRIMARYKEY: an entity's number in this store.
public struct EntityRecord: Sendable, Hashable, Codable {
  /// `Z_ENT`, which each row of the entity has. The history entities have fixed numbers from 16001 on.
  public let number: Int64
  /// `Z_NAME`. It can be stale: a lightweight migration that renamed the entity leaves the old name.
  public let name: String
  /// `Z_SUPER`, the parent's number, 0 for none.
  public let superNumber: Int64
  /// `Z_MAX`, the highest primary key ever handed out in the table. It is used only for root entities.
  public let highestKey: Int64

  /// The first number of the persistent history's entities.
  package static let firstHistoryNumber: Int64 = 16_001

  /// Whether this is one of the persistent history's entities.
  package var isHistory: Bool { number >= Self.firstHistoryNumber }

  package init?(row: StoredRow) {
    guard row.values.count >= 4, case .integer(let number) = row.values[0],
      case .text(let name) = row.values[1]
    else { return nil }
    self.number = number
    self.name = name.string
    if case .integer(let parent) = row.values[2] { superNumber = parent } else { superNumber = 0 }
    if case .integer(let key) = row.values[3] { highestKey = key } else { highestKey = 0 }
  }

  package init(number: Int64, name: String, superNumber: Int64, highestKey: Int64) {
    self.number = number
    self.name = name
    self.superNumber = superNumber
    self.highestKey = highestKey
  }
}
