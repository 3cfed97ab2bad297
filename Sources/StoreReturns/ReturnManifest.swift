/// The manifest of a returned store. It is the file `manifest.json`, which comes first in the archive.
struct ReturnManifest: Codable, Equatable {
  static let schemaName = "lifeboat.return"
  static let name = "manifest.json"
  static let reportName = "report.json"
  static let storeFolder = "store/"
  /// The maximum size of a manifest, in bytes.
  static let maxBytes: Int64 = 32 << 20

  /// The incident for which the store was repaired.
  struct Origin: Codable, Equatable {
    let id: String
    let storeName: String
    /// The SHA-256 of the main file that was set aside, as the incident's seal records it.
    let sha256: String
  }

  /// A file of the returned store. ``name`` is the file's path in the app's store set, relative to the store's folder.
  struct File: Codable, Equatable {
    let name: String
    let sizeBytes: Int64
    let sha256: String
  }

  var schema = Self.schemaName
  var version = 1
  let toolVersion: String
  let incident: Origin
  /// The UUID in the metadata of the repaired store; nil when the metadata has no UUID.
  let storeUUID: String?
  /// The version hashes in the metadata of the repaired store, in hexadecimal, keyed by entity name.
  let versionHashes: [String: String]
  let files: [File]
  /// The SHA-256 of `report.json`, in hexadecimal; nil when the archive has no report.
  let reportSHA256: String?
}
