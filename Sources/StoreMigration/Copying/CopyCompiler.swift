import CoreDataForensics
import CoreDataStore
import ManagedObjects
import ModelTools
import ObjectModel
import SQLiteFile
import SQLiteForensics

/// What happens to an entity mapping whose policy class is not registered.
public enum MissingPolicy: String, Sendable, CaseIterable {
  /// The migration is refused.
  case refuse
  /// The migration copies the attributes and relationships that have the same name in the old and the new entity. The
  /// report says so.
  case copy
}

/// Compiles a mapping model into the SQL that copies the rows of an old store.
struct CopyCompiler {
  let source: SourceTables
  let layout: TableLayout
  let mappings: [EntityMapping]
  let missingPolicy: MissingPolicy
  let policies: PolicyRegister
  /// For each new entity, the entities that inherit from it, and the entity itself.
  private let families: [String: Set<String>]
  var plan: CopyPlan
  var problems: [MigrationError.Code: [String]] = [:]
  /// The properties whose values the mapping's policy class computes, for the mapping that is being compiled. Each
  /// expression calls a function of the policy class.
  private var policyValues: [(property: String, expression: ModelExpression)] = []

  var model: ManagedObjectModel { layout.model }
  var shifts: KeyShifts { plan.shifts }

  /// Compiles a mapping model for the tables of the old store and the layout of the new store. The closure `highestKey`
  /// returns the highest key in an old table. The closure is called only if a new table receives rows from several old
  /// tables, or several new rows for one old row.
  static func plan(
    _ mapping: MappingModel, from source: SourceTables, to layout: TableLayout,
    missingPolicy: MissingPolicy, policies: PolicyRegister,
    highestKey: (_ table: String) throws -> Int64
  ) throws -> CopyPlan {
    let shifts = try KeyShifts(mapping.entityMappings, source, layout, highestKey)
    var compiler = CopyCompiler(
      mapping, source, layout, missingPolicy, policies, shifts)
    try compiler.run()
    return compiler.plan
  }

  private init(
    _ mapping: MappingModel, _ source: SourceTables, _ layout: TableLayout,
    _ missingPolicy: MissingPolicy, _ policies: PolicyRegister, _ shifts: KeyShifts
  ) {
    self.source = source
    self.layout = layout
    self.missingPolicy = missingPolicy
    self.policies = policies
    mappings = mapping.entityMappings.filter {
      $0.sourceEntityName != nil && $0.destinationEntityName != nil
    }
    var families: [String: Set<String>] = [:]
    for name in layout.numbering.names {
      families[name, default: []].insert(name)
      for ancestor in layout.model.ancestors(of: name) {
        families[ancestor.name, default: []].insert(name)
      }
    }
    self.families = families
    plan = CopyPlan(destination: layout, shifts: shifts)
  }

  mutating func refuse(_ code: MigrationError.Code, _ reason: String) {
    problems[code, default: []].append(reason)
  }

  mutating func run() throws {
    var byEntity: [String: [EntityMapping]] = [:]
    var names: Set<String> = []
    for mapping in mappings {
      byEntity[mapping.sourceEntityName ?? "", default: []].append(mapping)
      check(mapping)
      if !names.insert(mapping.name).inserted {
        refuse(.mappingMismatch, "several mappings have the name \(mapping.name)")
      }
    }
    for place in source.layout.tables {
      guard let (name, definition) = source.table(named: place.name),
        let keyColumn = definition.place(of: "Z_PK")
      else { continue }
      let table = TableCopy(
        name, definition, keyColumn: keyColumn, entityColumn: definition.place(of: "Z_ENT"),
        rules: rules(of: place), externalColumns: externalColumns(of: place))
      for (number, entity) in source.entityNames where place.entityNames.contains(entity) {
        let made = try (byEntity[entity] ?? []).compactMap { try copy($0, of: table) }
        if made.isEmpty {
          drop(entity)
        } else {
          table.entities[number] = made
        }
      }
      // A table is also read if all its rows are left behind, because these rows must be counted.
      if !table.entities.isEmpty || plan.dropped.contains(where: place.entityNames.contains) {
        plan.tables.append(table)
      }
    }
    for copies in plan.tables.flatMap(\.entities.values) {
      // Several new rows that are made from one old row may refer to the same external file.
      let columns = copies.flatMap(\.externalColumns)
      if Set(columns).count < columns.count { plan.sharesFiles = true }
    }
    plan.oldTables = Set(
      source.layout.tables.map { $0.name.uppercased() }
        + source.layout.joinTables.map { $0.name.uppercased() })
    try addJoins()
    try addReferences()
    plan.mappingNames = mappings.map(\.name)
    plan.dropped.sort()
    for code in [MigrationError.Code.mappingMismatch, .unsupportedExpression] {
      if let reasons = problems[code] { throw MigrationError(code, reasons.sorted()) }
    }
  }

