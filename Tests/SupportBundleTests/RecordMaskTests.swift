import Foundation
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
    #expect(mask.tokens.sentences.count == 2)
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
