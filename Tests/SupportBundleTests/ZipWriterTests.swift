import Crypto
import Foundation
import SafeFiles
import StoreExtraction
import Testing

@testable import SupportBundle

@Suite struct ZipWriterTests {
  private func archive(
    _ path: String, threshold: Zip64Threshold = Zip64Threshold()
  ) throws -> ZipWriter.Receipt {
    let writer = try ZipWriter(path: path, threshold: threshold, calls: OutputCalls())
    for entry in Sample.entries() { try writer.add(name: entry.name, bytes: entry.bytes) }
    return try writer.finish { _ in "a comment" }
  }

  /// As it is used, with Zip64 everywhere, and with Zip64 from 100,000 bytes or 3 entries on.
  static let thresholds = [
    Zip64Threshold(), Zip64Threshold(bytes: 0, entries: 0),
    Zip64Threshold(bytes: 100_000, entries: 3),
  ]

  @Test(arguments: 0..<3)
  func infoZipFindsNoFault(_ variant: Int) throws {
    guard let unzip = Tool("unzip") else { return }
    let space = try Workspace()
    let path = space.path("a.zip")
    _ = try archive(path, threshold: Self.thresholds[variant])
    let test = try unzip.run(["-t", path])
    #expect(test.status == 0, "\(test.output)")
    #expect(test.output.contains("No errors detected"))
    let out = space.path("out")
    #expect(try unzip.run(["-q", path, "-d", out]).status == 0)
    for entry in Sample.entries() {
      #expect(try space.read("out/\(entry.name)") == entry.bytes, "\(entry.name)")
    }
  }

  @Test(arguments: 0..<3)
  func pythonReadsTheSameBytes(_ variant: Int) throws {
    guard let python = Tool("python3") else { return }
    let space = try Workspace()
    let path = space.path("a.zip")
    let receipt = try archive(path, threshold: Self.thresholds[variant])
    for (name, arguments) in [("7z", ["t", path]), ("bsdtar", ["-tf", path])] {
      guard let tool = Tool(name) else { continue }
      let outcome = try tool.run(arguments)
      #expect(outcome.status == 0, "\(name): \(outcome.output)")
    }
    let script = """
      import hashlib, sys, zipfile
      z = zipfile.ZipFile(sys.argv[1])
      assert z.testzip() is None
      assert z.comment == b"a comment"
      for i in z.infolist():
          assert i.date_time == (1980, 1, 1, 0, 0, 0) and i.external_attr >> 16 == 0o100600
          print(hashlib.sha256(z.read(i)).hexdigest(), i.file_size, i.compress_size, i.CRC, i.filename)
      """
    let listed = try python.run(["-X", "utf8", "-c", script, path])
    #expect(listed.status == 0, "\(listed.output)")
    let expected = receipt.entries.map {
      "\($0.sha256) \($0.size) \($0.compressedSize) \($0.crc32) \($0.name)\n"
    }
    #expect(listed.output == expected.joined())
  }

  /// Text of eleven windows.
  private static let lines: [UInt8] = {
    var random = SeededGenerator(state: 5)
    var text = ""
    for _ in 0..<62_000 {
      text += "{\"entity\":\"Note\",\"pk\":\(random.next() % 100_000),\"title\":"
      text += "\"Note \(random.next() % 500)\"}\n"
    }
    return Array(text.utf8)
  }()

