import StoreFiles
import Foundation
import SafeText
import Testing

@testable import StoreRecovery

/// Files whose names are bytes and no more: nothing about them is decided by characters.
@Suite struct NameBytesTests {
  static let inner = [
    "\u{301}picture", "\u{338}x", "new\nline", "\u{202E}gpj.exe", "\u{e9}", "e\u{301}", "a\u{301}",
    "_EXTERNAL_DATA/\u{301}deep", "sub\u{301}/\u{301}", "'; touch x", "\\", " ",
  ]
  static let stores = [
    "Done.sqlite", "\u{301}Done.sqlite", "Do\u{301}ne.\u{301}sqlite", "Done\u{301}.x.sqlite",
    "two\nlines.sqlite", "\u{202E}etilqs.enoD", "caf\u{e9}.sqlite", "cafe\u{301}.sqlite",
    "Done\u{301}",
  ]

  /// A store called `name` with all of the names in its support folder.
  private func makeStore(_ name: String, in bench: Workbench, also twin: String? = nil) throws {
    try bench.makeStore()
    for suffix in ["", "-wal", "-shm"] where name != "Done.sqlite" {
      #expect(Posix.rename(bench.store + suffix, bench.folder + "/" + name + suffix) == 0)
    }
    let support = bench.folder + "/" + StoreSet.supportName(for: name)
    if name != "Done.sqlite" {
      #expect(Posix.rename(bench.folder + "/.Done_SUPPORT", support) == 0)
    }
    for (index, inner) in Self.inner.enumerated() {
      let folder = PathText.folder(of: inner)
      if folder != "." { Posix.mkdir(support + "/" + folder, 0o700) }
      try write("content \(index)", support + "/" + inner)
    }
  }

  /// Without Foundation, which may have its own idea of a path.
  private func write(_ text: String, _ path: String) throws {
    try FileSystem.real.write(path, Array(text.utf8))
  }

  /// What the names hold, by bytes.
  private func content(_ store: String) throws -> [FileName: String] {
    let set = StoreSet(at: store)
    #expect(set.isComplete, "\(set.problem ?? "")")
    let files = try StoreSeal(sealing: set).files.filter { $0.role != .sharedMemory }
    let all = Dictionary(
      files.map { (FileName($0.name), $0.sha256 ?? "-") }, uniquingKeysWith: { _, _ in "twice" })
    #expect(all.count == files.count)
    return all
  }

  private func recovery(_ store: String) -> Recovery {
    Recovery(
      URL(fileURLWithPath: store), app: .init(name: "Done", version: "2.1"),
      policy: Workbench.policy(), structure: Workbench.mismatching, clock: { Workbench.now })
  }

  private func setAside(_ store: String) throws -> String {
    let calls = Counter()
    let opened = try recovery(store).openSynchronously(expecting: Workbench.model) { url in
      if calls.next() <= 2 { throw HostError() }
      try FileSystem.real.write(store, [])
    }
    return try #require(opened.incident?.id)
  }

  /// A folder that is a link to one whose name has the same letters and other bytes.
  @Test func aLinkToAFolderOfTheSameLetters() throws {
    let bench = try Workbench()
    let folder = bench.folder + "/e\u{301}"
    let link = bench.folder + "/\u{e9}"
    Posix.mkdir(folder, 0o700)
    guard Posix.symlink(folder, link) == 0 else {
      print("skipped: this volume takes both names for one")
      return
    }
    let path = try recovery(link + "/Done.sqlite").path()
    #expect(PathText.isSame(path, StoreSet.realFolder(folder) + "/Done.sqlite"))
  }

  @Test(arguments: stores)
  func moveVerifyRestorePrune(name: String) throws {
    let bench = try Workbench()
    try makeStore(name, in: bench)
    let store = bench.folder + "/" + name
    let before = try content(store)
    let id = try setAside(store)
    let kept = bench.incompatible + "/" + id + "/store/" + name
    #expect(try content(kept) == before)
    let fresh = StoreSet(at: store)
    #expect(fresh.members.map(\.role) == [.main])
    let incidents = Incidents(in: bench.folder, fileSystem: .real)
    #expect(try incidents.verify(id).finding == .intact)

    // What stands there now has the same names, and other bytes in one.
    let support = bench.folder + "/" + StoreSet.supportName(for: name)
    Posix.mkdir(support, 0o700)
    for inner in ["\u{301}picture", "\u{e9}"] { try write("newer", support + "/" + inner) }
    let restored = try incidents.restore(id)
    #expect(try content(store) == before)
    #expect(restored.replaced != nil)
    #expect(try incidents.verify(id).finding == .moved)

    // All of an incident with such names can be removed.
    let second = try setAside(store)
    let files = IncidentFiles(in: bench.incompatible + "/" + second, .real)
    #expect(!files.isCut && files.unexpected.isEmpty)
    try Removal(fileSystem: .real, incompatible: bench.incompatible).remove(second, files.files)
    #expect(try !incidents.list().contains { $0.id == second })
    #expect(try FileSystem.real.status(bench.incompatible + "/" + second) == nil)
  }

