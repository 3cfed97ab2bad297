/// An error about a bundle or about the archive that contains the bundle.
///
/// `code` is stable and documented; `message` is for people and may change. Strings from an archive are escaped in
/// `message`, so the message can be printed unchanged.
public struct BundleError: Error, Sendable, Equatable {
  /// A stable name for a kind of error. New codes may be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The name of the kind of error, for example `bundle.truncated`.
    public let rawValue: String

    /// Makes a code from its name.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }
  }

  /// The kind of error.
  public let code: Code
  /// What happened, in one sentence without a full stop.
  public let message: String
  /// The path of the file concerned, as the caller gave it; nil when no file is concerned.
  public let path: String?
  /// The name of the archive entry concerned; nil when the error is about the archive as a whole.
  public let entry: String?
  /// The offset at which the error was found, in bytes from the start of the file at `path`; nil when the offset is not
  /// known.
  package let offset: UInt64?
  /// The `errno` of the system call that failed; nil when no system call failed.
  package let systemError: Int32?

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

  func inside(path: String, entry: String? = nil) -> BundleError {
    BundleError(
      code, message, path: self.path ?? path, entry: self.entry ?? entry, offset: offset,
      systemError: systemError)
  }
}

// MARK: - Codes

extension BundleError.Code {
  /// The output was not written, because a file with its name exists already (exit class 73).
  package static let outputExists = Self(rawValue: "bundle.outputExists")
  /// The output cannot be created at the given path (exit class 73).
  package static let cannotCreate = Self(rawValue: "bundle.cannotCreate")
  /// The output file could not be written, synced or given its final name (exit class 74).
  package static let writeFailed = Self(rawValue: "bundle.writeFailed")
  /// A file could not be read (exit class 74).
  package static let readFailed = Self(rawValue: "bundle.readFailed")
  /// The input file does not exist (exit class 66).
  package static let inputMissing = Self(rawValue: "bundle.inputMissing")
  /// The input is a folder, a link, a pipe or a device, not a regular file (exit class 66).
  package static let notAFile = Self(rawValue: "bundle.notAFile")
  /// The system refuses access to a file or folder (exit class 77).
  package static let permissionDenied = Self(rawValue: "bundle.permissionDenied")
  /// A source file changed while it was being packed (exit class 75).
  package static let changedWhileReading = Self(rawValue: "bundle.changedWhileReading")
  /// The caller asked to stop; the unfinished output was removed (exit class 130).
  package static let cancelled = Self(rawValue: "bundle.cancelled")
  /// A mistake in the calling code, such as adding an entry to a finished archive (exit class 70).
  package static let misuse = Self(rawValue: "bundle.misuse")
  /// zlib reported an error that the input did not cause (exit class 70).
  package static let compressionFailed = Self(rawValue: "bundle.compressionFailed")

  /// The backup of a phone is encrypted, and therefore cannot be read (exit class 65).
  package static let encryptedBackup = Self(rawValue: "backup.encrypted")
  /// `Manifest.db`, the list of the files in a phone's backup, cannot be read (exit class 65).
  package static let badBackup = Self(rawValue: "backup.badManifest")
  /// The bundle exceeds the given size limit, even though everything that can be left out was left out (exit class 73).
  package static let overLimit = Self(rawValue: "bundle.overLimit")
  /// The finished bundle is not intact when it is read back (exit class 74).
  package static let notIntact = Self(rawValue: "bundle.notIntact")
  /// The given string is not a valid minisign key, or is a secret key that a passphrase protects (exit class 65).
  package static let badKey = Self(rawValue: "bundle.badKey")
  /// The signature was made with another key than the given key (exit class 65).
  package static let wrongKey = Self(rawValue: "bundle.wrongKey")
  /// The signature cannot be read, or does not match the bytes of the given file (exit class 65).
  package static let badSignature = Self(rawValue: "bundle.badSignature")
  /// The system could not compute a signature (exit class 70).
  package static let failed = Self(rawValue: "bundle.failed")
  /// The finished bundle contains a string that must not be in the bundle. The bundle is discarded (exit class 65).
  package static let residue = Self(rawValue: "bundle.residue")
  /// An allow-list cannot be read (exit class 65).
  package static let badAllowList = Self(rawValue: "bundle.badAllowList")
  /// The caller names an entity, table or attribute that the store or bundle does not have (exit class 64).
  package static let unknownName = Self(rawValue: "bundle.unknownName")

