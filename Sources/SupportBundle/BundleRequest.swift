import AgeFiles
import CoreDataStore
public import Foundation
package import SQLiteFile
import SafeText
package import StoreExtraction
import StoreFiles
public import StoreRecovery

/// What a bundle must hold, and who can open it.
public struct BundleRequest: Sendable {
  /// How much of the user's data goes in. With `rows` a token stands for each value.
  public var contents: BundleManifest.Contents
  /// The entities or tables whose rows go in; nil for all.
  package var entities: [String]?
  /// How the values of rows are redacted.
  package var redaction = Redaction.values(except: .nothing)
  /// What the token of a number tells about the number.
  package var numbers = NumberForm.ranges
  /// Whether the model that the store carries goes in.
  package var includesModel = true
  /// How hard the entries are compressed.
  package var level = CompressionLevel.standard
  /// The most bytes that the bundle may have; nil for no limit. Parts are left out to keep to the limit.
  package var maxBytes: UInt64?
  /// Whom the bundle is encrypted to; nil for a bundle that everybody can read.
  package var encryption: BundleEncryption?
  /// Which part of the write-ahead log is read.
  package var logView = SQLiteDatabase.LogView.committed
  /// The program that the manifest names.
  package var tool = BundleManifest.Tool(name: "lifeboat", version: Tool.version)
  /// The time that the manifest names.
  package var created = Date()

  /// Makes a request.
  ///
  /// - Parameters:
  ///   - contents: how much of the user's data goes in.
  ///   - recipients: public keys of age, `age1…`, whose owners can open the bundle; without one, everybody can.
  /// - Throws: ``BundleError`` with the code `age.badKey` for a text that is not a public key.
  public init(
    _ contents: BundleManifest.Contents = .structure, recipients: [String] = []
  ) throws(BundleError) {
    self.contents = contents
    guard !recipients.isEmpty else { return }
    var keys: [AgeRecipient] = []
    for text in recipients {
      do { keys.append(try AgeRecipient(text)) } catch {
        throw BundleError(.init(rawValue: error.code.rawValue), error.message)
      }
    }
    encryption = BundleEncryption(to: .keys(keys))
  }

  /// What a bundle that was packed holds.
  package struct Receipt: Sendable {
    /// The manifest of the bundle.
    package let manifest: BundleManifest
    /// The size of the bundle in bytes; without an output, the size that it would have.
    package let sizeBytes: UInt64
    /// The findings of reading the store.
    package let findings: [Finding]
    /// Whether some files of the store could not be read.
    package let isPartial: Bool
  }

