/// A fetch request as a model keeps it: in a template or in a fetched property.
package struct FetchRequest: Sendable, Hashable {
  /// The entity it fetches; nil when the model names none.
  package var entityName: String?
  /// Which objects it fetches; nil for all.
  package var predicate: ModelPredicate?
  /// The order of the objects; an `.xcdatamodel` has none.
  package var sortDescriptors: [FetchSort]
  /// The most objects that are fetched; 0 for no limit.
  package var fetchLimit: Int64
  /// How many objects are skipped at the start.
  package var fetchOffset: Int64
  /// How many objects are loaded at once; 0 for all.
  package var batchSize: Int64
  /// The kind of results.
  package var resultType: ResultType
  /// The options; Apple's defaults if the request was archived with other flags, see ``archivedFlags``.
  package var options: Options
  /// `NSFetchRequestFlags` of an archived request, if they are not the defaults. Which bit means which option is not
  /// documented, so they are kept as they are; nil for the defaults, and for a request from an `.xcdatamodel`.
  package var archivedFlags: Int64?
  /// The names or key paths of the properties that are fetched; empty for all.
  package var propertiesToFetch: [String]
  /// The names or key paths of the properties that results are grouped by.
  package var propertiesToGroupBy: [String]
  /// Which groups are fetched; nil for all.
  package var havingPredicate: ModelPredicate?
  /// The key paths of relationships that are prefetched.
  package var prefetchedKeyPaths: [String]
  /// `NSAllocationType` of an archived request, whose meaning is not known; 0 in all that were seen.
  package var allocationType: Int64

  /// What a request fetches (`NSFetchRequestResultType`).
  package struct ResultType: RawRepresentable, Sendable, Hashable {
    /// The number in the archived model.
    package let rawValue: Int64

    /// Wraps a number, known or not.
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

  /// The options of a request. The bits are this library's own.
  package struct Options: OptionSet, Sendable, Hashable {
    /// The bits.
    package let rawValue: Int64

    /// Wraps bits.
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Objects of subentities are fetched too.
    package static let includesSubentities = Options(rawValue: 1)
    /// Unsaved changes are included.
    package static let includesPendingChanges = Options(rawValue: 2)
    /// Rows are loaded along with the IDs.
    package static let includesPropertyValues = Options(rawValue: 4)
    /// Objects are faults until used.
    package static let returnsObjectsAsFaults = Options(rawValue: 8)
    /// Equal results are returned once.
    package static let returnsDistinctResults = Options(rawValue: 16)

    /// Apple's defaults.
    package static let standard: Options = [
      .includesSubentities, .includesPropertyValues, .returnsObjectsAsFaults,
      .includesPendingChanges,
    ]
  }

  /// `NSFetchRequestFlags` of every archived request seen; all of these have Apple's defaults.
  package static let standardFlags: Int64 = 30

  /// Makes a request. The defaults are those of Apple's API.
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

/// One sort key (`NSSortDescriptor`).
package struct FetchSort: Sendable, Hashable {
  /// The key path.
  package var key: String
  /// Whether ascending.
  package var isAscending: Bool
  /// The method that compares two values; nil when the archive names none.
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
