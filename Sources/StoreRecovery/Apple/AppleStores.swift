import Foundation
import ObjectModel
import SafeText

// The decisions of the adaptors for Core Data and SwiftData, in plain Swift, so that they are tested on every platform.

extension Recovery {
  /// Whether recovery applies to a store, that is, whether the store is an SQLite file that is opened for writing. A
  /// read-only store, for example one that ships with the app, cannot be replaced by a fresh one. The URL `/dev/null`
  /// stands for a store in memory.
  static func covers(isSQLite: Bool, url: URL?, isReadOnly: Bool) -> Bool {
    guard isSQLite, !isReadOnly, let url, url.isFileURL else { return false }
    return !PathText.isInside(url.path, inMemoryPath)
  }

  /// The path under which Core Data keeps an SQLite store in memory.
  static var inMemoryPath: String { "/dev/null" }

  /// A copy of this recovery with `policy`. Events of the copy reach the listeners of this recovery.
  func with(_ policy: Policy) -> Recovery {
    var policy = policy
    policy.report = { tell($0) }
    return Recovery(
      storeURL, app: app, policy: policy, structure: structure, fileSystem: fileSystem,
      clock: clock)
  }
}

extension ExpectedModel {
  /// Creates an expected model from version hashes as Core Data returns them, keyed by entity name, and from the
  /// renaming identifiers of the entities. Nil when `hashData` contains a value that is not a version hash.
  init?(name: String?, hashData: [String: Data], renamingIdentifiers: [String?] = []) {
    var hashes: [String: VersionHash] = [:]
    for (entity, data) in hashData {
      guard let hash = VersionHash(bytes: [UInt8](data)) else { return nil }
      hashes[entity] = hash
    }
    self.init(name: name, hashes: hashes, earlierNames: renamingIdentifiers.compactMap(\.self))
  }

  /// A name for people, made from a model's version identifiers; nil when none of the identifiers is a nonempty string.
  static func name(ofIdentifiers identifiers: some Sequence<AnyHashable>) -> String? {
    let texts = identifiers.compactMap { $0.base as? String }.filter { !$0.isEmpty }
    return texts.isEmpty ? nil : texts.sorted().joined(separator: ", ")
  }
}

extension Policy {
  /// A copy of this policy for `process`. In an extension of the app, the mode `act` becomes `extension`.
  func adaptedToProcess(_ process: HostState = .ofThisProcess()) -> Policy {
    var policy = self
    if process.isExtension == true, mode == .act { policy.mode = .extension }
    return policy
  }

  /// Returns a copy of this policy for a framework such as SwiftData, which migrates by itself and whose errors name no
  /// cause.
  ///
  /// In the copy, different version hashes alone are a sufficient reason to set a store aside. The required free space
  /// is ``Policy/minimumFreeBytes`` plus the store's size, because the migration of a sound store fails most likely for
  /// lack of space.
  func forErrorsWithoutCause() -> Policy {
    var policy = self
    policy.setsAsideOnMismatchAlone = true
    policy.needsRoomForMigration = true
    return policy
  }
}
