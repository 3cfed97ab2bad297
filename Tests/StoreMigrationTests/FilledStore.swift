import CoreDataStore
import Fixtures
import Foundation
import ManagedObjects
import ObjectModel
import StoreMigration

/// A store of a model, filled at random by SQLite.
struct FilledStore {
  let url: URL
  /// The keys of the rows of each entity.
  private(set) var keys: [String: [Int64]] = [:]

  private let layout: TableLayout
  private let connection: SQLiteConnection
  private var generator: SplitMix64
  private var counter: Int64 = 0

  /// A store with at most `rowCount` rows of each entity.
  init(_ model: ManagedObjectModel, in folder: URL, seed: UInt64, rowCount: Int = 6) throws {
    url = folder.appendingPathComponent("Old.sqlite")
    try FreshStore.create(at: url.path, for: model)
    layout = TableLayout(model)
    generator = SplitMix64(seed: seed)
    connection = try SQLiteConnection(url)
    try connection.exec("BEGIN")
    for table in layout.tables { try fill(table, rowCount) }
    for table in layout.tables { try relate(table) }
    for join in layout.joinTables { try relate(join) }
    try connection.exec("COMMIT")
    connection.close()
  }

  private mutating func number(_ range: ClosedRange<Int64>) -> Int64 {
    Int64.random(in: range, using: &generator)
  }

  private mutating func fill(_ table: TableLayout.Table, _ rowCount: Int) throws {
    var key: Int64 = 0
    for name in table.entityNames {
      guard let entity = layout.model.entities[name], !entity.isAbstract,
        let ent = layout.numbering.number(of: name)
      else { continue }
      let lineage = Set([name] + layout.model.ancestors(of: name).map(\.name))
      let unique = Set(
        ([entity] + layout.model.ancestors(of: name)).flatMap(\.uniquenessConstraints).flatMap {
          $0
        })
      for _ in 0..<number(1...Int64(rowCount)) {
        key += number(1...3)
        var columns = ["Z_PK", "Z_ENT", "Z_OPT"]
        var values: [FixtureValue] = [.integer(key), .integer(ent), .integer(number(1...9))]
        for column in table.columns where lineage.contains(column.entityName) {
          guard case .attribute(let attribute) = column.role else { continue }
          columns.append("\"\(column.name.replacing("\"", with: "\"\""))\"")
          values.append(
            attribute.isOptional && number(0...3) == 0 && !unique.contains(attribute.name)
              ? .null : value(of: attribute))
        }
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        try connection.insert(
          "INSERT INTO \"\(table.name)\" (\(columns.joined(separator: ", "))) VALUES (\(marks))",
          [values])
        keys[name, default: []].append(key)
      }
    }
    let root = layout.numbering.number(of: table.rootEntityName) ?? 0
    try connection.exec(
      "UPDATE Z_PRIMARYKEY SET Z_MAX = \(key + number(0...2)) WHERE Z_ENT = \(root)")
  }

  private mutating func value(of attribute: Attribute) -> FixtureValue {
    counter += 1
    switch attribute.type {
    case .integer16, .integer32, .integer64: return .integer(counter)
    case .boolean: return .integer(number(0...1))
    case .double, .float, .decimal: return .real(Double(counter) + 0.25)
    case .date: return .real(Double(number(-900_000_000...900_000_000)) + 0.5)
    case .uuid: return .blob((0..<16).map { _ in UInt8(number(0...255)) })
    case .string: return .string(["Ærlig ", "a'b ", "", "日本 "][Int(number(0...3))] + "\(counter)")
    case .uri: return .string("x-test://\(counter)")
    default:
      let bytes = (0..<number(1...40)).map { _ in UInt8(number(0...255)) }
      return .blob(attribute.allowsExternalBinaryDataStorage ? [1] + bytes : bytes)
    }
  }

  private func lineage(of entity: String) -> [String] {
    layout.numbering.names.filter { name in
      name == entity || layout.model.ancestors(of: name).contains { $0.name == entity }
    }
  }

  /// A row of an entity or one of its descendants.
  private mutating func row(of entity: String) -> (key: Int64, entity: Int64)? {
    let all = lineage(of: entity).flatMap { name in (keys[name] ?? []).map { ($0, name) } }
    guard let (key, name) = all.randomElement(using: &generator),
      let number = layout.numbering.number(of: name)
    else { return nil }
    return (key, number)
  }

  private mutating func relate(_ table: TableLayout.Table) throws {
    for column in table.columns {
      let destination: String
      var isOptional = true
      var companions: [(String, FixtureValue)] = []
      switch column.role {
      case .toOne(let relationship):
        destination = relationship.destinationEntityName
        isOptional = relationship.isOptional
      case .owner: destination = column.ownerName(in: layout)
      default: continue
      }
      for name in lineage(of: column.entityName) {
        for key in keys[name] ?? [] where !isOptional || number(0...3) > 0 {
          guard let (target, entity) = row(of: destination) else { continue }
          companions = [(column.name, .integer(target))]
          if case .toOne(let relationship) = column.role {
            for other in table.columns {
              if other.role == .destinationEntity(relationship) {
                companions.append((other.name, .integer(entity)))
              }
              if other.role == .order(relationship) {
                companions.append((other.name, .integer(1024 * key)))
              }
            }
          }
          if case .owner(let relationship) = column.role {
            for other in table.columns where other.role == .ownerOrder(relationship) {
              companions.append((other.name, .integer(1024 * key)))
            }
          }
          let changes = companions.map { "\"\($0.0)\" = ?" }.joined(separator: ", ")
          try connection.insert(
            "UPDATE \"\(table.name)\" SET \(changes) WHERE Z_PK = \(key)", [companions.map(\.1)])
        }
      }
    }
  }

  private mutating func relate(_ join: TableLayout.JoinTable) throws {
    for name in lineage(of: join.ownerName) {
      for key in keys[name] ?? [] {
        for place in 0..<number(0...2) {
          guard let (target, _) = row(of: join.relationship.destinationEntityName) else { continue }
          var columns = [join.ownerColumn, join.destinationColumn]
          var values: [FixtureValue] = [.integer(key), .integer(target)]
          if let order = join.ownerOrderColumn {
            columns.append(order)
            values.append(.integer(key * 1024))
          }
          if let order = join.destinationOrderColumn {
            columns.append(order)
            values.append(.integer((place + 1) * 1024))
          }
          let marks = columns.map { _ in "?" }.joined(separator: ", ")
          let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
          try connection.insert(
            "INSERT OR IGNORE INTO \"\(join.name)\" (\(names)) VALUES (\(marks))", [values])
        }
      }
    }
  }
}
