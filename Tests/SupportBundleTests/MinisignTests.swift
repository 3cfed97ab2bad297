import Foundation
import Testing

@testable import SupportBundle

/// Signatures that minisign checks, and the other way round.
@Suite struct MinisignTests {
  /// RFC 7693, appendix A, and Python's hashlib.
  @Test func hashesAreThoseOfOthers() throws {
    let hex = { (bytes: [UInt8]) in bytes.map { String(format: "%02x", $0) }.joined() }
    #expect(
      hex(BLAKE2b.hash(Array("abc".utf8)))
        == "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"
    )
    guard let python = Tool("python3") else { return }
    let space = try Workspace()
    let script = """
      import hashlib, sys
      for path in sys.argv[1:]:
          for size in (32, 64):
              print(hashlib.blake2b(open(path, 'rb').read(), digest_size=size).hexdigest())
      """
    var paths: [String] = []
    var own: [String] = []
    for count in [0, 1, 127, 128, 129, 255, 256, 257, 100_000] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      paths.append(try space.write(bytes, to: "\(count)"))
      for size in [32, 64] { own.append(hex(BLAKE2b.hash(bytes, byteCount: size)) + "\n") }
    }
    let found = try python.run(["-c", script] + paths)
    #expect(own.joined() == found.output)
    // In pieces.
    let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0) }
    var hash = BLAKE2b()
    for start in stride(from: 0, to: 1_000, by: 37) {
      hash.update(bytes[start..<min(start + 37, 1_000)])
    }
    #expect(hash.finalize() == BLAKE2b.hash(bytes))
  }

  @Test func minisignChecksOurs() throws {
    let space = try Workspace()
    let key = MinisignSecretKey()
    for bytes in [[], [1, 2, 3], Sample.text] {
      let path = try space.write(bytes, to: "bundle.zip")
      let signature = try MinisignSignature(
        of: path, with: key, at: Date(timeIntervalSince1970: 1e9))
      try signature.check(path, by: key.publicKey)
      #expect(try MinisignSignature(signature.file) == signature)
      guard let minisign = Tool("minisign") else { continue }
      try space.write(Array(signature.file.utf8), to: "bundle.zip.minisig")
      let found = try minisign.run(["-V", "-m", path, "-P", key.publicKey.text])
      #expect(found.status == 0, "\(found.output)")
      #expect(found.output.contains("timestamp:1000000000"))
    }
    #expect(try MinisignSecretKey(key.file).publicKey == key.publicKey)
    // As an argument, as `bundle keygen` prints it, and as minisign writes it.
    let text = key.publicKey.text
    for text in [text, text + "\n", text + "\r\n", "untrusted comment: x\n\(text)\n"] {
      #expect(try MinisignPublicKey(text) == key.publicKey)
    }
  }

  @Test func weCheckThoseOfMinisign() throws {
    guard let minisign = Tool("minisign") else { return }
    let space = try Workspace()
    let path = try space.write(Sample.text, to: "bundle.zip")
    let made = try minisign.run([
      "-G", "-W", "-p", space.path("key.pub"), "-s", space.path("key"),
    ])
    #expect(made.status == 0, "\(made.output)")
    let publicKey = try MinisignPublicKey(String(decoding: space.read("key.pub"), as: UTF8.self))
    let secretKey = try MinisignSecretKey(String(decoding: space.read("key"), as: UTF8.self))
    #expect(secretKey.publicKey == publicKey)
    for flags in [[], ["-l"]] {
      let signed = try minisign.run(["-S", "-s", space.path("key"), "-m", path] + flags)
      #expect(signed.status == 0, "\(signed.output)")
      let signature = try MinisignSignature(
        String(decoding: space.read("bundle.zip.minisig"), as: UTF8.self))
      try signature.check(path, by: publicKey)
    }
    // minisign signs with our key.
    let ours = MinisignSecretKey()
    try space.write(Array(ours.file.utf8), to: "ours")
    let signed = try minisign.run(["-S", "-s", space.path("ours"), "-m", path])
    #expect(signed.status == 0, "\(signed.output)")
    try MinisignSignature(String(decoding: space.read("bundle.zip.minisig"), as: UTF8.self))
      .check(path, by: ours.publicKey)
  }

  @Test func everyChangeIsNoticed() throws {
    let space = try Workspace()
    let key = MinisignSecretKey()
    let path = try space.write(Sample.text, to: "a")
    let signature = try MinisignSignature(of: path, with: key, at: Date())
    let other = try space.write(Sample.text + [0], to: "b")
    #expect(throws: BundleError.self) { try signature.check(other, by: key.publicKey) }
    let error = #expect(throws: BundleError.self) {
      try signature.check(path, by: MinisignSecretKey().publicKey)
    }
    #expect(error?.code == .wrongKey)
    let lines = signature.file.components(separatedBy: "\n")
    for line in 1..<4 {
      for (place, character) in lines[line].enumerated() where character != "=" {
        var changed = Array(lines[line])
        changed[place] = character == "A" ? "B" : "A"
        var text = lines
        text[line] = String(changed)
        #expect(throws: BundleError.self, "\(line) \(place)") {
          try MinisignSignature(text.joined(separator: "\n")).check(path, by: key.publicKey)
        }
      }
    }
  }

  @Test(arguments: [
    "", "RWQ", "untrusted comment: x\nRWQ=\n", "age1xyz", "untrusted comment\n\n\n\n",
  ])
  func whatIsNoneIsRefused(_ text: String) {
    #expect(throws: BundleError.self) { try MinisignPublicKey(text) }
    #expect(throws: BundleError.self) { try MinisignSecretKey(text) }
    #expect(throws: BundleError.self) { try MinisignSignature(text) }
  }

  @Test func aKeyWithAPassphraseIsSaidToHaveOne() throws {
    var bytes = [UInt8](repeating: 7, count: 158)
    bytes.replaceSubrange(0..<6, with: Array("EdScB2".utf8))
    let text = "untrusted comment: x\n\(Data(bytes).base64EncodedString())\n"
    let error = #expect(throws: BundleError.self) { try MinisignSecretKey(text) }
    #expect(error?.message.contains("passphrase") == true)
  }
}