  /// Returns the new entities that inherit from `entity`, and `entity` itself.
  func descendants(of entity: String) -> Set<String> { families[entity] ?? [] }

  mutating func drop(_ entity: String) {
    guard source.model.entities[entity]?.isAbstract != true else { return }
    plan.dropped.append(entity)
    if let same = model.entities[entity] {
      plan.droppedReasons[entity] =
        same.isAbstract
        ? "\(entity) is abstract in the new model, so its rows are left behind"
        : "both models have \(entity), but no mapping takes its rows, so they are left behind"
    }
  }

  func rules(of place: TableLayout.Table) -> [RecordCopy.Rule] {
    let saves = source.column("Z_OPT", in: place.name).map {
      RecordCopy.Rule(column: $0, classes: .integer, length: nil)
    }
    return (saves.map { [$0] } ?? [])
      + place.columns.compactMap { column in
        guard let index = source.column(column.name, in: place.name) else { return nil }
        guard case .attribute(let attribute) = column.role else {
          return RecordCopy.Rule(column: index, classes: .integer, length: nil)
        }
        return attribute.type.storageClasses.map {
          RecordCopy.Rule(column: index, classes: $0, length: attribute.type.storedLength)
        }
      }
  }

  func externalColumns(of place: TableLayout.Table) -> Set<Int> {
    Set(
      place.columns.compactMap { column in
        guard case .attribute(let attribute) = column.role,
          attribute.allowsExternalBinaryDataStorage
        else { return nil }
        return source.column(column.name, in: place.name)
      })
  }

  /// Adds a problem for each part of an entity mapping that cannot be carried out.
  mutating func check(_ mapping: EntityMapping) {
    for (name, owner, side) in [
      (mapping.sourceEntityName ?? "", source.model, "old"),
      (mapping.destinationEntityName ?? "", model, "new"),
    ] where owner.entities[name] == nil {
      refuse(
        .mappingMismatch,
        "mapping \(mapping.name) names the entity \(name), which the \(side) model does not have")
    }
    if let policy = mapping.migrationPolicyClassName, policies.isMissing(for: mapping) {
      plan.notes.append(
        "mapping \(mapping.name) needs the class \(policy) of the app; without it, only properties of the same name are copied"
      )
      tellCounterparts(mapping)
    }
    for property in mapping.relationshipMappings { check(property, of: mapping) }
    if case .unsupported = mapping.selection {
      refuse(
        .unsupportedExpression,
        "mapping \(mapping.name) selects rows by an unsupported expression: \(mapping.sourceExpression?.text ?? "")"
      )
    }
  }

  /// Reports old attributes that the mapping's missing policy class may have used. These attributes have no counterpart
  /// in the new entity, and no mapping copies their values.
  private mutating func tellCounterparts(_ mapping: EntityMapping) {
    guard let from = mapping.sourceEntityName, let to = mapping.destinationEntityName else {
      return
    }
    let taken = Set(
      mapping.attributeMappings.compactMap { property -> String? in
        if case .sourceValue(let path) = PropertySource(attribute: property) { path } else { nil }
      })
    let old = source.model.allAttributes(of: from).filter { !$0.isTransient }.map(\.name)
    let new = model.allAttributes(of: to).filter { !$0.isTransient }.map(\.name)
    let lost = old.filter { !new.contains($0) && !taken.contains($0) }
    if !lost.isEmpty {
      plan.leftOut.append(
        "the missing class may have used these attributes, which have no counterpart: "
          + "\(lost.sorted().joined(separator: ", ")) of \(from) (mapping \(mapping.name))"
      )
    }
  }

