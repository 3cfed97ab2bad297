import SafeText
import Testing

/// A combining mark behind a slash, a dot or a quote makes one `Character` of both, which is neither.
@Suite struct PathTextTests {
  @Test(
    arguments: [
      ("a", ["a"]), ("", [""]), ("/a//b", ["", "a", "", "b"]), ("a/", ["a", ""]),
      ("../\u{301}x", ["..", "\u{301}x"]), ("a/\u{20D2}../b", ["a", "\u{20D2}..", "b"]),
    ])
  func components(_ path: String, _ expected: [String]) {
    let found = PathText.components(of: path)
    #expect(found.map { Array($0.utf8) } == expected.map { Array($0.utf8) })
  }

  @Test(
    arguments: [
      ("x", ".", "x"), ("/x", "/", "x"), ("a/b", "a", "b"), ("a/", "a", ""),
      ("/a/b/\u{301}c", "/a/b", "\u{301}c"),
    ])
  func folderAndName(_ path: String, _ folder: String, _ name: String) {
    #expect(PathText.isSame(PathText.folder(of: path), folder))
    #expect(PathText.isSame(PathText.lastComponent(of: path), name))
  }

  @Test(
    arguments: [
      ("a.b", "b", "a"), (".a", "", ".a"), ("a", "", "a"), ("a.b.c", "c", "a.b"),
      ("a.\u{301}c", "\u{301}c", "a"),
    ])
  func endings(_ name: String, _ ending: String, _ stem: String) {
    #expect(PathText.isSame(PathText.ending(of: name), ending))
    #expect(PathText.isSame(PathText.stem(of: name), stem))
  }

  @Test func namesAreTheSameByTheirBytesOnly() {
    #expect("e\u{301}" == "\u{E9}")
    #expect(!PathText.isSame("e\u{301}", "\u{E9}"))
    #expect(PathText.starts("a/\u{301}b", with: "a/"))
    #expect(PathText.ends("x-wal", with: "-wal"))
    #expect(!PathText.ends("wal", with: "-wal"))
    #expect(PathText.dropping(suffix: "-wal", from: "x-wal") == "x")
    #expect(PathText.dropping(suffix: "-wal", from: "x") == nil)
    #expect(
      PathText.dropping(prefix: "a/", from: "a/\u{301}b").map { Array($0.utf8) }
        == Array("\u{301}b".utf8))
  }

  @Test(arguments: [
    ("/a/b", "/a", true), ("/ab", "/a", false), ("/a", "/a", true), ("/a/", "/a/", true),
    ("/x", "/", true), ("/a/\u{301}b", "/a", true),
  ])
  func inside(_ path: String, _ folder: String, _ expected: Bool) {
    #expect(PathText.isInside(path, folder) == expected)
  }

  @Test func plainNames() {
    for name in ["", ".", "..", "a/b", "a/\u{301}b", "a\u{0}", "/"] {
      #expect(!PathText.isPlainName(name), "\(name.debugDescription)")
    }
    for name in ["a", "\u{301}", "...", ".a", "a b"] { #expect(PathText.isPlainName(name)) }
  }

  @Test func slashesAtTheEnd() {
    #expect(PathText.withoutTrailingSlashes("a//") == "a")
    #expect(PathText.withoutTrailingSlashes("/") == "/")
    #expect(PathText.joined("a/", "b") == "a/b")
    #expect(PathText.joined("a", "b") == "a/b")
  }
}
