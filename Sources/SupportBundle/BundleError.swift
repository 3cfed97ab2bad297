/// What went wrong with a bundle or with the archive that holds it.
///
/// `code` is stable and documented; `message` is for people and may change. Texts taken from an archive are
/// escaped in `message`, so that it can be printed as it is.
public struct BundleError: Error, Sendable, Equatable {
  /// A stable name for a kind of error. New codes may be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The name, such as `bundle.truncated`.
    public let rawValue: String

    /// A code by its name.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }
  }

  /// The kind of error.
  public let code: Code
  /// What happened, in one sentence without a full stop.
  public let message: String
  /// The file concerned, as it was given by the caller; nil when no file is concerned.
  public let path: String?
  /// The archive entry concerned; nil when the error is about the archive as a whole.
  public let entry: String?
  /// The offset in bytes from the start of the file at `path`; nil when it is not known.
  package let offset: UInt64?
  /// The `errno` of the system call that failed; nil when none did.
  package let systemError: Int32?

  /// An error with its context.
  package init(
    _ code: Code, _ message: String, path: String? = nil, entry: String? = nil,
    offset: UInt64? = nil, systemError: Int32? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.entry = entry
    self.offset = offset
    self.systemError = systemError
  }

  /// Returns the error with `path` and `entry` filled in where the error has none.
  func inside(path: String, entry: String? = nil) -> BundleError {
    BundleError(
      code, message, path: self.path ?? path, entry: self.entry ?? entry, offset: offset,
      systemError: systemError)
  }
}

// MARK: - Codes

extension BundleError.Code {
  /// The output name is taken; nothing was replaced (exit class 73).
  package static let outputExists = Self(rawValue: "bundle.outputExists")
  /// The output cannot be created where it was asked for (exit class 73).
  package static let cannotCreate = Self(rawValue: "bundle.cannotCreate")
  /// The device refused a write, a sync or the final naming (exit class 74).
  package static let writeFailed = Self(rawValue: "bundle.writeFailed")
  /// The device refused a read (exit class 74).
  package static let readFailed = Self(rawValue: "bundle.readFailed")
  /// No file has this name (exit class 66).
  package static let inputMissing = Self(rawValue: "bundle.inputMissing")
  /// The name belongs to a folder, a link, a pipe or a device (exit class 66).
  package static let notAFile = Self(rawValue: "bundle.notAFile")
  /// The system refuses access (exit class 77).
  package static let permissionDenied = Self(rawValue: "bundle.permissionDenied")
  /// A source file changed while it was being packed (exit class 75).
  package static let changedWhileReading = Self(rawValue: "bundle.changedWhileReading")
  /// The caller asked to stop; the unfinished output was removed (exit class 130).
  package static let cancelled = Self(rawValue: "bundle.cancelled")
  /// The methods were called in an order that makes no sense, such as an entry after the end (exit class 70).
  package static let misuse = Self(rawValue: "bundle.misuse")
  /// zlib reported an error that the input did not cause (exit class 70).
  package static let compressionFailed = Self(rawValue: "bundle.compressionFailed")

  /// A backup of a phone is encrypted (exit class 65).
  package static let encryptedBackup = Self(rawValue: "backup.encrypted")
  /// `Manifest.db`, the list of a phone's backup, cannot be read (exit class 65).
  package static let badBackup = Self(rawValue: "backup.badManifest")
  /// The bundle is larger than the given limit, even after all parts that can be left out are left out (exit class 73).
  package static let overLimit = Self(rawValue: "bundle.overLimit")
  /// The bundle that was written does not read back intact (exit class 74).
  package static let notIntact = Self(rawValue: "bundle.notIntact")
  /// A text is not a key of minisign, or is a secret key with a passphrase (exit class 65).
  package static let badKey = Self(rawValue: "bundle.badKey")
  /// The signature was made with a key other than the given one (exit class 65).
  package static let wrongKey = Self(rawValue: "bundle.wrongKey")
  /// A signature cannot be read, or is not of this file (exit class 65).
  package static let badSignature = Self(rawValue: "bundle.badSignature")
  /// The system could not compute a signature (exit class 70).
  package static let failed = Self(rawValue: "bundle.failed")
  /// The finished bundle holds a text that must not be in it, so it is not given its name (exit class 65).
  package static let residue = Self(rawValue: "bundle.residue")
  /// An allow-list cannot be read (exit class 65).
  package static let badAllowList = Self(rawValue: "bundle.badAllowList")
  /// The caller names an entity, table or attribute that the store or bundle does not have (exit class 64).
  package static let unknownName = Self(rawValue: "bundle.unknownName")

