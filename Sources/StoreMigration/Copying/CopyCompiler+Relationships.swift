import CoreDataStore
import ManagedObjects
import ModelTools
import ObjectModel
import SQLiteFile

// Compiles the references of new rows. A reference is a column that holds the key of another row.
extension CopyCompiler {
  /// The relationship in the old store from which a new row gets a reference. A reference is a column that holds the
  /// key of another row.
  struct Link {
    let relationship: Relationship
    /// The entity of the old model that has ``relationship``.
    let entity: String
    /// Whether the new row is made from the old row that has the relationship. If false, the new row is made from the
    /// destination of the relationship.
    let isNear: Bool
  }

  /// The place in the old store from which a reference of a new row gets its key.
  enum Origin {
    /// The key is in the column of the old row with this index.
    case column(Int)
    /// The key is the key of the old row itself, because the reference leads to the object that another mapping makes
    /// from the same old row.
    case own
    /// The key is in a column of another old row, to which a key path leads.
    case path(KeyPath)
    /// The key is not in the old row of the object: it is in another old row or in a join table.
    case elsewhere
  }

  /// One source of the keys that a reference in new rows can have. `origin` says where the old store has the key of the
  /// destination object. `makers` are the mappings that make the new destination object.
  struct Lead {
    let origin: Origin
    /// The index of the old column that holds the row's position among all rows that refer to the same destination; nil
    /// when there is no such column.
    var order: Int?
    /// The index of the old column that holds the entity number of the relationship's destination; nil when there is no
    /// such column.
    var number: Int?
    /// The old relationship that the reference follows; nil when the reference follows no relationship, or a key path
    /// of several relationships.
    var link: Link?
    let makers: [EntityMapping]

    /// Whether the reference leads to an object that another mapping makes from the same old row.
    var isOwn: Bool { if case .own = origin { true } else { false } }
  }

  /// Returns the ways (``Lead``) to find the destination of a to-one relationship of a new row, in the order in which
  /// they are tried. The array is empty when no mapping sets the relationship. Adds a problem for a relationship
  /// mapping that cannot be carried out.
  mutating func leads(
    by relationship: Relationship, _ mapping: EntityMapping, _ from: String
  ) -> [Lead] {
    let destination = relationship.destinationEntityName
    var named: Lead?
    switch relationshipSource(relationship.name, mapping) {
    case .same(let name):
      named = Lead(origin: .own, makers: makers(named: name, of: from, in: destination))
    case .related(let name, let mappingName):
      if let old = source.relationship(name, of: from) {
        named = lead(
          by: Link(relationship: old, entity: from, isNear: true),
          makers(of: old, mappingName, in: destination))
      } else if let path = keyPath(name, of: from), let far = path.relationship {
        named = Lead(origin: .path(path), makers: makers(of: far, mappingName, in: destination))
      } else {
        refuse(
          .mappingMismatch,
          "\(mapping.name).\(relationship.name) follows the relationship \(name), which \(from) does not have"
        )
      }
    case .sourceValue, .constant, .unsupported:
      refuseExpression(of: relationship, mapping)
      return []
    case .none: break
    }
    // Core Data keeps a relationship and its inverse consistent, so the mapping of the inverse counts, too.
    guard let inverse = TableLayout.inverse(of: relationship, in: model) else {
      return named.map { [$0] } ?? []
    }
    return leads(backBy: inverse, of: destination, mapping, from, besides: named)
  }

