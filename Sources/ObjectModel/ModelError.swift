/// The error that is thrown if a model, or a file that should contain one, cannot be read.
public struct ModelError: Error, Sendable, Hashable {
  /// What went wrong, as a stable string such as `model.malformed`. Later versions of this library may add codes.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The stable text of the code.
    public let rawValue: String

    /// Makes a code from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The file is missing, or the file system cannot read it.
    public static let unreadable = Code(rawValue: "model.unreadable")
    /// The file is not of a kind that can hold a model.
    public static let notAModel = Code(rawValue: "model.notAModel")
    /// The file ends early, or its bytes violate the rules of the file's format.
    public static let malformed = Code(rawValue: "model.malformed")
    /// The file is larger, is nested deeper or has more parts than any real model.
    public static let tooLarge = Code(rawValue: "model.tooLarge")
    /// The XML declares entities of its own. No model declares any, but attacks do.
    public static let unsafeXML = Code(rawValue: "model.unsafeXML")
    /// Two entities, composites, versions or entity mappings, or two properties of one entity, have the same name.
    public static let duplicateName = Code(rawValue: "model.duplicateName")
    /// A version of the model has a name that cannot be a file name.
    public static let unfitName = Code(rawValue: "model.unfitName")
    /// The file is an optimised model (`.omo`), from which a complete model cannot be read. The `.mom` in the same
    /// folder has the complete model.
    public static let optimisedFormat = Code(rawValue: "model.optimisedFormat")
    /// `VersionInfo.plist` or a marker of the current version names a model version whose file is missing.
    public static let missingVersion = Code(rawValue: "model.missingVersion")
    /// A folder was not searched for models, or was searched only in part.
    public static let notEntered = Code(rawValue: "input.notEntered")
  }

  /// What went wrong, as a stable code.
  public let code: Code
  /// The error as one sentence for people, with advice if there is a remedy.
  public let message: String
  /// The path of the file; nil if the error does not concern a file.
  public var path: String?
  /// The offset of the faulty byte in the file, counted from 0; nil if it is not known.
  public let offset: Int?
  /// The line of the fault in XML, counted from 1; nil if it is not known.
  public let line: Int?

  package init(
    code: Code, message: String, path: String? = nil, offset: Int? = nil, line: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.offset = offset
    self.line = line
  }

  /// Returns the error for a name that occurs twice in a model. Names are keys of dictionaries, where `é` is one key,
  /// however its scalars are composed. `what`: a sentence without the name, such as `There are two entities`. `other`:
  /// the name that occurred first. It equals `name`, or differs from `name` only in case or in how letters are
  /// composed.
  package static func duplicate(
    _ what: String, _ name: String, like other: String, line: Int? = nil
  ) -> ModelError {
    let isSame = name.utf8.elementsEqual(other.utf8)
    let difference = name == other ? "how letters are composed" : "case"
    return ModelError(
      code: .duplicateName,
      message: "\(what) called \(name)"
        + (isSame
          ? "."
          : "; lifeboat does not tell apart names that differ only in \(difference)."),
      line: line)
  }

  /// Returns this error with `path` added. If the error has a path already, then that path is kept.
  package func at(path: String) -> ModelError {
    var copy = self
    copy.path = self.path ?? path
    return copy
  }
}

extension Set<String> {
  /// Adds a name that a model may have only once. Throws if the name, or one that Swift counts as equal, was added
  /// before. `what`: a sentence without the name, such as `There are two entities`.
  package mutating func claim(
    _ name: String, _ what: @autoclosure () -> String, line: Int? = nil
  ) throws(ModelError) {
    let (isNew, other) = insert(name)
    if !isNew { throw .duplicate(what(), name, like: other, line: line) }
  }
}

extension ModelError: CustomStringConvertible {
  /// The path, the position, the message and the code in one line.
  public var description: String {
    var place: [String] = []
    if let path { place.append(path) }
    if let line { place.append("line \(line)") }
    if let offset { place.append("offset \(offset)") }
    let prefix = place.isEmpty ? "" : place.joined(separator: ", ") + ": "
    return prefix + message + " [\(code.rawValue)]"
  }
}

extension ModelError {
  package static func unreadable(folder path: String) -> ModelError {
    ModelError(code: .unreadable, message: "The folder cannot be read.", path: path)
  }

  package init(_ error: PropertyListError) {
    let code: Code
    switch error.code {
    case .tooLarge: code = .tooLarge
    case .unsafeXML: code = .unsafeXML
    default: code = .malformed
    }
    self.init(code: code, message: error.message, offset: error.offset, line: error.line)
  }
}
