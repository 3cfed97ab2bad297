import CoreDataStore
import RowText
import SQLiteFile

/// A plan for turning the rows of an entity or a table into the rows of a sheet.
struct SheetPlan {
  struct Column {
    let title: String
    /// The width of the column, as a number of digits in the standard font.
    let width: Int
  }

  /// The maximum number of columns in a sheet. If rows have more values, the last column holds all values for which
  /// there is no other column.
  static let maxColumns = 16_384

  /// The name of the entity or table.
  let name: String
  let columns: [Column]
  /// The names of all values of a row, including values that have no column of their own.
  let names: [String]
  /// How each value of a row is written, in the order of the values.
  let roles: ContiguousArray<EntityRendering.Column>
  /// The many-to-many relationships of the entity. Their columns are the last columns of the sheet.
  let links: [EntityRendering.Link]
  /// The layout by which the values of a record are read in the order of ``roles``; nil if the columns of the table are
  /// already in this order.
  let layout: RowLayout?
  /// Whether the first column holds the number of the row's entity.
  let hasEntityNumber: Bool

  /// The number of values that have a column of their own.
  var ownCount: Int { names.count > Self.maxColumns ? Self.maxColumns - 1 : names.count }

  /// Creates a plan for the sheet of an entity, or of rows of unknown entities. `name`: the name of the entity or table.
  init(_ rendering: EntityRendering, name: String, linkNames: [String] = []) {
    let isUnknown = rendering.name == nil
    var titles: [(EntityRendering.Role, String)] = isUnknown ? [(.stored, "_ent")] : []
    titles.append((.key, "_pk"))
    for (column, field) in zip(rendering.roles, rendering.fields) {
      if let field { titles.append((column.role, field.name)) }
    }
    for name in linkNames { titles.append((.stored, name)) }
    self.init(
      name: name, titles, rendering.roles, rendering.links, rendering.layout,
      hasEntityNumber: isUnknown)
  }

  /// Creates a plan for the sheet of a table whose values are written as SQLite stores them.
  init(table: String, names: [String]) {
    self.init(
      name: table, names.map { (.stored, $0) },
      ContiguousArray(repeating: .init(role: .stored), count: names.count), [], nil,
      hasEntityNumber: false)
  }

  private init(
    name: String, _ titles: [(role: EntityRendering.Role, name: String)],
    _ roles: ContiguousArray<EntityRendering.Column>, _ links: [EntityRendering.Link],
    _ layout: RowLayout?, hasEntityNumber: Bool
  ) {
    self.name = name
    self.roles = roles
    self.links = links
    self.layout = layout
    self.hasEntityNumber = hasEntityNumber
    names = titles.map(\.name)
    let own = titles.prefix(titles.count > Self.maxColumns ? Self.maxColumns - 1 : titles.count)
    columns =
      own.map { Column(title: $0.name, width: Self.width($0.role, $0.name)) }
      + (own.count < titles.count ? [Column(title: OverflowColumns.name, width: 40)] : [])
  }

  /// Returns a column width that is sufficient for the header with its filter button, and for a date. Spreadsheets do
  /// not show a date in a column that is too narrow.
  private static func width(_ role: EntityRendering.Role, _ title: String) -> Int {
    let width =
      switch role {
      case .key, .toOne, .boolean, .destinationEntity: 10
      case .number: 14
      case .date: 20
      case .stored: 24
      case .uuid: 40
      }
    return max(width, min(40, title.unicodeScalars.count + 5))
  }
}
