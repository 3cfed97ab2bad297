import Foundation
import StoreExtraction
import Testing

@testable import SupportBundle

/// What of a text may be passed on.
@Suite struct RecordMaskTests {
  @Test(arguments: [
    ("/Users/al/Notes/Notes.sqlite", "Notes.sqlite"), ("in /Users/al/Notes.", "in .."),
    ("/Users/al/Notes", "."), ("/Users/al/Notes2/x", "…"), ("/Users/al/Nötes", "…"),
    ("/Users/al", "…"), ("at /Users/al/Other/x y", "at … y"),
    ("\"/Users/al/Notes/a b\"", "\"a b\""),
    ("and/or", "and/or"), ("1 / 2", "1 / 2"), ("file:///Users/al/No%20tes/x", "file:…"),
    ("https://example.com/a", "https://example.com/a"), ("~/Library/x", "~…"),
    ("日/Users/al/Notes/a", "日a"), ("/Users/al/Notes/\u{301}x", "\u{301}x"),
    ("/Users/al/Notes/Incompatible/1/store/a", "Incompatible/1/store/a"),
  ])
  func foldersAreLeftOut(_ text: String, _ expected: String) {
    var folders = FolderNames()
    folders.add("/Users/al/Notes/")
    #expect(folders.without(text) == expected)
  }

