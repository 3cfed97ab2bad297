public import ObjectModel
package import SQLiteFile

/// The metadata of a store, from the row of the table `Z_METADATA`.
public struct StoreMetadata: Sendable, Equatable {
  package enum PlistState: Sendable, Equatable {
    case present
    /// The column `Z_PLIST` is NULL, as in stores whose metadata was removed for privacy.
    case null
    /// The value of `Z_PLIST` cannot be decoded. The string says why.
    case unreadable(String)
  }

  /// The store's UUID (`Z_UUID`); nil when missing.
  public let uuid: String?
  package let plistState: PlistState
  /// The version hashes of the model that wrote the store, by entity name; empty when the store records none.
  public let versionHashes: [String: VersionHash]
  /// The names of the entities whose version hash in the metadata is not 32 bytes of data, sorted.
  package let unreadHashes: [String]
  /// The version of the algorithm that computed the version hashes; nil when the metadata has no such version. Every
  /// store seen so far has 3.
  package let versionHashesVersion: Int64?
  /// The version identifiers that the developer gave the model. They may be any strings, so they do not identify the
  /// model reliably.
  public let versionIdentifiers: [String]
  /// The version of Core Data that wrote the store, which shows roughly when it was written; nil when the metadata has
  /// no such value.
  public let frameworkVersion: Int64?
  /// The highest version of Core Data that ever wrote the store; nil when the metadata has no such value.
  package let maximumFrameworkVersion: Int64?
  /// The store's type, which is `SQLite`; nil when the metadata has no such value.
  package let storeType: String?
  /// The digest over the names and hashes of the entities, in base64; nil when the metadata has no such value.
  package let digest: String?
  /// The checksum over the version hashes, in base64; nil when the metadata has no such value.
  package let checksum: String?
  /// All keys that Core Data itself does not write, sorted. The values are left out, because apps store tokens and other
  /// secrets under such keys.
  package let otherKeyNames: [String]

  /// The metadata keys that Core Data itself writes. The values under these keys contain no private data.
  package static let frameworkKeys: Set<String> = [
    "NSStoreModelVersionHashes", "NSStoreModelVersionHashesVersion",
    "NSStoreModelVersionIdentifiers", "NSStoreModelVersionHashesDigest",
    "NSStoreModelVersionChecksumKey", "NSPersistenceFrameworkVersion",
    "NSPersistenceMaximumFrameworkVersion", "NSStoreType", "_NSAutoVacuumLevel",
  ]

  /// Reads the columns `Z_VERSION`, `Z_UUID` and `Z_PLIST` of `row`, which is a row of the table `Z_METADATA`.
  package init(row: StoredRow) {
    var uuid: String?
    if row.values.count > 1, case .text(let text) = row.values[1] { uuid = text.string }
    self.uuid = uuid
    var list: PropertyList?
    switch row.values.count > 2 ? row.values[2] : .null {
    case .null:
      plistState = .null
    case .blob(let bytes):
      do {
        list = try PropertyList(bytes: bytes)
        plistState = list?.entries == nil ? .unreadable("it is not a dictionary") : .present
      } catch {
        plistState = .unreadable(error.message)
      }
    default:
      plistState = .unreadable("it is not a blob")
    }
    let entries = list?.entries ?? [:]
    let hashes = entries["NSStoreModelVersionHashes"]?.entries ?? [:]
    let read = hashes.compactMapValues { $0.dataValue.flatMap { VersionHash(bytes: $0) } }
    versionHashes = read
    unreadHashes = hashes.keys.filter { read[$0] == nil }.sorted()
    versionHashesVersion = entries["NSStoreModelVersionHashesVersion"]?.integerValue
    versionIdentifiers =
      entries["NSStoreModelVersionIdentifiers"]?.elements?.compactMap(\.stringValue) ?? []
    frameworkVersion = entries["NSPersistenceFrameworkVersion"]?.integerValue
    maximumFrameworkVersion = entries["NSPersistenceMaximumFrameworkVersion"]?.integerValue
    storeType = entries["NSStoreType"]?.stringValue
    digest = entries["NSStoreModelVersionHashesDigest"]?.stringValue
    checksum = entries["NSStoreModelVersionChecksumKey"]?.stringValue
    otherKeyNames = entries.keys.filter { !Self.frameworkKeys.contains($0) }.sorted()
  }

  /// Returns the metadata of an open store; nil when no row of `Z_METADATA` can be read.
  ///
  /// - Throws: ``SQLiteFileError`` when the device fails to read. For a damaged store, the method adds findings to
  ///   `findings` instead of throwing.
  package static func read(
    from database: SQLiteDatabase, _ findings: inout FindingList
  ) throws(SQLiteFileError) -> StoreMetadata? {
    guard let table = database.schema.table(named: tableName) else { return nil }
    var metadata: StoreMetadata?
    try database.forEachRow(of: table) { row in
      metadata = StoreMetadata(row: row)
      return false
    }
    if let metadata, case .unreadable(let reason) = metadata.plistState {
      findings.add(
        Finding(
          .coredataMetadataUnreadable, "the metadata is not readable: \(reason)", table: tableName))
    }
    if metadata == nil, database.schema.table(named: "Z_PRIMARYKEY") != nil {
      findings.add(
        Finding(.coredataMetadataMissing, "Z_METADATA has no readable row", table: tableName))
    }
    return metadata
  }

  private static let tableName = "Z_METADATA"
}
