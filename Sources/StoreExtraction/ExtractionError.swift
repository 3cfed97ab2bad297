/// The error for a failure to read something from a store or to write output.
public struct ExtractionError: Error, Sendable, CustomStringConvertible {
  /// A stable identifier of the kind of failure. Messages, JSON and the manual use the same identifier.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The identifier as it is printed, such as `output.exists`.
    public let rawValue: String
    /// Creates a code from its identifier. Any string is accepted, because other versions of Lifeboat have other codes.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Something already exists at the path of the output.
    public static let outputExists = Code(rawValue: "output.exists")
    /// The output cannot be made.
    public static let cannotCreate = Code(rawValue: "output.cannotCreate")
    /// The output cannot be written.
    public static let writeFailed = Code(rawValue: "output.io")
    /// A folder holds no store.
    public static let noStores = Code(rawValue: "input.noStores")
    /// Nothing in the store has the given name.
    public static let unknownName = Code(rawValue: "input.unknownName")
    /// Several versions of a model are possible, and the user must choose one.
    public static let whichVersion = Code(rawValue: "usage.whichVersion")
    /// The path given with the option `--like` leads to neither a store nor a model.
    public static let noExample = Code(rawValue: "input.noExample")
    /// The text to search for is empty, or is not a valid regular expression.
    package static let badPattern = Code(rawValue: "usage.badPattern")
    /// The database has no state with the given name, for example no commit with the given number.
    package static let unknownState = Code(rawValue: "input.unknownState")
    /// The requested state of the store cannot be reconstructed from the store's files.
    package static let stateNotHeld = Code(rawValue: "input.stateNotHeld")
    /// A condition on rows is not valid in the predicate format, or cannot be evaluated on rows.
    package static let badCondition = Code(rawValue: "usage.badCondition")
    /// A file is not a valid ``Analyser``.
    package static let badAnalyser = Code(rawValue: "input.badAnalyser")
    /// The store changed while it was read.
    public static let changedDuringRead = Code(rawValue: "evidence.changedDuringRead")
  }

  /// The kind of failure.
  public let code: Code
  /// What went wrong, in a sentence without a full stop.
  public let message: String
  /// The path of the file or folder that the error is about; nil if it is about no file.
  public let path: String?
  /// The known name that is nearest to an unknown name; nil if no known name is near.
  public let nearest: String?

  /// What a command has to list to show the attributes or columns that the user may have meant.
  package enum Listing: Sendable {
    /// The attributes of this entity, or of all entities, in the model that the store carries.
    case attributes(of: String?)
    /// The columns of this table or entity, or of all. The model cannot be shown.
    case columns(of: String?)
  }

  /// The list that helps with this error; nil if the error is not about the name of an attribute or column.
  package let listing: Listing?

  package init(
    _ code: Code, _ message: String, path: String? = nil, nearest: String? = nil,
    listing: Listing? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.nearest = nearest
    self.listing = listing
  }

  /// The message, the path if there is one, and the code in parentheses, as a log shows them.
  public var description: String {
    message + (path.map { ", \($0)" } ?? "") + " (\(code.rawValue))"
  }
}
