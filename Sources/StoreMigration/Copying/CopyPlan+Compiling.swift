import CoreDataStore
import ModelTools
import ObjectModel
import SQLiteFile

/// What a mapping does that names a policy class of the app.
public enum MissingPolicy: String, Sendable, CaseIterable {
  /// The migration is refused.
  case refuse
  /// Attributes and relationships of the same name are copied, and the report says so.
  case copy
}

/// Compiles a mapping model into SQL.
struct CopyCompiler {
  private let source: SourceTables
  private let layout: TableLayout
  private let mappings: [EntityMapping]
  private let missingPolicy: MissingPolicy
  private let shifts: KeyShifts
  private var plan: CopyPlan
  private var problems: [MigrationError.Code: [String]] = [:]

  private var model: ManagedObjectModel { layout.model }

  /// - Parameters:
  ///   - mapping: the mapping model, compiled for both models.
  ///   - source: the old store's tables.
  ///   - destination: the new model.
  ///   - highestKey: the highest key in an old table; asked for only if a new table takes rows of several.
  static func plan(
    _ mapping: MappingModel, from source: SourceTables, to destination: ManagedObjectModel,
    missingPolicy: MissingPolicy, highestKey: (_ table: String) throws -> Int64
  ) throws -> CopyPlan {
    let layout = TableLayout(destination)
    let shifts = try KeyShifts(mapping.entityMappings, source, layout, highestKey)
    var compiler = CopyCompiler(mapping, source, layout, missingPolicy, shifts)
    try compiler.run()
    return compiler.plan
  }

  private init(
    _ mapping: MappingModel, _ source: SourceTables, _ layout: TableLayout,
    _ missingPolicy: MissingPolicy, _ shifts: KeyShifts
  ) {
    self.source = source
    self.layout = layout
    self.missingPolicy = missingPolicy
    self.shifts = shifts
    mappings = mapping.entityMappings.filter {
      $0.sourceEntityName != nil && $0.destinationEntityName != nil
    }
    plan = CopyPlan(destination: layout)
  }

  private mutating func refuse(_ code: MigrationError.Code, _ reason: String) {
    problems[code, default: []].append(reason)
  }

  private mutating func run() throws {
    var byEntity: [String: [EntityMapping]] = [:]
    for mapping in mappings {
      byEntity[mapping.sourceEntityName ?? "", default: []].append(mapping)
      check(mapping)
    }
    for place in source.layout.tables {
      guard let (name, definition) = source.table(named: place.name) else { continue }
      let columns = Dictionary(
        definition.columns.enumerated().map { ($1.name.uppercased(), $0) },
        uniquingKeysWith: { first, _ in first })
      guard let keyColumn = columns["Z_PK"] else { continue }
      var table = TableCopy(
        table: name, definition: definition, keyColumn: keyColumn, entityColumn: columns["Z_ENT"],
        entities: [:], externalColumns: externalColumns(of: place))
      for (number, entity) in source.entityNames where place.entityNames.contains(entity) {
        let made = try (byEntity[entity] ?? []).compactMap { try copy($0, of: table) }
        if made.isEmpty {
          if source.model.entities[entity]?.isAbstract != true { plan.dropped.append(entity) }
        } else {
          table.entities[number] = made
        }
      }
      if !table.entities.isEmpty { plan.tables.append(table) }
    }
    try addJoins()
    try addReferences()
    plan.keptKeys = shifts.keptKeys
    plan.dropped.sort()
    for code in [
      MigrationError.Code.mappingMismatch, .missingPolicy, .unsupportedExpression,
    ] {
      if let reasons = problems[code] { throw MigrationError(code, reasons.sorted()) }
    }
  }

  private func externalColumns(of place: TableLayout.Table) -> Set<Int> {
    Set(
      place.columns.compactMap { column in
        guard case .attribute(let attribute) = column.role,
          attribute.allowsExternalBinaryDataStorage
        else { return nil }
        return source.column(column.name, in: place.name)
      })
  }

