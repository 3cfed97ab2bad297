/// The reason why a store was not migrated. All files of the migration were removed before this error was thrown.
public struct MigrationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A stable identifier of a kind of failure. Messages, JSON and the manual contain the identifier unchanged.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The identifier of the kind of failure, for example `migration.missingPolicy`.
    public let rawValue: String
    /// Creates a code from an identifier. Any string is accepted, because other versions of Lifeboat may have other
    /// codes.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The model of the old store is not known. Without the model, it is not known what the tables and columns of the
    /// store mean.
    public static let noSourceModel = Code(rawValue: "migration.noSourceModel")
    /// The mapping names entities or properties that one of the models does not have.
    public static let mappingMismatch = Code(rawValue: "migration.mappingMismatch")
    /// The mapping has an expression that is not supported.
    public static let unsupportedExpression = Code(rawValue: "migration.unsupportedExpression")
    /// SQLite cannot read a statement that a mapping needs, because its expressions are nested too deep or are too long.
    package static let tooComplex = Code(rawValue: "migration.tooComplex")
    /// The mapping needs a policy class that the app has not registered.
    public static let missingPolicy = Code(rawValue: "migration.missingPolicy")
    /// The new store does not pass its checks.
    public static let checkFailed = Code(rawValue: "migration.checkFailed")
    /// A merge is impossible, for one of these reasons:
    /// - The present store is the old store itself, has a different model, or has no unused primary keys.
    /// - The caller also wants to keep the persistent history.
    public static let presentStore = Code(rawValue: "migration.presentStore")
    /// The old store is too damaged for an ordinary migration. A migration that salvages the store can read it.
    public static let damagedSource = Code(rawValue: "migration.damagedSource")
    /// The caller cancelled the migration, and all files of the migration were removed.
    public static let cancelled = Code(rawValue: "migration.cancelled")
    /// No sequence of steps leads to the wanted model.
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

  /// The reasons and the code in one line, for logs.
  public var description: String { "\(reasons.joined(separator: "; ")) (\(code.rawValue))" }
}