  // MARK: - Rows

  mutating func copy(_ mapping: EntityMapping, of table: TableCopy) throws -> EntityCopy? {
    guard let from = mapping.sourceEntityName, let to = mapping.destinationEntityName,
      let place = layout.table(of: to), let number = layout.numbering.number(of: to),
      model.entities[to]?.isAbstract == false
    else { return nil }
    var row = RowSQL(keyColumn: table.keyColumn)
    let shift = shifts.shift(of: mapping)
    row.set("Z_PK", to: shift.key(row.parameter(table.keyColumn)))
    row.set("Z_ENT", to: SQLText.literal(number))
    let saves = table.definition.place(of: "Z_OPT")
    row.set("Z_OPT", to: saves.map { row.parameter($0, or: "1") } ?? "1")
    var updates: [RowStatement] = []
    var demands: [(property: String, column: Int?, value: String)] = []
    var external: [Int] = []
    var inlined: Set<Int> = []
    var isFiltered = false
    let policyClass = policies.className(of: mapping)
    var selection: RowStatement?
    policyValues = []
    if case .some(let predicate) = mapping.selection {
      isFiltered = true
      if let condition = condition(predicate, from, &row) {
        if policyClass == nil { row.take(where: condition) }
        selection = row.statement("SELECT \(condition)")
      } else {
        refuse(
          .unsupportedExpression,
          "mapping \(mapping.name) selects rows by an unsupported predicate: \(predicate.text)"
        )
      }
    }
    let lineage = Set([to] + model.ancestors(of: to).map(\.name))
    for column in place.columns where lineage.contains(column.entityName) {
      switch column.role {
      case .attribute(let attribute):
        let (value, sourceColumn) = value(of: attribute, mapping, from, &row)
        row.set(column.name, to: value)
        if let sourceColumn, table.externalColumns.contains(sourceColumn) {
          if attribute.allowsExternalBinaryDataStorage {
            external.append(sourceColumn)
          } else {
            inlined.insert(sourceColumn)
          }
        }
        // A required attribute with a default value always has a value.
        if !attribute.isOptional, !attribute.isDerived,
          attribute.defaultValue.flatMap({ SQLText.literal($0, of: attribute) }) == nil
        {
          // If the mapping has a policy, the policy may set the value later.
          if policyClass == nil { row.demand(value) }
          // A constant always gives a value, unless the constant is NULL.
          if value == "NULL" || value.utf8.contains(UInt8(ascii: "?")) {
            demands.append((attribute.name, sourceColumn, value))
          }
        }
      case .toOne(let relationship):
        let inverse = TableLayout.inverse(of: relationship, in: model)
        let target = Place(
          table: place.name, column: column.name,
          entityColumn: layout.companion(of: column, .destinationEntity(relationship), in: place),
          orderColumn: layout.companion(of: column, .order(relationship), in: place),
          destination: relationship.destinationEntityName, entityName: column.entityName,
          propertyName: relationship.name,
          inverse: inverse.flatMap { inverse in
            let other = layout.table(of: relationship.destinationEntityName)
            return other?.columns.first { $0.role == .toOne(inverse) }.map {
              (other?.name ?? "", $0.name)
            }
          }, entityNumber: number)
        try set(
          target, to: leads(by: relationship, mapping, from), table, shift, &row, &updates)
      case .owner(let relationship):
        let owner = column.ownerName(in: layout)
        let target = Place(
          table: place.name, column: column.name,
          orderColumn: layout.companion(of: column, .ownerOrder(relationship), in: place),
          destination: owner, entityName: owner, propertyName: relationship.name,
          entityNumber: number)
        try set(
          target, to: leads(backBy: relationship, of: owner, mapping, from), table, shift, &row,
          &updates)
      case .destinationEntity, .order, .ownerOrder: break
      }
    }
    let lacks = demands.map { "\($0.value) IS NULL" }.joined(separator: ", ")
    return EntityCopy(
      mapping, from: from, to: to, shift: shift, insert: try row.insert(into: place.name),
      isFiltered: isFiltered, losses: row.losses(), updates: updates,
      demands: demands.map { (property: $0.property, column: $0.column) },
      lacks: demands.isEmpty ? nil : row.statement("SELECT \(lacks)"),
      externalColumns: external, inlinedColumns: inlined, policyClass: policyClass,
      selection: selection,
      policyValues: policyValues, plain: row.plain())
  }

