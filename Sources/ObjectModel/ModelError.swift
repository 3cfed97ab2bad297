/// The error when a model, or a file that should hold one, could not be read.
public struct ModelError: Error, Sendable, Hashable {
  /// What went wrong, as a stable string such as `model.malformed`. Later versions may add codes.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The stable text of the code.
    public let rawValue: String

    /// Makes a code from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The file is missing, or the file system cannot read it.
    public static let unreadable = Code(rawValue: "model.unreadable")
    /// The file is not of a kind that can hold a model.
    public static let notAModel = Code(rawValue: "model.notAModel")
    /// The file ends early, or its bytes do not follow their own format.
    public static let malformed = Code(rawValue: "model.malformed")
    /// The file is larger, is nested deeper or has more parts than any real model.
    public static let tooLarge = Code(rawValue: "model.tooLarge")
    /// The XML declares entities of its own. No model needs them, but attacks do.
    public static let unsafeXML = Code(rawValue: "model.unsafeXML")
    /// Two entities, or two properties of one entity, have the same name.
    public static let duplicateName = Code(rawValue: "model.duplicateName")
    /// A version of the model has a name that cannot be a file name.
    public static let unfitName = Code(rawValue: "model.unfitName")
    /// The file is an optimised model (`.omo`), which is not read. The `.mom` beside it has the whole model.
    public static let optimisedFormat = Code(rawValue: "model.optimisedFormat")
    /// `VersionInfo.plist` or a marker file names a version of the model whose file is missing.
    public static let missingVersion = Code(rawValue: "model.missingVersion")
    /// A folder was not searched for models, or only in part.
    public static let notEntered = Code(rawValue: "input.notEntered")
  }

  /// What went wrong, as a stable code.
  public let code: Code
  /// The error as one sentence for people, with advice where something can be done.
  public let message: String
  /// The path of the file; nil if the error is not about a file.
  public var path: String?
  /// The offset of the error in bytes, counted from 0; nil if it is not known.
  public let offset: Int?
  /// The line of the error in XML, counted from 1; nil if it is not known.
  public let line: Int?

  /// Makes an error from its code, its message and, if they are known, its place.
  package init(
    code: Code, message: String, path: String? = nil, offset: Int? = nil, line: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.offset = offset
    self.line = line
  }

  /// Returns the error with the path of its file. A path that is already set is kept.
  package func at(path: String) -> ModelError {
    var copy = self
    copy.path = self.path ?? path
    return copy
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
  /// Makes a model error from that of a property list that should hold a model.
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