  /// Two stores whose names differ in composition only are two stores.
  @Test func namesThatOnlyLookAlike() throws {
    let bench = try Workbench()
    try makeStore("caf\u{e9}.sqlite", in: bench)
    let other = bench.folder + "/cafe\u{301}.sqlite"
    try write("another store", other)
    let id = try setAside(bench.folder + "/caf\u{e9}.sqlite")
    #expect(try StoreSeal.sha256(ofFile: other) == Digest.sha256(Array("another store".utf8)))
    let incidents = Incidents(in: bench.folder, fileSystem: .real)
    #expect(
      try incidents.restorable(with: Workbench.model, storeName: "cafe\u{301}.sqlite").isEmpty)
    #expect(try incidents.show(id).incident?.storeName.utf8.count == 12)
  }

  /// Folders of incidents whose names only look alike made a dictionary trap.
  @Test func incidentsThatOnlyLookAlike() throws {
    let bench = try Workbench()
    try makeStore("Done.sqlite", in: bench)
    let id = try setAside(bench.store)
    for suffix in ["-\u{e9}", "-e\u{301}"] {
      #expect(Posix.mkdir(bench.incompatible + "/" + id + suffix, 0o700) == 0)
    }
    let report = try Incidents(in: bench.folder, fileSystem: .real)
      .prune(Retention(maximumCount: 0), dryRun: false)
    #expect(report.kept.count == 3)
    #expect(report.kept.first { $0.id == id }?.why == .onlyCopy)
  }

  /// A name that is no text cannot be written down, so nothing is moved, and the error says which.
  @Test func namesThatAreNotUTF8() throws {
    let bench = try Workbench()
    try makeStore("Done.sqlite", in: bench)
    guard Posix.makeFile(Array((bench.folder + "/.Done_SUPPORT/a").utf8) + [0xff]) else {
      print("skipped: the volume takes only names in UTF-8")
      return
    }
    #expect(!StoreSet(at: bench.store).isComplete)
    let before = bench.names()
    let error = #expect(throws: StoreRecoveryError.self) {
      try recovery(bench.store).mover.check(bench.store, minimumFreeBytes: 0)
    }
    #expect(error?.code == .unmovable)
    #expect(
      error?.message.contains("(bytes 61 FF); rename that file") == true, "\(error?.message ?? "")")
    let seal = #expect(throws: StoreSealError.self) {
      try StoreSeal(sealing: StoreSet(at: bench.store))
    }
    #expect(seal?.message.contains("61 FF") == true)
    #expect(bench.names() == before)
  }

  /// A move that is undone with another program's file in the way keeps both, whatever the names.
  @Test func leftOversKeepTheirNames() throws {
    let bench = try Workbench()
    try makeStore("Done.sqlite", in: bench)
    let long = String(repeating: "x", count: 240)
    for name in ["a_b", "sub\u{301}/a_b", long] {
      try write("ours", bench.folder + "/.Done_SUPPORT/" + name)
    }
    let mover = recovery(bench.store).mover
    try mover.makeIncompatible(in: bench.folder)
    let (folder, record) = try mover.begin(bench.store, name: Workbench.stamp) { id, path in
      Incident(
        Judgement(
          evidence: FileEvidence.read(bench.store),
          verdict: Verdict(finding: .corrupt, action: .quarantine, reason: "", rule: .named(""))),
        app: .init(name: "Done", version: "1"), storeName: "Done.sqlite", id: id, folder: path,
        created: Workbench.now, kind: .setAside, texts: IncidentTexts())
    }
    _ = try mover.advance(folder, record)
    try mover.fileSystem.remove(folder.incident)
    for name in ["a_b", "sub\u{301}/a_b", long] {
      Posix.mkdir(bench.folder + "/.Done_SUPPORT", 0o700)
      Posix.mkdir(bench.folder + "/.Done_SUPPORT/sub\u{301}", 0o700)
      try write("theirs", bench.folder + "/.Done_SUPPORT/" + name)
    }
    #expect(try mover.undo(folder, record))
    let left = ["leftover", "leftover-2"].flatMap { bench.names(folder.path + "/" + $0) }
    #expect(left.sorted() == ["a_b", "a_b", long])
  }
}
