import StoreFiles
import Foundation
import ObjectModel
import SafeText

// The decisions of the adaptors, in plain Swift, so that they are tested on every platform.

extension StoreRecovery {
  /// Whether recovery applies to a store: one in a file that SQLite opens for writing. All others are left to Core
  /// Data: a read-only store, such as one that comes with the app, cannot be replaced by a fresh one, and `/dev/null`
  /// means a store in memory.
  static func covers(isSQLite: Bool, url: URL?, isReadOnly: Bool) -> Bool {
    guard isSQLite, !isReadOnly, let url, url.isFileURL else { return false }
    return !PathText.isInside(url.path, inMemoryPath)
  }

  /// The path under which Core Data keeps an SQLite store in memory.
  static var inMemoryPath: String { "/dev/null" }

  /// The same recovery with another policy, and with the same listeners.
  func with(_ policy: Policy) -> StoreRecovery {
    var policy = policy
    policy.report = { tell($0) }
    return StoreRecovery(
      storeURL, app: app, policy: policy, structure: structure, fileSystem: fileSystem,
      clock: clock)
  }
}

extension ExpectedModel {
  /// Hashes as Core Data returns them, and the renaming identifiers of the entities; nil when one of the hashes is not
  /// a version hash, so that nothing can be concluded.
  init?(name: String?, hashData: [String: Data], renamingIdentifiers: [String?] = []) {
    var hashes: [String: VersionHash] = [:]
    for (entity, data) in hashData {
      guard let hash = VersionHash(bytes: [UInt8](data)) else { return nil }
      hashes[entity] = hash
    }
    self.init(name: name, hashes: hashes, earlierNames: renamingIdentifiers.compactMap(\.self))
  }

  /// A readable name from a model's version identifiers; nil when none of them is a text.
  static func name(ofIdentifiers identifiers: some Sequence<AnyHashable>) -> String? {
    let texts = identifiers.compactMap { $0.base as? String }.filter { !$0.isEmpty }
    return texts.isEmpty ? nil : texts.sorted().joined(separator: ", ")
  }
}

extension Policy {
  /// The policy for this process. An extension of the app never moves a store, even if its author did not set that.
  func adaptedToProcess(_ process: HostState = .ofThisProcess()) -> Policy {
    var policy = self
    if process.isExtension == true, mode == .act { policy.mode = .extension }
    return policy
  }

  /// The policy for an opener that migrates by itself and whose errors do not state a cause, such as SwiftData's.
  ///
  /// So the version hashes decide. Too little space is the most likely reason why a migration fails on a sound store,
  /// so there must be space for one: the minimum plus the size of the store.
  func forErrorsWithoutCause(storeAt path: String) -> Policy {
    var policy = self
    policy.setsAsideOnMismatchAlone = true
    let size = StoreSet(at: path).members.reduce(Int64(0)) { sum, member in
      let (total, overflow) = sum.addingReportingOverflow(max(0, member.sizeBytes))
      return overflow ? .max : total
    }
    let (needed, overflow) = minimumFreeBytes.addingReportingOverflow(size)
    policy.minimumFreeBytes = overflow ? .max : needed
    return policy
  }
}
