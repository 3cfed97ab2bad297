import CoreDataStore
import ObjectModel
import RowText
import SQLiteFile

/// How the rows of an entity are written: the order of their columns, and the text between their values. An instance is
/// made once and used for all rows of the entity.
final class EntityRendering {
  /// How the values of a column are written.
  enum Role: UInt8 {
    case key
    /// The entity number of a to-one relationship's destination. The next column has the primary key of that
    /// destination.
    case destinationEntity
    /// A value that is written unchanged.
    case stored
    case boolean
    case date
    case uuid
    /// A value of a Double, Float or Decimal attribute. It is written as a float even if SQLite stores it as an
    /// integer.
    case number
    /// The primary key of the object that a to-one relationship leads to.
    case toOne
  }

  struct Column {
    let role: Role
    /// Whether a BLOB in the column may name an external file.
    var mayBeExternal = false
    /// The text that is written before the value, as a range in ``literals``.
    var lead = 0..<0
    /// The text that is written before the primary key of a relationship's destination, as a range in ``literals``.
    var destination = 0..<0
    /// The number of commas before the value in a CSV line. It is greater than 1 if the entity lacks the columns
    /// between this value and the previous one.
    var gap = 1
    /// Whether the output contains a token in place of each value of the column.
    var isHidden = false
  }

  struct Link {
    let destinations: LinkTable
    let lead: Range<Int>
    let destination: Range<Int>
    let gap: Int
  }

  /// The name of the entity; nil for rows of unknown entities.
  let name: String?
  /// The columns of the entity's rows, in the order in which their values come.
  private(set) var roles: ContiguousArray<Column> = []
  /// The property of each column in ``roles``; nil for the primary key and for entity numbers.
  private(set) var fields: [RowPlan.Field?] = []
  /// The ``HiddenColumn/key`` of each column in ``roles``. It is empty if the column's values are not hidden.
  private(set) var hiddenKeys: [[UInt8]] = []
  /// The layout of the table's records. The columns in ``roles`` come first, in the order of ``roles``; the other
  /// columns follow.
  private(set) var layout: RowLayout
  /// The columns of the table whose values are written, in the order of ``roles``.
  private(set) var columns: [Int] = []
  private(set) var links: [Link] = []
  private(set) var literals: ContiguousArray<UInt8> = []
  /// The range in ``literals`` of the text with which each row starts. The primary key follows this text. In rows of
  /// unknown entities, the entity number follows instead.
  private(set) var head = 0..<0
  /// The entity's name for a CSV with several entities; empty for rows of unknown entities. Nil for a CSV of one
  /// entity.
  let csvName: ContiguousArray<UInt8>?
  /// The number of commas after the row's last value in a CSV that combines several entities.
  private(set) var lineTail = 0
  /// The position, in a CSV with several entities, of the column that was added last; -1 if no column was added yet.
  private var lastPlace = -1
  private let redaction: RowRedaction?
  /// The text that is written before the primary key of a relationship's destination, as a range in ``literals``. The
  /// dictionary key is the entity number of the destination.
  private(set) var destinations: [Int64: Range<Int>] = [:]

  /// Creates the rendering of an entity's rows.
  ///
  /// - Parameters:
  ///   - name: the name of the entity; nil for rows of unknown entities.
  ///   - fields: the properties that columns hold.
  ///   - keyColumn: the position of the column with the primary key.
  ///   - definition: the definition of the table; nil if its CREATE statement is not readable.
  ///   - entityNames: the names of all entities, by number.
  ///   - shared: the columns of a CSV with several entities; nil for a CSV of one entity, and for JSON.
  ///   - redaction: the rules for replacing values and names; nil to write them as they are.
  init(
    name: String?, _ fields: [RowPlan.Field], keyColumn: Int, of definition: TableDefinition?,
    _ entityNames: [Int64: String], in shared: SharedColumns? = nil,
    _ redaction: RowRedaction? = nil
  ) {
    self.name = name
    self.redaction = redaction
    layout = RowLayout()
    csvName = shared == nil ? nil : ContiguousArray((name ?? "").utf8)
    var fields = fields
    if let shared {
      fields.sort { shared.place(of: $0.name) ?? 0 < shared.place(of: $1.name) ?? 0 }
    }
    head = literal(
      name.map { "{\"entity\":\(written(entity: $0)),\"pk\":" }
        ?? (redaction == nil ? "{\"entity\":null,\"entityNumber\":" : "{\"entity\":null,\"pk\":"))
    add(fields, keyColumn, entityNames, shared)
    guard let definition else { return }
    let all = RowLayout(definition)
    let others = all.names.indices.filter { !columns.contains($0) }
    layout = RowLayout(all, columns: columns + others)
  }

