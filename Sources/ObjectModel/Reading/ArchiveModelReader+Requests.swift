/// Reads fetch requests, predicates, expressions and values of any kind.
extension ArchiveModelReader {
  mutating func fetchRequest(_ value: PropertyList?) throws(ModelError) -> FetchRequest {
    var request = FetchRequest()
    request.entityName = try entityName(archive.field("NSEntity", of: value))
    if request.entityName == nil { request.entityName = try text("NSEntityName", value) }
    request.predicate = try predicate(archive.field("NSPredicate", of: value))
    request.havingPredicate = try predicate(archive.field("NSHavingPredicate", of: value))
    for stored in try elements("NSSortDescriptors", of: value) {
      try spend(Cost.sortDescriptor)
      request.sortDescriptors.append(
        FetchSort(
          key: try text("NSKey", stored) ?? "", isAscending: try flag("NSAscending", stored),
          selector: try text("NSSelector", stored),
          reversesNullOrder: try flag("NSReverseNullOrder", stored)))
    }
    request.fetchLimit = number("NSFetchLimit", value)
    request.fetchOffset = number("NSFetchOffset", value)
    request.batchSize = number("NSBatchSize", value)
    request.resultType = FetchRequest.ResultType(rawValue: number("NSResultType", value))
    request.allocationType = number("NSAllocationType", value)
    if try flag("NSHasFetchRequestFlags", value) {
      let flags = number("NSFetchRequestFlags", value)
      if flags != FetchRequest.standardFlags { request.archivedFlags = flags }
    }
    request.propertiesToFetch = try propertyNames("NSValuesToFetch", value)
    request.propertiesToGroupBy = try propertyNames("NSValuesToGroupBy", value)
    request.prefetchedKeyPaths = try propertyNames(
      "NSRelationshipKeyPathsForPrefetching", value)
    return request
  }

  private func number(_ key: String, _ value: PropertyList?) -> Int64 {
    archive.integer(archive.field(key, of: value)) ?? 0
  }

  /// Returns the names of the properties in a list. The list may contain the names or the properties themselves.
  private mutating func propertyNames(
    _ key: String, _ value: PropertyList?
  ) throws(ModelError) -> [String] {
    var names: [String] = []
    for element in try elements(key, of: value) {
      if let name = try string(element) {
        names.append(name)
      } else if let name = try text("NSPropertyName", element) {
        names.append(name)
      }
    }
    return names
  }

  mutating func predicate(_ value: PropertyList?) throws(ModelError) -> ModelPredicate? {
    var reader = PredicateArchiveReader(archive: archive)
    let predicate = reader.predicate(value)
    try spend(reader.partCount * Cost.predicatePart + reader.textLength / 16)
    return predicate
  }

  mutating func expression(
    _ key: String, _ value: PropertyList?
  ) throws(ModelError) -> ModelExpression? {
    var reader = PredicateArchiveReader(archive: archive)
    let expression = reader.expression(archive.field(key, of: value))
    try spend(reader.partCount * Cost.predicatePart + reader.textLength / 16)
    return expression
  }

  mutating func decoded(_ value: PropertyList?) throws(ModelError) -> ArchivedValue {
    let (decoded, count) = archive.decodedWithCount(value)
    try spend(count * Cost.value)
    return decoded
  }
}
