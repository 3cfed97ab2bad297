import AgeFiles
import CLibrary
import Foundation
import Testing

@testable import SupportBundle

/// Bundles that only some can open, and what is left of them when something fails.
@Suite struct EncryptedBundleTests {
  private static func secrets(_ identity: AgeIdentity) -> AgeSecrets {
    var secrets = AgeSecrets()
    secrets.identities = [identity]
    return secrets
  }

  private static func fail<T: SignedInteger>(_ code: Int32) -> T {
    errno = code
    return -1
  }

  @Test(arguments: [false, true])
  func aBundleIsReadBackWithItsKey(_ isArmored: Bool) throws {
    let space = try Workspace()
    let identity = try AgeIdentity()
    let measured = try Sample.plan().measured()
    _ = try measured.write(to: space.path("plain.zip"))
    let packed = try measured.packed(
      for: space.path("a.age"),
      encryption: BundleEncryption(to: .keys([identity.recipient]), isArmored: isArmored))
    // The archive has no name while it waits.
    #expect(try space.names == ["plain.zip"])
    try packed.check()
    let size = try packed.publish()
    #expect(try space.names == ["a.age", "plain.zip"])
    #expect(try space.read("a.age").count == Int(size))
    let file = try BundleFile(space.path("a.age"), Self.secrets(identity))
    #expect(file.isEncrypted)
    #expect(try BundleVerification.verify(file).outcome == .intact)
    // What was encrypted is the bundle as it would be without.
    var bytes: [UInt8] = []
    try file.file.forEachPiece { bytes += $0 }
    #expect(bytes == (try space.read("plain.zip")))

    let error = #expect(throws: BundleError.self) { try BundleFile(space.path("a.age")) }
    #expect(error?.code.rawValue == "age.noKeyFits")
    #expect(error?.path == space.path("a.age"))
  }

  /// There is no archive, and never a plain one instead, whatever fails.
  @Test(arguments: ["create", "write", "sync", "link", "cancel"])
  func aFailureLeavesNoBundle(_ what: String) throws {
    let space = try Workspace()
    let identity = try AgeIdentity()
    let plain = try ZipWriter(path: space.path("a.age"), isUnnamed: true)
    try plain.add(name: "secret", bytes: Sample.text)
    let file = try plain.end()
    var calls = OutputCalls()
    switch what {
    case "create": calls.create = { _, _ in Self.fail(EACCES) }
    case "write": unsafe calls.write = { _, _, _ in Self.fail(ENOSPC) }
    case "sync": calls.sync = { _ in Self.fail(EIO) }
    case "link": calls.link = { _, _, _ in Self.fail(EIO) }
    default: break
    }
    let encryption = BundleEncryption(to: .keys([identity.recipient]))
    #expect(throws: BundleError.self) {
      try encryption.write(
        file, to: space.path("a.age"), calls: calls, isCancelled: { what == "cancel" },
        making: { _ = $1() })
    }
    #expect(try space.names.isEmpty)
  }

  @Test func aTakenNameIsNotReplaced() throws {
    let space = try Workspace()
    let identity = try AgeIdentity()
    let packed = try Sample.plan().measured().packed(
      for: space.path("a.age"), encryption: BundleEncryption(to: .keys([identity.recipient])))
    try space.write([9], to: "a.age")
    let error = #expect(throws: BundleError.self) { try packed.publish() }
    #expect(error?.code == .outputExists)
    #expect(try space.names == ["a.age"])
    #expect(try space.read("a.age") == [9])
  }

  // MARK: - Unpacking

  @Test func aBundleIsUnpacked() throws {
    let space = try Workspace()
    _ = try Sample.plan().measured().write(to: space.path("a.zip"))
    let extraction = try BundleExtraction(try BundleFile(space.path("a.zip")))
    let skipped = try extraction.write(
      to: space.path("out"), isCancelled: { false }, making: { _ = $1() })
    #expect(skipped.isEmpty)
    for entry in Sample.entries() { #expect(try space.read("out/" + entry.name) == entry.bytes) }
    // What exists is never written to, not even an empty folder.
    for name in ["out", "empty", "file", "link"] {
      let path = space.path(name)
      if name == "empty" {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      } else if name == "file" {
        try space.write([1], to: name)
      } else if name == "link" {
        try FileManager.default.createSymbolicLink(
          atPath: path, withDestinationPath: space.path("empty"))
      }
      let error = #expect(throws: BundleError.self) {
        try extraction.write(to: path, isCancelled: { false }, making: { _ = $1() })
      }
      #expect(error?.code == .outputExists, "\(name)")
    }
    #expect(try space.names == ["a.zip", "empty", "file", "link", "out"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: space.path("empty")).isEmpty)
    #expect(throws: BundleError.self) {
      try extraction.write(to: space.path("more"), isCancelled: { true }, making: { _ = $1() })
    }
    #expect(try !space.names.contains("more"))
  }

  @Test func whatTheManifestDoesNotSayIsLeftOut() throws {
    let space = try Workspace()
    let manifest = try Sample.plan([
      ("good", [1, 2, 3]), ("changed", [4, 5, 6]), ("lost", [7]),
    ]).measured().manifest
    let writer = try ZipWriter(path: space.path("a.zip"))
    try writer.add(name: "manifest.json", bytes: manifest.json())
    try writer.add(name: "good", bytes: [1, 2, 3])
    try writer.add(name: "changed", bytes: [4, 5, 7])
    try writer.add(name: "more", bytes: [8])
    _ = try writer.finish()
    let extraction = try BundleExtraction(try BundleFile(space.path("a.zip")))
    let skipped = try extraction.write(
      to: space.path("out"), isCancelled: { false }, making: { _ = $1() })
    #expect(Set(skipped.map(\.name)) == ["changed", "more", "lost"])
    #expect(
      Set(try FileManager.default.contentsOfDirectory(atPath: space.path("out")))
        == ["good", "manifest.json"])
  }

  /// 70 MB of zeros in 70 KB.
  @Test func anArchiveThatGrowsTooMuchIsRefused() throws {
    let space = try Workspace()
    let zeros = [UInt8](repeating: 0, count: 70 << 20)
    _ = try Sample.plan([("zeros", zeros)]).measured().write(to: space.path("a.zip"))
    let bundle = try BundleFile(space.path("a.zip"))
    let error = #expect(throws: BundleError.self) { try BundleExtraction(bundle) }
    #expect(error?.code == .tooLarge)
    #expect(try BundleExtraction(bundle, maxBytes: 80 << 20).totalBytes > 70 << 20)
  }
}