  /// There is no end of central directory record: the file is not a zip archive, or its end was cut off (exit class
  /// 65).
  package static let notAZip = Self(rawValue: "bundle.notAZip")
  /// The file is shorter than its headers announce, or became shorter while it was read (exit class 65).
  package static let truncated = Self(rawValue: "bundle.truncated")
  /// The central directory or the end of central directory record is inconsistent, or does not fit the file (exit class
  /// 65).
  package static let badDirectory = Self(rawValue: "bundle.badDirectory")
  /// A local header differs from the central directory (exit class 65).
  package static let headerMismatch = Self(rawValue: "bundle.headerMismatch")
  /// Two entries share bytes, or an entry runs into the central directory (exit class 65).
  package static let overlap = Self(rawValue: "bundle.overlap")
  /// An entry's name could lead out of the chosen folder, or is a name that no file system accepts (exit class 65).
  package static let badName = Self(rawValue: "bundle.badName")
  /// Two entries have names that denote the same file on some file systems (exit class 65).
  package static let duplicateName = Self(rawValue: "bundle.duplicateName")
  /// A count or size in an archive or bundle exceeds its limit (exit class 65).
  package static let tooLarge = Self(rawValue: "bundle.tooLarge")
  /// An entry announces more uncompressed bytes than deflate can encode in the entry's compressed bytes (exit class
  /// 65).
  package static let impossibleRatio = Self(rawValue: "bundle.impossibleRatio")
  /// An entry is encrypted with the encryption of the zip format (exit class 65).
  package static let encrypted = Self(rawValue: "bundle.encrypted")
  /// The archive uses a feature that is not supported, such as a compression method other than deflate (exit class 65).
  package static let unsupported = Self(rawValue: "bundle.unsupported")
  /// The compressed data of an entry or a gzip file cannot be decoded (exit class 65).
  package static let badData = Self(rawValue: "bundle.badData")
  /// The decompressed data of an entry is longer or shorter than the size that the archive announces, or the entry is
  /// not compressed but has two different sizes (exit class 65).
  package static let sizeMismatch = Self(rawValue: "bundle.sizeMismatch")
  /// The CRC-32 of an entry's decompressed data differs from the CRC-32 that the archive announces (exit class 65).
  package static let checksumMismatch = Self(rawValue: "bundle.checksumMismatch")
  /// The file has no `manifest.json`: it is not a bundle (exit class 65).
  package static let manifestMissing = Self(rawValue: "bundle.manifestMissing")
  /// `manifest.json` is not a manifest, or has a version that this build does not know (exit class 65).
  package static let badManifest = Self(rawValue: "bundle.badManifest")
  /// The file is a returned store, a `.lifeboat-return` file, which is not a bundle (exit class 65).
  package static let isReturn = Self(rawValue: "bundle.isReturn")
  /// An entry of a bundle, such as `rows.ndjson`, is not in a form that this build can read (exit class 65).
  package static let badRecord = Self(rawValue: "bundle.badRecord")
  /// The bytes of a bundle's entry do not match the manifest (exit class 65).
  package static let entryChanged = Self(rawValue: "bundle.entryChanged")
  /// A date is not in the years 1 to 9999, so it cannot be written in ISO 8601 with a year of four digits (exit class
  /// 70).
  package static let badDate = Self(rawValue: "bundle.badDate")
}

extension BundleError.Code {
  /// Whether an archive with this error is refused although it may be undamaged: its names or sizes could do harm, it
  /// exceeds a limit, or it is encrypted.
  package var isRefusal: Bool {
    [.badName, .duplicateName, .impossibleRatio, .tooLarge, .encrypted].contains(self)
  }

  /// Whether an error with this code, met while an archive was read, is about the archive itself. False for errors that
  /// the archive did not cause, such as a failed read.
  var isOfArchive: Bool {
    ![.inputMissing, .notAFile, .permissionDenied, .readFailed, .cancelled, .compressionFailed]
      .contains(self)
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

  /// What to do next; nil when Lifeboat has no advice for the code.
  public var hint: String? {
    switch code {
    case .outputExists: "choose another output name; existing files are never replaced"
    case .cannotCreate: "check that the folder exists and can be written to"
    case .changedWhileReading: "close the app that uses the file, then run the command again"
    case .notAZip, .truncated, .badDirectory, .headerMismatch, .overlap, .badData,
      .sizeMismatch, .checksumMismatch:
      "the file was damaged or changed on its way; ask the sender to send it again"
    case .badName, .duplicateName, .impossibleRatio:
      "do not unpack this archive with other tools: it may have been made to do harm"
    case .tooLarge:
      "if you trust the sender, unpack the archive on a disk with enough space, and pass the "
        + "unpacked file to lifeboat instead"
    case .encryptedBackup:
      "ask for a backup without encryption, or for the app's own files"
    case .overLimit: "allow a larger bundle with --max-size, or put less into it with --include"
    case .manifestMissing, .badManifest: "name a bundle that lifeboat bundle create has made"
    case .encrypted: "ask for the archive without a zip password"
    case .residue:
      "the store was not changed; tell the makers of lifeboat the name of the entry, but not the text in it"
    case .unsupported:
      "unpack the archive with the tool that made it, and pass the unpacked files to lifeboat "
        + "instead"
    case .permissionDenied: "check the permissions of the file and of its folder"
    default: nil
    }
  }
}