  /// Refuses what cannot be done as the mapping says.
  private mutating func check(_ mapping: EntityMapping) {
    for (name, isThere, side) in [
      (
        mapping.sourceEntityName, source.model.entities[mapping.sourceEntityName ?? ""] != nil,
        "old"
      ),
      (
        mapping.destinationEntityName, model.entities[mapping.destinationEntityName ?? ""] != nil,
        "new"
      ),
    ] where !isThere {
      refuse(
        .mappingMismatch,
        "\(mapping.name) maps the entity \(name ?? ""), which the \(side) model does not have")
    }
    if let policy = mapping.migrationPolicyClassName, !policy.isEmpty {
      if missingPolicy == .refuse {
        refuse(.missingPolicy, "\(mapping.name) needs the class \(policy) of the app")
      } else {
        plan.notes.append(
          "\(mapping.name) needs the class \(policy) of the app; properties of the same name were copied instead"
        )
      }
    }
    if !mapping.takesAllObjects {
      refuse(
        .unsupportedExpression,
        "\(mapping.name) takes only some objects: \(mapping.sourceExpression?.text ?? "")")
    }
  }

  private func hasPolicy(_ mapping: EntityMapping) -> Bool {
    mapping.migrationPolicyClassName?.isEmpty == false
  }

  // MARK: - Rows

  private mutating func copy(_ mapping: EntityMapping, of table: TableCopy) throws -> EntityCopy? {
    guard let from = mapping.sourceEntityName, let to = mapping.destinationEntityName,
      let place = layout.table(of: to), let number = layout.numbering.number(of: to),
      model.entities[to]?.isAbstract == false
    else { return nil }
    var row = RowSQL(keyColumn: table.keyColumn)
    let shift = shifts.shift(of: mapping)
    row.set("Z_PK", to: "\(row.parameter(table.keyColumn))\(KeyShifts.text(shift))")
    row.set("Z_ENT", to: SQLText.literal(number))
    let saves = table.definition.columns.firstIndex { SQLName.isSame($0.name, "Z_OPT") }
    row.set("Z_OPT", to: saves.map { "IFNULL(\(row.parameter($0)), 1)" } ?? "1")
    var copy = EntityUpdates()
    var demands: [(property: String, column: Int?)] = []
    var inlined: Set<Int> = []
    let lineage = Set([to] + model.ancestors(of: to).map(\.name))
    for column in place.columns where lineage.contains(column.entityName) {
      switch column.role {
      case .attribute(let attribute):
        let (value, sourceColumn) = try value(of: attribute, mapping, from, table, &row)
        row.set(column.name, to: value)
        if let sourceColumn, table.externalColumns.contains(sourceColumn),
          !attribute.allowsExternalBinaryDataStorage
        {
          inlined.insert(sourceColumn)
        }
        if !attribute.isOptional, !attribute.isDerived {
          row.demand(value)
          demands.append((attribute.name, sourceColumn))
        }
      case .toOne(let relationship):
        let entityColumn = place.columns.first { $0.role == .destinationEntity(relationship) }?.name
        let orderColumn = place.columns.first { $0.role == .order(relationship) }?.name
        let link = link(to: relationship, of: to, mapping, from)
        try set(
          column.name, entityColumn, orderColumn, to: link, relationship.destinationEntityName,
          place.name, table, shift, &row, &copy)
      case .owner(let relationship):
        let orderColumn = place.columns.first { $0.role == .ownerOrder(relationship) }?.name
        let link = ownerLink(relationship, of: to, from)
        try set(
          column.name, nil, orderColumn, to: link, column.ownerName(in: layout), place.name, table,
          shift, &row, &copy)
      case .destinationEntity, .order, .ownerOrder: break
      }
    }
    return EntityCopy(
      mappingName: mapping.name, sourceEntity: from, destinationEntity: to,
      insert: try row.insert(into: place.name), updates: copy.statements, demands: demands,
      inlinedColumns: inlined)
  }

  private struct EntityUpdates {
    var statements: [RowStatement] = []
  }

