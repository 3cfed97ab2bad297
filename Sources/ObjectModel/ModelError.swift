/// Why a model, or a file that should hold one, could not be read.
public struct ModelError: Error, Sendable, Hashable {
  /// What went wrong, as a stable string such as `model.truncated`; more may be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The stable text of the code.
    public let rawValue: String

    /// Makes a code from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The file is missing, or the file system cannot read it.
    public static let unreadable = Code(rawValue: "model.unreadable")
    /// The file is not of any kind that holds a model.
    public static let notAModel = Code(rawValue: "model.notAModel")
    /// The bytes end early, or do not follow their own format.
    public static let malformed = Code(rawValue: "model.malformed")
    /// The file is larger, deeper or has more parts than any real model.
    public static let tooLarge = Code(rawValue: "model.tooLarge")
    /// The XML declares entities of its own. No model does so; attacks need it.
    public static let unsafeXML = Code(rawValue: "model.unsafeXML")
    /// Two entities, or two properties of one entity, have the same name.
    public static let duplicateName = Code(rawValue: "model.duplicateName")
    /// A version has a name that no file can have.
    public static let unfitName = Code(rawValue: "model.unfitName")
    /// An optimised model (`.omo`); not read, the `.mom` beside it has everything.
    public static let optimisedFormat = Code(rawValue: "model.optimisedFormat")
    /// `VersionInfo.plist` or a marker names a version whose file is missing.
    public static let missingVersion = Code(rawValue: "model.missingVersion")
    /// A folder was not searched, or not completely.
    public static let notEntered = Code(rawValue: "input.notEntered")
  }

  /// What went wrong.
  public let code: Code
  /// One sentence for a reader, with what to do next where something can be done.
  public let message: String
  /// The file, when a file was read.
  public var path: String?
  /// The offset in the bytes, counted from 0, if known.
  public let offset: Int?
  /// The line of the XML, counted from 1, if known.
  public let line: Int?

  /// Makes an error.
  package init(
    code: Code, message: String, path: String? = nil, offset: Int? = nil, line: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.offset = offset
    self.line = line
  }

  /// The same error with the path of its file; a path that is already known is kept.
  package func at(path: String) -> ModelError {
    var copy = self
    copy.path = self.path ?? path
    return copy
  }
}

extension ModelError: CustomStringConvertible {
  /// The path, the position and the message in one line.
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
  /// Converts the error of a property list that should hold a model.
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
