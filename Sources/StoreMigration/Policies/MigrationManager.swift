import CoreDataStore
public import ManagedObjects
import ModelTools
import ObjectModel
import SQLiteFile
import SQLiteWriter
import SafeText

/// Gives a policy access to the objects of both stores, and records which new object was made from which old object. It
/// is similar to `NSMigrationManager`. It is not `Sendable`.
public final class MigrationManager {
  /// The objects of the old store, which are only read.
  public let source: ObjectContext
  /// The objects of the new store.
  public let destination: ObjectContext
  /// Values that one policy stores for other policies. The policies choose the keys.
  public var userInfo: [String: any Sendable] = [:]

  /// The schema name under which a copy of the old store is attached.
  static let schema = "old"
  static let associations = "\(schema).\"lifeboat associations\""

  /// An entity mapping, and the compiled statements and tables that carry it out.
  struct Work {
    let number: Int64
    let mapping: PolicyMapping
    let copy: EntityCopy
    let table: TableCopy
    /// The policy that carries out the mapping; nil when SQL alone carries it out.
    let policy: (any MigrationPolicy)?
  }

  let works: [Work]
  private let run: CopyRun

  /// Creates a manager for the mappings with a policy. Before this, `run` must have carried out all other mappings, and
  /// the copy of the old store must be attached. `source` is the layout of the old store's tables.
  init(
    _ run: CopyRun, _ source: TableLayout, _ policies: PolicyRegister, highestKeys: [String: Int64]
  )
    throws
  {
    self.run = run
    self.source = ObjectContext(
      source, run.writer, schema: Self.schema, storePath: run.storePath, highestKeys: nil)
    destination = ObjectContext(
      run.plan.destination, run.writer, schema: "main", storePath: run.storePath,
      highestKeys: highestKeys)
    var works: [Work] = []
    let order = Dictionary(firstOf: run.plan.mappingNames.enumerated().map { ($1, $0) })
    let copies = run.plan.tables.flatMap { table in table.copies.map { (table, $0) } }
    for (table, copy) in copies.sorted(by: {
      order[$0.1.mappingName] ?? 0 < order[$1.1.mappingName] ?? 0
    }) {
      works.append(
        Work(
          number: Int64(works.count),
          mapping: PolicyMapping(
            name: copy.mappingName, sourceEntityName: copy.sourceEntity,
            destinationEntityName: copy.destinationEntity), copy: copy, table: table,
          policy: copy.policyClass.flatMap { policies.policy(named: $0) }))
    }
    self.works = works
    try run.writer.execute(
      "CREATE TABLE \(Self.associations) (mapping INTEGER, source INTEGER, destination INTEGER, entity INTEGER, PRIMARY KEY (mapping, source, destination, entity)) WITHOUT ROWID"
    )
    try run.writer.execute(
      "CREATE INDEX \(Self.schema).\"lifeboat destinations\" ON \"lifeboat associations\" (mapping, entity, destination)"
    )
  }

  // MARK: - For policies

  /// Makes the new object that the expressions of a mapping describe, and associates it with the old object `source`.
  /// Returns nil when the new object would break a rule of the new model; the row of `source` is then in the file of
  /// rejects. For a mapping without a policy, always returns nil, because the objects of such a mapping exist already.
  ///
  /// - Throws: ``MigrationError`` when no mapping has this name, or when the mapping does not take objects of the
  ///   entity of `source`; errors of the policy's functions; errors of SQLite.
  @discardableResult
  public func createDestinationInstance(for source: ManagedObject, in mapping: PolicyMapping) throws
    -> ManagedObject?
  {
    let work = try work(named: mapping.name, for: source)
    guard let policy = work.policy, let key = source.reference?.primaryKey,
      let created = try run.create(key, work.copy, work.table, from: Self.schema),
      let object = try destination.object(
        withKey: created, inTableOf: mapping.destinationEntityName)
    else { return nil }
    try associate(source, withDestination: object, in: mapping)
    for (property, expression) in work.copy.policyValues {
      guard let (selector, arguments) = expression.policyCall else { continue }
      let values = try arguments.compactMap { try value(of: $0, source) }
      try object.setValue(
        policy.value(
          ofFunction: selector, values, from: source, to: object, in: mapping, with: self),
        forKey: property)
    }
    return object
  }

  /// Records that the new object `destination` was made from the old object `source`.
  ///
  /// - Throws: ``MigrationError`` when no mapping has this name, or when the mapping does not take objects of the
  ///   entity of `source`; errors of SQLite.
  public func associate(
    _ source: ManagedObject, withDestination destination: ManagedObject, in mapping: PolicyMapping
  ) throws {
    let work = try work(named: mapping.name, for: source)
    try self.destination.write()
    guard let old = source.reference, let new = destination.reference,
      let number = self.destination.layout.numbering.number(of: destination.entityName)
    else { return }
    let insert = try run.writer.prepare(
      "INSERT OR IGNORE INTO \(Self.associations) VALUES (?1, ?2, ?3, ?4)")
    defer { insert.finalize() }
    try insert.run([
      .integer(work.number), .integer(old.primaryKey), .integer(new.primaryKey), .integer(number),
    ])
  }

