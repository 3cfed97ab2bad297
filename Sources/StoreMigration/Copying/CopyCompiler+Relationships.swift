import CoreDataStore
import ModelTools
import ObjectModel
import SQLiteFile

// Columns that lead to other rows.
extension CopyCompiler {
  /// A relationship of an old entity that gives a new relationship its objects.
  struct Link {
    let relationship: Relationship
    /// The entity whose rows have the relationship.
    let entity: String
    let mappingName: String?
  }

  /// Where the key of the row comes from that a new row leads to.
  enum Origin {
    /// A column of the old row.
    case column(Int)
    /// The old row itself: another mapping makes a second object of it.
    case own
    /// A column of the row that a key path leads to.
    case path(KeyPath)
    /// Links in other rows: of a relationship of the old row, or of one that leads to it.
    case elsewhere(Link, isNear: Bool)
  }

  /// What a new row leads to.
  struct Lead {
    let origin: Origin
    /// The column of the old row with its position among the rows that lead to the same one.
    var order: Int?
    /// The column of the old row with the number of the destination's entity.
    var number: Int?
    let makers: [EntityMapping]
  }

  /// What a new row leads to by a relationship; nil for nothing.
  mutating func lead(
    by relationship: Relationship, _ mapping: EntityMapping, _ from: String, _ table: TableCopy
  ) -> Lead? {
    let destination = relationship.destinationEntityName
    switch relationshipSource(relationship.name, mapping) {
    case .same(let name):
      return Lead(origin: .own, makers: makers(named: name, in: destination))
    case .related(let name, let mappingName):
      guard let old = source.relationship(name, of: from) else {
        if let path = keyPath(name, of: from), let far = path.relationship {
          return Lead(origin: .path(path), makers: makers(of: far, mappingName, in: destination))
        }
        refuse(
          .mappingMismatch,
          "\(mapping.name).\(relationship.name) follows \(name), which \(from) does not have")
        return nil
      }
      return lead(by: Link(relationship: old, entity: from, mappingName: mappingName), destination)
    case .sourceValue, .constant, .unsupported:
      let text =
        mapping.relationshipMappings.first { $0.name == relationship.name }?.valueExpression?.text
        ?? ""
      refuse(.unsupportedExpression, "\(mapping.name).\(relationship.name) is computed: \(text)")
      return nil
    case .none:
      // Core Data keeps both sides in step, so the mapping of the other side is as good.
      guard let inverse = TableLayout.inverse(of: relationship, in: model) else { return nil }
      if let link = reversed(inverse, of: destination, from) { return lead(by: link, destination) }
      return lead(backBy: inverse, of: destination, table)
    }
  }

  private mutating func lead(by link: Link, _ destination: String) -> Lead? {
    let makers = makers(of: link.relationship, link.mappingName, in: destination)
    guard let key = source.column(of: link.entity, where: { $0 == .toOne(link.relationship) })
    else {
      guard link.relationship.isToMany else {
        plan.leftOut.append(
          "the old store has no column for \(link.entity).\(link.relationship.name)")
        return nil
      }
      return Lead(origin: .elsewhere(link, isNear: true), makers: makers)
    }
    return Lead(
      origin: .column(key),
      order: source.column(of: link.entity) { $0 == .order(link.relationship) },
      number: source.column(of: link.entity) { $0 == .destinationEntity(link.relationship) },
      makers: makers)
  }

  /// The row that leads to a new row by a relationship of `owner`, whose other side the old row may know or not; nil for
  /// none.
  func lead(backBy relationship: Relationship, of owner: String, _ table: TableCopy) -> Lead? {
    let lineage = descendants(of: owner)
    for mapping in mappings where lineage.contains(mapping.destinationEntityName ?? "") {
      guard case .related(let name, _) = relationshipSource(relationship.name, mapping),
        let oldOwner = mapping.sourceEntityName,
        let old = source.relationship(name, of: oldOwner)
      else { continue }
      let inverse = TableLayout.inverse(of: old, in: source.model)
      let place = source.layout.tables.first { SQLName.isSame($0.name, table.table) }
      func column(_ isMeant: (TableLayout.Role) -> Bool) -> Int? {
        place?.columns.first { isMeant($0.role) }.flatMap { found in
          table.definition.columns.firstIndex { SQLName.isSame($0.name, found.name) }
        }
      }
      let makers = nearMakers(old, of: oldOwner, in: owner)
      if let inverse, !inverse.isToMany, let key = column({ $0 == .toOne(inverse) }) {
        return Lead(
          origin: .column(key), order: column { $0 == .order(inverse) },
          number: column { $0 == .destinationEntity(inverse) }, makers: makers)
      }
      if let key = column({ $0 == .owner(old) }) {
        return Lead(
          origin: .column(key), order: column { $0 == .ownerOrder(old) }, makers: makers)
      }
      return Lead(
        origin: .elsewhere(
          Link(relationship: old, entity: oldOwner, mappingName: nil), isNear: false),
        makers: makers)
    }
    return nil
  }