  convenience init(
    _ entity: RowPlan.EntityPlan, _ plan: RowPlan, _ entityNames: [Int64: String],
    in shared: SharedColumns? = nil, _ redaction: RowRedaction? = nil
  ) {
    self.init(
      name: entity.name, entity.fields, keyColumn: plan.keyColumn, of: plan.table.definition,
      entityNames, in: shared, redaction)
    func place(_ link: RowPlan.Links) -> Int { shared?.place(ofLink: link.name) ?? 0 }
    let sorted = shared == nil ? entity.links : entity.links.sorted { place($0) < place($1) }
    for link in sorted {
      links.append(
        Link(
          destinations: link.destinations, lead: lead(link.name),
          destination: destination(link.destinationName),
          gap: gap(to: shared.map { _ in place(link) })))
    }
    if let shared { lineTail = shared.names.count - 1 - lastPlace }
  }

  /// Returns the number of commas to write before a column in a CSV that combines several entities. `place` is the
  /// position of the column among the columns of all entities. Returns 1 if `place` is nil, as in a CSV of one entity.
  private func gap(to place: Int?) -> Int {
    guard let place else { return 1 }
    defer { lastPlace = place }
    return place - lastPlace
  }

  convenience init(
    unknownEntitiesOf plan: RowPlan, in shared: SharedColumns? = nil,
    _ redaction: RowRedaction? = nil
  ) {
    self.init(
      name: nil, plan.fallback, keyColumn: plan.keyColumn, of: plan.table.definition, [:],
      in: shared, redaction)
    if let shared { lineTail = shared.names.count - 1 - lastPlace }
  }

  private func add(
    _ fields: [RowPlan.Field], _ keyColumn: Int, _ entityNames: [Int64: String],
    _ shared: SharedColumns?
  ) {
    append(Column(role: .key), keyColumn)
    for field in fields {
      var column: Column
      switch field.kind {
      case .attribute(let attribute):
        column = Column(
          role: Self.role(attribute.type), mayBeExternal: attribute.allowsExternalBinaryDataStorage)
      case .declared(let isDate): column = Column(role: isDate ? .date : .stored)
      case .toOne(let name, let entityColumn):
        if let entityColumn {
          append(Column(role: .destinationEntity), entityColumn)
          for (number, name) in entityNames where destinations[number] == nil {
            destinations[number] = destination(name)
          }
        }
        column = Column(role: .toOne, destination: destination(name))
      }
      column.lead = lead(field.name)
      column.gap = gap(to: shared?.place(of: field.name))
      append(column, field.column, field)
    }
  }

  private func append(_ column: Column, _ place: Int, _ field: RowPlan.Field? = nil) {
    let hidden = field.flatMap { redaction?.hiding($0.name, of: name) }
    var column = column
    column.isHidden = hidden != nil
    columns.append(place)
    roles.append(column)
    fields.append(field)
    hiddenKeys.append(hidden?.key ?? [])
  }

  private static func role(_ type: AttributeType) -> Role {
    switch type {
    case .boolean: .boolean
    case .date: .date
    case .uuid: .uuid
    case .double, .float, .decimal: .number
    default: .stored
    }
  }

  private func lead(_ name: String) -> Range<Int> {
    let isFirst = links.isEmpty && !roles.contains { !$0.lead.isEmpty }
    let written = JSONLiteral.string(redaction?.propertyName(name) ?? name)
    return literal((isFirst ? "" : ",") + written + ":")
  }

  private func destination(_ name: String?) -> Range<Int> {
    literal("{\"entity\":\(name.map(written(entity:)) ?? "null"),\"pk\":")
  }

  private func written(entity name: String) -> String {
    JSONLiteral.string(redaction?.entityName(name) ?? name)
  }

  private func literal(_ text: String) -> Range<Int> {
    let start = literals.count
    literals.append(contentsOf: text.utf8)
    return start..<literals.count
  }
}
