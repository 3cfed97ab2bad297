import Fixtures
import Foundation
import Testing

@testable import AgeFiles

/// Files that we encrypt, opened by `age`, and the other way round.
@Suite struct AgeFileTests {
  static let program = ["/usr/bin/age", "/usr/local/bin/age", "/opt/homebrew/bin/age"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// Sizes around the borders of chunks and of lines.
  static let sizes = [0, 1, 47, 48, 49, 65_519, 65_535, 65_536, 65_537, 131_072, 200_000]

  static func content(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  }

  static func encrypted(
    _ content: [UInt8], to recipients: AgeRecipients, isArmored: Bool = false
  ) throws -> [UInt8] {
    var result: [UInt8] = []
    var rest = content[...]
    _ = try AgeFile.encrypt(
      to: recipients, isArmored: isArmored, workFactor: 10,
      read: { count in
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
      }, write: { result += $0 })
    return result
  }

  static func decrypted(_ file: [UInt8], _ secrets: AgeSecrets) throws -> [UInt8] {
    var result: [UInt8] = []
    var rest = file[...]
    try AgeFile.decrypt(
      secrets,
      read: { count in
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
      }, write: { result += $0 })
    return result
  }

  static func secrets(_ identities: AgeIdentity...) -> AgeSecrets {
    var secrets = AgeSecrets()
    secrets.identities = identities
    return secrets
  }

  @Test(arguments: sizes, [false, true])
  func whatWeEncryptWeOpen(_ size: Int, _ isArmored: Bool) throws {
    let (one, other) = (try AgeIdentity(), try AgeIdentity())
    let content = Self.content(size)
    let file = try Self.encrypted(
      content, to: .keys([one.recipient, other.recipient]), isArmored: isArmored)
    #expect(AgeFile.isEncrypted(Array(file.prefix(AgeFile.leadBytes))))
    for identity in [one, other] {
      #expect(try Self.decrypted(file, Self.secrets(identity)) == content)
    }
    let error = #expect(throws: AgeError.self) {
      try Self.decrypted(file, Self.secrets(try AgeIdentity()))
    }
    #expect(error?.code == .noKeyFits)
  }

  @Test(arguments: sizes, [false, true])
  func ageOpensWhatWeEncrypt(_ size: Int, _ isArmored: Bool) throws {
    guard let age = Self.program else { return skipped("age opens our files") }
    let folder = try TemporaryFolder()
    let identity = try AgeIdentity()
    let (key, file) = (
      folder.url.appendingPathComponent("key"), folder.url.appendingPathComponent("file")
    )
    try Data(identity.text.utf8).write(to: key)
    let content = Self.content(size)
    try Data(try Self.encrypted(content, to: .keys([identity.recipient]), isArmored: isArmored))
      .write(to: file)
    let opened = try Self.run(age, "-d", "-i", key.path, file.path)
    #expect(opened == Data(content))
  }

  @Test(arguments: sizes, [false, true])
  func weOpenWhatAgeEncrypts(_ size: Int, _ isArmored: Bool) throws {
    guard let age = Self.program else { return skipped("we open files of age") }
    let folder = try TemporaryFolder()
    let identity = try AgeIdentity()
    let plain = folder.url.appendingPathComponent("plain")
    let content = Self.content(size)
    try Data(content).write(to: plain)
    let other = try AgeIdentity()
    let file = try Self.run(
      age,
      ["-r", other.recipient.text, "-r", identity.recipient.text] + (isArmored ? ["-a"] : []) + [
        plain.path
      ])
    #expect(try Self.decrypted([UInt8](file), Self.secrets(identity)) == content)
  }

  @Test func aPassphraseOpensWhatItEncrypted() throws {
    let content = Self.content(100_000)
    let file = try Self.encrypted(content, to: .passphrase(Array("correct horse".utf8)))
    var secrets = AgeSecrets()
    secrets.passphrase = Array("correct horse".utf8)
    #expect(try Self.decrypted(file, secrets) == content)
    for wrong in ["correct hors", nil] {
      secrets.passphrase = wrong.map { Array($0.utf8) }
      #expect(throws: AgeError.self) { try Self.decrypted(file, secrets) }
    }
  }

