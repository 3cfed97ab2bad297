import CoreDataStore
import Crypto
import Fixtures
import Foundation
import RowText
import SQLiteFile
import Testing

@testable import StoreExtraction

/// What stands beside the token of a value.
@Suite struct ValueTokensTests {
  private static func written(_ value: PropertyValue) throws -> [String: Any] {
    var output = OutputBuffer(capacity: 1 << 16)
    ValueTokens().append(value, of: [1], to: &output)
    var bytes = Data()
    output.drain { bytes.append(contentsOf: $0.array()) }
    return try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
  }

  /// The range of an integer is between two powers of ten, and the integer is in it.
  @Test func integersHaveTheirPowersOfTen() throws {
    var numbers: [Int64] = [0, .min, .min + 1, .max, .max - 1]
    var power: Int64 = 1
    for _ in 0..<18 {
      for near in [power - 1, power, power + 1] { numbers += [near, -near] }
      power *= 10
    }
    for number in numbers {
      let range = try #require(try Self.written(.integer(number))["range"] as? String)
      let ends = range.components(separatedBy: "..").compactMap { Decimal(string: $0) }
      try #require(ends.count == 2, "\(number): \(range)")
      #expect(ends[0] <= Decimal(number) && Decimal(number) <= ends[1], "\(number): \(range)")
      let (low, high) = number >= 0 ? (ends[0], ends[1]) : (-ends[1], -ends[0])
      if number.magnitude < 10 {
        #expect(low == (number < 0 ? 1 : 0) && high == 9, "\(number): \(range)")
        continue
      }
      #expect(high + 1 == low * 10, "\(number): \(range)")
      let digits = low.description
      #expect(digits.first == "1" && digits.dropFirst().allSatisfy { $0 == "0" }, "\(range)")
    }
  }

  /// SQLite keeps a Boolean as 0 or 1. A range that says which of them a value is would give the value away.
  @Test func rangesDoNotTellZeroFromOne() throws {
    func range(_ value: PropertyValue) throws -> String? {
      try Self.written(value)["range"] as? String
    }
    #expect(try [0, 1, 9].map { try range(.integer($0)) } == ["0..9", "0..9", "0..9"])
    #expect(try [-1, -9].map { try range(.integer($0)) } == ["-9..-1", "-9..-1"])
    #expect(
      try [0, -0.0, 1e-300, 1, 9.5].map { try range(.real($0)) }
        == Array(repeating: "0..1e1", count: 5))
    #expect(try [-1e-300, -1].map { try range(.real($0)) } == ["0..-1e1", "0..-1e1"])
    #expect(try [10, -250].map { try range(.real($0)) } == ["1e1..1e2", "-1e2..-1e3"])
    #expect(
      try [1e308, .infinity, -.infinity].map { try range(.real($0)) }
        == ["1e308..infinite", "1e308..infinite", "-1e308..-infinite"])
  }

  @Test(arguments: [
    ("", "0", "none"), ("7", "1", "none"), ("12-3", "4-7", "none"), ("a", "1", "Latin"),
    ("[", "1", "none"), ("`{@", "2-3", "none"), ("Z9", "2-3", "Latin"), ("é", "1", "Latin"),
    ("東京", "2-3", "Han"), ("東a", "2-3", "mixed"), ("ж", "1", "Cyrillic"), ("🙂", "1", "none"),
  ])
  func textsHaveLengthAndScript(_ text: String, length: String, script: String) throws {
    let written = try Self.written(.string(StoredText(utf8: Array(text.utf8))))
    let token = try #require(written["text"] as? String)
    #expect(token.utf8.count == 16)
    #expect(written["length"] as? String == length && written["script"] as? String == script)
  }

  @Test func lengthsArePowersOfTwo() throws {
    for count in [0, 1, 2, 3, 4, 7, 8, 255, 256, 1023, 1024] {
      let blob = try Self.written(.binary([UInt8](repeating: 0, count: count)))["bytes"]
      let size = try #require(blob as? String)
      let ends = size.split(separator: "-").compactMap { Int($0) }
      #expect(ends.first ?? -1 <= count && count <= ends.last ?? -1, "\(count): \(size)")
      #expect(count < 2 ? ends == [count] : ends.count == 2 && ends[1] == 2 * ends[0] - 1)
    }
  }

  @Test func whatIsNoTextIsToldSo() throws {
    let written = try Self.written(.string(StoredText(utf8: [0x61, 0xff])))
    #expect(written["script"] as? String == "invalid")
  }

  /// Codes are those of the library, for keys up to a block and messages around the borders of blocks.
  @Test func codesAreHMACs() {
    var random = SplitMix64(seed: 3)
    for length in [0, 1, 7, 31, 32, 33, 63, 64] {
      let key = SymmetricKey(data: random.bytes(length))
      for count in [0, 1, 54, 55, 56, 63, 64, 65, 127, 128, 1000] {
        let (message, more) = (random.bytes(count), random.next())
        var code = KeyedCode(key)
        code.update(message)
        let word = (0..<8).map { UInt8(truncatingIfNeeded: more >> (56 - 8 * UInt64($0))) }
        #expect(
          Array(code.finalize()) == Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
        )
        code.update(more)
        #expect(
          Array(code.finalize())
            == Array(HMAC<SHA256>.authenticationCode(for: message + word, using: key)))
      }
    }
  }
}
