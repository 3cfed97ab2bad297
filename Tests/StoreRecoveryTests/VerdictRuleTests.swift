import Foundation
import StoreRecovery
import Testing

@Suite struct VerdictRuleTests {
  private static let texts: [(Verdict.Rule, String)] = [
    (.sqlite(11), "sqlite.11"), (.cocoa(134_100), "cocoa.134100"), (.posix(28), "posix.28"),
    (.open, "open"), (.storeMainMissing, "store.mainMissing"),
    (.storeMainEmpty, "store.mainEmpty"), (.storeWALDamaged, "store.walDamaged"),
    (.storeWALForeign, "store.walForeign"), (.storeUnreadable, "store.unreadable"),
    (.storeMissing, "store.missing"), (.storeNotAFile, "store.notAFile"),
    (.storeInUse, "store.inUse"), (.quarantineUnfinished, "quarantine.unfinished"),
    (.quarantineNoSpace, "quarantine.noSpace"), (.fileUnreadable, "file.unreadable"),
    (.fileUnread, "file.unread"), (.fileEmpty, "file.empty"), (.fileEncrypted, "file.encrypted"),
    (.fileNotADatabase, "file.notADatabase"), (.fileNewer, "file.newer"),
    (.fileDamaged, "file.damaged"), (.schemaUnreadable, "schema.unreadable"),
    (.modelMismatch, "model.mismatch"), (.modelForeign, "model.foreign"),
    (.modelNewer, "model.newer"), (.modelNewerRules, "model.newerRules"),
    (.modelUnrecorded, "model.unrecorded"), (.hostNewerStore, "host.newerStore"),
    (.hostOtherVersion, "host.otherVersion"), (.hostWrongKey, "host.wrongKey"),
    (.errorCancelled, "error.cancelled"), (.errorUnknown, "error.unknown"),
    (.freshFailed, "fresh.failed"), (.containerFailed, "container.failed"),
    (.restoreReplaced, "restore.replaced"), (.holdExtension, "hold.extension"),
    (.holdBackground, "hold.background"), (.holdLocked, "hold.locked"),
    (.holdShared, "hold.shared"), (.holdSymbolicLink, "hold.symbolicLink"),
    (.holdNotAFile, "hold.notAFile"), (.holdUnreadable, "hold.unreadable"),
    (.holdNoSpace, "hold.noSpace"), (.holdUnrecorded, "hold.unrecorded"),
    (.holdRepeated, "hold.repeated"), (.holdHostDecides, "hold.hostDecides"),
    (.holdFreshFails, "hold.freshFails"), (.holdCopyOpens, "hold.copyOpens"),
    (.holdCopyUnavailable, "hold.copyUnavailable"),
  ]

  /// A code has one spelling; what is not a code is kept as it is.
  private static let unknown = [
    "", ".", "new.rule", "sqlite", "sqlite.", "sqlite.x", "sqlite.011", "sqlite.+11", "sqlite.1.1",
    "sqlite.99999999999999999999", "cocoa.", "SQLITE.11",
  ]

  @Test(arguments: texts + unknown.map { (Verdict.Rule.named($0), $0) })
  func textInJSON(rule: Verdict.Rule, text: String) throws {
    #expect(rule.rawValue == text)
    #expect("\(rule)" == text)
    let json = Data("[\"\(text)\"]".utf8)
    #expect(try JSONEncoder().encode([rule]) == json)
    #expect(try JSONDecoder().decode([Verdict.Rule].self, from: json) == [rule])
  }

  @Test func codes() {
    guard case .sqlite(11) = Verdict.Rule(rawValue: "sqlite.11"),
      case .cocoa(134_100) = Verdict.Rule(rawValue: "cocoa.134100"),
      case .posix(28) = Verdict.Rule(rawValue: "posix.28")
    else {
      Issue.record("a code was taken for a name")
      return
    }
    for text in Self.unknown {
      guard case .named(text) = Verdict.Rule(rawValue: text) else {
        Issue.record("\(text) was taken for a code")
        continue
      }
    }
  }
}
