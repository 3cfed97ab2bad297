import Fixtures
import Foundation
import Testing

@testable import SupportBundle

/// Archives of Python's `tarfile`, and what is wrong in archives that were made to do harm.
@Suite struct TarTests {
  /// What Python packs before each script: a store below two folders, with its log, and files that are no stores.
  private static let head = """
    import io, sys, tarfile
    def add(name, data=b"", **more):
        info = tarfile.TarInfo(name)
        info.size = len(data)
        for key, value in more.items(): setattr(info, key, value)
        archive.addfile(info, io.BytesIO(data))
    store = b"SQLite format 3\\0" + bytes(range(256)) * 40

    """

  /// The files that are unpacked of an archive that Python makes, by name; `mode` and `form` as in `tarfile`.
  private func unpack(
    _ script: String, mode: String = "w", form: String = "PAX_FORMAT",
    change: (inout Data) -> Void = { _ in }
  ) throws -> [String: Data] {
    let python = try #require(findTool("python3"))
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("a.tar")
    let text =
      Self.head + "archive = tarfile.open(sys.argv[1], '\(mode)', format=tarfile.\(form))\n"
      + script
      + "\narchive.close()"
    let outcome = try run(python, ["-X", "utf8", "-c", text, url.path])
    #expect(outcome.status == 0, "\(String(decoding: outcome.stderr, as: UTF8.self))")
    var bytes = try Data(contentsOf: url)
    change(&bytes)
    try bytes.write(to: url)
    #expect(UnpackedArchive.mayHoldStore(url.path))
    let archive = try UnpackedArchive(BundleFile(url.path))
    return try withExtendedLifetime(archive) {
      var files: [String: Data] = [:]
      let all = FileManager.default.enumerator(at: archive.folder, includingPropertiesForKeys: nil)
      for case let file as URL in all ?? .init() where !file.hasDirectoryPath {
        files[String(file.path.dropFirst(archive.folder.path.utf8.count + 1))] = try Data(
          contentsOf: file)
      }
      return files
    }
  }

  private static let store =
    Data("SQLite format 3\0".utf8) + Data((0..<40).flatMap { _ in UInt8(0)...255 })

  /// A name of 180 bytes takes an extended header, or is parted at a slash.
  private static let long =
    "Documents/" + String(repeating: "folder/", count: 20) + "Notes of the crew.sqlite"

