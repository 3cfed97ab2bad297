import Foundation
import Testing

@testable import SupportBundle

/// What is unpacked of an archive to look for models, and that it goes again.
@Suite struct UnpackedArchiveTests {
  @Test(arguments: [
    ("Payload/A.app/M.momd/M.mom", true), ("Payload/A.app/M.momd/VersionInfo.plist", true),
    ("M.xcdatamodeld/M 2.xcdatamodel/contents", true), ("M.xcdatamodeld/.xccurrentversion", true),
    ("M.xcdatamodel/elements", true), ("M.xcdatamodel/layout", false), ("M.omo", true),
    ("store/Notes", true), ("store/Notes-wal", true), ("Documents/Notes.sqlite", true),
    ("Documents/Notes.sqlite-wal", true), ("Documents/Notes.sqlite-shm", false),
    ("hashes.json", true), ("other/hashes.json", false), ("Payload/A.app/A", false),
    ("contents", false), ("Info.plist", false),
  ])
  func whatIsWanted(_ name: String, _ isWanted: Bool) {
    #expect(UnpackedArchive.isWanted(name) == isWanted)
  }
}