  /// The SQL of an attribute's value, and the column that it comes from.
  private mutating func value(
    of attribute: Attribute, _ mapping: EntityMapping, _ from: String, _ table: TableCopy,
    _ row: inout RowSQL
  ) throws -> (sql: String, column: Int?) {
    let fallback = attribute.defaultValue.flatMap { SQLText.literal($0, of: attribute) }
    func stored(_ name: String) -> (sql: String, column: Int?)? {
      guard
        let old = sourceAttribute(name, of: from),
        let column = source.column(
          of: from,
          where: {
            if case .attribute(let found) = $0 { found.name == name } else { false }
          })
      else { return nil }
      guard let value = SQLText.converted(row.parameter(column), from: old, to: attribute) else {
        row.dropLastParameter(column)
        plan.leftOut.append(
          "\(from).\(name) was \(old.type.name) and \(attribute.name) is \(attribute.type.name): its values are left out"
        )
        return nil
      }
      if SQLText.loses(from: old.type, to: attribute.type) {
        plan.notes.append(
          "\(from).\(name) was \(old.type.name) and \(attribute.name) is \(attribute.type.name): values that are not whole are left out"
        )
      }
      return (
        attribute.isOptional ? value : fallback.map { "IFNULL(\(value), \($0))" } ?? value, column
      )
    }
    switch attributeSource(attribute, mapping) {
    case .none: return (fallback ?? "NULL", nil)
    case .sourceValue(let path):
      if let found = stored(path) { return found }
      if hasColumn(path, of: from) { return (fallback ?? "NULL", nil) }
      if path.utf8.contains(UInt8(ascii: ".")) {
        refuse(
          .unsupportedExpression,
          "\(mapping.name).\(attribute.name) follows the key path \(path)")
      } else if sourceAttribute(path, of: from) != nil {
        plan.notes.append(
          "the old store has no column for \(from).\(path), so \(attribute.name) has its default")
      } else {
        refuse(
          .mappingMismatch,
          "\(mapping.name).\(attribute.name) takes \(path), which \(from) does not have")
      }
      return (fallback ?? "NULL", nil)
    case .constant(let constant):
      guard let literal = SQLText.literal(constant, of: attribute) else {
        refuse(
          .unsupportedExpression,
          "\(mapping.name).\(attribute.name) has a constant of another type than \(attribute.type.name)"
        )
        return ("NULL", nil)
      }
      return (literal, nil)
    case .related, .unsupported:
      if missingPolicy == .copy, hasPolicy(mapping) {
        return stored(attribute.name) ?? (fallback ?? "NULL", nil)
      }
      let text = attributeMapping(attribute, mapping)?.valueExpression?.text ?? ""
      refuse(.unsupportedExpression, "\(mapping.name).\(attribute.name) is computed: \(text)")
      return ("NULL", nil)
    }
  }

  /// An attribute of an old entity, or an element of a composite one, by its key path.
  private func sourceAttribute(_ path: String, of entity: String) -> Attribute? {
    source.columns(of: entity)?.columns.lazy.compactMap { column in
      if case .attribute(let attribute) = column.role, attribute.name == path {
        attribute
      } else {
        nil
      }
    }.first
  }

  private func hasColumn(_ attribute: String, of entity: String) -> Bool {
    source.column(
      of: entity,
      where: { if case .attribute(let found) = $0 { found.name == attribute } else { false } })
      != nil
  }

  private func attributeMapping(_ attribute: Attribute, _ mapping: EntityMapping)
    -> PropertyMapping?
  {
    mapping.attributeMappings.first { $0.name == attribute.name }
  }

  private func attributeSource(_ attribute: Attribute, _ mapping: EntityMapping) -> PropertySource {
    if let found = attributeMapping(attribute, mapping) {
      let source = PropertySource(attribute: found)
      if source == .none, missingPolicy == .copy, hasPolicy(mapping),
        sourceAttribute(attribute.name, of: mapping.sourceEntityName ?? "") != nil
      {
        return .sourceValue(keyPath: attribute.name)
      }
      return source
    }
    // An element of a composite attribute, which is mapped as a whole.
    let parts = attribute.name.split(separator: ".", maxSplits: 1).map(String.init)
    if parts.count == 2,
      let whole = mapping.attributeMappings.first(where: { $0.name == parts[0] }),
      case .sourceValue(let path) = PropertySource(attribute: whole)
    {
      return .sourceValue(keyPath: path + "." + parts[1])
    }
    // A derived attribute has no mapping; Core Data computes it again when it saves.
    if sourceAttribute(attribute.name, of: mapping.sourceEntityName ?? "") != nil,
      attribute.isDerived || hasPolicy(mapping) && missingPolicy == .copy
    {
      return .sourceValue(keyPath: attribute.name)
    }
    return .none
  }

