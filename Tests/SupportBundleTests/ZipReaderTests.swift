import Foundation
import Testing

@testable import SupportBundle

@Suite struct ZipReaderTests {
  // MARK: - Archives by others

  /// Each line makes an archive at `p` in another way; the entries are those of `contents`.
  static let recipes: [(name: String, script: String)] = [
    ("stored", "z = ZipFile(p, 'w'); [z.writestr(n, b) for n, b in contents]; z.close()"),
    (
      "deflated",
      "z = ZipFile(p, 'w', ZIP_DEFLATED); [z.writestr(n, b) for n, b in contents]; z.close()"
    ),
    (
      "comment",
      "z = ZipFile(p, 'w', ZIP_DEFLATED); [z.writestr(n, b) for n, b in contents]; "
        + "z.comment = b'PK\\x05\\x06 ' * 1000; z.close()"
    ),
    (
      "zip64",
      """
      zipfile.ZIP64_LIMIT = 10; zipfile.ZIP_FILECOUNT_LIMIT = 1
      z = ZipFile(p, 'w', ZIP_DEFLATED)
      for n, b in contents:
        with z.open(n, 'w', force_zip64=True) as f: f.write(b)
      z.close()
      """
    ),
    (
      "streamed",
      """
      class Pipe:
        def __init__(self): self.f = open(p, 'wb')
        def write(self, b): return self.f.write(b)
        def flush(self): pass
      f = Pipe(); z = ZipFile(f, 'w', ZIP_DEFLATED)
      for n, b in contents: z.writestr(n, b)
      z.close(); f.f.close()
      """
    ),
    (
      "folders",
      "z = ZipFile(p, 'w', ZIP_DEFLATED); z.writestr('store/', b''); z.writestr('other/', b''); "
        + "[z.writestr(n, b) for n, b in contents]; z.close()"
    ),
  ]

  @Test(arguments: 0..<6)
  func archivesMadeByPythonAreRead(_ index: Int) throws {
    guard let python = Tool("python3") else { return }
    let space = try Workspace()
    for entry in Sample.entries() {
      let path = space.path("in/" + entry.name)
      try FileManager.default.createDirectory(
        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try space.write(entry.bytes, to: "in/" + entry.name)
    }
    let recipe = Self.recipes[index]
    let script = """
      import os, sys, zipfile
      from zipfile import ZipFile, ZIP_DEFLATED
      p, folder = sys.argv[1], sys.argv[2]
      contents = [(n, open(os.path.join(folder, n), 'rb').read()) for n in sys.argv[3:]]

      """ + recipe.script
    let names = Sample.entries().map(\.name)
    let made = try python.run(
      ["-X", "utf8", "-c", script, space.path("a.zip"), space.path("in")] + names)
    #expect(made.status == 0, "\(recipe.name): \(made.output)")
    let reader = try ZipReader(path: space.path("a.zip"))
    #expect(reader.entries.filter { !$0.isFolder }.map(\.name) == names)
    #expect(reader.comment.isEmpty == (recipe.name != "comment"))
    for entry in Sample.entries() {
      let found = try #require(reader.entry(named: entry.name))
      #expect(try reader.bytes(of: found, limit: 10_000_000) == entry.bytes, "\(entry.name)")
    }
  }

  @Test func archivesMadeByInfoZipAreRead() throws {
    guard let zip = Tool("zip") else { return }
    let space = try Workspace()
    try space.write(Sample.text, to: "text")
    #expect(try zip.run(["-q", "-j", space.path("a.zip"), space.path("text")]).status == 0)
    let reader = try ZipReader(path: space.path("a.zip"))
    #expect(try reader.bytes(of: reader.entries[0], limit: 1_000_000) == Sample.text)
  }

  @Test func encryptedArchivesAreRefusedByName() throws {
    guard let zip = Tool("zip") else { return }
    let space = try Workspace()
    try space.write(Sample.text, to: "text")
    #expect(
      try zip.run(["-q", "-P", "secret", "-j", space.path("a.zip"), space.path("text")]).status == 0
    )
    let error = #expect(throws: BundleError.self) { try ZipReader(path: space.path("a.zip")) }
    #expect(error?.code == .encrypted)
    #expect(error?.entry == "text")
  }

  // MARK: - Hostile archives

  /// Makes an archive from parts, none of which need to agree.
  struct Forge {
    struct Entry {
      var name = Array("a".utf8)
      var localName: [UInt8]?
      var method: UInt16 = 0
      var flags: UInt16 = 0
      var data: [UInt8] = Array("hello".utf8)
      var size: UInt32 = 5
      var compressedSize: UInt32 = 5
      var crc: UInt32 = 0x3610_a686
      var offset: UInt32?
      var extra: [UInt8] = []
    }

