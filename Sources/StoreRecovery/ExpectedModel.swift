/// The model that the app opens its store with.
public struct ExpectedModel: Sendable, Codable, Equatable {
  /// The name of the model version, for people.
  public var name: String
  /// The version hash of each entity, in lower-case hex.
  public var hashes: [String: String]

  /// Creates an expectation.
  public init(name: String, hashes: [String: String]) {
    self.name = name
    self.hashes = hashes
  }
}

/// How the version hashes that a store records compare with those of the expected model. Names are sorted.
public struct HashComparison: Sendable, Codable, Equatable {
  /// Entities that only the store knows.
  public var onlyInStore: [String]
  /// Entities that only the expected model knows.
  public var onlyInModel: [String]
  /// Entities that both know, with different hashes.
  public var differing: [String]
  /// Entities that both know, with the same hash.
  public var agreeing: [String]

  /// Creates a comparison from its parts.
  public init(
    onlyInStore: [String], onlyInModel: [String], differing: [String], agreeing: [String]
  ) {
    self.onlyInStore = onlyInStore
    self.onlyInModel = onlyInModel
    self.differing = differing
    self.agreeing = agreeing
  }

  /// Compares the hashes that a store records with those of the expected model. The case of the hex
  /// digits does not matter.
  public init(recorded: [String: String], expected: [String: String]) {
    let both = recorded.keys.filter { expected[$0] != nil }.sorted()
    onlyInStore = recorded.keys.filter { expected[$0] == nil }.sorted()
    onlyInModel = expected.keys.filter { recorded[$0] == nil }.sorted()
    agreeing = both.filter { recorded[$0]?.lowercased() == expected[$0]?.lowercased() }
    differing = both.filter { recorded[$0]?.lowercased() != expected[$0]?.lowercased() }
  }

  /// Whether the store and the model agree on every entity.
  public var isEqual: Bool { onlyInStore.isEmpty && onlyInModel.isEmpty && differing.isEmpty }
}