  @Test(
    arguments: ["USTAR_FORMAT", "GNU_FORMAT", "PAX_FORMAT"], ["w", "w:gz"])
  func everyForm(form: String, mode: String) throws {
    let files = try unpack(
      """
      add("./", type=tarfile.DIRTYPE)
      add("./Documents", type=tarfile.DIRTYPE)
      add("./Documents", type=tarfile.DIRTYPE)
      add("Documents/readme.txt", b"x" * 700)
      add("\(Self.long)", store)
      add("\(Self.long)-wal", b"w" * 5)
      add("other/blob", store)
      add("pipe", type=tarfile.FIFOTYPE)
      """, mode: mode, form: form)
    #expect(
      files == [
        Self.long: Self.store, Self.long + "-wal": Data("wwwww".utf8), "other/blob": Self.store,
      ])
  }

  /// A header of pax may stand before one of GNU; its size is that of the file (POSIX.1-2017, pax).
  @Test func aSizeIsThatOfTheFileAndNotOfAHeaderBeforeIt() throws {
    let files = try unpack(
      """
      kind = tarfile.TarInfo
      for block in (
          kind._create_pax_generic_header({"size": str(len(store))}, tarfile.XHDTYPE, "utf-8"),
          kind._create_gnu_long_header("\(Self.long)", tarfile.GNUTYPE_LONGNAME, "utf-8", "strict")):
          archive.fileobj.write(block)
          archive.offset += len(block)
      add("short", store)
      """)
    #expect(files == [Self.long: Self.store])
  }

  /// Writes the header at an offset without its magic number.
  private static func removeMagic(_ bytes: inout Data, at offset: Int) {
    bytes.replaceSubrange((offset + 257)..<(offset + 265), with: Data(count: 8))
    let place = offset + 148
    bytes.replaceSubrange(place..<(place + 8), with: Data(repeating: 0x20, count: 8))
    let sum = bytes[offset..<(offset + 512)].reduce(0) { $0 + Int($1) }
    let digits = Data(String(sum, radix: 8).utf8)
    bytes.replaceSubrange(place..<(place + digits.count), with: digits)
  }

  /// An incremental archive lists the files of its folders, and the header of a label has no magic number.
  @Test func foldersAndLabelsOfGNU() throws {
    let files = try unpack(
      """
      add("Documents", type=b"V")
      add("Documents/", b"YNotes.sqlite\\0\\0", type=b"D")
      add("Documents/Notes.sqlite", store)
      """, form: "GNU_FORMAT"
    ) { Self.removeMagic(&$0, at: 0) }
    #expect(files == ["Documents/Notes.sqlite": Self.store])
  }

  /// Before POSIX, headers have no magic number, and a folder is a file whose name ends with a slash.
  @Test func archivesOfBeforePOSIX() throws {
    let files = try unpack(
      """
      add("Documents/", type=b"\\0")
      add("Documents/Notes.sqlite", store)
      """, form: "GNU_FORMAT"
    ) { bytes in
      for offset in [0, 512] { Self.removeMagic(&bytes, at: offset) }
    }
    #expect(files == ["Documents/Notes.sqlite": Self.store])
  }

  @Test func namesBeyondASCII() throws {
    let files = try unpack("add('Büro/東京.sqlite', store)")
    #expect(files == ["Büro/東京.sqlite": Self.store])
  }

  /// The error of an archive that is refused.
  private func refusal(
    _ script: String, mode: String = "w", change: (inout Data) -> Void = { _ in }
  ) throws -> BundleError.Code? {
    do {
      let files = try unpack(script, mode: mode, change: change)
      Issue.record("unpacked: \(files.keys)")
      return nil
    } catch let error as BundleError { return error.code }
  }

  /// Python makes these archives in one run.
  @Test func harmfulNames() throws {
    let cases: [(script: String, code: BundleError.Code)] = [
      ("add('../a.sqlite', store)", .badName),
      ("add('/a.sqlite', store)", .badName),
      ("add('a/../../b.sqlite', store)", .badName),
      ("add('a.sqlite', store); add('a.sqlite', store)", .duplicateName),
      ("add('a.sqlite', store); add('a.sqlite/b.sqlite', store)", .duplicateName),
      ("add('a.sqlite', type=tarfile.SYMTYPE, linkname='/etc/passwd')", .unsupported),
      (
        "add('b.sqlite', store); add('a.sqlite', type=tarfile.LNKTYPE, linkname='b.sqlite')",
        .unsupported
      ),
      ("add('a.sqlite', store, pax_headers={'path': '../x.sqlite'})", .badName),
      ("add('a.sqlite', store, pax_headers={'size': '99999999999'})", .truncated),
      ("add('a.sqlite', store, pax_headers={'size': '99999999999999999999999'})", .badDirectory),
      ("add('a.sqlite', store, pax_headers={'GNU.sparse.major': '1'})", .unsupported),
    ]
    let python = try #require(findTool("python3"))
    let place = try TemporaryFolder()
    let paths = cases.indices.map { place.url.appendingPathComponent("\($0).tar").path }
    var text = Self.head
    for (path, (script, _)) in zip(paths, cases) {
      text += "archive = tarfile.open('\(path)', 'w', format=tarfile.PAX_FORMAT)\n"
      text += script + "\narchive.close()\n"
    }
    let outcome = try run(python, ["-X", "utf8", "-c", text])
    #expect(outcome.status == 0, "\(String(decoding: outcome.stderr, as: UTF8.self))")
    for (path, (script, code)) in zip(paths, cases) {
      #expect(UnpackedArchive.mayHoldStore(path), "\(script)")
      let error = #expect(throws: BundleError.self, "\(script)") {
        try UnpackedArchive(BundleFile(path))
      }
      #expect(error?.code == code, "\(script)")
    }
  }

  @Test func damagedArchives() throws {
    let script = "add('a.sqlite', store); add('b.sqlite', store)"
    #expect(try refusal(script) { $0.removeLast($0.count - 3000) } == .truncated)
    // The second header: the store is 10,256 bytes, so its blocks end at 512 + 10,752.
    #expect(try refusal(script) { $0[512 + 10_752 + 3] ^= 1 } == .badDirectory)
    #expect(try refusal(script, mode: "w:gz") { $0.removeLast(20) } == .truncated)
    #expect(try refusal(script, mode: "w:gz") { $0[$0.count - 6] ^= 1 } == .badData)
    #expect(
      try refusal("add('a.sqlite', b'SQLite format 3\\0' + bytes(80 << 20))", mode: "w:gz")
        == .tooLarge)
  }

  /// Any change of an archive ends in files or in an error.
  @Test func randomChanges() throws {
    var generator = SplitMix64(seed: 9)
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("a.tar")
    let python = try #require(findTool("python3"))
    let text =
      Self.head
      + "archive = tarfile.open(sys.argv[1], 'w')\nadd('\(Self.long)', store)\nadd('b.sqlite', store)\narchive.close()"
    _ = try run(python, ["-c", text, url.path])
    let whole = try Data(contentsOf: url)
    for _ in 0..<300 {
      var bytes = whole
      for _ in 0..<3 {
        bytes[Int(generator.next() % 2048)] = UInt8(truncatingIfNeeded: generator.next())
      }
      try bytes.write(to: url)
      _ = try? UnpackedArchive(BundleFile(url.path))
    }
  }

  @Test func aStoreThatWasCompressedAlone() throws {
    let place = try TemporaryFolder()
    let gzip = try #require(findTool("gzip"))
    let url = place.url.appendingPathComponent("Notes.sqlite")
    try Self.store.write(to: url)
    #expect(try run(gzip, [url.path]).status == 0)
    let archive = try UnpackedArchive(BundleFile(url.path + ".gz"))
    let bytes = try withExtendedLifetime(archive) {
      try Data(contentsOf: archive.folder.appendingPathComponent("Notes.sqlite"))
    }
    #expect(bytes == Self.store)
    let text = place.url.appendingPathComponent("readme.txt")
    try Data("a text".utf8).write(to: text)
    #expect(try run(gzip, [text.path]).status == 0)
    let error = #expect(throws: BundleError.self) {
      try UnpackedArchive(BundleFile(text.path + ".gz"))
    }
    #expect(error?.code == .notAZip)
  }
}