  /// Returns the new objects that a mapping made from the old objects `sources`, in the order of `sources`.
  ///
  /// - Throws: ``MigrationError`` when no mapping has this name; errors of SQLite.
  public func destinationInstances(
    forEntityMappingNamed name: String, sourceInstances sources: [ManagedObject]
  ) throws -> [ManagedObject] {
    let work = try work(named: name)
    try destination.write()
    return try sources.flatMap { source -> [ManagedObject] in
      guard let key = source.reference?.primaryKey,
        source.entityName == work.mapping.sourceEntityName
      else { return [] }
      guard work.policy != nil else {
        guard let new = work.copy.shift.newKey(of: key),
          let object = try destination.object(
            withKey: new, inTableOf: work.mapping.destinationEntityName),
          object.entityName == work.mapping.destinationEntityName
        else { return [] }
        return [object]
      }
      return try run.writer.rows(
        "SELECT destination, entity FROM \(Self.associations) WHERE mapping = ?1 AND source = ?2",
        [.integer(work.number), .integer(key)]
      ).compactMap { try object($0) }
    }
  }

  /// Returns the old objects from which a mapping made the new objects `destinations`, in the order of `destinations`.
  ///
  /// - Throws: ``MigrationError`` when no mapping has this name; errors of SQLite.
  public func sourceInstances(
    forEntityMappingNamed name: String, destinationInstances destinations: [ManagedObject]
  ) throws -> [ManagedObject] {
    let work = try work(named: name)
    try destination.write()
    return try destinations.flatMap { object -> [ManagedObject] in
      guard let key = object.reference?.primaryKey,
        let number = destination.layout.numbering.number(of: object.entityName)
      else { return [] }
      var keys: [Int64] = []
      if work.policy == nil {
        guard object.entityName == work.mapping.destinationEntityName else { return [] }
        keys = work.copy.shift.oldKey(of: key).map { [$0] } ?? []
      } else {
        keys = try run.writer.rows(
          "SELECT source FROM \(Self.associations) WHERE mapping = ?1 AND entity = ?2 AND destination = ?3",
          [.integer(work.number), .integer(number), .integer(key)]
        ).compactMap { $0.first?.int64 }
      }
      return try keys.compactMap {
        try source.object(withKey: $0, inTableOf: work.mapping.sourceEntityName)
      }.filter { $0.entityName == work.mapping.sourceEntityName }
    }
  }

  // MARK: - Internals

  private func work(named name: String) throws -> Work {
    guard let work = works.first(where: { $0.mapping.name == name }) else {
      throw MigrationError(.mappingMismatch, ["no mapping has the name \(name)"])
    }
    return work
  }

  /// Returns the ``Work`` of the entity mapping named `name`. Throws if the mapping takes objects of another entity
  /// than that of `source`. Without this check, an object of the wrong entity with the same primary key would be used.
  private func work(named name: String, for source: ManagedObject) throws -> Work {
    let work = try work(named: name)
    guard source.entityName == work.mapping.sourceEntityName else {
      throw MigrationError(
        .mappingMismatch,
        ["mapping \(name) takes no objects of the entity \(source.entityName)"])
    }
    return work
  }

  /// Returns the new object whose key and entity number are in `row`.
  func object(_ row: [SQLiteValue]) throws -> ManagedObject? {
    guard row.count > 1, case .integer(let key) = row[0], case .integer(let number) = row[1],
      let entity = destination.layout.numbering.name(of: number)
    else { return nil }
    return try destination.object(withKey: key, inTableOf: entity)
  }

  /// Returns the value of an argument in the call of a policy's function. Returns nil for an argument that is an
  /// object, such as `$source`, because objects are passed to the function in separate parameters.
  private func value(of expression: ModelExpression, _ source: ManagedObject) throws
    -> PropertyValue?
  {
    switch expression {
    case .constant(let constant):
      switch constant {
      case .null: return .null
      case .bool(let value): return .boolean(value)
      case .integer(let value): return .integer(value)
      case .real(let value): return .real(value)
      case .decimal(let text):
        guard let value = Double(text) else { return .null }
        return .real(value)
      case .string(let text), .url(let text): return .string(.init(text))
      case .date(let seconds): return .date(ReferenceDate(seconds: seconds))
      case .data(let bytes): return .binary(bytes)
      case .uuid(let text):
        guard let bytes = Hex.bytes(ofUUID: text) else { return .null }
        return .uuid(bytes)
      case .type: return nil
      }
    case .keyPath(let path, of: .variable("source")):
      let keys = KeyPath.keys(of: path)
      var object: ManagedObject? = source
      for key in keys.dropLast() { object = try object?.object(forKey: key) }
      return try keys.last.flatMap { try object?.value(forKey: $0) } ?? .null
    default: return nil
    }
  }

  /// Returns the keys and entity numbers of the new objects that a mapping made, sorted by entity number, then by key.
  /// Starts after `last`, and returns at most 1,000 objects. `last` is the last element of the previous result; nil for
  /// the first call.
  func associated(_ work: Work, after last: [SQLiteValue]?) throws -> [[SQLiteValue]] {
    // Objects in different tables may have the same key, so the entity number is compared, too. The lowest entity
    // number is 1.
    let last = last ?? [.integer(0), .integer(0)]
    return try run.writer.rows(
      "SELECT DISTINCT destination, entity FROM \(Self.associations) WHERE mapping = ?1 AND (entity, destination) > (?3, ?2) ORDER BY entity, destination LIMIT 1000",
      [.integer(work.number)] + last)
  }
}

extension ModelExpression {
  /// The function of the policy class that the expression calls, and its arguments; nil for any other expression.
  var policyCall: (selector: String, arguments: [ModelExpression])? {
    switch self {
    case .function(target: .variable("entityPolicy")?, let selector, let arguments):
      (selector, arguments)
    case .keyPath(let path, of: .variable("entityPolicy")): (path, [])
    default: nil
    }
  }
}
