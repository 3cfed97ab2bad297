import StoreFiles
import Foundation
import SafeText
import Testing

@testable import StoreRecovery

/// What is read before the opener, and what only after it has failed.
@Suite struct EvidenceReaderTests {
  @Test func foldersAreReadOnlyAfterAFailure() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try bench.write("half", to: ".Done.sqlite.migrationdestination_41b5")
    var early = FileEvidence.beforeOpening(bench.store)
    #expect(early.members.map(\.role) == [.main, .wal, .sharedMemory])
    #expect(early.freeBytes == nil)
    let all = FileEvidence.read(bench.store)
    #expect(
      all.members.map(\.name) == StoreSet(at: bench.store).members.map(\.name),
      "all members, as the move will find them")
    #expect(all.freeBytes != nil)
    for _ in 0..<2 { FileEvidence.complete(&early, bench.store) }
    #expect(early.members == all.members)
  }

  /// The short look at the header must come to what the count over the first page does.
  @Test(arguments: [32, 48, 64, 80])
  func anEncryptedFileWithAClearStart(clear: Int) throws {
    let bench = try Workbench()
    try bench.makeStore()
    #expect(FileEvidence.beforeOpening(bench.store).looksEncrypted == false)
    var bytes = [UInt8](try #require(bench.bytes("Done.sqlite")))
    var random = Seeded(state: UInt64(clear))
    for index in clear..<bytes.count {
      bytes[index] = UInt8.random(in: .min ... .max, using: &random)
    }
    try Data(bytes).write(to: URL(fileURLWithPath: bench.store))
    let evidence = FileEvidence.beforeOpening(bench.store)
    #expect(evidence.header?.isMagicRight == true)
    #expect(evidence.looksEncrypted == true)
  }

  /// A mark that joins the character before it makes no slash less a slash.
  @Test func pathsAreSplitByBytes() {
    let path = "/stores/\u{301}Done.sqlite"
    #expect(PathText.folder(of: path) == "/stores")
    #expect(PathText.lastComponent(of: path) == "\u{301}Done.sqlite")
  }
}
