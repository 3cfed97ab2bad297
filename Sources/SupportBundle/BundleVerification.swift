/// The result of checking a bundle.
///
/// Every byte of a bundle is covered: entries by the manifest and their CRC-32, headers by what the writer
/// would write, and all bytes together by the seal in the archive comment. This does not prove who made the
/// bundle: anybody can make a consistent one.
public struct BundleVerification: Sendable, Equatable {
  /// A problem of a bundle.
  public struct Problem: Sendable, Equatable {
    /// A stable name for a kind of problem: one of the constants of this type, or a `BundleError.Code` about the
    /// archive.
    public struct ID: RawRepresentable, Sendable, Hashable {
      /// The name, such as `bundle.entryChanged`.
      public let rawValue: String

      /// Makes the id of a problem from its name.
      public init(rawValue: String) {
        self.rawValue = rawValue
      }

      /// An entry has another size or SHA-256 than the manifest says.
      package static let entryChanged = Self(rawValue: "bundle.entryChanged")
      /// An entry of the manifest is not in the archive.
      package static let entryMissing = Self(rawValue: "bundle.entryMissing")
      /// An entry of the archive is not in the manifest.
      package static let entryUnlisted = Self(rawValue: "bundle.entryUnlisted")
      /// The entries are in another order than in the manifest.
      package static let orderChanged = Self(rawValue: "bundle.orderChanged")
      /// The archive has no manifest: it is not a bundle.
      package static let manifestMissing = Self(rawValue: "bundle.manifestMissing")
      /// The manifest is not the first entry at the start of the file.
      package static let manifestNotFirst = Self(rawValue: "bundle.manifestNotFirst")
      /// A header, or the space between entries, is not what the writer of bundles makes.
      package static let headerChanged = Self(rawValue: "bundle.headerChanged")
      /// The archive comment does not hold a digest of the archive: another program made or changed the archive.
      package static let sealMissing = Self(rawValue: "bundle.sealMissing")
      /// The bytes of the archive do not match the digest in the archive comment.
      package static let sealBroken = Self(rawValue: "bundle.sealBroken")
      /// The file is not a zip archive at all.
      package static let notAZip = Self(rawValue: BundleError.Code.notAZip.rawValue)
    }

    /// The kind of problem.
    public let id: ID
    /// What was found, in one sentence; texts from the archive are escaped.
    public let message: String
    /// The entry concerned; nil when the problem is about the archive as a whole.
    public let entry: String?
    /// The offset in bytes from the start of the archive; nil when it is not known.
    package let offset: UInt64?

    /// Whether the archive is refused because of the problem, and nothing in it was read.
    package var isRefusal: Bool { BundleError.Code(rawValue: id.rawValue).isRefusal }
  }

  /// Whether the file is an intact bundle, a damaged bundle, or not a bundle.
  public enum Outcome: Sendable, Equatable {
    /// Complete and unchanged (exit 0).
    case intact
    /// A bundle with problems (exit 1).
    case damaged
    /// Not a bundle, or a bundle of an unknown version (exit 65).
    case notABundle
  }

  /// The path that was checked.
  public let path: String
  /// The size of the file in bytes; nil when the archive could not be opened.
  package let size: UInt64?
  /// The manifest; nil when it is missing or cannot be read.
  package let manifest: BundleManifest?
  /// How many entries of the manifest are intact.
  public let intactEntryCount: Int
  /// The problems that were found; empty for an intact bundle.
  public let problems: [Problem]
  /// Whether the bundle is intact, damaged, or not a bundle.
  public let outcome: Outcome

  /// Checks the bundle at `path` and nothing else: no store is needed.
  ///
  /// - Parameters:
  ///   - path: the bundle.
  ///   - limits: what the archive may announce.
  ///   - progress: called with the bytes done and the bytes in all.
  ///   - isCancelled: asked about once per 256 KiB; true ends the work with `bundle.cancelled`.
  /// - Returns: what was found.
  /// - Throws: only errors that say nothing about the bundle: `bundle.inputMissing`, `bundle.notAFile`,
  ///   `bundle.permissionDenied`, `bundle.readFailed`, `bundle.cancelled`. Everything else is a problem.
  public static func verify(
    path: String, limits: ZipLimits = ZipLimits(),
    progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in },
    isCancelled: () -> Bool = { false }
  ) throws(BundleError) -> BundleVerification {
    try verify(
      InputFile(path: path, followsLink: true), limits: limits, progress: progress,
      isCancelled: isCancelled)
  }

  /// Checks a bundle that is open already, decrypted if it was encrypted.
  package static func verify(_ bundle: BundleFile) throws(BundleError) -> BundleVerification {
    try verify(bundle.file)
  }

  static func verify(
    _ file: InputFile, limits: ZipLimits = ZipLimits(),
    threshold: Zip64Threshold = Zip64Threshold(),
    progress: (UInt64, UInt64) -> Void = { _, _ in }, isCancelled: () -> Bool = { false }
  ) throws(BundleError) -> BundleVerification {
    try withoutActuallyEscaping(progress) { (progress) throws(BundleError) in
      try withoutActuallyEscaping(isCancelled) { (isCancelled) throws(BundleError) in
        var check = BundleCheck(
          file, threshold: threshold, progress: progress, isCancelled: isCancelled)
        return try check.run(limits: limits)
      }
    }
  }
}
