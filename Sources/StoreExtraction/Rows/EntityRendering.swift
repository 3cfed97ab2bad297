import CoreDataStore
import ObjectModel
import SQLiteFile

/// How the rows of an entity are rendered, worked out once: the columns in the order of the output, and what stands
/// between their values.
final class EntityRendering {
  /// What a column holds.
  enum Role: UInt8 {
    /// The primary key.
    case key
    /// The entity number of the destination that the next column holds.
    case destinationEntity
    /// Whatever is stored.
    case stored
    case boolean
    case date
    case uuid
    /// A number that is a float even where an integer is stored.
    case number
    /// The key of a destination.
    case toOne
  }

  struct Column {
    let role: Role
    /// Whether a BLOB may be the name of an external file.
    var mayBeExternal = false
    /// What comes before the value, in ``literals``.
    var lead = 0..<0
    /// What comes before the key of a destination, in ``literals``.
    var destination = 0..<0
  }

  struct Link {
    let destinations: LinkTable
    let lead: Range<Int>
    let destination: Range<Int>
  }

  /// The name; nil for rows of unknown entities.
  let name: String?
  /// What the columns hold, in the order in which their values come.
  private(set) var roles: ContiguousArray<Column> = []
  /// The columns of the table in that order; those that are not written come last.
  private(set) var layout: RowLayout
  private var columns: [Int] = []
  private(set) var links: [Link] = []
  private(set) var literals: ContiguousArray<UInt8> = []
  /// What a row begins with: up to its key, or to its entity number where the entity is unknown.
  private(set) var head = 0..<0
  /// What a destination with an entity number of its own begins with.
  private(set) var destinations: [Int64: Range<Int>] = [:]

  init(
    _ entity: RowPlan.EntityPlan, _ plan: RowPlan, _ store: CoreDataStore, _ form: NamedRowSink.Form
  ) {
    name = entity.name
    layout = RowLayout()
    if form != .csv {
      head = literal("{\"entity\":\(JSONLiteral.string(entity.name)),\"pk\":")
    }
    add(entity.fields, plan, store)
    for link in entity.links {
      links.append(
        Link(
          destinations: link.destinations, lead: lead(link.name),
          destination: destination(link.destinationName)))
    }
  }

  /// The rows of a table whose entity is unknown.
  init(unknownEntitiesOf plan: RowPlan, _ store: CoreDataStore) {
    name = nil
    layout = RowLayout()
    head = literal("{\"entity\":null,\"entityNumber\":")
    add(plan.fallback, plan, store)
  }

  private func add(_ fields: [RowPlan.Field], _ plan: RowPlan, _ store: CoreDataStore) {
    append(Column(role: .key), plan.keyColumn)
    for field in fields {
      switch field.kind {
      case .attribute(let attribute):
        append(
          Column(
            role: Self.role(attribute.type),
            mayBeExternal: attribute.allowsExternalBinaryDataStorage, lead: lead(field.name)),
          field.column)
      case .declared(let isDate):
        append(Column(role: isDate ? .date : .stored, lead: lead(field.name)), field.column)
      case .toOne(let name, let entityColumn):
        if let entityColumn {
          append(Column(role: .destinationEntity), entityColumn)
          for record in store.entities where destinations[record.number] == nil {
            guard let name = store.entityName(ofNumber: record.number) else { continue }
            destinations[record.number] = destination(name)
          }
        }
        append(
          Column(role: .toOne, lead: lead(field.name), destination: destination(name)),
          field.column)
      }
    }
    guard let definition = plan.table.definition else { return }
    let all = RowLayout(definition)
    let others = all.names.indices.filter { !columns.contains($0) }
    layout = RowLayout(all, columns: columns + others)
  }

  private func append(_ column: Column, _ place: Int) {
    columns.append(place)
    roles.append(column)
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
    return literal((isFirst ? "" : ",") + JSONLiteral.string(name) + ":")
  }

  private func destination(_ name: String?) -> Range<Int> {
    literal("{\"entity\":\(name.map { JSONLiteral.string($0) } ?? "null"),\"pk\":")
  }

  private func literal(_ text: String) -> Range<Int> {
    let start = literals.count
    literals.append(contentsOf: text.utf8)
    return start..<literals.count
  }
}