  /// There is no end of central directory record: the file is not a zip archive, or its end was cut off (exit class
  /// 65).
  package static let notAZip = Self(rawValue: "bundle.notAZip")
  /// The file is shorter than its headers announce (exit class 65).
  package static let truncated = Self(rawValue: "bundle.truncated")
  /// The central directory or its end record contradicts itself or the file (exit class 65).
  package static let badDirectory = Self(rawValue: "bundle.badDirectory")
  /// A local header differs from the central directory (exit class 65).
  package static let headerMismatch = Self(rawValue: "bundle.headerMismatch")
  /// Two entries share bytes, or an entry runs into the central directory (exit class 65).
  package static let overlap = Self(rawValue: "bundle.overlap")
  /// An entry's name could lead out of the chosen folder, or no file system takes it (exit class 65).
  package static let badName = Self(rawValue: "bundle.badName")
  /// Two entries have names that denote the same file on some file systems (exit class 65).
  package static let duplicateName = Self(rawValue: "bundle.duplicateName")
  /// A limit given by the caller is exceeded (exit class 65).
  package static let tooLarge = Self(rawValue: "bundle.tooLarge")
  /// An entry announces more bytes than deflate can encode in its compressed size (exit class 65).
  package static let impossibleRatio = Self(rawValue: "bundle.impossibleRatio")
  /// The entry is encrypted by the archive format itself (exit class 65).
  package static let encrypted = Self(rawValue: "bundle.encrypted")
  /// The archive uses a feature that is not supported, such as a compression method besides deflate (exit class 65).
  package static let unsupported = Self(rawValue: "bundle.unsupported")
  /// The compressed data cannot be decoded (exit class 65).
  package static let badData = Self(rawValue: "bundle.badData")
  /// The decompressed data is longer or shorter than announced (exit class 65).
  package static let sizeMismatch = Self(rawValue: "bundle.sizeMismatch")
  /// The CRC-32 of the decompressed data differs from the announced one (exit class 65).
  package static let checksumMismatch = Self(rawValue: "bundle.checksumMismatch")
  /// `manifest.json` is not a manifest of a version that this build knows (exit class 65).
  package static let badManifest = Self(rawValue: "bundle.badManifest")
  /// A record in a bundle is not in the form of a version that this build reads (exit class 65).
  package static let badRecord = Self(rawValue: "bundle.badRecord")
  /// A part of a bundle is not what its manifest says (exit class 65).
  package static let entryChanged = Self(rawValue: "bundle.entryChanged")
  /// A date is outside the years 1 to 9999, which ISO 8601 with four digits can express (exit class 70).
  package static let badDate = Self(rawValue: "bundle.badDate")
}

extension BundleError.Code {
  /// Whether an archive is refused because unpacking it would do harm or cost too much. Damage is not a refusal.
  package var isRefusal: Bool {
    [.badName, .duplicateName, .impossibleRatio, .tooLarge, .encrypted].contains(self)
  }
}

// MARK: - Text for the user

extension BundleError: CustomStringConvertible {
  /// The message, the entry, the path, the offset and the code, on one line.
  public var description: String {
    var text = message
    if let entry { text += ", entry \(Quoted.text(entry))" }
    if let path { text += ", in \(Quoted.text(path))" }
    if let offset { text += ", offset \(offset)" }
    return text + " (\(code.rawValue))"
  }

  /// What to do next; nil when there is nothing better to say than the message.
  public var hint: String? {
    switch code {
    case .outputExists: "choose another output name; existing files are never replaced"
    case .cannotCreate: "check that the folder exists and can be written to"
    case .changedWhileReading: "close the app that uses the file, then run again"
    case .notAZip, .truncated, .badDirectory, .headerMismatch, .overlap, .badData,
      .sizeMismatch, .checksumMismatch:
      "the file was damaged or changed on its way; ask the sender to send it again"
    case .badName, .duplicateName, .impossibleRatio:
      "do not unpack this archive with other tools: it may have been made to do harm"
    case .tooLarge:
      "if you trust the sender, unpack the archive where there is space, and pass the unpacked file instead"
    case .encryptedBackup:
      "ask for a backup without encryption, or for the app's own files"
    case .overLimit: "allow more with --max-size, or ask for less with --include"
    case .encrypted: "ask for the archive without a zip password"
    case .residue:
      "the store was not changed; tell the makers of lifeboat the name of the entry, but not the text in it"
    case .unsupported:
      "unpack the archive with the tool that made it, and pass the unpacked files instead"
    case .permissionDenied: "check the permissions of the file and of its folder"
    default: nil
    }
  }
}