  /// Packs a bundle, checks it, and gives it its name. If anything fails, nothing is left behind.
  ///
  /// - Parameters:
  ///   - storePath: the main file of the store.
  ///   - incident: the incident in which the store was set aside; nil without one.
  ///   - decrypted: the decrypted copy of an encrypted store, to be read in place of the store. Nil for a store that is
  ///     not encrypted, or whose key is not known. Only the encrypted files go into the bundle.
  ///   - output: the path of the bundle; nil to find out what it would hold.
  ///   - progress: called with the bytes packed and the bytes in all.
  ///   - isCancelled: asked while bytes are packed; true ends the work with `bundle.cancelled`.
  ///   - making: called with the path of each temporary file and a closure that creates it and returns whether it exists
  ///     afterwards.
  /// - Returns: what was packed.
  /// - Throws: ``BundleError``, `SQLiteFileError`.
  package func make(
    of storePath: String, _ incident: Incident?, decrypted: DecryptedStore? = nil,
    to output: String?,
    progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in },
    isCancelled: () -> Bool = { false },
    making: @escaping OutputTree.Making = { _ = $1() }
  ) throws -> Receipt {
    let watch = EvidenceWatch(storePath)
    var bundle = try StoreBundle(
      storePath: storePath, tool: tool,
      created: BundleDate(secondsSince1970: created.timeIntervalSince1970.rounded(.down)),
      contents: contents)
    if let incident { try bundle.add(incident) }
    var store: CoreDataStore?
    var findings: [Finding] = []
    do {
      let logView = logView
      let readPath = decrypted?.storePath ?? storePath
      let opened = try CoreDataStore(path: readPath, logView: logView)
      store = opened
      let takesHashes = decrypted == nil
      let inspecting = AnotherThread {
        try StoreInspection(path: readPath, logView: logView, takesHashes: takesHashes)
      }
      var rows: StoreBundle.Rows?
      if contents == .rows {
        rows = try bundle.writeRows(of: opened, entities: entities, redaction, numbers: numbers)
      }
      var inspection = try inspecting.wait()
      if let decrypted {
        inspection.path = storePath
        try inspection.setEncrypted(decrypted, takesHashes: true)
      }
      try bundle.add(opened, inspection, rows: rows, includesModel: includesModel)
      findings = inspection.findings
    } catch let error as SQLiteFileError where incident != nil || contents == .store {
      // A store that cannot be read can still be passed on.
      try bundle.add(unreadable: storePath, code: error.code.rawValue, message: error.message)
      findings = [Finding(.init(rawValue: error.code.rawValue), error.message)]
    }
    let (manifest, packed, _) = try packed(
      bundle.plan, for: output, progress: progress, isCancelled: isCancelled, making: making)
    try packed.check()
    try ResidueScan(
      store, contents, redaction, incident: incident, nameTokens: bundle.nameTokens
    ).check(packed)
    let changed = watch.changes()
    guard changed.isEmpty else {
      throw BundleError(
        .changedWhileReading,
        "the store changed while it was packed: \(changed.joined(separator: ", "))",
        path: storePath)
    }
    let size =
      output == nil
      ? packed.sizeBytes : try packed.publish(isCancelled: isCancelled, making: making)
    return Receipt(
      manifest: manifest, sizeBytes: size, findings: findings,
      isPartial: !StoreSet(at: storePath).isComplete)
  }
}

extension Incident {
  /// Makes a bundle of the incident and the store that was set aside, ready to be shared or sent.
  ///
  /// The work is done off the caller's actor, in less than 64 MB of memory. Cancelling the task ends the work. Nothing
  /// is left behind then, nor after an error. The bundle is read back and searched for what must not be in it before it
  /// gets its name. An existing file is never replaced.
  ///
  /// - Parameters:
  ///   - output: the bundle, a file that does not exist yet.
  ///   - request: what the bundle must hold, and who can open it; by default structure only, for everybody.
  ///   - place: the folder of the incident; nil for the one that the record names. An app's container may have moved
  ///     since the record was made.
  ///   - progress: called on another thread with the share that is packed, from 0 to 1.
  /// - Returns: what was left out on purpose, one sentence each.
  /// - Throws: ``BundleError``, `SQLiteFileError`, `CancellationError`.
  @discardableResult
  public func makeBundle(
    to output: URL, _ request: BundleRequest? = nil, place: URL? = nil,
    progress: @escaping @Sendable (_ share: Double) -> Void = { _ in }
  ) async throws -> [String] {
    let folder = place?.path ?? self.folder
    let storePath = PathText.joined(PathText.joined(folder, "store"), storeName)
    let request = try request ?? BundleRequest()
    let stop = CancellationFlag()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global(qos: .utility).async {
          do {
            let receipt = try request.make(
              of: storePath, self, to: output.path,
              progress: { progress(Double($0) / Double(max(1, $1))) }, isCancelled: { stop.isSet })
            continuation.resume(returning: receipt.manifest.withheld)
          } catch let error as BundleError where error.code == .cancelled {
            continuation.resume(throwing: CancellationError())
          } catch {
            continuation.resume(throwing: error)
          }
        }
      }
    } onCancel: {
      stop.set()
    }
  }
}

/// A flag by which a task tells the thread that packs to stop.
private final class CancellationFlag: @unchecked Sendable {
  // Unchecked because the lock protects it.
  private let lock = NSLock()
  private var value = false

  var isSet: Bool { lock.withLock { value } }
  func set() { lock.withLock { value = true } }
}