  /// Checks the mapping of a relationship. Adds a problem if the objects that the relationship leads to cannot be
  /// determined. If the relationship certainly leads to no object, adds a sentence to the report.
  mutating func check(_ property: PropertyMapping, of mapping: EntityMapping) {
    guard let from = mapping.sourceEntityName, let to = mapping.destinationEntityName else {
      return
    }
    let label = "\(mapping.name).\(property.name)"
    let origin = relationshipSource(property.name, mapping)
    switch origin {
    case .related(_, let name?), .same(let name):
      guard mappings.contains(where: { $0.name == name }) else {
        refuse(
          .mappingMismatch,
          "\(label) takes the objects of the mapping \(name), which does not exist")
        return
      }
    default: break
    }
    guard model.entities[to]?.isAbstract == false,
      let relationship = model.allRelationships(of: to).first(where: { $0.name == property.name }),
      !relationship.isTransient, !isSetByInverse(relationship)
    else { return }
    let destination = relationship.destinationEntityName
    switch origin {
    case .none: break
    case .same(let name):
      if makers(named: name, of: from, in: destination).isEmpty {
        tellNothing(label, name, from, destination)
      }
    case .related(let path, let name):
      if let old = source.relationship(path, of: from) {
        if let name, makers(of: old, name, in: destination).isEmpty {
          tellNothing(label, name, old.destinationEntityName, destination)
        }
      } else if relationship.isToMany {
        let isPath = path.utf8.contains(UInt8(ascii: "."))
        refuse(
          isPath ? .unsupportedExpression : .mappingMismatch,
          isPath
            ? "\(label) follows the key path \(path), which is not supported"
            : "\(label) follows the relationship \(path), which \(from) does not have")
      }
    case .sourceValue, .constant, .unsupported:
      if relationship.isToMany { refuseExpression(of: relationship, mapping) }
    }
  }

  /// Adds a sentence to the report, which says that a relationship is left empty because the mapping `name` makes no
  /// objects for it.
  private mutating func tellNothing(
    _ label: String, _ name: String, _ from: String, _ destination: String
  ) {
    plan.leftOut.append(
      "\(label) is empty, because its mapping \(name) makes no \(destination) from \(from)"
    )
  }

  /// Reports that the expression of a relationship mapping is not supported. This is only a note if a policy class may
  /// set the relationship, or if ``missingPolicy`` is `copy`; otherwise it is a problem.
  mutating func refuseExpression(of relationship: Relationship, _ mapping: EntityMapping) {
    let expression =
      mapping.relationshipMappings.first { $0.name == relationship.name }?.valueExpression
    let sentence = "is computed by an unsupported expression: \(expression?.text ?? "")"
    if let policy = policies.className(of: mapping), expression?.policyCall != nil {
      plan.notes.append(
        "\(mapping.name).\(relationship.name) is empty unless the class \(policy) sets it in createRelationships; the relationship \(sentence)"
      )
    } else if missingPolicy == .copy {
      plan.leftOut.append(
        "\(mapping.name).\(relationship.name) is empty, because the relationship \(sentence)")
    } else {
      refuse(.unsupportedExpression, "\(mapping.name).\(relationship.name) \(sentence)")
    }
  }

  private mutating func lead(by link: Link, _ makers: [EntityMapping]) -> Lead? {
    guard let key = source.column(of: link.entity, where: { $0 == .toOne(link.relationship) })
    else {
      guard link.relationship.isToMany else {
        plan.leftOut.append(
          "the old store has no column for the relationship \(link.entity).\(link.relationship.name)"
        )
        return nil
      }
      return Lead(origin: .elsewhere, link: link, makers: makers)
    }
    return Lead(
      origin: .column(key),
      order: source.column(of: link.entity) { $0 == .order(link.relationship) },
      number: source.column(of: link.entity) { $0 == .destinationEntity(link.relationship) },
      link: link, makers: makers)
  }

