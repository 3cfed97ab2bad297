/// The result of checking a bundle.
///
/// Every byte of a bundle is checked. Each entry is compared with the manifest and with its CRC-32, and each header
/// with the header that Lifeboat would write. All bytes together are compared with the digest in the archive comment.
/// The check does not prove who made the bundle: anybody can make an intact bundle.
public struct BundleVerification: Sendable, Equatable {
  /// A problem of a bundle.
  public struct Problem: Sendable, Equatable, Encodable {
    /// A stable name for a kind of problem: one of the constants of this type, or the raw value of a `BundleError.Code`
    /// about the archive.
    public struct ID: RawRepresentable, Sendable, Hashable, Encodable {
      /// The name of the kind of problem, for example `bundle.entryChanged`.
      public let rawValue: String

      /// Creates an id from a raw value such as `bundle.entryChanged`.
      public init(rawValue: String) {
        self.rawValue = rawValue
      }

      /// The size or SHA-256 of an entry differs from what the manifest says.
      package static let entryChanged = Self(rawValue: "bundle.entryChanged")
      /// An entry of the manifest is not in the archive.
      package static let entryMissing = Self(rawValue: "bundle.entryMissing")
      /// An entry of the archive is not in the manifest.
      package static let entryUnlisted = Self(rawValue: "bundle.entryUnlisted")
      /// The entries are in another order than in the manifest.
      package static let orderChanged = Self(rawValue: "bundle.orderChanged")
      /// The archive has no entry `manifest.json`, so it is not a bundle.
      package static let manifestMissing = Self(
        rawValue: BundleError.Code.manifestMissing.rawValue)
      /// The manifest is not the first entry of the archive, or does not begin at offset 0.
      package static let manifestNotFirst = Self(rawValue: "bundle.manifestNotFirst")
      /// A zip header differs from the header that Lifeboat would write, or there is a gap between two entries.
      package static let headerChanged = Self(rawValue: "bundle.headerChanged")
      /// The archive comment has no digest of the archive, because another program made or changed the archive.
      package static let sealMissing = Self(rawValue: "bundle.sealMissing")
      /// The bytes of the archive do not match the digest in the archive comment.
      package static let sealBroken = Self(rawValue: "bundle.sealBroken")
      /// The file is not a zip archive at all.
      package static let notAZip = Self(rawValue: BundleError.Code.notAZip.rawValue)
    }

    /// The kind of problem.
    public let id: ID
    /// What was found, in one sentence without a full stop. Strings from the archive are escaped.
    public let message: String
    /// The name of the entry concerned; nil when the problem is about the archive as a whole.
    public let entry: String?
    /// The offset of the problem, in bytes from the start of the archive; nil when the offset is not known.
    package let offset: UInt64?

    /// Whether the archive was refused because of this problem (``BundleError/Code/isRefusal``). If an archive is
    /// refused, its entries except the manifest are not read.
    package var isRefusal: Bool { BundleError.Code(rawValue: id.rawValue).isRefusal }
  }

  /// Whether the file is an intact bundle, a damaged bundle, or not a bundle.
  public enum Outcome: String, Sendable, Encodable {
    /// The bundle is complete and unchanged (exit 0).
    case intact
    /// The file is a bundle, but has problems (exit 1).
    case damaged
    /// The file is not a bundle, or is a bundle of an unknown version (exit 65).
    case notABundle
  }

  /// The path that was checked.
  public let path: String
  /// The size of the file in bytes; nil when the archive could not be opened.
  package let size: UInt64?
  /// The manifest of the bundle; nil when the manifest is missing or cannot be read.
  package let manifest: BundleManifest?
  /// The number of entries in the manifest whose bytes in the archive match the manifest.
  public let intactEntryCount: Int
  /// The problems that were found; empty for an intact bundle.
  public let problems: [Problem]
  /// Whether the bundle is intact, damaged, or not a bundle.
  public let outcome: Outcome

  /// Checks the bundle at `path`. No store is needed.
  ///
  /// - Parameters:
  ///   - path: the bundle.
  ///   - limits: the maximum counts and sizes that the archive's headers may announce.
  ///   - progress: called with the number of bytes checked so far, and the total number of bytes.
  ///   - isCancelled: called about once per 256 KiB. If it returns true, the work ends with `bundle.cancelled`.
  /// - Returns: the outcome of the check, and the problems that were found.
  /// - Throws: only errors for which the bundle itself is not the reason: `bundle.inputMissing`, `bundle.notAFile`,
  ///   `bundle.permissionDenied`, `bundle.readFailed`, `bundle.cancelled`. Everything else is returned as a problem.
  public static func verify(
    path: String, limits: ZipLimits = ZipLimits(),
    progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in },
    isCancelled: () -> Bool = { false }
  ) throws(BundleError) -> BundleVerification {
    try verify(
      InputFile(path: path, followsLink: true), limits: limits, progress: progress,
      isCancelled: isCancelled)
  }

  /// Checks a bundle that is open already. If the bundle is encrypted, ``BundleFile`` has decrypted it.
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

extension BundleVerification.Problem {
  /// Creates the problem that an error about the bundle reports.
  package init(_ error: BundleError) {
    self.init(
      id: ID(rawValue: error.code.rawValue), message: error.message, entry: error.entry,
      offset: error.offset)
  }
}
