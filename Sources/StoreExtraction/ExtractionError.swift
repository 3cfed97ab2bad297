/// Why something could not be read from a store or written beside it.
public struct ExtractionError: Error, Sendable, CustomStringConvertible {
  /// A stable identifier, the same in messages, JSON and the manual.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The identifier as it is printed, such as `output.exists`.
    public let rawValue: String
    /// A code with this identifier; an unknown one is kept.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Something already exists at the path of the output.
    public static let outputExists = Code(rawValue: "output.exists")
    /// The output cannot be made.
    public static let cannotCreate = Code(rawValue: "output.cannotCreate")
    /// The output cannot be written.
    public static let writeFailed = Code(rawValue: "output.io")
    /// A folder holds no store.
    public static let noStores = Code(rawValue: "input.noStores")
    /// The store does not have the given name.
    public static let unknownName = Code(rawValue: "input.unknownName")
    /// It is not clear which of several versions of a model is meant.
    public static let whichVersion = Code(rawValue: "usage.whichVersion")
    /// What `--like` names is neither a store nor a model.
    public static let noExample = Code(rawValue: "input.noExample")
    /// What is searched for is no text and no regular expression.
    package static let badPattern = Code(rawValue: "usage.badPattern")
    /// The store has no state of the given name.
    package static let unknownState = Code(rawValue: "input.unknownState")
    /// A state of the store cannot be put together.
    package static let stateNotHeld = Code(rawValue: "input.stateNotHeld")
    /// A condition on rows is not in the predicate format, or cannot be held against rows.
    package static let badCondition = Code(rawValue: "usage.badCondition")
    /// A file is no analyser.
    package static let badAnalyser = Code(rawValue: "input.badAnalyser")
    /// The store changed while it was read.
    public static let changedDuringRead = Code(rawValue: "evidence.changedDuringRead")
  }

  /// The kind of failure.
  public let code: Code
  /// What happened, in a sentence without a full stop.
  public let message: String
  /// The file it happened to; nil when it has no name.
  public let path: String?
  /// The known name that is nearest to an unknown one; nil when none is near.
  public let nearest: String?

  /// An error with all its facts.
  package init(_ code: Code, _ message: String, path: String? = nil, nearest: String? = nil) {
    self.code = code
    self.message = message
    self.path = path
    self.nearest = nearest
  }

  /// The sentence that a log shows.
  public var description: String {
    message + (path.map { ", \($0)" } ?? "") + " (\(code.rawValue))"
  }
}