  /// Returns the ways (``Lead``) to set the reference of a new row to its owner. The owner is the row of the new entity
  /// `owner` whose `relationship` leads to the new row. The mapping `maker` makes the new row from an object of the old
  /// entity `from`.
  ///
  /// There is one lead for each old relationship from which a mapping sets `relationship`. The lead says where the old
  /// store has the key of the owner. If the owner can be made from the same old object as the new row, a lead with the
  /// origin `own` comes first.
  ///
  /// `named`: the lead that the new row's own mapping gives; nil when it gives none. It is included, and no second lead
  /// for the same links is returned.
  mutating func leads(
    backBy relationship: Relationship, of owner: String, _ maker: EntityMapping, _ from: String,
    besides named: Lead? = nil
  ) -> [Lead] {
    var leads = [named].compactMap { $0 }.filter { !$0.makers.isEmpty }
    var met = Set(leads.compactMap { $0.link.flatMap { keyOfInverse($0.relationship) } })
    for setter in setters(of: relationship.name, in: owner) {
      // A row of another entity is not a destination of the old relationship, even if it has the same key as a
      // destination.
      guard isMeant(maker, by: setter.wanted),
        isSame(from, orDescendantOf: setter.old.destinationEntityName),
        met.insert(key(setter.old, setter.from)).inserted
      else { continue }
      let makers = owners(by: setter, relationship, in: owner, of: maker)
      if let back = TableLayout.inverse(of: setter.old, in: source.model),
        source.relationship(back.name, of: from) == back
      {
        if let lead = lead(by: Link(relationship: back, entity: from, isNear: true), makers) {
          leads.append(lead)
        }
        continue
      }
      let link = Link(relationship: setter.old, entity: setter.from, isNear: false)
      if let place = source.layout.table(of: from),
        let own = ownerColumn(of: setter.old, setter.from, in: place),
        let key = source.column(own.name, in: place.name)
      {
        let order = source.layout.companion(of: own, .ownerOrder(setter.old), in: place)
        leads.append(
          Lead(
            origin: .column(key), order: order.flatMap { source.column($0, in: place.name) },
            link: link, makers: makers))
      } else {
        leads.append(Lead(origin: .elsewhere, link: link, makers: makers))
      }
    }
    let twins = twins(by: relationship, of: owner, maker)
    // If only `twins` set a one-to-one relationship, its references are set from the inverse later
    // (``CopyPlan/mirrored``).
    guard !twins.isEmpty, !leads.contains(where: \.isOwn), relationship.isToMany || !leads.isEmpty
    else { return leads }
    return [Lead(origin: .own, makers: twins)] + leads
  }

  /// Returns the entity mappings in which `setter` sets `relationship`, if `relationship` can then lead to objects that
  /// the mapping `maker` makes.
  private func owners(
    by setter: Setter, _ relationship: Relationship, in owner: String, of maker: EntityMapping
  ) -> [EntityMapping] {
    setting(
      relationship.name, from: setter.old, nearMakers(setter.old, of: setter.from, in: owner),
      where: { isMeant(maker, by: $0) })
  }

  /// Returns the mappings that make objects of the new entity `owner` from the same old objects as the mapping `maker`,
  /// and that set `relationship` to the objects that `maker` makes. The two related objects are then made from one old
  /// object.
  private func twins(by relationship: Relationship, of owner: String, _ maker: EntityMapping)
    -> [EntityMapping]
  {
    let lineage = descendants(of: owner)
    return mappings.filter { mapping in
      guard lineage.contains(mapping.destinationEntityName ?? ""),
        mapping.sourceEntityName == maker.sourceEntityName,
        case .same(let name) = relationshipSource(relationship.name, mapping)
      else { return false }
      return name == maker.name
    }
  }

  /// Returns the column of an old table that holds the owner's key for a to-many relationship without inverse. The
  /// owner is the row of `entity` that has `relationship`. Nil when the table lacks such a column.
  func ownerColumn(of relationship: Relationship, _ entity: String, in table: TableLayout.Table)
    -> TableLayout.Column?
  {
    table.columns.first { $0.role == .owner(relationship) && isColumn($0, of: entity) }
  }

  /// Whether a column of an old table stores a property that `entity` declares or inherits. This check is needed
  /// because another entity of the same table may have an equal relationship in another column.
  func isColumn(_ column: TableLayout.Column, of entity: String) -> Bool {
    isSame(entity, orDescendantOf: column.ownerName(in: source.layout))
  }