  // MARK: - Relationships

  /// A relationship of an old entity that gives a new relationship its objects.
  private struct Link {
    let relationship: Relationship
    /// The entity whose rows have the relationship.
    let entity: String
    let mappingName: String?
  }

  /// The old relationship that leads from a row of `from` to the destination of a new relationship of `entity`.
  private mutating func link(
    to relationship: Relationship, of entity: String, _ mapping: EntityMapping, _ from: String
  ) -> Link? {
    switch relationshipSource(relationship.name, mapping) {
    case .related(let name, let mappingName):
      guard let old = source.relationship(name, of: from) else {
        refuse(
          .mappingMismatch,
          "\(mapping.name).\(relationship.name) follows \(name), which \(from) does not have")
        return nil
      }
      return Link(relationship: old, entity: from, mappingName: mappingName)
    case .sourceValue, .constant, .unsupported:
      let text =
        mapping.relationshipMappings.first { $0.name == relationship.name }?.valueExpression?.text
        ?? ""
      refuse(.unsupportedExpression, "\(mapping.name).\(relationship.name) is computed: \(text)")
      return nil
    case .none:
      // Core Data keeps both sides in step, so the mapping of the other side is as good.
      guard let inverse = TableLayout.inverse(of: relationship, in: model) else { return nil }
      return reversed(inverse, of: relationship.destinationEntityName, from)
    }
  }

  /// The old relationship from a row of `from` that is the other side of what a new relationship of `entity` follows.
  private func reversed(_ relationship: Relationship, of entity: String, _ from: String) -> Link? {
    let lineage = descendants(of: entity)
    for mapping in mappings where lineage.contains(mapping.destinationEntityName ?? "") {
      guard
        case .related(let name, _) = relationshipSource(relationship.name, mapping),
        let old = source.relationship(name, of: mapping.sourceEntityName ?? ""),
        let back = TableLayout.inverse(of: old, in: source.model),
        source.relationship(back.name, of: from) == back
      else { continue }
      return Link(relationship: back, entity: from, mappingName: nil)
    }
    return nil
  }

  private func relationshipSource(_ name: String, _ mapping: EntityMapping) -> PropertySource {
    let found = mapping.relationshipMappings.first { $0.name == name }
    let source = found.map { PropertySource(relationship: $0) } ?? .none
    guard missingPolicy == .copy, hasPolicy(mapping) else { return source }
    switch source {
    case .related: return source
    default:
      return self.source.relationship(name, of: mapping.sourceEntityName ?? "") == nil
        ? .none : .related(relationship: name, mappingName: nil)
    }
  }

  private func descendants(of entity: String) -> Set<String> {
    Set(
      layout.numbering.names.filter { name in
        name == entity || model.ancestors(of: name).contains { $0.name == entity }
      })
  }

  /// The old column that names the owner of a row, for a new to-many relationship without inverse.
  private func ownerLink(_ relationship: Relationship, of entity: String, _ from: String)
    -> OwnerLink?
  {
    for mapping in mappings {
      guard let owner = mapping.destinationEntityName,
        model.allRelationships(of: owner).contains(relationship),
        case .related(let name, _) = relationshipSource(relationship.name, mapping),
        let oldOwner = mapping.sourceEntityName,
        let old = source.relationship(name, of: oldOwner)
      else { continue }
      return OwnerLink(relationship: old, owner: oldOwner)
    }
    return nil
  }

  private struct OwnerLink {
    let relationship: Relationship
    let owner: String
  }