  /// Entries of several blocks and rounds, at the borders of both, against Python's zlib: the stream is whole, and
  /// hardly larger than one that was made in one go.
  @Test(arguments: [1, 6, 9])
  func blocksAreOneStream(_ level: Int) throws {
    guard let python = Tool("python3") else { return }
    let space = try Workspace()
    let path = space.path("a.zip")
    let window = ZipFormat.window
    var random = SeededGenerator(state: 6)
    let text = Self.lines
    try #require(text.count > 10 * window)
    let sizes = [
      window - 1, window, window + 1, 2 * window, 8 * window, 8 * window + 1, text.count,
    ]
    let writer = try ZipWriter(path: path, level: try #require(CompressionLevel(level)))
    for size in sizes { try writer.add(name: "\(size)", bytes: Array(text[..<size])) }
    try writer.add(name: "random", bytes: random.bytes(3 * window + 5))
    try writer.add(name: "zeros", bytes: [UInt8](repeating: 0, count: 20 * window))
    _ = try writer.finish()
    let script = """
      import sys, zipfile, zlib
      z = zipfile.ZipFile(sys.argv[1])
      assert z.testzip() is None
      for i in z.infolist():
          packer = zlib.compressobj(int(sys.argv[2]), zlib.DEFLATED, -15)
          once = len(packer.compress(z.read(i)) + packer.flush())
          blocks = i.file_size // 262144
          assert i.compress_size <= once * 1.002 + 64 + 24 * blocks, (i.filename, i.compress_size, once)
      print(len(z.namelist()))
      """
    let result = try python.run(["-c", script, path, "\(level)"])
    #expect(result.output == "9\n")
  }

  @Test func receiptGivesTheTrueDigests() throws {
    let space = try Workspace()
    let receipt = try archive(space.path("a.zip"))
    #expect(receipt.leftoverPath == nil)
    #expect(receipt.size == UInt64(try space.read("a.zip").count))
    for (written, entry) in zip(receipt.entries, Sample.entries()) {
      #expect(written.size == UInt64(entry.bytes.count))
      #expect(written.sha256 == SHA256.hash(data: entry.bytes).hex)
      #expect(written.compressedSize <= written.size + written.size / 1024 + 64)
    }
    let attributes = try FileManager.default.attributesOfItem(atPath: space.path("a.zip"))
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
  }

  @Test func twoRunsGiveTheSameBytes() throws {
    let space = try Workspace()
    _ = try archive(space.path("a.zip"))
    _ = try archive(space.path("b.zip"))
    #expect(try space.read("a.zip") == space.read("b.zip"))
    #expect(try space.names == ["a.zip", "b.zip"])
  }

  @Test func emptyArchiveIsValid() throws {
    let space = try Workspace()
    _ = try ZipWriter(path: space.path("a.zip")).finish()
    #expect(try ZipReader(path: space.path("a.zip")).entries.isEmpty)
    #expect(try space.read("a.zip").count == 22)
  }

  @Test func moreEntriesThanSixteenBitsHold() throws {
    let space = try Workspace()
    let path = space.path("a.zip")
    let writer = try ZipWriter(path: path)
    for index in 0..<66_000 { try writer.add(name: "\(index)", bytes: []) }
    _ = try writer.finish()
    #expect(try ZipReader(path: path).entries.count == 66_000)
    guard let python = Tool("python3") else { return }
    let script = "import sys, zipfile; print(len(zipfile.ZipFile(sys.argv[1]).namelist()))"
    #expect(try python.run(["-c", script, path]).output == "66000\n")
  }

  @Test func filesAreStreamed() throws {
    let space = try Workspace()
    var random = SeededGenerator(state: 2)
    let bytes = random.bytes(3000) + [UInt8](repeating: 1, count: 1_500_001)
    let file = try space.write(bytes, to: "input")
    let writer = try ZipWriter(path: space.path("a.zip"))
    let source = EntrySource.file(try InputFile(path: file, followsLink: false))
    let entry = try writer.add(name: "input", from: source) { _ in }
    _ = try writer.finish()
    #expect(entry.sha256 == SHA256.hash(data: bytes).hex)
    let reader = try ZipReader(path: space.path("a.zip"))
    #expect(try reader.bytes(of: reader.entries[0], limit: 2_000_000) == bytes)
  }

  // MARK: - What is refused

  @Test func existingOutputIsNeverReplaced() throws {
    let space = try Workspace()
    let path = try space.write([1, 2, 3], to: "a.zip")
    let early = #expect(throws: BundleError.self) { try ZipWriter(path: path) }
    #expect(early?.code == .outputExists)

    // Taken while the archive is being written.
    let late = try ZipWriter(path: space.path("b.zip"))
    try late.add(name: "x", bytes: [1])
    try space.write([4, 5], to: "b.zip")
    let error = #expect(throws: BundleError.self) { _ = try late.finish() }
    #expect(error?.code == .outputExists)
    #expect(try space.read("a.zip") == [1, 2, 3])
    #expect(try space.read("b.zip") == [4, 5])
    #expect(try space.names == ["a.zip", "b.zip"])
  }

  @Test func danglingLinkIsNotWrittenThrough() throws {
    let space = try Workspace()
    try FileManager.default.createSymbolicLink(
      atPath: space.path("a.zip"), withDestinationPath: space.path("target"))
    #expect(throws: BundleError.self) { try ZipWriter(path: space.path("a.zip")) }
    #expect(try space.names == ["a.zip"])
  }

  @Test(arguments: ["", "no/such/folder/a.zip", "/", "x/", "..", "."])
  func impossibleOutputs(_ path: String) throws {
    let space = try Workspace()
    let full = path.isEmpty || path == "/" ? path : space.path("") + "/" + path
    #expect(throws: BundleError.self) { try ZipWriter(path: full) }
    #expect(throws: BundleError.self) { try ZipWriter(path: full + "\0a") }
    #expect(try space.names.isEmpty)
  }

  @Test(
    arguments: [
      "", "/etc/passwd", "../up", "a/../../b", "a//b", "a/./b", "a\\b", "C:x", "a\nb", "a\0b",
      "dir/",
      "manifest\u{7F}", String(repeating: "x", count: 1025),
      String(repeating: "a/", count: 40) + "b",
    ])
  func badNamesCancelTheArchive(_ name: String) throws {
    let space = try Workspace()
    let writer = try ZipWriter(path: space.path("a.zip"))
    let error = #expect(throws: BundleError.self) { try writer.add(name: name, bytes: []) }
    #expect(error?.code == .badName)
    #expect(try space.names.isEmpty)
    #expect(throws: BundleError.self) { _ = try writer.finish() }
  }

  @Test(
    arguments: [
      ["a", "a"], ["Notes.sqlite", "notes.SQLITE"], ["e\u{301}", "é"], ["a", "a/b"], ["a/b", "a"],
      ["A/b", "a"],
    ])
  func namesThatFallTogetherAreRefused(_ pair: [String]) throws {
    let space = try Workspace()
    let writer = try ZipWriter(path: space.path("a.zip"))
    try writer.add(name: pair[0], bytes: [])
    let error = #expect(throws: BundleError.self) { try writer.add(name: pair[1], bytes: []) }
    #expect(error?.code == .duplicateName)
  }

  @Test func sourcesThatAreNoFiles() throws {
    let space = try Workspace()
    try space.write([1], to: "file")
    try FileManager.default.createSymbolicLink(
      atPath: space.path("link"), withDestinationPath: space.path("file"))
    let made = unsafe mkfifo(space.path("pipe"), 0o600)
    #expect(made == 0)
    let cases: [(String, BundleError.Code)] = [
      ("link", .notAFile), ("pipe", .notAFile), ("", .notAFile), ("missing", .inputMissing),
      ("file/x", .inputMissing),
    ]
    for (name, code) in cases {
      let error = #expect(throws: BundleError.self) {
        try InputFile(path: space.path(name), followsLink: false)
      }
      #expect(error?.code == code, "\(name)")
    }
    #expect(try space.names == ["file", "link", "pipe"])
  }