  func relationshipSource(_ name: String, _ mapping: EntityMapping) -> PropertySource {
    let found = mapping.relationshipMappings.first { $0.name == name }
    let source = found.map { PropertySource(relationship: $0) } ?? .none
    guard mapping.copiesAll || missingPolicy == .copy && policies.isMissing(for: mapping) else {
      return source
    }
    switch source {
    case .related: return source
    default:
      return self.source.relationship(name, of: mapping.sourceEntityName ?? "") == nil
        ? .none : .related(relationship: name, mappingName: nil)
    }
  }

  /// The place of a reference in a new table: the column with the key of the destination, and the columns with the
  /// destination's entity number and with the position, if they exist.
  struct Place {
    let table: String
    let column: String
    /// The column that holds the entity number of the destination; nil when there is no such column.
    var entityColumn: String?
    var orderColumn: String?
    /// The name of the relationship's destination entity in the new model.
    let destination: String
    /// The entity that declares the relationship. The report contains this name, followed by ``propertyName``.
    let entityName: String
    let propertyName: String
    /// The table and column of the inverse relationship if both relationships are to-one; otherwise nil.
    var inverse: (table: String, column: String)?
    /// The entity number (`Z_ENT`) of the new rows that get the reference.
    let entityNumber: Int64
  }

  /// Plans how a reference of a new row is set. If possible, the statement that inserts the row also sets the
  /// reference. Otherwise another statement sets the reference after all rows are inserted.
  mutating func set(
    _ place: Place, to leads: [Lead], _ table: TableCopy, _ shift: KeyShift, _ row: inout RowSQL,
    _ updates: inout [RowStatement]
  ) throws {
    let leads = leads.filter { !$0.makers.isEmpty }
    guard let lead = leads.first else {
      if place.inverse != nil { plan.mirrored.append(place) }
      return
    }
    for lead in leads { noteSeveral(place, lead.makers) }
    if let orderColumn = place.orderColumn {
      if leads.count == 1, let order = lead.order {
        row.set(orderColumn, to: row.parameter(order))
      } else {
        plan.unordered.append((place.table, place.column, orderColumn))
      }
    }
    guard leads.count == 1 else {
      for lead in leads {
        if let link = lead.link {
          try setLater(place, from: link, lead.makers, shift)
        } else {
          updates.append(try update(place, to: lead, table, shift))
        }
      }
      return
    }
    if case .elsewhere = lead.origin, let link = lead.link {
      return try setLater(place, from: link, lead.makers, shift)
    }
    guard isDirect(lead.makers), !isMadeBySQL(lead) else {
      updates.append(try update(place, to: lead, table, shift))
      return
    }
    let key = sql(lead.origin, &row)
    row.set(place.column, to: direct(key, lead.makers))
    if let entityColumn = place.entityColumn {
      row.set(entityColumn, to: entityNumber(key, lead.number, lead.makers, &row))
    }
  }

  /// Whether the reference leads to an object that is made from the same old row without a policy class.
  private func isMadeBySQL(_ lead: Lead) -> Bool {
    lead.isOwn && !lead.makers.contains { policies.className(of: $0) != nil }
  }

  /// Returns an UPDATE statement that sets a reference of a new row after all rows are inserted. The statement changes
  /// nothing if the reference is already set.
  private func update(_ place: Place, to lead: Lead, _ table: TableCopy, _ shift: KeyShift) throws
    -> RowStatement
  {
    var row = RowSQL(keyColumn: table.keyColumn)
    let old = sql(lead.origin, &row)
    let value =
      try isMadeBySQL(lead)
      ? resolved(old, lead.makers, place.destination)
      : resolvedOrCut(old, lead.makers, place.destination)
    let own = shift.key(row.ownKey)
    let column = try SQLText.quoted(place.column)
    return row.statement(
      "UPDATE \(try SQLText.quoted(place.table)) SET \(column) = \(value) WHERE Z_PK = \(own) AND \(column) IS NULL"
    )
  }