  /// The old relationship from a row of `from` that is the other side of what a new relationship of `entity` follows.
  func reversed(_ relationship: Relationship, of entity: String, _ from: String) -> Link? {
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

  func relationshipSource(_ name: String, _ mapping: EntityMapping) -> PropertySource {
    let found = mapping.relationshipMappings.first { $0.name == name }
    let source = found.map { PropertySource(relationship: $0) } ?? .none
    guard missingPolicy == .copy, hasMissingPolicy(mapping) else { return source }
    switch source {
    case .related: return source
    default:
      return self.source.relationship(name, of: mapping.sourceEntityName ?? "") == nil
        ? .none : .related(relationship: name, mappingName: nil)
    }
  }

  func descendants(of entity: String) -> Set<String> {
    Set(
      layout.numbering.names.filter { name in
        name == entity || model.ancestors(of: name).contains { $0.name == entity }
      })
  }

  /// A column of the new model that leads to another row, with its companions.
  struct Place {
    let table: String
    let column: String
    /// The column with the number of the destination's entity.
    var entityColumn: String?
    var orderColumn: String?
    /// The entity that the column leads to.
    let destination: String
    /// The relationship and the entity that declares it, for the report.
    let entityName: String
    let propertyName: String
    /// The column of the other side, where both sides lead to one row.
    var inverse: (table: String, column: String)?
    /// The number of the entity of the rows.
    let entityNumber: Int64
  }

  /// Sets a column that leads to another row: in the row itself where that is possible, else when all rows are there.
  mutating func set(
    _ place: Place, to lead: Lead?, _ table: TableCopy, _ shift: KeyShift, _ row: inout RowSQL,
    _ updates: inout [RowStatement]
  ) throws {
    guard let lead, !lead.makers.isEmpty else { return }
    if case .elsewhere(let link, let isNear) = lead.origin {
      if let orderColumn = place.orderColumn {
        plan.unordered.append((place.table, place.column, orderColumn))
      }
      return try setLater(place, from: link, isNear: isNear, lead.makers, shift)
    }
    if let orderColumn = place.orderColumn {
      if let order = lead.order {
        row.set(orderColumn, to: row.parameter(order))
      } else {
        plan.unordered.append((place.table, place.column, orderColumn))
      }
    }
    guard isDirect(lead.makers) else {
      var update = RowSQL(keyColumn: table.keyColumn)
      let old = sql(lead.origin, &update)
      let value = try resolvedOrCut(old, lead.makers, place.destination)
      let own = shift.key(update.ownKey)
      updates.append(
        try update.statement(
          "UPDATE \(SQLText.quoted(place.table)) SET \(SQLText.quoted(place.column)) = \(value) WHERE Z_PK = \(own)"
        ))
      return
    }
    let key = sql(lead.origin, &row)
    row.set(place.column, to: direct(key, lead.makers))
    if let entityColumn = place.entityColumn {
      row.set(entityColumn, to: entityNumber(key, lead.number, lead.makers, &row))
    }
  }

  private func sql(_ origin: Origin, _ row: inout RowSQL) -> String {
    switch origin {
    case .column(let column): row.parameter(column)
    case .own: row.ownKey
    case .path(let path): path.sql(&row)
    case .elsewhere: "NULL"
    }
  }

  func isDescendant(_ entity: String?, of ancestor: String) -> Bool {
    entity.map { source.model.ancestors(of: $0).contains { $0.name == ancestor } } ?? false
  }

  /// The mappings that make the objects of an old relationship's destination, as rows of the new destination's table.
  func makers(
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

  /// The mappings with a name that make rows of the new destination's table.
  func makers(named name: String, in destination: String) -> [EntityMapping] {
    let root = layout.table(of: destination)?.name
    return mappings.filter { mapping in
      mapping.name == name
        && mapping.destinationEntityName.flatMap { layout.table(of: $0)?.name } == root
    }
  }

  /// Whether the new key of an old one is the same whichever mapping made the row; else the rows decide.
  func isDirect(_ makers: [EntityMapping]) -> Bool {
    Set(makers.map { shifts.shift(of: $0) }).count == 1
  }

  func direct(_ parameter: String, _ makers: [EntityMapping]) -> String {
    makers.first.map { shifts.shift(of: $0).key(parameter) } ?? parameter
  }

  /// The key of the row that was made from an old key; one that leads nowhere, and is cut later, if none was.
  func resolvedOrCut(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String {
    "IFNULL(\(try resolved(parameter, makers, destination)), \(KeyShift.nowhere(parameter)))"
  }

  /// The key of the row that was made from an old key; NULL if none was.
  func resolved(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String {
    guard let table = layout.table(of: destination)?.name else { return "NULL" }
    let keys = makers.map { shifts.shift(of: $0).key(parameter) }
    let numbers = makers.compactMap {
      $0.destinationEntityName.flatMap { layout.numbering.number(of: $0) }
    }
    return
      "(SELECT Z_PK FROM \(try SQLText.quoted(table)) WHERE Z_PK IN (\(keys.joined(separator: ", "))) AND Z_ENT IN (\(numbers.map(String.init).joined(separator: ", "))) ORDER BY Z_PK LIMIT 1)"
  }

  /// The number of the entity of a destination.
  func entityNumber(
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
    return row.constant(String(only.new), where: key)
  }

  /// Sets a column from links that are not in the same old row, when all rows are there: to the first that a row leads
  /// to, or is led to by.
  private mutating func setLater(
    _ place: Place, from link: Link, isNear: Bool, _ makers: [EntityMapping], _ shift: KeyShift
  ) throws {
    guard let links = try stagedLinks(of: link) else {
      plan.leftOut.append(
        "the old store has no table or column with the links of \(link.entity).\(link.relationship.name)"
      )
      return
    }
    plan.links[links.name] = links
    let other = isNear ? "link.far" : "link.near"
    plan.later.append(
      LaterReference(
        links: links, table: place.table, column: place.column,
        entityNumber: place.entityNumber, shift: shift, isNear: isNear,
        value: try resolved(other, makers, place.destination),
        entityName: place.entityName, propertyName: place.propertyName, inverse: place.inverse))
  }

  /// The links of an old relationship, wherever the old store keeps them.
  private func stagedLinks(of link: Link) throws -> StagedLinks? {
    let relationship = link.relationship
    func staged(_ table: String, near: Int, far: Int, order: Int?) throws -> StagedLinks? {
      guard let (name, definition) = source.table(named: table) else { return nil }
      return StagedLinks(
        table: name, definition: definition,
        name: try SQLText.quoted("lifeboat_links_\(name)_\(near)_\(far)"), near: near, far: far,
        order: order)
    }
    if let join = source.joinTable(of: relationship, of: link.entity) {
      return try staged(join.table, near: join.near, far: join.far, order: join.farOrder)
    }
    func place(_ entity: String, _ role: TableLayout.Role) -> (
      table: String, column: Int, key: Int
    )? {
      guard let table = source.layout.table(of: entity),
        let found = table.columns.first(where: { $0.role == role }),
        let column = source.column(found.name, in: table.name),
        let key = source.column("Z_PK", in: table.name)
      else { return nil }
      return (table.name, column, key)
    }
    if !relationship.isToMany, let (table, column, key) = place(link.entity, .toOne(relationship)) {
      return try staged(table, near: key, far: column, order: nil)
    }
    let destination = relationship.destinationEntityName
    if let inverse = TableLayout.inverse(of: relationship, in: source.model),
      let (table, column, key) = place(destination, .toOne(inverse))
    {
      return try staged(
        table, near: column, far: key, order: place(destination, .order(inverse))?.column)
    }
    guard let (table, column, key) = place(destination, .owner(relationship)) else { return nil }
    return try staged(
      table, near: column, far: key, order: place(destination, .ownerOrder(relationship))?.column)
  }
}