  // MARK: - What fails

  enum Failure: String, CaseIterable, Sendable {
    case create, firstWrite, lateWrite, shortWrite, sync, link, remove
  }

  @Test(arguments: Failure.allCases)
  func everyFailureLeavesNothingBehind(_ failure: Failure) throws {
    let space = try Workspace()
    let counter = Counter()
    var calls = OutputCalls()
    let real = calls
    switch failure {
    case .create: calls.create = { _, _ in fail(EACCES) }
    case .firstWrite: unsafe calls.write = { _, _, _ in Int(fail(ENOSPC)) }
    case .lateWrite:
      unsafe calls.write = {
        counter.next() > 9 ? Int(fail(EIO)) : unsafe real.write($0, $1, $2)
      }
    case .shortWrite: unsafe calls.write = { _, _, _ in 0 }
    case .sync: calls.sync = { _ in fail(EIO) }
    case .link: calls.link = { _, _, _ in fail(EIO) }
    case .remove: calls.remove = { _, _, _ in .failed(EIO) }
    }
    let archive = { () throws -> ZipWriter.Receipt in
      let writer = try ZipWriter(
        path: space.path("a.zip"), threshold: Zip64Threshold(), calls: calls)
      for entry in Sample.entries() { try writer.add(name: entry.name, bytes: entry.bytes) }
      return try writer.finish()
    }
    if failure == .remove {
      // The archive is complete; only its temporary name is left, and the receipt says so.
      let receipt = try archive()
      let leftover = try #require(receipt.leftoverPath)
      #expect(try space.names.count == 2)
      #expect(FileManager.default.fileExists(atPath: leftover))
    } else {
      let error = #expect(throws: BundleError.self) { _ = try archive() }
      #expect(error?.systemError != nil)
      #expect(try space.names.isEmpty)
    }
  }

