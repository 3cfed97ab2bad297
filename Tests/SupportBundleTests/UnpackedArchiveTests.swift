import Foundation
import StoreExtraction
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
    ("contents", false), ("Info.plist", false), ("store", false),
    ("M.xcdatamodel/\u{301}/contents", true), ("a/\u{301}.sqlite", true),
    ("store/\u{301}x", true),
  ])
  func whatIsWanted(_ name: String, _ isWanted: Bool) {
    #expect(UnpackedArchive.isWanted(name) == isWanted)
  }

  /// An archive by python3, unpacked; the paths that were made.
  private func unpack(_ script: String) throws -> (made: [String], error: BundleError?)? {
    guard let python = Tool("python3") else { return nil }
    let space = try Workspace()
    let path = space.path("a.zip")
    let head =
      "import os, sys\nfrom zipfile import ZipFile, ZIP_DEFLATED\nz = ZipFile(sys.argv[1], 'w', ZIP_DEFLATED)\n"
    let made = try python.run(["-X", "utf8", "-c", head + script + "\nz.close()", path])
    #expect(made.status == 0, "\(made.output)")
    var heard: [String] = []
    do {
      let archive = try UnpackedArchive(BundleFile(path)) { path, make in
        if make() { heard.append(path) }
      }
      let found = heard.filter { FileManager.default.fileExists(atPath: $0) }
      #expect(found.count == heard.count)
      try withExtendedLifetime(archive) {
        for file in heard {
          let attributes = try FileManager.default.attributesOfItem(atPath: file)
          let mode = attributes[.posixPermissions] as? Int
          #expect(
            mode == (attributes[.type] as? FileAttributeType == .typeDirectory ? 0o700 : 0o600))
        }
      }
    } catch let error as BundleError {
      #expect(heard.allSatisfy { !FileManager.default.fileExists(atPath: $0) })
      return (heard, error)
    }
    #expect(heard.allSatisfy { !FileManager.default.fileExists(atPath: $0) })
    return (heard, nil)
  }

  @Test func thePartsGoAgain() throws {
    guard
      let result = try unpack(
        "z.writestr('A.app/M.momd/M.mom', b'1'); z.writestr('A.app/M.momd/N.mom', b'2'); z.writestr('x.txt', b'')"
      )
    else { return }
    #expect(result.error == nil)
    #expect(result.made.count == 5)
  }

  @Test(arguments: [
    "z.writestr('hashes.json', b' ' * ((4 << 20) + 1))",
    "z.writestr('M.momd/VersionInfo.plist', b' ' * ((4 << 20) + 1)); z.writestr('a.db', os.urandom(1 << 20))",
    "z.writestr('M.mom', b' ' * ((16 << 20) + 1)); z.writestr('a.db', os.urandom(2 << 20))",
    "z.writestr('a.db', b' ' * (2 << 20))",
    "[z.writestr('%d.db' % n, b' ' * (1 << 20)) for n in range(8)]",
  ])
  func whatIsAnnouncedIsBounded(_ script: String) throws {
    guard let result = try unpack(script) else { return }
    #expect(result.error?.code == .tooLarge)
    #expect(result.error?.hint != nil)
    #expect(result.made.isEmpty)
  }

  /// What is unpacked only to look into it counts, too: all of it together, also what turns out to be nothing.
  @Test func innerArchivesAreBoundedInAll() throws {
    guard let python = Tool("python3") else { return }
    let space = try Workspace()
    let path = space.path("a.zip")
    let script = """
      import gzip, sys, zipfile
      with zipfile.ZipFile(sys.argv[1], 'w') as archive:
        for number in range(4):
          archive.writestr('%d.gz' % number, gzip.compress(b' ' * 400_000))
      """
    #expect(try python.run(["-c", script, path]).status == 0)
    let archive = try UnpackedArchive(BundleFile(path))
    #expect(archive.passedOver.map(\.path) == ["2.gz", "3.gz"])
    #expect(archive.passedOver.allSatisfy { $0.code == "bundle.tooLarge" })
  }

  @Test func aStoreWithManyFreePagesIsUnpacked() throws {
    guard
      let result = try unpack("z.writestr('a.db', os.urandom(1 << 18) + b' ' * (3 << 20))")
    else { return }
    #expect(result.error == nil)
  }
}
