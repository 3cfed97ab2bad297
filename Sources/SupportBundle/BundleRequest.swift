import AgeFiles
import CoreDataStore
public import Foundation
package import SQLiteFile
import SafeText
package import StoreExtraction
import StoreFiles
public import StoreRecovery

/// The requested content, size limit and encryption of a bundle.
public struct BundleRequest: Sendable {
  /// How much of the user's data goes into the bundle. In a bundle of `rows`, a token replaces each value that
  /// ``redaction`` does not allow.
  public var contents: BundleManifest.Contents
  /// The entities and tables whose rows go into the bundle; nil for all.
  package var entities: [String]?
  package var redaction = Redaction.values(except: .nothing)
  /// What a token reveals about the number that it replaces: the number's range or the number's rank.
  package var numbers = NumberForm.ranges
  /// Whether the model that is cached in the store goes into the bundle.
  package var includesModel = true
  package var level = CompressionLevel.standard
  /// The maximum size of the bundle in bytes; nil for no limit. If the bundle would be larger, external data files and
  /// rows are left out.
  package var maxBytes: UInt64?
  /// The recipients and the form of encryption; nil for a bundle that everybody can read.
  package var encryption: BundleEncryption?
  package var logView = SQLiteDatabase.LogView.committed
  package var tool = BundleManifest.Tool(name: "lifeboat", version: Tool.version)
  /// The creation time of the bundle, which is written into the manifest.
  package var created = Date()

  /// Makes a request.
  ///
  /// - Parameters:
  ///   - contents: how much of the user's data goes into the bundle.
  ///   - recipients: age public keys (`age1…`). Only the owners of these keys can open the bundle. If the array is
  ///     empty, the bundle is not encrypted.
  /// - Throws: ``BundleError`` with the code `age.badKey` for a string that is not an age public key.
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

  /// The result of packing a bundle.
  package struct Receipt: Sendable {
    package let manifest: BundleManifest
    /// The size of the bundle in bytes. If the bundle was not written, this is the size that it would have.
    package let sizeBytes: UInt64
    package let findings: [Finding]
    /// Whether some files of the store could not be listed (``StoreSet/isComplete``).
    package let isPartial: Bool
  }

  /// Packs and checks a bundle, and only then gives the file its name. After an error, no file is left behind.
  ///
  /// - Parameters:
  ///   - storePath: the main file of the store.
  ///   - incident: the incident in which the store was set aside; nil if the store was not set aside.
  ///   - decrypted: a decrypted copy of the store, from which rows and schema are read; nil if the store is not
  ///     encrypted or its key is not known. Files of this copy never go into the bundle. If the store's files are
  ///     requested, the encrypted files are packed.
  ///   - output: the path of the bundle; nil to compute the result without writing the bundle.
  ///   - progress: called with the number of bytes packed so far, and the total number of bytes.
  ///   - isCancelled: called repeatedly while bytes are packed. If it returns true, the work ends with
  ///     `bundle.cancelled`.
  ///   - making: called with the path of each temporary file and a closure that creates the file and returns whether
  ///     the file exists afterwards.
  /// - Returns: the manifest and the size of the bundle, and the findings about the store.
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
      // Even if the store cannot be read, its files or the record of the incident can go into the bundle.
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
  /// Makes a bundle of the incident and of the store that was set aside. The bundle is ready to be shared or sent.
  ///
  /// The work is done off the caller's actor, and takes less than 64 MB of memory. Cancelling the task ends the work.
  /// After a cancellation or an error, no file is left behind. Before the bundle gets its name, the bundle is read back
  /// and searched for strings that must not be in it. An existing file is never replaced.
  ///
  /// - Parameters:
  ///   - output: the bundle to write. This file must not exist yet.
  ///   - request: the content and the encryption of the bundle; nil for a bundle of structure only, without encryption.
  ///   - place: the folder of the incident; nil for the path in the incident's `folder`. Give a folder if the app's
  ///     container may have moved since the incident.
  ///   - progress: called on another thread with the packed fraction of the bundle, from 0 to 1.
  /// - Returns: sentences that say what was left out of the bundle on purpose.
  /// - Throws: ``BundleError``, `SQLiteFileError`, `CancellationError`.
  @discardableResult
  public func makeBundle(
    to output: URL, _ request: BundleRequest? = nil, place: URL? = nil,
    progress: @escaping @Sendable (_ share: Double) -> Void = { _ in }
  ) async throws -> [String] {
    let folder = place?.path ?? self.folder
    let storePath = PathText.joined(PathText.joined(folder, "store"), storeName)
    let request = try request ?? BundleRequest()
    let stop = CancelRequest()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global(qos: .utility).async {
          do {
            let receipt = try request.make(
              of: storePath, self, to: output.path,
              progress: { progress(Double($0) / Double(max(1, $1))) }, isCancelled: { stop.isMade })
            continuation.resume(returning: receipt.manifest.withheld)
          } catch let error as BundleError where error.code == .cancelled {
            continuation.resume(throwing: CancellationError())
          } catch {
            continuation.resume(throwing: error)
          }
        }
      }
    } onCancel: {
      stop.make()
    }
  }
}
