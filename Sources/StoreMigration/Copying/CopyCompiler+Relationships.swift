import CoreDataStore
import ManagedObjects
import ModelTools
import ObjectModel
import SQLiteFile

// Compiles the columns that hold the key of another row.
extension CopyCompiler {
  /// The old relationship from which a new relationship gets its objects.
  struct Link {
    let relationship: Relationship
    /// The old entity whose rows have the old relationship.
    let entity: String
    let mappingName: String?
  }

  /// Where a reference in a new row gets its key from.
  enum Origin {
    /// The key is in the column of the old row with this index.
    case column(Int)
    /// The key is that of the old row itself: the reference leads to the object that another mapping makes from the
    /// same row.
    case own
    /// The key is in the column at the end of a key path.
    case path(KeyPath)
    /// The key is in links that are stored in other rows or in a join table. If `isNear` is true, the old row has the
    /// relationship `Link.relationship`; otherwise the old row is a destination of that relationship.
    case elsewhere(Link, isNear: Bool)
  }

  /// How a reference of a new row is set: where its key comes from, and which mappings make the row that it leads to.
  struct Lead {
    let origin: Origin
    /// The index of the old column that holds the row's position among the rows with the same destination; nil when
    /// there is no such column.
    var order: Int?
    /// The index of the old column that holds the entity number of the destination; nil when there is no such column.
    var number: Int?
    let makers: [EntityMapping]
  }