  /// Sets a column that leads to another row, from a column of the same old row where there is one.
  private mutating func set(
    _ name: String, _ entityColumn: String?, _ orderColumn: String?, to link: Link?,
    _ destination: String, _ target: String, _ table: TableCopy, _ shift: Int64,
    _ row: inout RowSQL, _ updates: inout EntityUpdates
  ) throws {
    guard let link else { return }
    let makers = makers(of: link.relationship, link.mappingName, in: destination)
    guard !makers.isEmpty else { return }
    guard let key = source.column(of: link.entity, where: { $0 == .toOne(link.relationship) })
    else {
      return try setLater(
        name, entityColumn, from: link, makers, destination, target, table, shift)
    }
    let order = source.column(of: link.entity) { $0 == .order(link.relationship) }
    let number = source.column(of: link.entity) { $0 == .destinationEntity(link.relationship) }
    if let orderColumn {
      if let order {
        row.set(orderColumn, to: row.parameter(order))
      } else {
        plan.unordered.append((target, name, orderColumn))
      }
    }
    if isDirect(makers) {
      let parameter = row.parameter(key)
      row.set(name, to: direct(parameter, makers))
      guard let entityColumn else { return }
      row.set(entityColumn, to: entityNumber(parameter, number, makers, &row))
    } else {
      var update = RowSQL(keyColumn: table.keyColumn)
      let value = try resolved(update.parameter(key), makers, destination)
      let own = "\(update.parameter(table.keyColumn))\(KeyShifts.text(shift))"
      updates.statements.append(
        try update.statement(
          "UPDATE \(SQLText.quoted(target)) SET \(SQLText.quoted(name)) = \(value) WHERE Z_PK = \(own)"
        ))
    }
  }

  /// The same for the column of a to-many relationship without inverse.
  private mutating func set(
    _ name: String, _ entityColumn: String?, _ orderColumn: String?, to link: OwnerLink?,
    _ destination: String, _ target: String, _ table: TableCopy, _ shift: Int64,
    _ row: inout RowSQL, _ updates: inout EntityUpdates
  ) throws {
    guard let link else { return }
    let from = table.definition
    let makers = mappings.filter {
      $0.sourceEntityName == link.owner || isDescendant($0.sourceEntityName, of: link.owner)
    }
    let inverse = TableLayout.inverse(of: link.relationship, in: source.model)
    let place = source.layout.tables.first { SQLName.isSame($0.name, table.table) }
    let found = place?.columns.first { column in
      if let inverse, !inverse.isToMany { return column.role == .toOne(inverse) }
      return column.role == .owner(link.relationship)
    }
    guard let found,
      let key = from.columns.firstIndex(where: { SQLName.isSame($0.name, found.name) }),
      !makers.isEmpty
    else { return }
    let order = place?.columns.first { column in
      if let inverse, !inverse.isToMany { return column.role == .order(inverse) }
      return column.role == .ownerOrder(link.relationship)
    }.flatMap { order in from.columns.firstIndex { SQLName.isSame($0.name, order.name) } }
    if let orderColumn {
      if let order {
        row.set(orderColumn, to: row.parameter(order))
      } else {
        plan.unordered.append((target, name, orderColumn))
      }
    }
    if isDirect(makers) {
      let parameter = row.parameter(key)
      row.set(name, to: direct(parameter, makers))
    } else {
      var update = RowSQL(keyColumn: table.keyColumn)
      let value = try resolved(update.parameter(key), makers, destination)
      let own = "\(update.parameter(table.keyColumn))\(KeyShifts.text(shift))"
      updates.statements.append(
        try update.statement(
          "UPDATE \(SQLText.quoted(target)) SET \(SQLText.quoted(name)) = \(value) WHERE Z_PK = \(own)"
        ))
    }
  }

  private func isDescendant(_ entity: String?, of ancestor: String) -> Bool {
    entity.map { source.model.ancestors(of: $0).contains { $0.name == ancestor } } ?? false
  }

  /// The mappings that make the objects of an old relationship's destination, as rows of the new destination's table.
  private func makers(
    of relationship: Relationship, _ mappingName: String?, in destination: String
  ) -> [EntityMapping] {
    let root = layout.table(of: destination)?.name
    return mappings.filter { mapping in
      guard let to = mapping.destinationEntityName, layout.table(of: to)?.name == root else {
        return false
      }
      if let mappingName { return mapping.name == mappingName }
      return mapping.sourceEntityName == relationship.destinationEntityName
        || isDescendant(mapping.sourceEntityName, of: relationship.destinationEntityName)
    }
  }