  /// Returns an SQL expression for the value of a new attribute, and the index of the old column that the value comes
  /// from. The index is nil when the value does not come from a column of the old row.
  mutating func value(
    of attribute: Attribute, _ mapping: EntityMapping, _ from: String, _ row: inout RowSQL
  ) -> (sql: String, column: Int?) {
    let fallback = attribute.defaultValue.flatMap { SQLText.literal($0, of: attribute) }
    /// Returns an SQL expression in which the default value replaces NULL if the attribute is required.
    func filled(_ value: String) -> String {
      attribute.isOptional ? value : fallback.map { "IFNULL(\(value), \($0))" } ?? value
    }
    func stored(_ name: String) -> (sql: String, column: Int?)? {
      guard let (old, column) = storedAttribute(name, of: from) else { return nil }
      guard
        let (value, isPartial) = SQLText.converted(
          row.parameter(column), from: old, to: attribute)
      else {
        plan.leftOut.append(
          "values are left out, because their old type cannot be converted into the new one: "
            + "\(from).\(name) is \(old.type.name), \(attribute.name) is \(attribute.type.name)"
        )
        return nil
      }
      if isPartial { row.watch(row.parameter(column), value, property: attribute.name) }
      return (
        value == row.parameter(column) && !attribute.isOptional
          ? fallback.map { row.parameter(column, or: $0) } ?? value : filled(value), column
      )
    }
    let origin = attributeSource(attribute, mapping)
    switch origin {
    case .none:
      if attribute.isDerived {
        plan.notes.append(
          "\(attribute.name) of \(mapping.destinationEntityName ?? "?") is derived: it is empty until the app saves the object"
        )
      }
      return (fallback ?? "NULL", nil)
    case .sourceValue(let path):
      if let found = stored(path) { return found }
      if storedAttribute(path, of: from) != nil { return (fallback ?? "NULL", nil) }
      if let (value, old) = self.attribute(at: path, of: from, &row),
        let (converted, isPartial) = SQLText.converted(
          value, from: old, to: attribute, isElsewhere: true)
      {
        if isPartial { row.watch(value, converted, property: attribute.name) }
        if old.allowsExternalBinaryDataStorage { plan.sharesFiles = true }
        return (filled(converted), nil)
      }
      if path.utf8.contains(UInt8(ascii: ".")) {
        refuse(
          .unsupportedExpression,
          "\(mapping.name).\(attribute.name) follows the key path \(path), which is not supported")
      } else if sourceAttribute(path, of: from) != nil {
        plan.leftOut.append(
          "the old store has no column for \(from).\(path), so \(attribute.name) gets its default value"
        )
      } else {
        refuse(
          .mappingMismatch,
          "\(mapping.name).\(attribute.name) takes the attribute \(path), which \(from) does not have"
        )
      }
      return (fallback ?? "NULL", nil)
    case .constant(let constant):
      guard let literal = SQLText.literal(constant, of: attribute) else {
        refuse(
          .unsupportedExpression,
          "\(mapping.name).\(attribute.name) has a constant whose type is not \(attribute.type.name)"
        )
        return ("NULL", nil)
      }
      return (literal == "NULL" ? filled(literal) : literal, nil)
    case .related, .same, .unsupported:
      if case .unsupported(let expression) = origin, !mayNameFile(expression, from),
        fits(expression, attribute, from), let value = sql(expression, from, &row)
      {
        let computed = SQLText.computed(value, for: attribute)
        if computed != value { row.watch(value, computed, property: attribute.name) }
        return (filled(computed), nil)
      }
      if case .unsupported(let expression) = origin, policies.className(of: mapping) != nil,
        expression.policyCall != nil
      {
        policyValues.append((attribute.name, expression))
        return (fallback ?? "NULL", nil)
      }
      let expression = attributeMapping(attribute, mapping)?.valueExpression
      let isWrong = expression.map { calculatesWithOthers($0, from) } ?? false
      let text =
        "is computed by an unsupported expression\(isWrong ? ", which calculates with values that are not numbers" : ""): \(expression?.text ?? "")"
      if missingPolicy == .copy {
        let old = stored(attribute.name)
        if !policies.isMissing(for: mapping) {
          let value =
            old != nil
            ? "keeps its old value"
            : fallback != nil ? "gets its default value" : "is empty"
          plan.leftOut.append(
            "\(mapping.name).\(attribute.name) \(value), because the attribute \(text)")
        }
        return old ?? (fallback ?? "NULL", nil)
      }
      refuse(.unsupportedExpression, "\(mapping.name).\(attribute.name) \(text)")
      return ("NULL", nil)
    }
  }