  /// Adds a note to the plan if several mappings make objects from the same old object. A reference to this old object
  /// then leads to the object that the first of these mappings makes. Core Data does not document which of these
  /// objects it chooses.
  private mutating func noteSeveral(_ place: Place, _ makers: [EntityMapping]) {
    for (entity, several) in Dictionary(grouping: makers, by: { $0.sourceEntityName ?? "" })
    where several.count > 1 {
      plan.notes.append(
        "if several of the mappings \(several.map(\.name).joined(separator: ", ")) make an object from the same \(entity), \(place.entityName).\(place.propertyName) leads to the object of the first one"
      )
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

  /// Returns an SQL expression for the entity number that a reference stores: the number of the entity of the row that
  /// the reference leads to. The expression gives NULL if several entities are possible and the old row does not show
  /// which of them it is.
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

  /// Plans a reference that is set after all rows are inserted, because its links are in other old rows or in a join
  /// table. The reference gets the first object to which these links lead.
  private mutating func setLater(
    _ place: Place, from link: Link, _ makers: [EntityMapping], _ shift: KeyShift
  ) throws {
    guard let links = try stagedLinks(of: link, for: place) else {
      plan.leftOut.append(
        "the old store has no table or column for the relationship \(link.entity).\(link.relationship.name)"
      )
      return
    }
    plan.links[links.name] = links
    let other = link.isNear ? "link.far" : "link.near"
    var place = place
    if (link.isNear ? links.backOrder : links.order) == nil { place.orderColumn = nil }
    plan.later.append(
      LaterReference(
        links: links, place: place, shift: shift, isNear: link.isNear,
        value: try resolved(other, makers, place.destination)))
  }

  /// Plans the helper table (``StagedLinks``) into which the links of a relationship of the old store are copied. The
  /// old store has these links in a join table, or in a column of the table at one end of the relationship. Returns nil
  /// when the old store has no such table or column.
  private func stagedLinks(of link: Link, for reference: Place) throws -> StagedLinks? {
    let relationship = link.relationship
    func staged(
      _ table: String, near: Int, far: Int, order: Int?, backOrder: Int?,
      keys: StagedLinks.End?
    ) throws -> StagedLinks? {
      guard let (name, definition) = source.table(named: table) else { return nil }
      return StagedLinks(
        table: name, definition: definition,
        name: try SQLText.quoted("lifeboat_links_\(name)_\(near)_\(far)"), near: near, far: far,
        order: order, backOrder: backOrder, keys: keys)
    }
    if let join = source.joinTable(of: relationship, of: link.entity) {
      var links = try staged(
        join.table, near: join.near, far: join.far, order: join.farOrder,
        backOrder: join.nearOrder, keys: nil)
      links?.relationship = .init(entity: reference.entityName, name: reference.propertyName)
      return links
    }
    func place(_ entity: String, _ role: TableLayout.Role) -> (
      table: String, column: Int, key: Int
    )? {
      guard let table = source.layout.table(of: entity),
        let found = table.columns.first(where: { $0.role == role && isColumn($0, of: entity) }),
        let column = source.column(found.name, in: table.name),
        let key = source.column("Z_PK", in: table.name)
      else { return nil }
      return (table.name, column, key)
    }
    if !relationship.isToMany, let (table, column, key) = place(link.entity, .toOne(relationship)) {
      return try staged(
        table, near: key, far: column, order: nil,
        backOrder: place(link.entity, .order(relationship))?.column, keys: .near)
    }
    let destination = relationship.destinationEntityName
    if let inverse = TableLayout.inverse(of: relationship, in: source.model),
      let (table, column, key) = place(destination, .toOne(inverse))
    {
      return try staged(
        table, near: column, far: key, order: place(destination, .order(inverse))?.column,
        backOrder: nil, keys: .far)
    }
    guard let table = source.layout.table(of: destination),
      let own = ownerColumn(of: relationship, link.entity, in: table),
      let column = source.column(own.name, in: table.name),
      let key = source.column("Z_PK", in: table.name)
    else { return nil }
    let order = source.layout.companion(of: own, .ownerOrder(relationship), in: table)
    return try staged(
      table.name, near: column, far: key,
      order: order.flatMap { source.column($0, in: table.name) }, backOrder: nil, keys: .far)
  }
}
