import AgeFiles
import Fixtures
import Foundation
import StoreRecovery
import Testing

@testable import StoreReturns
@testable import SupportBundle

/// Bundles that a host app makes of an incident.
@Suite struct MakeBundleTests {
  @Test func anAppMakesABundleForSupport() async throws {
    let app = try await ReturnTests.App()
    let away = try TemporaryFolder()
    let before = treeState(of: URL(fileURLWithPath: app.incident.folder))
    let identity = try AgeIdentity()
    let output = away.url.appendingPathComponent("notes.zip.age")
    let request = try BundleRequest(.rows, recipients: [identity.recipient.text])
    let shares = Shares()
    let withheld = try await app.incident.makeBundle(to: output, request) { shares.add($0) }
    #expect(withheld.contains { $0.contains("values of all rows") })
    #expect(shares.all.last == 1 && shares.all == shares.all.sorted())
    #expect(treeState(of: URL(fileURLWithPath: app.incident.folder)) == before)

    var secrets = AgeSecrets()
    secrets.identities = [identity]
    let bundle = try BundleFile(output.path, secrets)
    #expect(try BundleVerification.verify(bundle).outcome == .intact)
    let reader = try ZipReader(bundle)
    let names = reader.entries.map(\.name)
    #expect(names.contains("incident.json") && names.contains("rows.ndjson"))
    #expect(names.contains("model.xcdatamodel/contents"))
    for entry in reader.entries {
      let text = String(decoding: try reader.bytes(of: entry, limit: 1 << 20), as: UTF8.self)
      #expect(!text.contains("second") || entry.name != "rows.ndjson")
    }

    // A container that has moved since.
    let moved = away.url.appendingPathComponent("moved")
    try FileManager.default.copyItem(
      at: URL(fileURLWithPath: app.incident.folder), to: moved)
    let plain = away.url.appendingPathComponent("plain.zip")
    try await app.incident.makeBundle(to: plain, place: moved)
    #expect(try BundleVerification.verify(path: plain.path).outcome == .intact)
    // What is there is never replaced.
    let error = await #expect(throws: BundleError.self) {
      try await app.incident.makeBundle(to: plain)
    }
    #expect(error?.code == .outputExists)
  }

  @Test func aCancelledTaskLeavesNothing() async throws {
    let app = try await ReturnTests.App()
    let away = try TemporaryFolder()
    let output = away.url.appendingPathComponent("notes.zip")
    let incident = app.incident
    let task = Task {
      // Cancelled before it begins, so that the outcome does not depend on time.
      while !Task.isCancelled { await Task.yield() }
      try await incident.makeBundle(to: output, try BundleRequest(.store))
    }
    task.cancel()
    let result = await task.result
    #expect(throws: CancellationError.self) { try result.get() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: away.url.path).isEmpty)
  }

  @Test func aRequestNamesItsReaders() throws {
    let identity = try AgeIdentity()
    let request = try BundleRequest(.rows, recipients: [identity.recipient.text])
    #expect(request.encryption != nil)
    #expect(request.redaction == .values(except: .nothing))
    #expect(try BundleRequest().encryption == nil)
    let error = #expect(throws: BundleError.self) { try BundleRequest(recipients: ["age1"]) }
    #expect(error?.code.rawValue == "age.badKey")
  }

  private final class Shares: @unchecked Sendable {
    private let lock = NSLock()
    private var values: [Double] = []
    var all: [Double] { lock.withLock { values } }
    func add(_ share: Double) { lock.withLock { values.append(share) } }
  }
}