    static func local(_ entry: Entry) -> [UInt8] {
      var out = ZipBytes()
      out.u32(ZipFormat.localSignature)
      out.u16(20)
      out.u16(entry.flags)
      out.u16(entry.method)
      out.u32(0)
      out.u32(entry.crc)
      out.u32(entry.compressedSize)
      out.u32(entry.size)
      out.u16(UInt16((entry.localName ?? entry.name).count))
      out.u16(0)
      return out.bytes + (entry.localName ?? entry.name) + entry.data
    }

    static func archive(_ entries: [Entry], comment: [UInt8] = []) -> [UInt8] {
      var body: [UInt8] = []
      var directory = ZipBytes()
      for entry in entries {
        let offset = entry.offset ?? UInt32(body.count)
        if entry.offset == nil { body += local(entry) }
        directory.u32(ZipFormat.centralSignature)
        directory.u16(20)
        directory.u16(20)
        directory.u16(entry.flags)
        directory.u16(entry.method)
        directory.u32(0)
        directory.u32(entry.crc)
        directory.u32(entry.compressedSize)
        directory.u32(entry.size)
        directory.u16(UInt16(entry.name.count))
        directory.u16(UInt16(entry.extra.count))
        directory.u16(0)
        directory.u16(0)
        directory.u16(0)
        directory.u32(0)
        directory.u32(offset)
        directory.bytes += entry.name + entry.extra
      }
      let end = ZipEnd(
        entryCount: UInt64(entries.count), directoryOffset: UInt64(body.count),
        directorySize: UInt64(directory.bytes.count))
      return body + directory.bytes
        + end.endBytes(commentSize: comment.count, threshold: Zip64Threshold()) + comment
    }
  }

  private func open(_ bytes: [UInt8], limits: ZipLimits = ZipLimits()) throws -> ZipReader {
    let space = try Workspace()
    return try ZipReader(path: try space.write(bytes, to: "a.zip"), limits: limits)
  }

  @Test func theForgeMakesValidArchives() throws {
    let reader = try open(Forge.archive([.init(), .init(name: Array("b".utf8))]))
    #expect(try reader.bytes(of: reader.entries[1], limit: 5) == Array("hello".utf8))
  }