  /// Whether the new key of an old one is the same whichever mapping made the row; else the rows decide.
  private func isDirect(_ makers: [EntityMapping]) -> Bool {
    Set(makers.map { shifts.shift(of: $0) }).count == 1
  }

  private func direct(_ parameter: String, _ makers: [EntityMapping]) -> String {
    "\(parameter)\(KeyShifts.text(makers.first.map { shifts.shift(of: $0) } ?? 0))"
  }

  /// The key of the row that was made from an old key.
  private func resolved(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String {
    guard let table = layout.table(of: destination)?.name else { return "NULL" }
    let keys = makers.map { "\(parameter)\(KeyShifts.text(shifts.shift(of: $0)))" }
    let numbers = makers.compactMap {
      $0.destinationEntityName.flatMap { layout.numbering.number(of: $0) }
    }
    return
      "(SELECT Z_PK FROM \(try SQLText.quoted(table)) WHERE Z_PK IN (\(keys.joined(separator: ", "))) AND Z_ENT IN (\(numbers.map(String.init).joined(separator: ", "))) ORDER BY Z_PK LIMIT 1)"
  }

  /// The number of the entity of a destination.
  private func entityNumber(
    _ key: String, _ oldNumber: Int?, _ makers: [EntityMapping], _ row: inout RowSQL
  ) -> String {
    let numbers = makers.compactMap { mapping -> (old: Int64, new: Int64)? in
      guard let from = mapping.sourceEntityName, let to = mapping.destinationEntityName,
        let old = source.entityNames.first(where: { $0.value == from })?.key,
        let new = layout.numbering.number(of: to)
      else { return nil }
      return (old, new)
    }
    if let oldNumber, numbers.count > 1 {
      let cases = numbers.map { "WHEN \($0.old) THEN \($0.new)" }.joined(separator: " ")
      return
        "CASE WHEN \(key) IS NULL THEN NULL ELSE CASE \(row.parameter(oldNumber)) \(cases) END END"
    }
    guard let only = numbers.first, numbers.count == 1 else { return "NULL" }
    return "CASE WHEN \(key) IS NULL THEN NULL ELSE \(only.new) END"
  }

  /// Sets a to-one column from links that are not in the same old row: the first object of a to-many relationship.
  private mutating func setLater(
    _ name: String, _ entityColumn: String?, from link: Link, _ makers: [EntityMapping],
    _ destination: String, _ target: String, _ table: TableCopy, _ shift: Int64
  ) throws {
    plan.notes.append(
      "\(link.entity).\(link.relationship.name) had several objects; the new model keeps the first of them"
    )
    let column = try SQLText.quoted(name)
    let into = try SQLText.quoted(target)
    if let join = source.joinTable(of: link.relationship, of: link.entity) {
      var row = RowSQL(keyColumn: join.near)
      let own = "\(row.parameter(join.near))\(KeyShifts.text(shift))"
      let value = try resolved(row.parameter(join.far), makers, destination)
      plan.joins.append(
        JoinCopy(
          table: join.table, columns: [join.near, join.far],
          statement: try row.statement(
            "UPDATE \(into) SET \(column) = \(value) WHERE Z_PK = \(own) AND \(column) IS NULL"),
          isUpdate: true))
      return
    }
    guard let inverse = TableLayout.inverse(of: link.relationship, in: source.model),
      !inverse.isToMany
    else { return }
    // The links are in the rows of the destination.
    pending.append(
      Pending(
        inverse: inverse, destination: link.relationship.destinationEntityName, target: into,
        column: column, shift: shift, makers: makers, newDestination: destination))
  }

  private struct Pending {
    let inverse: Relationship
    let destination: String
    let target: String
    let column: String
    let shift: Int64
    let makers: [EntityMapping]
    let newDestination: String
  }
  private var pending: [Pending] = []

  // MARK: - Many-to-many

  private mutating func addJoins() throws {
    for index in plan.tables.indices {
      for (number, copies) in plan.tables[index].entities {
        plan.tables[index].entities[number] = try copies.map {
          try adding(pending, to: $0, plan.tables[index])
        }
      }
    }
    for join in layout.joinTables {
      let inverse = TableLayout.inverse(of: join.relationship, in: model)
      var done: Set<String> = []
      for mapping in mappings {
        guard let to = mapping.destinationEntityName, let from = mapping.sourceEntityName else {
          continue
        }
        let isOwner = descendants(of: join.ownerName).contains(to)
        let isOther = descendants(of: join.relationship.destinationEntityName).contains(to)
        if isOwner,
          case .related(let name, let maker) = relationshipSource(join.relationship.name, mapping),
          let old = source.relationship(name, of: from), done.insert("\(old)").inserted
        {
          try addLinks(old, of: from, mapping, maker, join, isForward: true)
        } else if isOther, !isOwner || join.relationship != inverse, let inverse,
          case .related(let name, let maker) = relationshipSource(inverse.name, mapping),
          let old = source.relationship(name, of: from),
          let back = TableLayout.inverse(of: old, in: source.model) ?? Optional(old),
          !done.contains("\(back)"), !isMapped(join.relationship, of: join.ownerName),
          done.insert("\(old)").inserted
        {
          try addLinks(old, of: from, mapping, maker, join, isForward: false)
        }
      }
    }
  }

  /// Whether any mapping gives a new relationship its objects.
  private func isMapped(_ relationship: Relationship, of entity: String) -> Bool {
    let lineage = descendants(of: entity)
    return mappings.contains { mapping in
      guard lineage.contains(mapping.destinationEntityName ?? "") else { return false }
      if case .related = relationshipSource(relationship.name, mapping) { return true }
      return false
    }
  }

  /// The mappings whose rows stand at the near end of an old relationship.
  private func nearMakers(_ relationship: Relationship, of entity: String, in root: String)
    -> [EntityMapping]
  {
    let declaring =
      ([entity] + source.model.ancestors(of: entity).map(\.name)).last { name in
        source.model.entities[name]?.relationships.contains { $0.name == relationship.name } == true
      } ?? entity
    return mappings.filter { mapping in
      (mapping.sourceEntityName == declaring
        || isDescendant(mapping.sourceEntityName, of: declaring))
        && mapping.destinationEntityName.flatMap { layout.table(of: $0)?.name }
          == layout.table(of: root)?.name
    }
  }

  private mutating func addLinks(
    _ old: Relationship, of from: String, _ mapping: EntityMapping, _ maker: String?,
    _ join: TableLayout.JoinTable, isForward: Bool
  ) throws {
    let nearRoot = isForward ? join.ownerName : join.relationship.destinationEntityName
    let farRoot = isForward ? join.relationship.destinationEntityName : join.ownerName
    let near = nearMakers(old, of: from, in: nearRoot)
    let far = makers(of: old, maker, in: farRoot)
    guard !near.isEmpty, !far.isEmpty else { return }
    func insert(
      _ row: inout RowSQL, _ nearColumn: Int, _ farColumn: Int, _ nearOrder: Int?, _ farOrder: Int?
    )
      throws -> (RowStatement, isUpdate: Bool)
    {
      let parameters = (near: row.parameter(nearColumn), far: row.parameter(farColumn))
      let nearKey =
        try isDirect(near)
        ? direct(parameters.near, near) : resolved(parameters.near, near, nearRoot)
      let farKey =
        try isDirect(far)
        ? direct(parameters.far, far) : resolved(parameters.far, far, farRoot)
      var columns =
        isForward
        ? [(join.ownerColumn, nearKey), (join.destinationColumn, farKey)]
        : [(join.ownerColumn, farKey), (join.destinationColumn, nearKey)]
      let (owner, destination) = isForward ? (nearOrder, farOrder) : (farOrder, nearOrder)
      if let name = join.ownerOrderColumn {
        columns.append((name, owner.map { row.parameter($0) } ?? "1024 * \(nearKey)"))
      }
      if let name = join.destinationOrderColumn {
        columns.append((name, destination.map { row.parameter($0) } ?? "1024 * \(farKey)"))
      }
      let names = try columns.map { try SQLText.quoted($0.0) }.joined(separator: ", ")
      let values = columns.map(\.1).joined(separator: ", ")
      return (
        try row.statement(
          "INSERT OR IGNORE INTO \(SQLText.quoted(join.name)) (\(names)) SELECT \(values) WHERE \(columns[0].1) IS NOT NULL AND \(columns[1].1) IS NOT NULL"
        ), !isDirect(near) || !isDirect(far)
      )
    }
    if let table = source.joinTable(of: old, of: from) {
      var row = RowSQL(keyColumn: table.near)
      let (statement, isLate) = try insert(
        &row, table.near, table.far, table.nearOrder, table.farOrder)
      plan.joins.append(
        JoinCopy(
          table: table.table, columns: [table.near, table.far], statement: statement,
          isUpdate: isLate))
      return
    }
    // One side of the old relationship was to-one, so its rows hold the links.
    let inverse = TableLayout.inverse(of: old, in: source.model)
    for index in plan.tables.indices {
      let place = source.layout.tables.first { SQLName.isSame($0.name, plan.tables[index].table) }
      for column in place?.columns ?? [] {
        let isNear = column.role == .toOne(old)
        let isFar = inverse.map { column.role == .toOne($0) } ?? false || column.role == .owner(old)
        guard isNear || isFar,
          let link = plan.tables[index].definition.columns.firstIndex(where: {
            SQLName.isSame($0.name, column.name)
          })
        else { continue }
        let own = plan.tables[index].keyColumn
        for (number, copies) in plan.tables[index].entities {
          guard let entity = source.entityNames[number],
            column.entityName == entity || isDescendant(entity, of: column.entityName),
            var first = copies.first
          else { continue }
          var row = RowSQL(keyColumn: own)
          let (statement, isLate) =
            try isNear
            ? insert(&row, own, link, nil, nil) : insert(&row, link, own, nil, nil)
          if isLate { first.updates.append(statement) } else { first.links.append(statement) }
          plan.tables[index].entities[number] = [first] + copies.dropFirst()
        }
      }
    }
  }

  private func adding(_ pending: [Pending], to copy: EntityCopy, _ table: TableCopy) throws
    -> EntityCopy
  {
    var copy = copy
    for item in pending {
      guard
        copy.sourceEntity == item.destination
          || isDescendant(copy.sourceEntity, of: item.destination),
        let link = source.column(of: copy.sourceEntity, where: { $0 == .toOne(item.inverse) }),
        item.makers.contains(where: { $0.name == copy.mappingName })
      else { continue }
      var row = RowSQL(keyColumn: table.keyColumn)
      let far = try resolved(row.parameter(table.keyColumn), item.makers, item.newDestination)
      let near = "\(row.parameter(link))\(KeyShifts.text(item.shift))"
      copy.updates.append(
        try row.statement(
          "UPDATE \(item.target) SET \(item.column) = \(far) WHERE Z_PK = \(near) AND \(item.column) IS NULL"
        ))
    }
    return copy
  }

  // MARK: - References

  private mutating func addReferences() throws {
    for place in layout.tables {
      for column in place.columns {
        let destination: String
        let name: String
        var entityColumn: String?
        switch column.role {
        case .toOne(let relationship):
          destination = relationship.destinationEntityName
          name = relationship.name
          entityColumn = place.columns.first { $0.role == .destinationEntity(relationship) }?.name
        case .owner(let relationship):
          destination = column.ownerName(in: layout)
          name = relationship.name
        default: continue
        }
        guard let target = layout.table(of: destination)?.name else { continue }
        plan.references.append(
          Reference(
            table: place.name, column: column.name, entityColumn: entityColumn,
            destinationTable: target,
            destinationNumbers: descendants(of: destination).compactMap {
              layout.numbering.number(of: $0)
            }.sorted(), entityName: column.entityName, propertyName: name))
      }
    }
  }
}

extension TableLayout.Column {
  /// The entity that owns the rows, for the column of a to-many relationship without inverse.
  fileprivate func ownerName(in layout: TableLayout) -> String {
    guard case .owner(let relationship) = role else { return entityName }
    return layout.numbering.names.first { name in
      layout.model.entities[name]?.relationships.contains(relationship) == true
    } ?? entityName
  }
}
