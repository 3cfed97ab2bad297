/// A fetch request that is part of a model: in a template or in a fetched property.
package struct FetchRequest: Sendable, Hashable {
  /// The entity whose objects are fetched; nil if the model names none.
  package var entityName: String?
  /// The condition for objects to be fetched; nil to fetch all.
  package var predicate: ModelPredicate?
  /// The sort keys, the most important first. An `.xcdatamodel` never has any.
  package var sortDescriptors: [FetchSort]
  /// The maximum number of objects that are fetched; 0 for no limit.
  package var fetchLimit: Int64
  /// The number of objects that are skipped before the first one that is fetched.
  package var fetchOffset: Int64
  /// The number of objects that are loaded at once; 0 to load all.
  package var batchSize: Int64
  /// What is fetched: objects, their IDs, dictionaries or a count.
  package var resultType: ResultType
  /// The options of the request. They are Apple's defaults if ``archivedFlags`` holds the real ones.
  package var options: Options
  /// `NSFetchRequestFlags` of an archived request; nil if they are the defaults, and for a request from an
  /// `.xcdatamodel`. The meaning of the bits is not documented, so the number is kept as it is.
  package var archivedFlags: Int64?
  /// The names or key paths of the properties that are fetched; empty to fetch all.
  package var propertiesToFetch: [String]
  /// The names or key paths of the properties by which results are grouped; empty for no groups.
  package var propertiesToGroupBy: [String]
  /// The condition for groups to be fetched; nil to fetch all.
  package var havingPredicate: ModelPredicate?
  /// The key paths of relationships whose objects are fetched in advance; empty for none.
  package var prefetchedKeyPaths: [String]
  /// `NSAllocationType` of an archived request. Its meaning is not known; it is 0 in all requests that were seen.
  package var allocationType: Int64

  /// What a request fetches (`NSFetchRequestResultType`).
  package struct ResultType: RawRepresentable, Sendable, Hashable {
    /// The number in the archived model.
    package let rawValue: Int64

    /// Makes a result type from its number, even from an unknown one.
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Managed objects.
    package static let objects = ResultType(rawValue: 0)
    /// Managed object IDs.
    package static let objectIDs = ResultType(rawValue: 1)
    /// Dictionaries.
    package static let dictionaries = ResultType(rawValue: 2)
    /// The number of objects.
    package static let count = ResultType(rawValue: 4)
  }

  /// The options of a request. The bits are this library's own, not Apple's.
  package struct Options: OptionSet, Sendable, Hashable {
    /// The bits.
    package let rawValue: Int64

    /// Makes options from this library's bits.
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Objects of subentities are fetched too.
    package static let includesSubentities = Options(rawValue: 1)
    /// The results take unsaved changes into account.
    package static let includesPendingChanges = Options(rawValue: 2)
    /// The values of the objects are loaded, not only their IDs.
    package static let includesPropertyValues = Options(rawValue: 4)
    /// The objects are faults until they are used.
    package static let returnsObjectsAsFaults = Options(rawValue: 8)
    /// Equal results are returned only once.
    package static let returnsDistinctResults = Options(rawValue: 16)

    /// The options that are set in a new `NSFetchRequest`.
    package static let standard: Options = [
      .includesSubentities, .includesPropertyValues, .returnsObjectsAsFaults,
      .includesPendingChanges,
    ]
  }

  /// `NSFetchRequestFlags` of a request with Apple's defaults, as in every archived request that was seen.
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
  /// The key path of the values that are compared.
  package var key: String
  /// Whether the order is ascending.
  package var isAscending: Bool
  /// The selector of the method that compares two values; nil if the archive names none.
  package var selector: String?
  /// Whether the archive says that nulls come last (`NSReverseNullOrder`).
  package var reversesNullOrder: Bool

  /// Makes a sort key.
  package init(
    key: String, isAscending: Bool = true, selector: String? = "compare:",
    reversesNullOrder: Bool = false
  ) {
    self.key = key
    self.isAscending = isAscending
    self.selector = selector
    self.reversesNullOrder = reversesNullOrder
  }
}