  /// How a to-one relationship of a new row is set; nil when no mapping sets it. Adds a problem for a relationship
  /// mapping that cannot be carried out.
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
          "\(mapping.name).\(relationship.name) follows the relationship \(name), which \(from) does not have"
        )
        return nil
      }
      return lead(by: Link(relationship: old, entity: from, mappingName: mappingName), destination)
    case .sourceValue, .constant, .unsupported:
      let text =
        mapping.relationshipMappings.first { $0.name == relationship.name }?.valueExpression?.text
        ?? ""
      refuse(
        .unsupportedExpression,
        "\(mapping.name).\(relationship.name) is computed by an unsupported expression: \(text)")
      return nil
    case .none:
      // The mapping of the inverse relationship is used instead, because Core Data keeps a relationship and its inverse
      // consistent.
      guard let inverse = TableLayout.inverse(of: relationship, in: model) else { return nil }
      if let link = reversed(inverse, of: destination, mapping, from) {
        return lead(by: link, destination)
      }
      return lead(backBy: inverse, of: destination, mapping, table)
    }
  }

  private mutating func lead(by link: Link, _ destination: String) -> Lead? {
    let makers = makers(of: link.relationship, link.mappingName, in: destination)
    guard let key = source.column(of: link.entity, where: { $0 == .toOne(link.relationship) })
    else {
      guard link.relationship.isToMany else {
        plan.leftOut.append(
          "the old store has no column for the relationship \(link.entity).\(link.relationship.name)"
        )
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

  /// How a new row that the mapping `maker` makes refers to its owner, which is a row of the entity `owner` whose
  /// `relationship` leads to the new row. The owner's key comes from a column of the old row, or from links in other
  /// rows or in a join table. Nil when no mapping sets `relationship` to objects that `maker` makes.
  func lead(
    backBy relationship: Relationship, of owner: String, _ maker: EntityMapping, _ table: TableCopy
  ) -> Lead? {
    let lineage = descendants(of: owner)
    for mapping in mappings where lineage.contains(mapping.destinationEntityName ?? "") {
      guard case .related(let name, let wanted) = relationshipSource(relationship.name, mapping),
        isMeant(maker, by: wanted), let oldOwner = mapping.sourceEntityName,
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
      if let place, let own = ownerColumn(of: old, oldOwner, in: place),
        let key = source.column(own.name, in: place.name)
      {
        let order = source.layout.companion(of: own, .ownerOrder(old), in: place)
        return Lead(
          origin: .column(key), order: order.flatMap { source.column($0, in: place.name) },
          makers: makers)
      }
      return Lead(
        origin: .elsewhere(
          Link(relationship: old, entity: oldOwner, mappingName: nil), isNear: false),
        makers: makers)
    }
    return nil
  }

  /// Whether a relationship can lead to objects that the entity mapping `maker` makes, when the relationship's own
  /// mapping names the entity mapping `wanted`. True if `wanted` is nil, because the relationship then takes the
  /// objects of all entity mappings. False if `wanted` is a different mapping of the same old entity.
  func isMeant(_ maker: EntityMapping, by wanted: String?) -> Bool {
    guard let wanted, wanted != maker.name else { return true }
    return !mappings.contains {
      $0.name == wanted && $0.sourceEntityName == maker.sourceEntityName
    }
  }

  /// The column of an old table that holds the key of each row's owner, for a to-many relationship without inverse. The
  /// owner is a row of `entity`, which has the relationship. Nil when the table has no such column.
  func ownerColumn(of relationship: Relationship, _ entity: String, in table: TableLayout.Table)
    -> TableLayout.Column?
  {
    table.columns.first { $0.role == .owner(relationship) && isColumn($0, of: entity) }
  }

  /// Whether a column of an old table stores a property that `entity` declares or inherits. This check is needed
  /// because another entity in the table may have an equal relationship that is stored in another column.
  func isColumn(_ column: TableLayout.Column, of entity: String) -> Bool {
    let owner = column.ownerName(in: source.layout)
    return owner == entity || isDescendant(entity, of: owner)
  }

  /// Finds the old relationship from which the new relationship `relationship` of `entity` gets the objects that the
  /// mapping `maker` makes. Returns the inverse of this old relationship, which is a relationship of the old entity
  /// `from`. Nil when no mapping names such an old relationship.
  func reversed(
    _ relationship: Relationship, of entity: String, _ maker: EntityMapping, _ from: String
  ) -> Link? {
    let lineage = descendants(of: entity)
    for mapping in mappings where lineage.contains(mapping.destinationEntityName ?? "") {
      guard
        case .related(let name, let wanted) = relationshipSource(relationship.name, mapping),
        isMeant(maker, by: wanted),
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

  /// A column of a new table that holds the key of another row, and the columns that accompany this column.
  struct Place {
    let table: String
    let column: String
    /// The column that holds the entity number of the destination; nil when there is no such column.
    var entityColumn: String?
    var orderColumn: String?
    /// The name of the new entity to which the rows that the column leads to belong.
    let destination: String
    /// The entity and the relationship as the report names them: the entity is the one that declares the relationship.
    let entityName: String
    let propertyName: String
    /// The table and column of the inverse relationship if both relationships are to-one; otherwise nil.
    var inverse: (table: String, column: String)?
    /// The number of the new entity whose rows get the reference.
    let entityNumber: Int64
  }

  /// Plans how a reference of a new row is set. If possible, the statement that inserts the row also sets the
  /// reference. Otherwise another statement sets it after all rows are inserted.
  mutating func set(
    _ place: Place, to lead: Lead?, _ table: TableCopy, _ shift: KeyShift, _ row: inout RowSQL,
    _ updates: inout [RowStatement]
  ) throws {
    guard let lead, !lead.makers.isEmpty else {
      if place.inverse != nil { plan.mirrored.append(place) }
      return
    }
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

  /// The mappings that make new rows from the objects that an old relationship leads to. Only mappings that make rows
  /// in the table of the new entity `destination` are included. If `mappingName` is not nil, only mappings with that
  /// name are included.
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

  /// The mappings named `name` that make rows in the table of the new entity `destination`.
  func makers(named name: String, in destination: String) -> [EntityMapping] {
    let root = layout.table(of: destination)?.name
    return mappings.filter { mapping in
      mapping.name == name
        && mapping.destinationEntityName.flatMap { layout.table(of: $0)?.name } == root
    }
  }

  /// Whether all these mappings shift keys in the same way, so that the new key can be computed from the old key.
  /// Otherwise the new key must be looked up among the new rows.
  func isDirect(_ makers: [EntityMapping]) -> Bool {
    Set(makers.map { shifts.shift(of: $0) }).count == 1
  }

  func direct(_ parameter: String, _ makers: [EntityMapping]) -> String {
    makers.first.map { shifts.shift(of: $0).key(parameter) } ?? parameter
  }

  /// An SQL expression for the key of the new row that was made from the row with an old key. If there is no such row,
  /// the expression gives a key that no row has; the reference with that key is cut and reported later.
  func resolvedOrCut(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String {
    "IFNULL(\(try resolved(parameter, makers, destination)), \(KeyShift.nowhere(parameter)))"
  }

  /// An SQL expression for the key of the new row that was made from the row with an old key; it gives NULL when there
  /// is no such row.
  func resolved(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String {
    try rows(parameter, makers, destination).map { "(SELECT Z_PK \($0) ORDER BY Z_PK LIMIT 1)" }
      ?? "NULL"
  }

  /// The clauses FROM and WHERE of an SQL query for the new rows that were made from the row with an old key. Nil when
  /// the new store has no table for `destination`.
  func rows(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String? {
    guard let table = layout.table(of: destination)?.name else { return nil }
    let keys = makers.map { shifts.shift(of: $0).key(parameter) }
    let numbers = makers.compactMap {
      $0.destinationEntityName.flatMap { layout.numbering.number(of: $0) }
    }
    return
      "FROM \(try SQLText.quoted(table)) WHERE Z_PK IN (\(keys.joined(separator: ", "))) AND Z_ENT IN (\(numbers.map(String.init).joined(separator: ", ")))"
  }

  /// An SQL expression for the entity number of the row that a reference leads to; it gives NULL when the old row does
  /// not determine the number.
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

  /// Plans to set a reference from links that are stored in other old rows or in a join table. After all rows are
  /// inserted, the reference is set to the first object that the links lead to.
  private mutating func setLater(
    _ place: Place, from link: Link, isNear: Bool, _ makers: [EntityMapping], _ shift: KeyShift
  ) throws {
    guard let links = try stagedLinks(of: link, for: place) else {
      plan.leftOut.append(
        "the old store has no table or column for the relationship \(link.entity).\(link.relationship.name)"
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

  /// The links of an old relationship, which are stored in a join table or in a column at one of the two ends. Nil when
  /// the old store has no such table or column.
  private func stagedLinks(of link: Link, for reference: Place) throws -> StagedLinks? {
    let relationship = link.relationship
    func staged(_ table: String, near: Int, far: Int, order: Int?) throws -> StagedLinks? {
      guard let (name, definition) = source.table(named: table) else { return nil }
      return StagedLinks(
        table: name, definition: definition,
        name: try SQLText.quoted("lifeboat_links_\(name)_\(near)_\(far)"), near: near, far: far,
        order: order)
    }
    if let join = source.joinTable(of: relationship, of: link.entity) {
      var links = try staged(join.table, near: join.near, far: join.far, order: join.farOrder)
      links?.relationship = .init(entity: reference.entityName, name: reference.propertyName)
      return links
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
    guard let table = source.layout.table(of: destination),
      let own = ownerColumn(of: relationship, link.entity, in: table),
      let column = source.column(own.name, in: table.name),
      let key = source.column("Z_PK", in: table.name)
    else { return nil }
    let order = source.layout.companion(of: own, .ownerOrder(relationship), in: table)
    return try staged(
      table.name, near: column, far: key,
      order: order.flatMap { source.column($0, in: table.name) })
  }
}