  /// The test keys of the format's specification (C2SP, age).
  @Test func keysAreThoseOfOthers() throws {
    // Of the tests of age itself.
    let identity = try AgeIdentity(
      "AGE-SECRET-KEY-1XMWWC06LY3EE5RYTXM9MFLAZ2U56JJJ36S0MYPDRWSVLUL66MV4QX3S7F6")
    #expect(
      identity.text == "AGE-SECRET-KEY-1XMWWC06LY3EE5RYTXM9MFLAZ2U56JJJ36S0MYPDRWSVLUL66MV4QX3S7F6")
    #expect(try AgeRecipient(identity.recipient.text) == identity.recipient)
    guard Self.program != nil else { return skipped("keys of age-keygen") }
    let made = String(decoding: try Self.run("/usr/bin/age-keygen"), as: UTF8.self)
    let keys = try AgeKeyFile.identities(Array(made.utf8))
    #expect(made.contains("public key: \(keys[0].recipient.text)\n"))
  }

  @Test(arguments: [
    "", "age1", "age1qqqq", "AGE1QQ",
    "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwx",
    "AGE-SECRET-KEY-1XMWWC06LY3EE5RYTXM9MFLAZ2U56JJJ36S0MYPDRWSVLUL66MV4QX3S7F6",
    "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwJ", "age1\u{e9}",
  ])
  func whatIsNoPublicKeyIsRefused(_ text: String) {
    #expect(throws: AgeError.self) { try AgeRecipient(text) }
  }

  // MARK: - Changes

  /// No byte can be changed, and nothing cut off or added. Each place has one of three changes; in long rounds, all.
  @Test func everyChangeIsNoticed() throws {
    let identity = try AgeIdentity()
    let file = try Self.encrypted(Self.content(1_000), to: .keys([identity.recipient]))
    let secrets = Self.secrets(identity)
    for place in file.indices {
      for (turn, bit) in ([0x01, 0x80] as [UInt8]).enumerated()
      where Rounds.areLong || place % 3 == turn {
        var changed = file
        changed[place] ^= bit
        #expect(throws: AgeError.self, "\(place)") { try Self.decrypted(changed, secrets) }
      }
      guard Rounds.areLong || place % 3 == 2 else { continue }
      #expect(throws: AgeError.self, "cut at \(place)") {
        try Self.decrypted(Array(file[..<place]), secrets)
      }
    }
    #expect(throws: AgeError.self) { try Self.decrypted(file + [0], secrets) }
  }

  /// Chunks cannot be left out, repeated or exchanged.
  @Test func chunksStayWhereTheyAre() throws {
    let identity = try AgeIdentity()
    let file = try Self.encrypted(Self.content(65_536 * 3), to: .keys([identity.recipient]))
    let start = file.count - 3 * (65_536 + 16)
    let chunks = (0..<3).map { Array(file[(start + $0 * 65_552)..<(start + ($0 + 1) * 65_552)]) }
    let head = Array(file[..<start])
    for order in [[0, 1], [0], [1, 0, 2], [0, 0, 1, 2], [0, 1, 2, 2], [2], []] {
      #expect(throws: AgeError.self, "\(order)") {
        try Self.decrypted(head + order.flatMap { chunks[$0] }, Self.secrets(identity))
      }
    }
    #expect(
      try Self.decrypted(head + chunks.flatMap { $0 }, Self.secrets(identity)).count == 196_608)
  }

  @Test(arguments: [
    ("", AgeError.Code.notEncrypted), ("age-encryption.org/v2\n", .notEncrypted),
    ("age-encryption.org/v1\n", .truncated), ("age-encryption.org/v1\n---\n", .badHeader),
    ("age-encryption.org/v1\n--- AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", .badHeader),
    ("age-encryption.org/v1\n-> X25519 \nAAAA\n", .badHeader),
    ("age-encryption.org/v1\n-> \u{1} a\nAAAA\n", .badHeader),
    ("age-encryption.org/v1\n-> a\nAAAA=\n", .badHeader),
    ("age-encryption.org/v1\n-> a\n\(String(repeating: "A", count: 65))\n", .badHeader),
    ("age-encryption.org/v1\n-> a\n\(String(repeating: "A", count: 200_000))", .badHeader),
    ("age-encryption.org/v1\n\(String(repeating: "-> a\n\n", count: 60_000))", .badHeader),
    (
      "age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA 30\n\(String(repeating: "A", count: 43))\n--- \(String(repeating: "A", count: 43))\n",
      .tooMuchWork
    ),
    (
      "age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA +9\n\(String(repeating: "A", count: 43))\n--- \(String(repeating: "A", count: 43))\n",
      .badHeader
    ),
    (
      "age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA 1\n\(String(repeating: "A", count: 43))\n-> b\n\n--- \(String(repeating: "A", count: 43))\n",
      .badHeader
    ),
    (
      "age-encryption.org/v1\n-> X25519 \(String(repeating: "A", count: 43))\n\(String(repeating: "A", count: 43))\n--- \(String(repeating: "A", count: 43))\n",
      .badHeader
    ),
  ])
  func hostileHeadersAreRefused(_ text: String, _ code: AgeError.Code) throws {
    var secrets = Self.secrets(try AgeIdentity())
    secrets.passphrase = [1]
    let file = Array(text.utf8) + [UInt8](repeating: 0, count: text.hasSuffix("\n") ? 32 : 0)
    let isCut = code == .truncated
    let error = #expect(throws: AgeError.self) {
      try Self.decrypted(isCut ? Array(text.utf8) : file, secrets)
    }
    #expect(error?.code == code, "\(error?.message ?? "")")
  }

  @Test(arguments: [
    "BEGIN AGE", "-----BEGIN AGE ENCRYPTED FILE-----\n",
    "-----BEGIN AGE ENCRYPTED FILE-----\n-----END AGE ENCRYPTED FILE-----\n",
    "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\nYWdl\n-----END AGE ENCRYPTED FILE-----\n",
    "-----BEGIN AGE ENCRYPTED FILE-----\nYWd=\n-----END AGE ENCRYPTED FILE-----\n",
    "-----BEGIN AGE ENCRYPTED FILE-----\n\n-----END AGE ENCRYPTED FILE-----\n",
    "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n-----END AGE ENCRYPTED FILE-----\nmore\n",
  ])
  func badArmorIsRefused(_ text: String) throws {
    #expect(throws: AgeError.self) {
      try Self.decrypted(Array(text.utf8), Self.secrets(try AgeIdentity()))
    }
  }

  /// White space around armor is allowed; in front of it, as much as the Go library of age allows.
  @Test(arguments: ["\n", " ", "\r\n", "\t"])
  func whiteSpaceAroundArmor(_ blank: String) throws {
    let identity = try AgeIdentity()
    let content = Self.content(1_000)
    let armored = try Self.encrypted(content, to: .keys([identity.recipient]), isArmored: true)
    for count in [0, 1, 29, 30, 65, 66, 500, 1_024] {
      let blanks = Array(String(repeating: blank, count: count / blank.utf8.count).utf8)
      let file = blanks + armored + blanks + blanks
      #expect(AgeFile.isEncrypted(Array(file.prefix(AgeFile.leadBytes))), "\(count)")
      #expect(try Self.decrypted(file, Self.secrets(identity)) == content, "\(count)")
    }
    let tooMany = Array(String(repeating: blank, count: 1_025).utf8) + armored
    #expect(!AgeFile.isEncrypted(tooMany))
    let error = #expect(throws: AgeError.self) {
      try Self.decrypted(tooMany, Self.secrets(identity))
    }
    #expect(error?.code == .notEncrypted)
  }

  // MARK: - Other programs

  func skipped(_ what: String) { print("skipped: \(what): no program age") }

  static func run(_ program: String, _ arguments: String...) throws -> Data {
    try run(program, arguments)
  }

  static func run(_ program: String, _ arguments: [String]) throws -> Data {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(program) \(arguments)")
    return data
  }
}