  /// Returns the attribute `path` of the entity `entity` in the old model; nil if there is no such attribute. For an
  /// element of a composite attribute, `path` is a key path.
  func sourceAttribute(_ path: String, of entity: String) -> Attribute? {
    source.columns(of: entity)?.columns.lazy.compactMap { column in
      if case .attribute(let attribute) = column.role, attribute.name == path {
        attribute
      } else {
        nil
      }
    }.first
  }

  /// Returns an attribute as ``sourceAttribute(_:of:)`` does, and the index of its column; nil when the old store has no
  /// such column.
  func storedAttribute(_ path: String, of entity: String) -> (attribute: Attribute, column: Int)? {
    // The names are compared, because an attribute whose default value is NaN does not equal itself.
    guard let attribute = sourceAttribute(path, of: entity),
      let column = source.column(
        of: entity,
        where: { if case .attribute(let found) = $0 { found.name == path } else { false } })
    else { return nil }
    return (attribute, column)
  }

  func attributeMapping(_ attribute: Attribute, _ mapping: EntityMapping)
    -> PropertyMapping?
  {
    mapping.attributeMappings.first { $0.name == attribute.name }
  }

  func attributeSource(_ attribute: Attribute, _ mapping: EntityMapping) -> PropertySource {
    if let found = attributeMapping(attribute, mapping) {
      let source = PropertySource(attribute: found)
      if source == .none, missingPolicy == .copy, policies.isMissing(for: mapping),
        sourceAttribute(attribute.name, of: mapping.sourceEntityName ?? "") != nil
      {
        return .sourceValue(keyPath: attribute.name)
      }
      return source
    }
    // If the attribute is an element of a composite attribute, the value comes from the mapping of the whole composite.
    let parts = attribute.name.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1)
      .map { String(decoding: $0, as: UTF8.self) }
    if parts.count == 2,
      let whole = mapping.attributeMappings.first(where: { $0.name == parts[0] }),
      case .sourceValue(let path) = PropertySource(attribute: whole)
    {
      return .sourceValue(keyPath: path + "." + parts[1])
    }
    // A derived attribute has no mapping of its own. Its old value is copied, and Core Data computes the value anew
    // when it next saves the object.
    if sourceAttribute(attribute.name, of: mapping.sourceEntityName ?? "") != nil,
      attribute.isDerived || mapping.copiesAttributes
        || policies.isMissing(for: mapping) && missingPolicy == .copy
    {
      return .sourceValue(keyPath: attribute.name)
    }
    return .none
  }

  mutating func addReferences() throws {
    for place in layout.tables {
      for column in place.columns {
        let destination: String
        let name: String
        var entityColumn: String?
        var orderColumn: String?
        var isDemanded = false
        switch column.role {
        case .toOne(let relationship):
          destination = relationship.destinationEntityName
          name = relationship.name
          entityColumn = layout.companion(
            of: column, .destinationEntity(relationship), in: place)
          orderColumn = layout.companion(of: column, .order(relationship), in: place)
          isDemanded = !relationship.isOptional
        case .owner(let relationship):
          destination = column.ownerName(in: layout)
          name = relationship.name
          orderColumn = layout.companion(of: column, .ownerOrder(relationship), in: place)
        default: continue
        }
        guard let target = layout.table(of: destination)?.name else { continue }
        plan.references.append(
          Reference(
            table: place.name, column: column.name, entityColumn: entityColumn,
            orderColumn: orderColumn, isDemanded: isDemanded,
            ownNumbers: layout.numberList(of: column.entityName),
            destinationTable: target,
            destinationNumbers: layout.numberList(of: destination), entityName: column.entityName,
            propertyName: name))
      }
    }
  }
}