  @Test(arguments: [EPERM, ENOTSUP, ENOSYS, EMLINK])
  func volumesWithoutLinksAreServedByRename(_ code: Int32) throws {
    let space = try Workspace()
    var calls = OutputCalls()
    calls.link = { _, _, _ in fail(code) }
    let writer = try ZipWriter(
      path: space.path("a.zip"), threshold: Zip64Threshold(), calls: calls)
    try writer.add(name: "x", bytes: [1])
    #expect(try writer.finish().leftoverPath == nil)
    #expect(try space.names == ["a.zip"])
    #expect(try ZipReader(path: space.path("a.zip")).entries.count == 1)

    let second = try ZipWriter(
      path: space.path("b.zip"), threshold: Zip64Threshold(), calls: calls)
    try space.write([9], to: "b.zip")
    let error = #expect(throws: BundleError.self) { _ = try second.finish() }
    #expect(error?.code == .outputExists)
    #expect(try space.read("b.zip") == [9])

    calls.rename = { _, _, _ in fail(EIO) }
    let third = try ZipWriter(
      path: space.path("c.zip"), threshold: Zip64Threshold(), calls: calls)
    #expect(throws: BundleError.self) { _ = try third.finish() }
    #expect(try space.names == ["a.zip", "b.zip"])
  }

  @Test func anAbandonedWriterLeavesNothing() throws {
    let space = try Workspace()
    do {
      let writer = try ZipWriter(path: space.path("a.zip"))
      try writer.add(name: "x", bytes: Sample.text)
      #expect(try space.names.count == 1)
    }
    #expect(try space.names.isEmpty)
  }

  /// The user's file takes the temporary name behind the last look at it, before the archive is finished or given up.
  @Test(arguments: [true, false])
  func aFileThatTakesTheTemporaryName(isFinished: Bool) throws {
    let space = try Workspace()
    let mine = try space.write([7], to: "mine")
    let folder = space.path("")
    var calls = OutputCalls()
    let real = calls.remove
    calls.remove = { descriptor, name, isOurs in
      real(descriptor, name) { now in
        let answer = isOurs(now)
        if now == name { #expect(unsafe rename(mine, folder + "/" + name) == 0) }
        return answer
      }
    }
    do {
      let writer = try ZipWriter(
        path: space.path("a.zip"), threshold: Zip64Threshold(), calls: calls)
      try writer.add(name: "x", bytes: [1])
      if isFinished { _ = try writer.finish() }
    }
    let kept = try #require(try space.names.first { $0 != "a.zip" })
    #expect(try space.read(kept) == [7])
    #expect(try space.names == [kept] + (isFinished ? ["a.zip"] : []))
  }

  /// Whoever interrupts the work takes the temporary file back, and nothing gets the final name behind that.
  @Test func anInterruptionTakesTheTemporaryFile() throws {
    let space = try Workspace()
    let made = MadeFiles()
    let writer = try ZipWriter(path: space.path("a.zip"), making: made.making)
    try writer.add(name: "x", bytes: Sample.text)
    #expect(try space.names.count == 1)
    made.takeBackForGood()
    #expect(try space.names.isEmpty)
    #expect(throws: BundleError.self) { _ = try writer.finish() }
    #expect(try space.names.isEmpty)
  }

  @Test func interruptedCallsAreRepeated() throws {
    let space = try Workspace()
    let counter = Counter()
    var calls = OutputCalls()
    let real = calls
    calls.sync = { counter.next().isMultiple(of: 2) ? fail(EINTR) : real.sync($0) }
    unsafe calls.write = { descriptor, bytes, offset in
      switch counter.next() % 3 {
      case 0: return Int(fail(EINTR))
      // A short write: half of it.
      case 1:
        return unsafe real.write(
          descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix((bytes.count + 1) / 2)), offset)
      default: return unsafe real.write(descriptor, bytes, offset)
      }
    }
    let writer = try ZipWriter(
      path: space.path("a.zip"), threshold: Zip64Threshold(), calls: calls)
    for entry in Sample.entries() { try writer.add(name: entry.name, bytes: entry.bytes) }
    _ = try writer.finish { _ in "a comment" }
    _ = try archive(space.path("b.zip"))
    #expect(try space.read("a.zip") == space.read("b.zip"))
  }
}

private func fail(_ code: Int32) -> Int32 {
  errno = code
  return -1
}

private final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var value = 0

  func next() -> Int {
    lock.withLock {
      value += 1
      return value
    }
  }
}
