/// Why a store was not migrated. No file of the migration is left.
public struct MigrationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A stable identifier, the same in messages, JSON and the manual.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The identifier as it is printed, such as `migration.missingPolicy`.
    public let rawValue: String
    /// Creates a code from its printed identifier. Any text is accepted, for the codes of other versions.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The model of the store is not known, so its columns have no names.
    public static let noSourceModel = Code(rawValue: "migration.noSourceModel")
    /// The mapping names entities or properties that one of the models does not have.
    public static let mappingMismatch = Code(rawValue: "migration.mappingMismatch")
    /// The mapping has an expression that is not supported.
    public static let unsupportedExpression = Code(rawValue: "migration.unsupportedExpression")
    /// The mapping needs a policy class of the app that is not registered.
    public static let missingPolicy = Code(rawValue: "migration.missingPolicy")
    /// The new store does not pass its checks.
    public static let checkFailed = Code(rawValue: "migration.checkFailed")
    /// A merge is impossible: the present store is the old store itself, has another model, or has no room for more
    /// keys; or the history was to be kept.
    public static let presentStore = Code(rawValue: "migration.presentStore")
    /// The old store is too damaged to be read as a sound one, but can be salvaged.
    public static let damagedSource = Code(rawValue: "migration.damagedSource")
    /// The caller cancelled the migration, and what it had written is removed.
    public static let cancelled = Code(rawValue: "migration.cancelled")
    /// No steps lead to the wanted model.
    public static let noWay = Code(rawValue: "migration.noWay")
  }

  /// The kind of failure.
  public let code: Code
  /// What prevents the migration, one sentence each, without full stops.
  public let reasons: [String]

  package init(_ code: Code, _ reasons: [String]) {
    self.code = code
    self.reasons = reasons
  }

  /// One line for logs: the reasons and the code.
  public var description: String { "\(reasons.joined(separator: "; ")) (\(code.rawValue))" }
}
