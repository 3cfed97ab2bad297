import Fixtures
import Foundation
import SQLiteFile
@testable import SQLiteForensics
import StoreExtraction
import Testing

/// An inspection and a check say the same of whether there is damage, and count the same findings.
@Suite struct AgreementTests {
  private static func compare(_ url: URL) throws -> Bool {
    guard let inspection = try? StoreInspection(path: url.path, takesHashes: false) else {
      #expect(throws: (any Error).self, "\(url.lastPathComponent)") {
        try StoreCheck(path: url.path)
      }
      return false
    }
    let check = try StoreCheck(path: url.path)
    #expect(
      (inspection.damageCount > 0) == !check.isSound,
      "\(url.path): inspect \(inspection.findings), check \(check.findings)")
    #expect(
      inspection.damageCount == check.damageCount,
      "\(url.path): inspect \(inspection.findings), check \(check.findings)")
    #expect(inspection.notChecked == check.notChecked)
    if inspection.damageCount == 0 {
      // What only the deeper look finds is named as not looked at.
      let full = try StoreCheck(path: url.path, depth: .full)
      #expect(full.isSound || !inspection.notChecked.isEmpty, "\(url.path): \(full.findings)")
    }
    return true
  }

  @Test(.enabled(if: Shared.isThere)) func damagedFilesOfOthers() throws {
    guard let shared = Shared.require("damaged files of others") else { return }
    let root = shared.appendingPathComponent("stores/corrupt")
    let names =
      (FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? [])
      .sorted()
    var compared = 0
    let step = Rounds.areLong ? 5 : 11
    for name in stride(from: 0, to: names.count, by: step).map({ names[$0] }) {
      if try Self.compare(root.appendingPathComponent(name)) { compared += 1 }
    }
    #expect(compared > (Rounds.areLong ? 60 : 25), "\(compared)")
  }

  @Test(arguments: [
    "core-data-shape", "free-blocks", "auto-vacuum-full", "without-rowid", "overflow-utf16",
    "deep-index",
  ])
  func changedBytes(_ name: String) throws {
    guard let fixture = StoreFixtures.all.first(where: { $0.name == name }) else { return }
    let folder = try TemporaryFolder()
    let url = try fixture.make(folder.url)
    let sound = try bytes(of: url)
    var generator = SplitMix64(seed: 0x15)
    let pageSize = try SQLiteDatabase(path: url.path).header.pageSize
    for round in 0..<(Rounds.areLong ? 120 : 40) {
      let page = Int.random(in: 0..<sound.count / pageSize, using: &generator)
      let offset =
        page * pageSize + Int.random(in: 0..<(round % 2 == 0 ? 24 : pageSize), using: &generator)
      try overwrite(url, at: offset, bytes: [UInt8.random(in: 0...255, using: &generator)])
      _ = try Self.compare(url)
      try overwrite(url, at: offset, bytes: [sound[offset]])
    }
  }
}
