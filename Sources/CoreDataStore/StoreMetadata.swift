public import ObjectModel
package import SQLiteFile

/// The row of Z_METADATA: what a store records about itself.
public struct StoreMetadata: Sendable, Equatable {
  /// The state of the property list in `Z_PLIST`.
  package enum PlistState: Sendable, Equatable {
    /// Readable.
    case present
    /// NULL; seen in scrubbed stores.
    case null
    /// Present but not readable, with the reason.
    case unreadable(String)
  }

  /// A key other than the framework's own. Only its name and size are kept, because apps put tokens and other secrets
  /// there.
  package struct OtherKey: Sendable, Equatable, Codable {
    /// The key.
    package let name: String
    /// The kind of value, such as `string`.
    package let kind: String
    /// The value's size in bytes: of text as UTF-8, of data as it is, of anything else as a property list.
    package let sizeBytes: Int
  }

  /// The store's UUID (`Z_UUID`); nil when missing.
  public let uuid: String?
  /// The state of the property list.
  package let plistState: PlistState
  /// The hash of each entity of the model that wrote the store; empty when not recorded.
  public let versionHashes: [String: VersionHash]
  /// The names of entities whose recorded hash is not 32 bytes of data, sorted.
  package let unreadHashes: [String]
  /// The version of the hash rules, 3 in every store seen; nil when not recorded.
  package let versionHashesVersion: Int64?
  /// The model's version identifiers: free text, only a hint.
  public let versionIdentifiers: [String]
  /// The framework version that wrote the store, which dates the store; nil when not recorded.
  public let frameworkVersion: Int64?
  /// The highest framework version that ever wrote the store; nil when not recorded.
  package let maximumFrameworkVersion: Int64?
  /// `SQLite`; nil when not recorded.
  package let storeType: String?
  /// The digest over names and hashes, base64; nil when not recorded.
  package let digest: String?
  /// The checksum over the hashes, base64; nil when not recorded.
  package let checksum: String?
  /// All other keys, by name.
  package let otherKeys: [OtherKey]

  /// Keys of the framework, whose values hold nothing private.
  static let frameworkKeys: Set<String> = [
    "NSStoreModelVersionHashes", "NSStoreModelVersionHashesVersion",
    "NSStoreModelVersionIdentifiers", "NSStoreModelVersionHashesDigest",
    "NSStoreModelVersionChecksumKey", "NSPersistenceFrameworkVersion",
    "NSPersistenceMaximumFrameworkVersion", "NSStoreType", "_NSAutoVacuumLevel",
  ]

  /// Reads the row's columns `Z_VERSION`, `Z_UUID`, `Z_PLIST`.
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
    otherKeys = entries.filter { !Self.frameworkKeys.contains($0.key) }
      .map { OtherKey(name: $0.key, kind: $0.value.kindName, sizeBytes: $0.value.approximateSize) }
      .sorted { $0.name < $1.name }
  }

  /// The systems that a framework version may belong to; nil when the version is not known.
  package static func system(ofFramework version: Int64) -> String? {
    // Taken from stores of known origin.
    let eras: [(ClosedRange<Int64>, String)] = [
      (230...241, "iPhone OS 2 to 3"), (320...329, "iOS 4"), (407...419, "iOS 6 or OS X 10.8"),
      (519...520, "iOS 8"), (637...641, "iOS 9 or OS X 10.11"),
      (752...754, "iOS 10 or macOS 10.12"), (847...851, "iOS 11 or macOS 10.13"),
      (865...866, "iOS 12 or macOS 10.14"), (977...979, "iOS 13 or macOS 10.15"),
      (1044...1048, "iOS 14 or macOS 11"), (1132...1145, "iOS 15 or macOS 12"),
      (1239...1251, "iOS 16 or macOS 13"), (1333...1345, "iOS 17 or macOS 14"),
      (1448...1449, "iOS 18 or macOS 15"),
    ]
    return eras.first { $0.0.contains(version) }?.1
  }
}

extension PropertyList {
  fileprivate var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .integer: "integer"
    case .real: "real"
    case .date: "date"
    case .data: "data"
    case .string: "string"
    case .uid: "uid"
    case .array, .set: "array"
    case .dictionary: "dictionary"
    }
  }

  fileprivate var approximateSize: Int {
    switch self {
    case .data(let bytes): bytes.count
    case .string(let text): text.utf8.count
    case .array, .set, .dictionary: binaryBytes().count
    case .null: 0
    case .bool: 1
    case .integer, .real, .date, .uid: 8
    }
  }
}
