/// A fetch request that a model contains, either as a template or in a fetched property.
package struct FetchRequest: Sendable, Hashable {
  /// The name of the entity whose objects are fetched; nil if the model gives none.
  package var entityName: String?
  /// The condition that an object must meet to be fetched; nil to fetch all objects.
  package var predicate: ModelPredicate?
  /// The sort keys, in descending order of importance. An `.xcdatamodel` never contains sort keys.
  package var sortDescriptors: [FetchSort]
  /// The maximum number of objects that are fetched; 0 for no limit.
  package var fetchLimit: Int64
  package var fetchOffset: Int64
  /// The number of objects that are loaded in one batch; 0 to load all objects at once.
  package var batchSize: Int64
  package var resultType: ResultType
  /// The options of the request. If ``archivedFlags`` is not nil, this set has only Apple's defaults, and
  /// ``archivedFlags`` holds the real options.
  package var options: Options
  /// The number in `NSFetchRequestFlags` of an archived request. The meaning of its bits is not documented, so it is
  /// kept unchanged. Nil if the number is the default, or if the request was read from an `.xcdatamodel`.
  package var archivedFlags: Int64?
  /// The names or key paths of the properties that are fetched; empty to fetch all properties.
  package var propertiesToFetch: [String]
  /// The names or key paths of the properties by which the results are grouped; empty if results are not grouped.
  package var propertiesToGroupBy: [String]
  package var havingPredicate: ModelPredicate?
  package var prefetchedKeyPaths: [String]
  /// The number in `NSAllocationType` of an archived request. Its meaning is not known; it is 0 in all known requests.
  package var allocationType: Int64

  /// What a request fetches (`NSFetchRequestResultType`).
  package struct ResultType: RawRepresentable, Sendable, Hashable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let objects = ResultType(rawValue: 0)
    package static let objectIDs = ResultType(rawValue: 1)
    package static let dictionaries = ResultType(rawValue: 2)
    package static let count = ResultType(rawValue: 4)
  }

  /// The options of a request. The numbers of the bits are this library's own, not Apple's.
  package struct Options: OptionSet, Sendable, Hashable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let includesSubentities = Options(rawValue: 1)
    package static let includesPendingChanges = Options(rawValue: 2)
    package static let includesPropertyValues = Options(rawValue: 4)
    package static let returnsObjectsAsFaults = Options(rawValue: 8)
    package static let returnsDistinctResults = Options(rawValue: 16)

    /// The options that are set in a new `NSFetchRequest`.
    package static let standard: Options = [
      .includesSubentities, .includesPropertyValues, .returnsObjectsAsFaults,
      .includesPendingChanges,
    ]
  }

  /// The `NSFetchRequestFlags` of a request with Apple's defaults. All known archived requests have this number.
  package static let standardFlags: Int64 = 30

  /// Makes a request. The default arguments are the defaults of Apple's API.
  package init(
    entityName: String? = nil, predicate: ModelPredicate? = nil,
    sortDescriptors: [FetchSort] = [], fetchLimit: Int64 = 0, fetchOffset: Int64 = 0,
    batchSize: Int64 = 0, resultType: ResultType = .objects, options: Options = .standard,
    propertiesToFetch: [String] = [], propertiesToGroupBy: [String] = [],
    havingPredicate: ModelPredicate? = nil, prefetchedKeyPaths: [String] = [],
    allocationType: Int64 = 0, archivedFlags: Int64? = nil
  ) {
    self.entityName = entityName
    self.predicate = predicate
    self.sortDescriptors = sortDescriptors
    self.fetchLimit = fetchLimit
    self.fetchOffset = fetchOffset
    self.batchSize = batchSize
    self.resultType = resultType
    self.options = options
    self.propertiesToFetch = propertiesToFetch
    self.propertiesToGroupBy = propertiesToGroupBy
    self.havingPredicate = havingPredicate
    self.prefetchedKeyPaths = prefetchedKeyPaths
    self.allocationType = allocationType
    self.archivedFlags = archivedFlags
  }
}

/// A sort key of a fetch request (`NSSortDescriptor`).
package struct FetchSort: Sendable, Hashable {
  /// The key path of the property by which the fetched objects are sorted.
  package var key: String
  package var isAscending = true
  /// The selector of the method that compares two values; nil if the archive contains none.
  package var selector: String? = "compare:"
  /// Whether the archive says that null values come last (`NSReverseNullOrder`).
  package var reversesNullOrder = false
}