  @Test func namesAreTokensWhereTheyStandAsAWhole() {
    var mask = RecordMask(storePath: "/a/b/Notes.sqlite")
    let record = JSONValue.object([
      "onlyInStore": .array([.string("my diary"), .string("diary"), .string("Note é")]),
      "reason": .string("my diary, Note é and mydiary differ; diary2, Note és"),
      "unheard": .string("of"),
      "versionHashes": .object(["Note é": .string(String(repeating: "ab", count: 32))]),
    ])
    guard case .object(let masked) = mask.masked(record, "") else { return }
    #expect(
      masked["onlyInStore"] == .array([.string("name-1"), .string("diary"), .string("name-2")]))
    #expect(masked["reason"] == .string("name-1, name-2 and mydiary differ; diary2, name-2s"))
    #expect(masked["unheard"] == .string("name-3"))
    #expect(
      masked["versionHashes"] == .object(["name-2": .string(String(repeating: "ab", count: 32))]))
    #expect(mask.tokens.sentences(besideFiles: false).count == 2)
  }

  @Test(arguments: [
    ("Notes.sqlite", "Notes.sqlite"), ("Notes.sqlite-wal", "Notes.sqlite-wal"),
    (".Notes_SUPPORT", ".Notes_SUPPORT"),
    (
      ".Notes_SUPPORT/_EXTERNAL_DATA/7D4E0A66-3B6E-4E1C-9B5B-1D0C2D2A0E11",
      ".Notes_SUPPORT/_EXTERNAL_DATA/7D4E0A66-3B6E-4E1C-9B5B-1D0C2D2A0E11"
    ),
    (".Notes_SUPPORT/_EXTERNAL_DATA/my letter", ".Notes_SUPPORT/_EXTERNAL_DATA/name-1"),
    (".Notes_SUPPORT/mine/../x", ".Notes_SUPPORT/name-1/name-2/name-3"),
    (
      ".Notes.sqlite.migrationdestination_mine-wal", ".Notes.sqlite.migrationdestination_name-1-wal"
    ),
    ("other", "name-1"),
  ])
  func members(_ name: String, _ expected: String) {
    var mask = RecordMask(storePath: "/a/b/Notes.sqlite")
    #expect(mask.member(name) == expected)
  }

  @Test func theStoreMayHaveANameOfTheUsers() {
    var mask = RecordMask(storePath: "/a/b/My letter.sqlite")
    #expect(mask.member("My letter.sqlite-wal") == "name-1-wal")
    #expect(mask.member(".My letter_SUPPORT") == ".name-1_SUPPORT")
    #expect(mask.storeFile() == "name-1")
  }

  /// A number as long as that of a telephone, or more words than a name has, is no name of a developer's.
  @Test(arguments: [
    "Chat_491701234567", "a491701239999", "a_1234567", "i_was_at_home_with_anna",
    String(repeating: "a", count: 65),
  ])
  func namesThatMayBeTheUsers(_ name: String) {
    #expect(!NameForm.isIdentifier(name))
    #expect(!NameForm.isKey("last." + name))
    #expect(!NameForm.isPlainFileName(name + ".sqlite"))
  }

  @Test(arguments: [
    "ZENTITY", "Z_2TAGS", "Z_PK", "ZCREATIONDATE1", "ATRANSACTION", "a_123456",
    "Z_DA_ZPAGE_Book_pagesCount_PARAMETER_UPDATE_INCREMENT",
    "Z_5LASTSERVERSYNCEDACTIVEPARTICIPANTS_Z_22LASTSERVERSYNCEDACTIVEPARTICIPANTS_INDEX",
  ])
  func namesOfCoreData(_ name: String) { #expect(NameForm.isIdentifier(name)) }

  @Test func aStoreNamedByATelephoneNumber() {
    var mask = RecordMask(storePath: "/a/b/+491711234567.sqlite")
    #expect(mask.storeFile() == "name-1")
    let key = JSONValue.object(["name": .string("last.user.anna_meyer.491711234567")])
    let masked = mask.masked(.object(["otherKeys": .array([key])]), "")
    #expect(
      masked == .object(["otherKeys": .array([.object(["name": .string("name-2")])])]))
  }

  @Test(arguments: [
    ("open", true), ("file.unread", true), ("sqlite.11", true), ("cocoa.134100", true),
    ("Ich war gestern bei Anna", false), ("anna", false), ("a.", false), (".a", false),
    ("a.b c", false), ("a.491701234567", false), ("A.b", false), ("", true),
    ("a." + String(repeating: "b", count: 47), false),
  ])
  func rulesOfVerdicts(_ rule: String, _ isUsual: Bool) {
    var mask = RecordMask(storePath: "/a/b/Notes.sqlite")
    let record = JSONValue.object(["verdict": .object(["rule": .string(rule)])])
    let shown = isUsual ? rule : "name-1"
    #expect(
      mask.masked(record, "") == .object(["verdict": .object(["rule": .string(shown)])]))
  }

  /// Core Data writes an empty version, which says nothing: its token would be taken for a version.
  @Test func anEmptyVersionHasNoToken() {
    var mask = RecordMask(storePath: "/a/b/Notes.sqlite")
    let record = JSONValue.object(["versionIdentifiers": .array([.string(""), .string("My own")])])
    #expect(
      mask.masked(record, "")
        == .object(["versionIdentifiers": .array([.string(""), .string("name-1")])]))
  }

  /// Such a file has no token if no record lists it, and its folder has the store's name without its extension.
  @Test func aFileThatCannotBeReadIsNotNamed() {
    func record(_ message: String) -> JSONValue {
      let part = JSONValue.object([
        "id": .string("store.filesUnread"), "message": .string(message),
      ])
      let other = JSONValue.object([
        "id": .string("table.checks"), "message": .string("CHECK of 1 table (ZNOTE)"),
      ])
      return .object(["notChecked": .array([part, other])])
    }
    var mask = RecordMask(storePath: "/a/b/My letter.sqlite")
    #expect(mask.storeFile() == "name-1")
    #expect(
      mask.masked(record(".My letter_SUPPORT/_EXTERNAL_DATA/mine cannot be read"), "")
        == record(RecordMask.leftOut))
  }

  @Test func formsOfNames() {
    #expect(NameForm.isIdentifier("Z_1Note$"))
    for text in ["", "1a", "a b", "é", "a-b", String(repeating: "a", count: 129)] {
      #expect(!NameForm.isIdentifier(text))
    }
    #expect(NameForm.isUUID("7D4E0A66-3B6E-4E1C-9B5B-1D0C2D2A0E11"))
    #expect(!NameForm.isUUID("7D4E0A66-3B6E-4E1C-9B5B-1D0C2D2A0E1G"))
    #expect(NameForm.isDigest(Data(repeating: 250, count: 64).base64EncodedString()))
    #expect(!NameForm.isDigest("my secret diary, today=="))
    #expect(NameForm.isVersionName("Notes 2") && NameForm.isVersionName("1.0.0"))
    #expect(!NameForm.isVersionName("my diary") && !NameForm.isVersionName("a b 2"))
  }
}