  @Test(
    arguments: [
      "../../etc/passwd", "/etc/passwd", "a/../../b", "..", "a\\..\\b", "C:evil", "a\0.txt", "",
      "./a",
      "a//b", "\n", String(repeating: "n", count: 1025), "../\u{301}x", "a/../\u{301}x",
      "/\u{301}x", "a/..", "a/./\u{338}b",
    ])
  func zipSlipNamesAreRefused(_ name: String) throws {
    let error = #expect(throws: BundleError.self) {
      try open(Forge.archive([.init(name: Array(name.utf8))]))
    }
    #expect(error?.code == .badName)
    #expect(error?.description.contains("\n") == false)
  }

  @Test func namesThatAreNotUTF8OrThereTwiceAreRefused() throws {
    let bad = #expect(throws: BundleError.self) {
      try open(Forge.archive([.init(name: [0x61, 0xFF])]))
    }
    #expect(bad?.code == .badName)
    for pair in [
      ["a", "a"], ["a", "A"], ["a/b", "a"], ["a/", "a"], ["a", "a/b"], ["a", "a/"], ["a/", "a/"],
      ["\u{E9}", "e\u{301}"], ["\u{E9}/x", "E\u{301}/X"], ["k", "\u{212A}"],
    ] {
      let entries = pair.map {
        Forge.Entry(
          name: Array($0.utf8), data: $0.hasSuffix("/") ? [] : Array("hello".utf8),
          size: $0.hasSuffix("/") ? 0 : 5, compressedSize: $0.hasSuffix("/") ? 0 : 5,
          crc: $0.hasSuffix("/") ? 0 : 0x3610_a686)
      }
      let error = #expect(throws: BundleError.self) { try open(Forge.archive(entries)) }
      #expect(error?.code == .duplicateName, "\(pair)")
    }
  }

  struct Fault: Sendable, CustomTestStringConvertible {
    var name: String
    var code: BundleError.Code
    var change: @Sendable (inout Forge.Entry) -> Void
    var testDescription: String { name }
  }

  static let faults: [Fault] = [
    .init(name: "encrypted", code: .encrypted) { $0.flags = 1 },
    .init(name: "strongly encrypted", code: .encrypted) { $0.flags = 1 << 6 },
    .init(name: "masked headers", code: .encrypted) { $0.flags = 1 << 13 },
    .init(name: "patch", code: .unsupported) { $0.flags = 1 << 5 },
    .init(name: "bzip2", code: .unsupported) { $0.method = 12 },
    .init(name: "bomb by ratio", code: .impossibleRatio) {
      $0.method = 8
      $0.size = 4_000_000_000
    },
    .init(name: "stored with two sizes", code: .sizeMismatch) { $0.size = 6 },
    .init(name: "other local name", code: .headerMismatch) { $0.localName = [0x62] },
    .init(name: "header beyond the end", code: .overlap) { $0.offset = 1_000_000 },
    .init(name: "header within the directory", code: .overlap) { $0.offset = 1 },
    .init(name: "data beyond the directory", code: .overlap) {
      $0.size = 500
      $0.compressedSize = 500
    },
    .init(name: "folder with bytes", code: .badDirectory) { $0.name = Array("a/".utf8) },
    .init(name: "Zip64 value missing", code: .badDirectory) { $0.size = .max },
    .init(name: "Zip64 field too long", code: .badDirectory) {
      $0.extra = [1, 0, 100, 0, 1, 2, 3, 4]
    },
    .init(name: "two Zip64 fields", code: .badDirectory) { $0.extra = [1, 0, 0, 0, 1, 0, 0, 0] },
    .init(name: "Zip64 offset beyond everything", code: .overlap) {
      $0.offset = .max
      $0.extra = [1, 0, 8, 0] + [UInt8](repeating: 0xFF, count: 8)
    },
    .init(name: "Zip64 size beyond everything", code: .tooLarge) {
      $0.size = .max
      $0.compressedSize = .max
      $0.extra = [1, 0, 16, 0] + [UInt8](repeating: 0xFF, count: 16)
    },
  ]

  @Test(arguments: faults)
  func announcedNonsenseIsRefused(_ fault: Fault) throws {
    var entry = Forge.Entry()
    fault.change(&entry)
    let error = #expect(throws: BundleError.self) { try open(Forge.archive([entry])) }
    #expect(error?.code == fault.code)
    #expect(error?.offset != nil)
    #expect(error?.path != nil)
  }

  @Test func overlappingEntriesAreRefused() throws {
    // Two names for one body: the simplest quine-like bomb.
    let shared = #expect(throws: BundleError.self) {
      try open(Forge.archive([.init(), .init(offset: 0)]))
    }
    #expect(shared?.code == .duplicateName)
    // A local header within the data of another entry.
    let inner = Forge.Entry(name: Array("inner".utf8))
    let innerBytes = Forge.local(inner)
    let outer = Forge.Entry(
      name: Array("outer".utf8), data: innerBytes, size: UInt32(innerBytes.count),
      compressedSize: UInt32(innerBytes.count), crc: 0)
    var nested = inner
    nested.offset = UInt32(ZipFormat.localSize + 5)
    let error = #expect(throws: BundleError.self) { try open(Forge.archive([outer, nested])) }
    #expect(error?.code == .overlap)
    #expect(error?.entry == "inner")
  }

  @Test func limitsOfTheCallerHold() throws {
    let entries = (0..<10).map { Forge.Entry(name: Array("\($0)".utf8)) }
    let bytes = Forge.archive(entries)
    #expect(try open(bytes, limits: ZipLimits(entryCount: 10, totalBytes: 50)).entries.count == 10)
    for limits in [
      ZipLimits(entryCount: 9), ZipLimits(directoryBytes: 100), ZipLimits(entryBytes: 4),
      ZipLimits(totalBytes: 49),
    ] {
      let error = #expect(throws: BundleError.self) { try open(bytes, limits: limits) }
      #expect(error?.code == .tooLarge)
    }
    let reader = try open(bytes)
    let error = #expect(throws: BundleError.self) {
      try reader.bytes(of: reader.entries[0], limit: 4)
    }
    #expect(error?.code == .tooLarge)
  }

  @Test(arguments: [
    (-1, BundleError.Code.sizeMismatch), (1, .sizeMismatch), (-5_000_000, .sizeMismatch),
  ])
  func inflatingStopsAtTheAnnouncedSize(_ difference: Int, _ code: BundleError.Code) throws {
    let space = try Workspace()
    let size = 10_000_000
    let writer = try ZipWriter(path: space.path("zeros.zip"))
    let made = try writer.add(name: "a", bytes: [UInt8](repeating: 0, count: size))
    _ = try writer.finish()
    let data = try space.read("zeros.zip")[31..<31 + Int(made.compressedSize)]
    let entry = Forge.Entry(
      method: 8, data: Array(data), size: UInt32(size + difference),
      compressedSize: UInt32(data.count), crc: made.crc32)
    let reader = try open(Forge.archive([entry]))
    var received = 0
    let error = #expect(throws: BundleError.self) {
      try reader.read(reader.entries[0]) { received += $0.count }
    }
    #expect(error?.code == code)
    #expect(received <= size + difference)
  }

  @Test func damagedDataIsFound() throws {
    // RFC 1951: block type 3 is reserved; an empty stream has no end mark; bytes after the end mark.
    let cases: [([UInt8], BundleError.Code)] = [
      ([0x07, 0, 0, 0, 0], .badData), ([0, 0, 0, 0, 0], .badData),
      ([0x03, 0, 1, 2, 3], .sizeMismatch),
    ]
    for (data, code) in cases {
      let reader = try open(Forge.archive([.init(method: 8, data: data)]))
      let error = #expect(throws: BundleError.self) {
        try reader.bytes(of: reader.entries[0], limit: 5)
      }
      #expect(error?.code == code)
    }
    let trailing = Forge.Entry(method: 8, data: [3, 0, 1, 2, 3], size: 0, crc: 0)
    let reader = try open(Forge.archive([trailing]))
    let error = #expect(throws: BundleError.self) {
      try reader.bytes(of: reader.entries[0], limit: 5)
    }
    #expect(error?.code == .badData)
    let wrongSum = try open(Forge.archive([.init(crc: 1)]))
    let sum = #expect(throws: BundleError.self) {
      try wrongSum.bytes(of: wrongSum.entries[0], limit: 5)
    }
    #expect(sum?.code == .checksumMismatch)
  }

  @Test func twoEndRecordsAreAmbiguous() throws {
    let inner = ZipEnd(entryCount: 0, directoryOffset: 0, directorySize: 0)
      .endBytes(commentSize: 0, threshold: Zip64Threshold())
    let error = #expect(throws: BundleError.self) {
      try open(Forge.archive([.init()], comment: inner))
    }
    #expect(error?.code == .badDirectory)
  }

  @Test(arguments: [
    [], [0x50], Array("SQLite format 3\0".utf8), [UInt8](repeating: 0, count: 70_000),
  ])
  func otherFilesAreNotZips(_ bytes: [UInt8]) throws {
    let error = #expect(throws: BundleError.self) { try open(bytes) }
    #expect(error?.code == .notAZip)
  }

  @Test(arguments: [Zip64Threshold(), Zip64Threshold(bytes: 0, entries: 0)])
  func everyTruncationIsAClearError(_ threshold: Zip64Threshold) throws {
    let space = try Workspace()
    let writer = try ZipWriter(
      path: space.path("a.zip"), threshold: threshold, calls: OutputCalls())
    try writer.add(name: "text", bytes: Sample.text)
    try writer.add(name: "few", bytes: [1, 2, 3])
    _ = try writer.finish { _ in "comment" }
    let bytes = try space.read("a.zip")
    for length in 0..<bytes.count {
      let path = try space.write(Array(bytes[..<length]), to: "cut.zip")
      let error = #expect(throws: BundleError.self, "length \(length)") {
        try ZipReader(path: path)
      }
      #expect(error?.code == .notAZip || error?.code == .truncated)
    }
  }

  /// Nothing may crash, hang or give more bytes than announced, whatever is written over the archive.
  @Test(arguments: [UInt64(1), 2, 3, 4])
  func randomDamageNeverCrashes(_ seed: UInt64) throws {
    let space = try Workspace()
    let threshold = seed.isMultiple(of: 2) ? Zip64Threshold() : Zip64Threshold(bytes: 0, entries: 0)
    let writer = try ZipWriter(
      path: space.path("a.zip"), threshold: threshold, calls: OutputCalls())
    try writer.add(name: "text", bytes: Sample.text)
    try writer.add(name: "few", bytes: [1, 2, 3])
    try writer.add(name: "zeros", bytes: [UInt8](repeating: 0, count: 300_000))
    _ = try writer.finish()
    let bytes = try space.read("a.zip")
    var random = SeededGenerator(state: seed)
    for round in 0..<500 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<damaged.count, using: &random)
        let edge: [UInt8] = [0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &random)]
        let value = edge[Int.random(in: 0..<edge.count, using: &random)]
        for index in place..<min(place + Int.random(in: 1...8, using: &random), damaged.count) {
          damaged[index] = value
        }
      }
      let path = try space.write(damaged, to: "b.zip")
      do {
        let reader = try ZipReader(path: path)
        for entry in reader.entries {
          var received: UInt64 = 0
          _ = try? reader.read(entry) { received += UInt64($0.count) }
          #expect(received <= entry.size, "seed \(seed), round \(round)")
        }
      } catch {
        #expect(!error.description.isEmpty)
      }
    }
  }
}
