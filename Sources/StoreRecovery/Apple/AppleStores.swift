import CoreDataStore
import Foundation
import ObjectModel
import SafeText

// What the adaptors decide, in plain Swift, so that it is tested wherever the package is.

extension StoreRecovery {
  /// Whether recovery is for a store: one in a file that SQLite opens for writing. All others are left to Core
  /// Data: a store that is only read, as one that comes with the app, cannot be begun afresh, and `/dev/null`
  /// keeps a store in memory.
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
  /// Hashes as Core Data hands them out, and the renaming identifiers of the entities; nil when one of the hashes is
  /// no version hash, so that nothing is concluded.
  init?(name: String?, hashData: [String: Data], renamingIdentifiers: [String?] = []) {
    var hashes: [String: VersionHash] = [:]
    for (entity, data) in hashData {
      guard let hash = VersionHash(bytes: [UInt8](data)) else { return nil }
      hashes[entity] = hash
    }
    self.init(name: name, hashes: hashes, earlierNames: renamingIdentifiers.compactMap(\.self))
  }

  /// A name for people out of a model's version identifiers; nil when it has none that says anything.
  static func name(ofIdentifiers identifiers: some Sequence<AnyHashable>) -> String? {
    let texts = identifiers.compactMap { $0.base as? String }.filter { !$0.isEmpty }
    return texts.isEmpty ? nil : texts.sorted().joined(separator: ", ")
  }
}

extension Policy {
  /// The policy for this process: an extension of the app never acts, whether or not its author thought of it.
  func knowingProcess(_ process: HostState = .ofThisProcess()) -> Policy {
    var policy = self
    if process.isExtension == true, mode == .act { policy.mode = .extension }
    return policy
  }

  /// The policy for an opener that migrates by itself and whose errors say nothing, as SwiftData's.
  ///
  /// The hashes have to decide, then. Lack of space is the likeliest reason for a migration to fail on a sound
  /// store, so there must be room for one: as much again as the store takes.
  func forMuteErrors(storeAt path: String) -> Policy {
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
